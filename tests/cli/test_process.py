"""What the command line sets up in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ONE = "OPENBLAS_NUM_THREADS"
PROGRAM = f"""
import os, sys
from stream_metrics.cli.main import main
sys.argv = ["stream-metrics", "metrics"]
main()
assert "numpy" in sys.modules
print(os.environ.get({ONE!r}), file=sys.stderr)
print(len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("given", "threads"), [({}, "1"), ({ONE: "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, "None")], ids=["none", "own", "omp"]
)
def test_numpy_starts_no_threads_unless_asked_to(given: dict[str, str], threads: str, tmp_path: Path) -> None:
    """They would wait for work in a loop."""
    clean = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=clean | given, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    variable, tasks = done.stderr.split()
    assert variable == threads
    if not given:
        assert tasks == "1"


SEARCHES = """
import gc, sys
from stream_metrics.cli.main import main
numbers = []
gc.callbacks.append(lambda phase, info: numbers.append(len(gc.get_objects()) if phase == "start" else 0))
threshold = gc.get_threshold()
sys.argv = ["stream-metrics", "metrics"]
main()
assert gc.isenabled() and gc.get_threshold() == threshold
print(max(numbers, default=0), file=sys.stderr)
"""


def test_modules_are_not_searched_for_garbage(tmp_path: Path) -> None:
    """Neither while they are imported, nor in the end: they have some fifty thousand objects."""
    done = subprocess.run([sys.executable, "-c", SEARCHES], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert int(done.stderr) < 5000
