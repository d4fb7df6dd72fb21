"""A matrix takes no more memory than its documentation says, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "support" / "matrix_memory.py"


@cache
def measured() -> list[dict[str, Any]]:
    """Return what the script reports."""
    run = subprocess.run([sys.executable, str(SCRIPT)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def bound(case: dict[str, Any]) -> int:
    """Return the documented bytes of a state."""
    k, single = case["classes"], case.get("single", False)
    square = (9.04 if single or case.get("growth") else 8) * k * k
    cells = square if k <= 1024 else 43 * case["occupied"]
    labels = k * (200 + 256 * single)
    return int(cells * (1 + case.get("fractions", False)) + labels + 6000)


@pytest.mark.parametrize("name", ["one by one", "restored", "merged", "copied", "batch", "growing"])
def test_the_documented_memory_is_not_exceeded(name: str) -> None:
    """However a state came about, with whole weights and with fractions, from two to twenty thousand classes."""
    cases = [case for case in measured() if case["name"] == name]
    assert len(cases) >= 20
    assert [(case, bound(case)) for case in cases if case["bytes"] > bound(case)] == []


@pytest.mark.parametrize("name", ["one by one", "restored", "merged", "batch"])
def test_few_occupied_cells_take_little(name: str) -> None:
    """A thousand occupied cells of a million take a twentieth of the square, labels included."""
    sizes = [case["bytes"] for case in measured() if case["name"] == name and case["classes"] == 1000]
    assert len(sizes) == 2
    assert max(sizes) < 8 * 1000**2 / 15
