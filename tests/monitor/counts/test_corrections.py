"""After a correction the counts are those of the corrected pair alone; a refused correction changes nothing."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from support.monitor_oracle import recount
from support.monitor_runs import START, config, feed, pair, read, started

import stream_metrics as sm
from stream_metrics import Snapshot

COUNTING: dict[str, Any] = {"windows": ["4s", "10s"], "panes": 4, "max_groups": 2}
JOIN = {"votes": 1}


def label(at: int, time: float, truth: object) -> dict[str, Any]:
    """Return a label that comes later."""
    return {"id": at, "time": START + time, "truth": truth}


def assert_exact(actual: Snapshot, exact: Snapshot) -> None:
    """Assert that what is counted exactly is equal, and that intervals hold the areas of the raw scores."""
    assert (actual.n, actual.weight, actual.scored, actual.labels) == (
        exact.n, exact.weight, exact.scored, exact.labels,
    )  # fmt: skip
    rows = sm.metrics()
    for key in exact:
        if isinstance(exact[key], float) and (rows[key].reads == "labels" or key in ("log_loss", "brier_score")):
            assert actual[key] == exact[key] or math.isnan(exact[key]), key
    for key in ("roc_auc_ovr", "average_precision_ovr", "roc_auc_micro"):
        bounds = actual.estimate(key)
        assert bounds.low - 1e-9 <= exact.estimate(key).value <= bounds.high + 1e-9, key


@pytest.mark.parametrize("digits", [1, 6])
def test_corrections_are_those_of_a_recount(tmp_path: Path, digits: int) -> None:
    """Windows and total: labels and losses to the bit, areas in their intervals, also where sketches are full."""
    rng, final, events = random.Random(digits), list[dict[str, Any]](), list[dict[str, Any]]()
    for start in range(0, 1200, 20):
        for at in range(start, start + 20):
            first = round(rng.random(), digits)
            truth = "abc"[(rng.random() < first) + (rng.random() < 0.1)]
            said = {"scores": {"a": first, "b": round(1 - first, digits)}, "weight": rng.choice([1, 1, 0.5, 3])}
            final.append(pair(at, truth, "ab"[first < 0.5], time=START + at / 90, **said))
        events += final[start:]
        for _ in range(rng.randrange(8)):
            old = rng.randrange(len(final))
            truth, time = rng.choice("abcd"), max(final[old]["time"], rng.choice([0.0, final[-1]["time"]]))
            if truth != final[old]["truth"]:
                events.append({"id": old, "time": time, "truth": truth})
                final[old] = {**final[old], "truth": truth, "time": time}
    how, path = config(counting={**COUNTING, "scores": True}, join=JOIN), tmp_path / "state"
    monitor = started(how, path)
    for at in range(0, len(events), 200):
        feed(monitor, events[at : at + 200], at_once=23, start=at)
        monitor.view()
        monitor.close()
        monitor = started(how, path)

    counts, newest = monitor.counts(), max(event["time"] for event in events)
    states = {name: each.merged(round(newest * 1e9)) for name, each in counts.windows.items()} | {"total": counts.total}
    for name, state in states.items():
        pane = math.inf if name == "total" else float(name[:-1]) / 4
        rows = [row for row in final if pane == math.inf or row["time"] // pane > newest // pane - 4]
        exact = sm.MetricSet(scores=True, buckets=100_000, pairs=False)
        for row in rows:
            exact.update(row["truth"], row["prediction"], row["weight"], scores=row["scores"])
        assert_exact(state.snapshot(), exact.snapshot())
        assert digits > 1 or state.to_bytes() == recount(rows).to_bytes()
    monitor.close()


def test_what_cannot_be_counted_changes_nothing() -> None:
    """A correction to a label that is none is refused with a reason; the pair stays as it was."""
    events = [pair(1, True, True, scores=0.5), label(1, 5, "a"), label(1, 6, 1.5), label(1, 7, [])]
    monitor, alone = (read(each, counting={**COUNTING, "scores": True}) for each in (events, events[:1]))

    assert monitor.counts().total.to_bytes() == alone.counts().total.to_bytes()
    assert sum(monitor.view().records.rejected.values()) == 3
    assert monitor.view().join.corrections == 0
