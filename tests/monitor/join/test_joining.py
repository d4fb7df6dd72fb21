"""The join of predictions and labels equals a plain Python join of one event after another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_oracle import Oracle, recount
from support.monitor_runs import START, config, crash, lines_of, started, window

JOINS = st.fixed_dictionaries(
    {
        "max_pending": st.integers(0, 8),
        "max_joined": st.integers(0, 8),
        "in_memory": st.integers(0, 4),
        "votes": st.sampled_from([1, 2, 5, 9, 32]),
        "keep_ids": st.sampled_from(["0s", "2d"]),
        "ttl": st.sampled_from(["1s", "10s", "1h"]),
        "keep_joined": st.sampled_from(["1s", "10s", "1h"]),
    }
)
SCORES: list[Any] = [{"a": 0.25, "b": 0.75}, {"x": 0.5, "y": 0.5}, 0.5]  # a single score is that of the class true
OPTIONAL = {
    "weight": st.sampled_from([1, 2, 0.5]),
    "group": st.sampled_from(["fr", "de"]),
    "scores": st.sampled_from(SCORES),
}


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Predictions, labels and both, of few ids, so that they meet in every way; time goes on with steps and jumps."""
    now, events = START, []
    for _ in range(draw(st.integers(0, 60))):
        now += draw(st.sampled_from([0.0, 0.125, 0.25, 1.0, 5.0, -2.0, 11.0]))
        event = {"id": draw(st.integers(0, 9)), "time": now, **draw(st.fixed_dictionaries({}, optional=OPTIONAL))}
        said = draw(st.sampled_from(["prediction", "label", "both"]))
        if said == "label":
            event.pop("scores", None)
        else:
            event["prediction"] = draw(st.sampled_from(["a", "b", None]))
        truths = ["a", "b", "c", 1] if said == "label" else ["a", "b", "c"]  # 1 is refused beside scores of texts
        events.append(event if said == "prediction" else event | {"truth": draw(st.sampled_from(truths))})
    return events


def lost_nothing(counters: dict[str, int]) -> bool:
    """Return whether every prediction and every label that was read is in one place."""
    settled = ("pending", "joined", "predictions_expired", "predictions_duplicate", "refused")
    labels = ("labels_waiting", "labels_expired", "labels_late", "labels_duplicate", "labels_refused")
    labels += ("joined", "corrections", "corrections_refused", "refused")
    return counters["predictions"] == sum(map(counters.__getitem__, settled)) and counters["labels"] == sum(
        map(counters.__getitem__, labels)
    )


@given(streams(), JOINS, st.lists(st.tuples(st.integers(1, 20), st.sampled_from("nncrk")), max_size=12))
def test_it_is_what_plain_python_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, events: list[Any], join: dict[str, Any], then: list[tuple[int, str]]
) -> None:
    """Any batches, with checkpoints, restarts and kills between them, give the same pairs, counters and delays."""
    how = config(join=join, counting={"scores": True, "windows": []})
    path, records, at = tmp_path_factory.mktemp("join") / "state", lines_of(events), 0
    monitor = started(how, path)
    for size, what in then:
        monitor.step(records[at : at + size])
        at += size
        assert lost_nothing(vars(monitor.stats().counters))
        if what == "c":
            monitor.checkpoint()
        elif what in "rk":
            monitor.close() if what == "r" else crash(monitor)
            monitor = started(how, path)
            at = monitor.assign([0]).get(("t", 0), 0)  # what was not written comes again
    monitor.step(records[at:])
    oracle = Oracle(join, monitor.view().delays.le)
    for event in events:
        oracle.feed(event)
    whole = recount(oracle.pairs)
    for _ in range(2):
        stats = monitor.stats()
        assert {name: value for name, value in vars(stats.counters).items() if value} == +oracle.counters
        assert {at: n for at, n in enumerate(stats.delays.counts) if n} == oracle.delays
        assert stats.delays.sum == oracle.seconds
        assert monitor.counts().total.to_bytes() == whole.to_bytes()
        assert window(monitor).n == whole.n
        monitor.close()
        monitor = started(how, path)
    monitor.close()
