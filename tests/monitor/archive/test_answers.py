"""What a range is answered with: the metrics of exactly its samples, and its actual bounds."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import structs
from support.memory_panes import MemoryPanes
from support.monitor_events import CONFIG, NOW, START, events, offline, records

import stream_metrics as sm
from stream_metrics.monitor.archive.answers import RangeAnswers, asked
from stream_metrics.monitor.archive.moments import moment
from stream_metrics.monitor.archive.retention import Retention
from stream_metrics.monitor.archive.writing import COUNTS, Archive, by_group
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.monitor import Monitor

SECOND = 10**9
STRANGE = 'recall["a, b"]'
KEYS = ("accuracy", "roc_auc_ovr", "macro_f1")


def get(monitor: Monitor, query: str, status: int = 200) -> dict[str, Any]:
    """Return the answer to a query."""
    got, body = monitor.answer_range(query)
    assert got == status, body
    answer: dict[str, Any] = json.loads(body)
    return answer


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    """A monitor of a quarter of an hour of events, those of before coarse by now."""
    made = offline(records(events(900, seed=2)))
    made.checkpoint()
    return made


def test_the_whole_range_has_the_metrics_of_the_total(monitor: Monitor) -> None:
    """Values, intervals and the number of samples are those of what was counted since the start."""
    answer = get(monitor, f"metrics={','.join(KEYS)}&points=1")
    snapshot = monitor.counts().total.snapshot()
    (point,) = answer["points"]
    assert point["n"] == snapshot.n
    assert point["values"] == {key: snapshot[key] for key in KEYS}
    for key in KEYS:
        interval = snapshot.interval(key)
        assert (point["low"][key], point["high"][key]) == (interval.low, interval.high)
    assert (answer["from"], answer["to"]) == (answer["first"], answer["last"])
    assert answer["complete_from"] == answer["from"]


def test_metrics_of_a_class_are_named_as_in_rules(monitor: Monitor) -> None:
    """A comma inside the name of a class is part of it; without metrics those of the headline are answered."""
    label = monitor.counts().total.state.labels[0]
    key = f"recall[{json.dumps(label)}]"
    (point,) = get(monitor, f"metrics={quote(key)},accuracy&points=1")["points"]
    (other,) = get(monitor, f"metrics={quote(STRANGE)}&points=1")["points"]
    (headline,) = get(monitor, "points=1")["points"]

    assert point["values"][key] == monitor.counts().total.snapshot()["recall", label]
    assert point["low"][key] < point["values"][key] < point["high"][key]
    assert other["values"] == {STRANGE: None}
    assert set(headline["values"]) == set(monitor.view().headline)


def test_a_group_has_its_own_values(monitor: Monitor) -> None:
    groups = monitor.counts().total_groups.snapshot()
    for name in groups:
        (point,) = get(monitor, f"metrics=accuracy&points=1&group={name}")["points"]
        assert point["n"] == groups[name].n
        assert point["values"]["accuracy"] == groups[name]["accuracy"]
    (point,) = get(monitor, "metrics=accuracy&points=1&group=nowhere")["points"]
    assert (point["n"], point["values"]) == (0, {"accuracy": None})


def test_pieces_add_up_and_say_their_bounds(monitor: Monitor) -> None:
    """Where panes are coarse, pieces are longer than was asked for, and the ends of the range move outwards."""
    low, high = START + 100.5, START + 700.25
    answer = get(monitor, f"from={low}&to={high}&points=100")
    points = answer["points"]
    assert answer["from"] == points[0]["from"] <= low
    assert answer["to"] == points[-1]["to"] >= high
    assert all(a["to"] == b["from"] for a, b in itertools.pairwise(points))
    assert max(point["to"] - point["from"] for point in points) > 60
    (whole,) = get(monitor, f"from={answer['from']}&to={answer['to']}&points=1")["points"]
    assert sum(point["n"] for point in points) == whole["n"] > 0


def test_times_without_samples_have_no_values(monitor: Monitor) -> None:
    answer = get(monitor, "from=2020-01-01&to=2020-01-02&points=4&metrics=accuracy")
    assert [point["n"] for point in answer["points"]] == [0] * 4
    assert answer["points"][0]["values"] == {"accuracy": None}
    assert (answer["from"], answer["to"]) == (1577836800.0, 1577923200.0)
    assert answer["first"] > answer["to"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("from=soon", "`from` to be a time"),
        ("from=-7x", "`from` to be a time"),
        ("from=2023-01-02&to=2023-01-01", "`to` to be after `from`"),
        ("points=0", "`points` to be from 1"),
        ("points=9999999", "`points` to be from 1"),
        ("points=1e3", "`points` to be from 1"),
        ("metrics=acuracy", "did you mean 'accuracy'"),
        ("form=1", "Expected some of from, to"),
        ("from=1&from=2", "each once"),
        ("from", "bad query field"),
    ],
)
def test_a_bad_query_is_refused_with_the_reason(monitor: Monitor, query: str, message: str) -> None:
    assert message in get(monitor, query, 400)["error"]


def test_times_are_read_as_people_write_them() -> None:
    now = 1_700_000_000.5
    assert moment("now", "from", now) == 1_700_000_000_500_000_000
    assert moment("-1h30m", "from", now) == moment("now", "from", now) - 5400 * SECOND
    assert moment("1700000000", "from", now) == 1_700_000_000 * SECOND
    assert moment("-5", "from", now) == -5 * SECOND
    assert moment("2023-11-14T22:13:20Z", "from", now) == 1_700_000_000 * SECOND
    assert moment("2023-11-15", "from", now) == 1_700_006_400 * SECOND


def answers(rows: MemoryPanes) -> RangeAnswers:
    @contextmanager
    def opened() -> Iterator[MemoryPanes]:
        yield rows

    return RangeAnswers(opened, "country")


def test_a_group_that_was_counted_with_others_is_not_shown_as_absent() -> None:
    """Beyond the limit of groups the number of its samples is unknown: there is no number, rather than 0."""
    rows, empty = MemoryPanes(), {COUNTS: sm.MetricSet(), by_group("country"): sm.ByGroup(sm.ConfusionMatrix(), 1)}
    archive = Archive(Retention.of(["1m"]), empty, rows, 0)
    archive.add_samples(0, [("x", "x", 1, name) for name in "abc"], 0)
    rows.checkpoint(0, archive, 0)
    points = [answers(rows).answer(asked(f"group={name}&metrics=accuracy", (), 0.0))["points"][0] for name in "abcd"]
    assert sorted(str(point["n"]) for point in points) == ["1", "None", "None", "None"]


def test_a_value_is_computed_once_until_its_panes_change() -> None:
    rows, empty = MemoryPanes(), {COUNTS: sm.MetricSet(), by_group("country"): sm.ByGroup(sm.ConfusionMatrix(), 1)}
    archive = Archive(Retention.of(["1m"]), empty, rows, 0)
    ask, bodies, read = answers(rows), rows.bodies, []
    rows.bodies = lambda *args: read.append(args) or bodies(*args)  # type: ignore[method-assign, func-returns-value]
    seen = []
    for t in (0, 60, 60):
        state = sm.MetricSet()
        state.update("x", "x" if t else "y")
        archive.add(COUNTS, t * SECOND, state, 0)
        rows.checkpoint(0, archive, t * SECOND)
        for _ in range(2):
            what = asked("from=0&to=120&points=2&metrics=accuracy", (), 0.0)
            seen.append([(point["n"], point["values"]["accuracy"]) for point in ask.answer(what)["points"]])
    assert seen[::2] == seen[1::2] == [[(1, 0.0), (0, None)], [(1, 0.0), (1, 1.0)], [(1, 0.0), (2, 1.0)]]
    assert len(read) == 3


def test_without_retention_there_is_nothing_to_read() -> None:
    config = structs.replace(CONFIG, store=StoreConfig(retention=()))
    monitor = offline(records(events(50)), config)
    monitor.checkpoint()
    answer = get(monitor, "")
    assert (answer["first"], answer["last"]) == (None, None)
    assert [point["n"] for point in answer["points"]] == [0] * len(answer["points"])


def test_partitions_are_read_together() -> None:
    config = Config(counting=Counting(windows=("1h",)))
    stream = events(300, seed=4)
    monitor = Monitor(config, clock=lambda: NOW)
    monitor.assign([0, 1])
    for part in (0, 1):
        monitor.step(records(stream[part::2], part))
    monitor.checkpoint()
    (point,) = get(monitor, "points=1&metrics=accuracy")["points"]
    total = monitor.counts().total.snapshot()
    assert (point["n"], point["values"]["accuracy"]) == (total.n, total["accuracy"])
