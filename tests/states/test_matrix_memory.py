"""A matrix takes no more memory than its documentation says, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "support" / "matrix_memory.py"


def bound(case: dict[str, Any]) -> int:
    """Return the documented bytes of a state."""
    k, single = case["classes"], case.get("single", False)
    square = (9.04 if single or case.get("growth") else 8) * k * k
    cells = square if k <= 1024 else 43 * case["occupied"]
    labels = k * (200 + 256 * single)
    return int(cells * (1 + case.get("fractions", False)) + labels + 6000)


def test_the_documented_memory_is_not_exceeded() -> None:
    """However a state came about, from two to twenty thousand classes; a thousandth of the cells takes little."""
    run = subprocess.run([sys.executable, str(SCRIPT)], check=True, capture_output=True, text=True)
    cases = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(case, bound(case)) for case in cases if case["bytes"] > bound(case)] == []
    times = Counter(case["name"] for case in cases)
    assert times.keys() == {"one by one", "restored", "merged", "copied", "batch", "growing"}
    assert min(times.values()) >= 20
    few = [case for case in cases if case["classes"] == 1000]
    sizes = [case["bytes"] for case in few if case["name"] in ("one by one", "restored", "merged", "batch")]
    assert len(sizes) == 8
    assert max(sizes) < 8 * 1000**2 / 15
