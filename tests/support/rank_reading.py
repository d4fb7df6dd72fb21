"""Sketches of one column of scores, and what snapshots read from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from support import cell_oracle


def sketched(scores: Any, own: Any, w: Any = None, buckets: int = 1024, sample: int = 512) -> sm.RankSketch:
    """Return a sketch of scores, of which `own` tells those of the positive class."""
    state = sm.RankSketch(buckets, sample, pairs=False)
    state.update_many(np.asarray(own, bool), np.asarray(scores, float), w)
    return state


def estimate(state: sm.RankSketch, key: str) -> sm.Estimate:
    """Return the estimate of a metric of the positive class."""
    return state.snapshot().estimate(key, label=True)


def bounds(area: sm.Estimate) -> tuple[float, float, float]:
    """Return the ends of an interval, with the value between them."""
    return area.low, area.value, area.high


def check_area(area: sm.Estimate, column: Any) -> set[tuple[bool, bool]]:
    """Compare an area with what plain NumPy reads from the column; return what its crowded cells are like."""
    expected = cell_oracle.roc_auc(column)
    slack = 1e-11 + 4 * column.slack / min(float(x) / column.units for x in column.totals)
    assert area.value == pytest.approx(expected.value, rel=0, abs=1e-12)
    assert area.se == pytest.approx(expected.se, rel=1e-7, abs=1e-14)
    assert bounds(area)[::2] == pytest.approx((expected.low, expected.high), rel=0, abs=slack)
    return expected.kinds
