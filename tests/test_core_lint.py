"""Rules for the source of the compiled core that linters do not know: counters, memory, modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick
PACKAGE = Path(__file__).parents[1] / "stream_metrics"
CORE = PACKAGE / "_core"
FOLDERS = (CORE, PACKAGE / "monitor" / "_core")
SOURCES = sorted(path for folder in FOLDERS for path in folder.rglob("*.p[yx][xdi]") if path.suffix != ".pyi")
MODULES = [path for path in SOURCES if path.suffix == ".pyx"]
BELOW = ("stream_metrics._core", "stream_metrics.errors", "stream_metrics.labels")
# types of 16 or 32 bits that hold no count: a part of a weight below 2^20 whose carry goes to a counter at once, the
# number of one of at most 2^25 slots, 2^24 buckets, labels, 256 texts or spans of time, and what Arrow says of a text
NARROW_TYPE = re.compile(
    r"ctypedef u?int(?:16|32)_t (?:fraction|slot|cell|code|short_index|text_code|offset|generation|age)_t"
)
NARROW = {  # lines with 16 or 32 bits that hold no count
    "units = (units & np.uint64((1 << UNIT_BITS) - 1)).astype(np.uint32)",  # arrays of these types
    "truth = np.array(numbers, np.int32)[truth]",
    "self.codes = np.ascontiguousarray(truth, np.int32)",
    "kinds = (np.int64, np.int32, np.uint64, np.int8)",
    "cdef inline int64_t place_of(ConfusionCounters self, int32_t code, list labels, int64_t[:] places,",
    "cdef const int32_t[:] t = truth[0], p = predicted[0]",
    "int32_t index",
    "int32_t kind",
    "cdef text_code_t[::1] codes = np.empty(sum([one[0] for one in chunks]) + 1, np.int16)",
    "cdef uint32_t first, last",  # bytes of a text
}
MEMORY = {"PyMem_RawCalloc", "PyMem_RawFree", "allocate", "__dealloc__", "bottom_free", "histogram_free", "map_free"}
CIMPORT = re.compile(r"^from ([\w.]+) cimport (?:\(([^)]*)\)|(.*))", re.MULTILINE)
RESIZING = ("confusion/cells.pxi", "_core/ids.pxi")  # zero what they ask for with PyMem_RawRealloc


def name(path: Path) -> str:
    """Return the folder and the file of a source."""
    return f"{path.parent.name}/{path.name}"


def code(path: Path) -> str:
    """Return a source without docstrings, comments and text."""
    text = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
    return re.sub(r"#.*|\"[^\"\n]*\"|'[^'\n]*'", "", text)


def test_counters_are_wide() -> None:
    """A float32 stops counting at 2^24: none anywhere. Counters have 64 bits, but for one table of a batch.

    That table is added to 64-bit totals every 2^30 rows, before any of its counters can reach 2^32.
    """
    failures = []
    for path in SOURCES:
        failures += re.findall(r"\bfloat (?:\w+\s*[,)=:]|\*)|<float\b|float32|NPY_FLOAT\b", code(path))
        for line in code(path).splitlines():
            if (
                not re.search(r"int(?:16|32)", line)
                or "cimport" in line
                or line.strip() in NARROW
                or NARROW_TYPE.match(line.strip())
            ):
                continue
            is_table = name(path) == "confusion/batch.pxi" and ("uint32" not in line or "table" in line)
            is_code = path.parent.name == "losses" and "const int32_t" in line  # read and not counted
            if not is_table and not is_code:
                failures.append(f"{name(path)}: {line}")
    batch = code(CORE / "confusion" / "batch.pxi")

    assert not failures
    assert re.search(r"BLOCK = 1 << 20\b", batch)
    assert re.search(r"if start % \(BLOCK << 10\) == 0:", batch)


def test_memory_comes_from_one_place() -> None:
    """Memory is asked of PyMem_Raw only, zeroed, which tracemalloc sees and hooks can make fail."""
    failures = []
    for path in SOURCES:
        names = set(re.findall(r"\b(?!PyThread_)\w*(?:alloc|free)\w*(?=\()", code(path), re.IGNORECASE))
        names -= MEMORY | ({"PyMem_RawRealloc"} if name(path) in RESIZING else set())
        failures += [f"{name(path)}: {each}" for each in names]

    assert not failures


def test_kernels_need_the_global_lock_and_import_what_is_below_them() -> None:
    """None says that it works without the interpreter's lock; import-linter does not read Cython."""
    failures = []
    for path in [*SOURCES, CORE / "CMakeLists.txt"]:
        text = path.read_text()
        modules = re.findall(r"^\s*(?:from|cimport|import) (stream_metrics[\w.]*)", text, re.MULTILINE)
        below = BELOW if path.is_relative_to(CORE) else ("stream_metrics",)
        failures += [f"{name(path)}: {module}" for module in modules if not module.startswith(below)]
        failures += [name(path)] * ("freethreading" in text.lower())
    labels, counters = (CORE / "numeric" / "labels.pxi"), (CORE / "confusion" / "counters.pxi")

    assert not failures
    assert "from stream_metrics.labels" in labels.read_text()  # the pattern finds imports
    assert "from stream_metrics._core.numeric.kernels cimport" in counters.read_text()


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


def test_a_module_has_a_stub_includes_all_parts_and_declares_a_constant_once() -> None:
    """A part that is left out is not compiled; a second declaration changes the first without an error."""
    failures = []
    for path in MODULES:
        parts = [part for part in SOURCES if part.parent == path.parent]
        names = [constant for part in parts for constant in constants(part)]
        imports = [match for part in parts for match in CIMPORT.findall(code(part))]
        others = " ".join(many + one for module, many, one in imports if f".{path.parent.name}." not in module)
        imported = re.findall(r"\b[A-Z][A-Z0-9_]+\b", others)
        failures += sorted(constant for constant in set(names) if names.count(constant) > 1 or constant in imported)
        included = sorted(re.findall(r'^include "(\w+\.pxi)"$', path.read_text(), re.MULTILINE))
        if included != sorted(part.name for part in path.parent.glob("*.pxi")):
            failures.append(f"{name(path)}: {included}")
        if str(path.parent.relative_to(PACKAGE)) not in (CORE / "CMakeLists.txt").read_text():
            failures.append(f"{name(path)} is not built")
        failures += [] if path.with_suffix(".pyi").read_text() else [f"{name(path)} has no stub"]

    assert not failures
    assert len(MODULES) <= 9
    assert all(path.name == "kernels.pyx" for path in MODULES)
