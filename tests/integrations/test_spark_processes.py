"""What needs a process of its own: Spark Connect, a driver that accepts little, and the memory of a task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.spark_session import skip_without_java

pytest.importorskip("pyspark", reason="needs PySpark")

TESTS = Path(__file__).parents[1]


def run(script: str) -> None:
    """Run a script of tests/support, which says so when all went well."""
    skip_without_java()
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(TESTS / "support" / script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["all right"], done.stdout[-3000:] + done.stderr[-3000:]


def test_spark_connect() -> None:
    """Every function works through Connect if the adapter is imported before there is a session."""
    for module in ("grpc", "grpc_status", "google.rpc"):
        pytest.importorskip(module, reason="needs what Spark Connect needs")
    run("spark_connect.py")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process as Linux gives it")
def test_small_groups_of_scores_need_little_memory() -> None:
    """A task holds a fixed number of bytes, not a sketch for each group."""
    run("spark_memory.py")


def test_one_state_reaches_the_driver() -> None:
    """A driver that cannot hold the states of all partitions gets one, for any settings of adaptive execution."""
    run("spark_driver.py")
