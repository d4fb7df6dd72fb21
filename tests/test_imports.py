"""Compiled counters import no more than what is below them; the contracts of import-linter say it of the rest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[1] / "stream_metrics" / "_core"
BELOW = ("stream_metrics._core", "stream_metrics.errors", "stream_metrics.labels")
SOURCES = sorted(path for ending in ("pyx", "pxd", "pxi") for path in KERNELS.rglob(f"*.{ending}"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_kernels_import_what_is_below_them(path: Path) -> None:
    """import-linter does not read Cython."""
    modules = re.findall(r"^\s*(?:from|cimport|import) (stream_metrics[\w.]*)", path.read_text(), re.MULTILINE)

    assert [module for module in modules if not module.startswith(BELOW)] == []


def test_the_pattern_finds_imports() -> None:
    """Of the kernel of the confusion matrix, the labels and another kernel."""
    text = (KERNELS / "numeric" / "labels.pxi").read_text()

    assert "from stream_metrics.labels" in text
    assert "from stream_metrics._core.numeric.kernels cimport" in (KERNELS / "confusion" / "counters.pxi").read_text()
