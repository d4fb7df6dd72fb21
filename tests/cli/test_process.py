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


IMPORTS = """
import sys
from stream_metrics.cli.main import main
assert main(["run", *sys.argv[1:]]) == 0
print(*sorted(name for name in sys.modules if name.startswith("stream_metrics.")), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("options", "imported"),
    [
        ([], set()),
        (["--every", "1"], {"cli.running"}),
        (["--window", "2"], {"containers.rolling"}),
    ],
    ids=["plain", "every", "window"],
)
def test_a_run_imports_windows_and_running_values_where_it_uses_them(
    options: list[str], imported: set[str], tmp_path: Path
) -> None:
    """Starting takes longer than counting a small file."""
    path = tmp_path / "pairs.csv"
    path.write_text("y_true,y_pred\na,a\na,b\nb,b\n")
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(path), *options], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    some = {"cli.running", "containers.rolling", "containers.timed", "containers.fading", "cli.drawing", "plots"}

    assert {name.removeprefix("stream_metrics.") for name in done.stderr.split()} & some == imported
