"""Rules for the source of the compiled core that linters do not know: counters, memory, imports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick
PACKAGE = Path(__file__).parents[1] / "stream_metrics"
CORE = PACKAGE / "_core"
FOLDERS = (CORE, PACKAGE / "monitor" / "_core")
SOURCES = sorted(path for folder in FOLDERS for path in folder.rglob("*.p[yx][xdi]") if path.suffix != ".pyi")
BELOW = ("stream_metrics._core", "stream_metrics.errors", "stream_metrics.labels")
MEMORY = {"PyMem_RawCalloc", "PyMem_RawFree", "allocate", "__dealloc__", "bottom_free", "histogram_free", "map_free"}
# zero what they ask for with PyMem_RawRealloc
RESIZING = ("confusion/cells.pxi", "paired/counters.pxi", "_core/ids.pxi")


def name(path: Path) -> str:
    """Return the folder and the file of a source."""
    return f"{path.parent.name}/{path.name}"


def code(path: Path) -> str:
    """Return a source without docstrings, comments and text."""
    text = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
    return re.sub(r"#.*|\"[^\"\n]*\"|'[^'\n]*'", "", text)


def test_counters_are_wide() -> None:
    """A float32 stops counting at 2^24: none anywhere. A table of a batch has 32 bits, and is emptied every 2^30 rows.

    That every other counter has 64 bits follows from `test_limits.py`, which fills the states up to 2^63.
    """
    narrow = re.compile(r"\bfloat (?:\w+\s*[,)=:]|\*)|<float\b|float32|NPY_FLOAT\b")
    batch = code(CORE / "confusion" / "batch.pxi")

    assert not [name(path) for path in SOURCES if narrow.search(code(path))]
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
    labels, counters = (CORE / "numeric" / "kernels.pyx"), (CORE / "confusion" / "kernels.pyx")

    assert not failures
    assert "from stream_metrics.labels" in labels.read_text()  # the pattern finds imports
    assert "from stream_metrics._core.numeric.kernels cimport" in counters.read_text()
