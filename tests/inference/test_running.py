"""Running intervals: the intersection of all looks, their coverage, and their bytes."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import stream_metrics as sm

pytestmark = pytest.mark.quick

MATRIX = np.array([[60, 10], [5, 25]])


def snapshot(times: int = 1, matrix: np.ndarray = MATRIX) -> sm.Snapshot:
    """A snapshot of some times the counts."""
    return sm.ConfusionMatrix.from_matrix(times * matrix, ["a", "b"]).snapshot()


def test_it_is_the_intersection_of_all_looks() -> None:
    """Ends are the largest lower and the smallest upper end so far, also if the last look has others."""
    for key, label in (("accuracy", None), ("recall", "b"), ("macro_f1", None), ("matthews_corrcoef", None)):
        running, low, high = sm.RunningInterval(key, label=label), -math.inf, math.inf
        for times in (1, 3, 4, 10, 11, 30):
            alone = snapshot(times).interval(key, label=label, valid="anytime")
            low, high = max(low, alone.low), min(high, alone.high)
            assert running.look(snapshot(times)) == replace(alone, low=low, high=high), key
        assert (running.n, running.looks) == (3000, 6)


def test_nothing_is_left_of_a_population_that_changes() -> None:
    """Looks that contradict each other have no interval, and say why; so have later ones."""
    running = sm.RunningInterval("accuracy")
    running.look(snapshot(30))
    for times in (200, 300):
        actual = running.look(snapshot(times, np.array([[10, 50], [30, 10]])))
        assert np.isnan([*actual]).all()
        assert actual.note.startswith("no value was in all intervals so far")
    assert sm.from_bytes(running.to_bytes()) == running


def test_it_goes_through_bytes_and_copies() -> None:
    """A restored interval goes on where it was; copies are independent; a reset forgets."""
    running = sm.RunningInterval("recall", 0.9, label="b", t_opt=500)
    running.look(snapshot(2))
    again, copied = sm.from_bytes(running.to_bytes()), running.copy()

    assert again == copied == pickle.loads(pickle.dumps(running)) == running
    assert again.look(snapshot(3)) == running.look(snapshot(3))
    assert again == running != copied
    assert repr(again) == "RunningInterval(recall of 'b', 90 %, 2 looks, 300 samples)"
    again.reset()
    assert again == sm.RunningInterval("recall", 0.9, label="b", t_opt=500)


def test_what_is_refused() -> None:
    """Shards, other streams and metrics without a sequence are errors, and nothing has changed."""
    running, weighted = sm.RunningInterval("accuracy"), sm.ConfusionMatrix()
    running.look(snapshot(3))
    before = running.to_bytes()
    weighted.update_many(["a"] * 400, ["a"] * 400, [0.5] * 400)

    refused(lambda: running.merge(sm.RunningInterval("accuracy")), sm.MergeError, "merge the counts")
    refused(lambda: running.look(snapshot(1)), ValueError, "100 samples after 300")
    refused(lambda: running.look(weighted.snapshot()), ValueError, "weight 1")
    assert running.to_bytes() == before
    for key, label in (("accuracy", "a"), ("recall", None), ("cramers_v", None), ("chi2", None)):
        refused(lambda key=key, label=label: sm.RunningInterval(key, label=label), ValueError)  # type: ignore[misc]
    refused(lambda: sm.RunningInterval("accuracy", 1.5), ValueError, "level")
    refused(lambda: sm.RunningInterval("accuracy", t_opt=-1), ValueError, "t_opt")


def test_bytes_of_format_1_stay_readable() -> None:
    """Bytes that were once written are read, and written again."""
    written = bytes.fromhex(
        "534d455401dcba595692a772756e6e696e6798a6726563616c6ccb3feccccccccccccda162cb407f400000000000cd012c02"
        "cb3fd0000000000000cb3fe8000000000000"
    )
    running = sm.from_bytes(written)

    assert (running.key, running.level, running.label, running.t_opt) == ("recall", 0.9, "b", 500.0)
    assert (running.n, running.looks) == (300, 2)
    assert running.to_bytes() == written
