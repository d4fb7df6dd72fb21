"""Rules for the source of the compiled core: types of counters, memory, modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "stream_metrics"
CORE = PACKAGE / "_core"
MONITOR = PACKAGE / "monitor" / "_core"
SOURCES = sorted(path for folder in (CORE, MONITOR) for path in folder.rglob("*.p[yx][xdi]") if path.suffix != ".pyi")
MODULES = [path for path in SOURCES if path.suffix == ".pyx"]


def name(path: Path) -> str:
    """Return the folder and the file of a source."""
    return f"{path.parent.name}/{path.name}"


NAMED = {  # lines with 32 bits that hold no count
    "ranks/kernels.pxd": (
        "ctypedef uint32_t fraction_t",  # below 2^20, the carry goes to a counter at once
        "ctypedef uint32_t slot_t",  # up to 2^25 slots
        "ctypedef uint32_t cell_t",  # up to 2^24 buckets
        "ctypedef int32_t code_t",  # a label
    ),
    "ranks/batch.pxi": (  # the arrays of these types
        "units = (units & np.uint64((1 << UNIT_BITS) - 1)).astype(np.uint32)",
        "truth = np.array(numbers, np.int32)[truth]",
        "self.codes = np.ascontiguousarray(truth, np.int32)",
    ),
    "ranks/score_rows.pxi": ("kinds = (np.int64, np.int32, np.uint64, np.int8)",),
    "confusion/counters.pxi": (  # codes of labels
        "cdef inline int64_t place_of(ConfusionCounters self, int32_t code, list labels, int64_t[:] places,",
        "cdef const int32_t[:] t = truth[0], p = predicted[0]",
    ),
    "numeric/kernels.pxd": ("int32_t index", "int32_t kind", "ctypedef uint16_t short_index_t"),
    "numeric/arrow_texts.pxi": (  # codes of at most 256 texts, and where Arrow says that a text lies
        "ctypedef int16_t text_code_t",
        "ctypedef int32_t offset_t",
        "cdef text_code_t[::1] codes = np.empty(sum([one[0] for one in chunks]) + 1, np.int16)",
    ),
    "numeric/texts.pxd": ("cdef uint32_t first, last",),  # bytes of a text
    "_core/ids.pxi": (  # the number of the span of time in which an id was last seen
        "ctypedef uint32_t generation_t",
        "ctypedef uint16_t age_t",
    ),
}


def code(path: Path) -> str:
    """Return a source without docstrings, comments and text."""
    text = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
    return re.sub(r"#.*|\"[^\"\n]*\"|'[^'\n]*'", "", text)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_single_precision(path: Path) -> None:
    """A float32 stops counting at 2^24: no C float anywhere, and no float32 array."""
    assert not re.search(r"\bfloat (?:\w+\s*[,)=:]|\*)|<float\b|float32|NPY_FLOAT\b", code(path))


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_narrow_counters(path: Path) -> None:
    """Counters have 64 bits, but for one table of a batch; codes and indices of labels may have 32.

    A rank sketch names its types of 32 bits by what they hold, none of it a count.
    """
    narrow = [
        line.strip() for line in code(path).splitlines() if re.search(r"int(?:16|32)", line) and "cimport" not in line
    ]
    if name(path) == "confusion/batch.pxi":
        narrow = [line for line in narrow if "uint32" in line and "table" not in line]
    if path.parent.name == "losses":  # codes and places of labels, read and not counted
        narrow = [line for line in narrow if "const int32_t" not in line]
    narrow = [line for line in narrow if line not in NAMED.get(name(path), ())]

    assert narrow == []


def test_the_table_of_32_bits_is_emptied_in_time() -> None:
    """The batch table is added to 64-bit totals every 2^30 rows, before any of its counters can reach 2^32."""
    text = code(CORE / "confusion" / "batch.pxi")

    assert re.search(r"BLOCK = 1 << 20\b", text)
    assert re.search(r"if start % \(BLOCK << 10\) == 0:", text)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_memory_comes_from_one_place(path: Path) -> None:
    """Memory is asked of PyMem_Raw only, zeroed, which tracemalloc sees and hooks can make fail.

    `bottom_free`, `histogram_free` and `map_free` release memory with PyMem_RawFree. A lock is no memory.
    `extended` and `resize` zero what they ask for with PyMem_RawRealloc.
    """
    names = set(re.findall(r"\b(?!PyThread_)\w*(?:alloc|free)\w*(?=\()", code(path), re.IGNORECASE))
    if name(path) in ("confusion/cells.pxi", "_core/ids.pxi"):
        names.remove("PyMem_RawRealloc")

    assert names <= {
        "PyMem_RawCalloc",
        "PyMem_RawFree",
        "allocate",
        "__dealloc__",
        "bottom_free",
        "histogram_free",
        "map_free",
    }


def test_kernels_need_the_global_lock() -> None:
    """No kernel says that it works without the interpreter's lock, so importing one on a free-threaded build turns it
    on.
    """
    sources = [*SOURCES, CORE / "CMakeLists.txt"]

    assert not [path.name for path in sources if "freethreading" in path.read_text().lower()]


def constants(path: Path) -> list[str]:
    """Return the constants and global variables that a source declares, by their names in capital letters."""
    names, is_block = list[str](), False
    for line in code(path).splitlines():
        if line and not line[0].isspace():
            is_block = bool(re.match(r"cdef (?:extern|enum)", line))
            if re.match(r"cdef (?!extern|enum)|[A-Z]", line):
                names += re.findall(r"\b([A-Z][A-Z0-9_]+)(?= =)", line)
        elif is_block:
            names += re.findall(r"\b([A-Z][A-Z0-9_]+)(?= *(?:=|,|$))", line)
    return names


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_constant_has_one_meaning_in_a_module(path: Path) -> None:
    """Parts share their names: a second declaration would change the first, without an error of the compiler."""
    parts = [part for part in SOURCES if part.parent == path.parent]
    names = [constant for part in parts for constant in constants(part)]
    imported = {
        constant
        for part in parts
        for module, many, one in re.findall(r"^from ([\w.]+) cimport (?:\(([^)]*)\)|(.*))", code(part), re.MULTILINE)
        if f".{path.parent.name}." not in module
        for constant in re.findall(r"\b[A-Z][A-Z0-9_]+\b", many + one)
    }

    assert sorted(constant for constant in set(names) if names.count(constant) > 1 or constant in imported) == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_is_built_has_a_stub_and_includes_all_parts(path: Path) -> None:
    """The module of a folder is one of at most nine; a part that it does not include would not be compiled."""
    assert path.name == "kernels.pyx"
    assert len(MODULES) <= 9
    assert path.with_suffix(".pyi").read_text()
    assert str(path.parent.relative_to(PACKAGE)) in (CORE / "CMakeLists.txt").read_text()
    parts = re.findall(r'^include "(\w+\.pxi)"$', path.read_text(), re.MULTILINE)
    assert sorted(parts) == sorted(part.name for part in path.parent.glob("*.pxi"))
