"""Lightning itself, on two processes: the examples of both adapters count every row once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
pytest.importorskip("lightning", reason="needs Lightning", exc_type=ImportError)
pytest.importorskip("torchmetrics", reason="needs torchmetrics", exc_type=ImportError)

import stream_metrics as sm

SCRIPT = Path(__file__).parents[1] / "support" / "lightning_run.py"
Results = list[dict[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each of two ranks counted."""
    folder = tmp_path_factory.mktemp("lightning")
    paths = os.pathsep.join([str(SCRIPT.parents[2]), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": paths, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return [json.loads((folder / f"rank{rank}").read_text()) for rank in range(2)]


def whole() -> sm.MetricSet:
    """Return what one process counts of all rows."""
    from support import lightning_run as script

    x, y = script.rows()
    state = sm.MetricSet(scores=True)
    state.update_many(y, scores=x.softmax(-1), classes=script.CLASSES)
    return state


def test_the_example_counts_every_row_once(results: Results) -> None:
    """With the split of the docstring and `use_distributed_sampler=False` the bytes are those of one process."""
    expected = whole()
    snapshot = expected.snapshot()
    for rank in results:
        got = rank["as they are"]
        assert (got["n"], got["bytes"], got["error"]) == (151, expected.to_bytes().hex(), None)
        assert got["balanced_accuracy"] == pytest.approx(snapshot["balanced_accuracy"], rel=1e-6)
        assert got["roc_auc"] == pytest.approx(snapshot["roc_auc_ovo"], rel=1e-6)


def test_expect_n_tells_of_rows_that_are_lost_or_repeated(results: Results) -> None:
    """If Lightning wraps the sampler again, rows are lost; its own sampler repeats one; all ranks get an error."""
    for rank in results:
        assert (rank["wrapped again"]["n"], rank["wrapped again"]["error"]) == (76, ["expect_n", 76])
        assert (rank["padded"]["n"], rank["padded"]["error"]) == (152, ["expect_n", 152])


def test_a_logged_metric_is_merged_and_reset(results: Results) -> None:
    """`self.log` of a metric gives on every rank, in every epoch, the value of all rows."""
    expected = pytest.approx(whole().snapshot()["macro_f1"], rel=1e-6)
    for rank in results:
        assert rank["logged"] == [{"macro_f1": expected}] * 2
