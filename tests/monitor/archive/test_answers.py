"""What a range of time is answered with: the metrics of exactly its samples, and its actual bounds."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_events import CONFIG, NOW, events
from support.monitor_oracle import recount
from support.monitor_runs import START, Clock, Monitor, config, crash, feed, pair, read, started, window
from support.refusals import all_refused

HOUR, MINUTE = 3600, 60
RETENTIONS = (["1m for 20m", "10m for 2h", "1h"], ["2m for 10m", "20m"])
KEYS = ("accuracy", "roc_auc_ovr", "macro_f1")
BASE = START - START % HOUR  # where all panes begin


def get(monitor: Monitor, query: str, status: int = 200) -> dict[str, Any]:
    """Return the answer to a query."""
    got, body = monitor.answer_range(query)
    assert got == status, body
    answer: dict[str, Any] = json.loads(body)
    return answer


samples = st.builds(
    lambda t, truth, score, group: {"t": t, "truth": truth, "scores": {"a": score, "b": 1 - score}, "group": group},
    st.integers(0, 6 * HOUR), st.sampled_from("ab"), st.integers(0, 4).map(lambda n: n / 4), st.sampled_from("vwxyz"),
)  # fmt: skip
ACTIONS = st.one_of(
    st.tuples(st.just("count"), st.lists(samples, min_size=1, max_size=5)),
    st.tuples(st.sampled_from(["checkpoint", "crash", "correct", "rule"]), st.integers(0, 10**6)),
)


@given(
    st.lists(ACTIONS, min_size=3, max_size=40), st.integers(0, 6 * HOUR), st.integers(1, 6 * HOUR), st.integers(1, 20)
)
def test_any_range_equals_a_recount(
    tmp_path_factory: pytest.TempPathFactory, actions: list[Any], start: int, length: int, most: int
) -> None:
    """Late samples, corrections, crashes and another retention in between change nothing, to the last bit."""
    path, rule = tmp_path_factory.mktemp("panes") / "state", 0
    log, final = list[dict[str, Any]](), dict[int, dict[str, Any]]()

    def begun() -> Monitor:
        """Return a monitor that goes on where the store was left."""
        store = {"retention": RETENTIONS[rule], "every_events": 10**6, "every_seconds": 10**6}
        counting = {"scores": True, "windows": []}
        monitor = started(config(counting=counting, store=store, join={"votes": 1, "keep_joined": "7d"}), path)
        at = monitor.assign([0]).get(("t", 0), 0)
        return feed(monitor, log[at:], start=at)

    monitor = begun()
    for what, value in actions:
        before = len(log)
        if what == "count":
            for sample in value:
                event = {"id": len(log), **sample, "time": BASE + sample["t"], "prediction": None}
                final[len(log)] = event
                log.append(event)
        elif what == "correct" and final:
            key = sorted(final)[value % len(final)]
            truth, time = "b" if final[key]["truth"] == "a" else "a", final[key]["time"] + 600 * (value % 3)
            final[key] = {**final[key], "truth": truth, "time": time}
            log.append({"id": key, "time": time, "truth": truth})
        feed(monitor, log[before:], start=before)
        if what == "checkpoint":
            monitor.checkpoint()
        elif what in ("crash", "rule"):
            crash(monitor) if what == "crash" else monitor.close()
            rule = (rule + (what == "rule")) % 2
            monitor = begun()
    monitor.checkpoint()
    low, high = BASE + start, BASE + start + length
    for group in (None, "v"):
        rows = [row for row in final.values() if group in (None, row["group"])]
        answer = get(monitor, f"from={low}&to={high}&points={most}&metrics=accuracy,{'' if group else 'roc_auc_ovr'}"
                     + (f"&group={group}" if group else ""))  # fmt: skip
        points = answer["points"]
        assert answer["from"] == points[0]["from"] <= low < high <= answer["to"] == points[-1]["to"]
        assert all(one["to"] == two["from"] for one, two in itertools.pairwise(points))
        for point in points:
            state = recount([row for row in rows if point["from"] <= row["time"] < point["to"]])
            expected = {key: state.snapshot()[key] if state.n else None for key in point["values"]}
            assert (point["n"], point["values"]) == (
                state.n, {key: None if value != value else value for key, value in expected.items()},
            )  # fmt: skip
    monitor.close()


def filled(**store: Any) -> Monitor:
    """Return a monitor that has stored a pair each minute of six hours."""
    stream = [pair(60 * at, "a", "a", time=BASE + 60 * at, group="v") for at in range(360)]
    monitor = read(stream, store=store, join={"votes": 1}, counting={"windows": []})
    monitor.checkpoint()
    return monitor


def lengths(answer: dict[str, Any]) -> list[float]:
    """Return the lengths of the pieces of an answer in minutes."""
    return [(point["to"] - point["from"]) / MINUTE for point in answer["points"]]


def test_a_pane_is_as_long_as_its_age_has_it() -> None:
    """Old panes become longer, each sample is in one pane, and a late one joins the pane of its time."""
    monitor = filled(retention=RETENTIONS[0])
    answer = get(monitor, "points=2000")
    sizes = lengths(answer)
    feed(monitor, [pair(1, "b", "a", time=BASE + 30, group="w")], start=360)
    monitor.checkpoint()
    again = get(monitor, "points=2000")

    assert sorted(set(sizes)) == [1, 10, 60]
    assert (sum(sizes), sizes.count(1) <= 30, sizes.count(10) <= 18) == (360, True, True)
    assert sizes == sorted(sizes, reverse=True)
    assert lengths(again) == sizes
    assert [again["points"][0]["n"], sum(point["n"] for point in again["points"])] == [61, 361]


def test_old_panes_are_deleted_after_the_last_age() -> None:
    """The answer says from when it is complete; a sample that is older than that is in the total only."""
    monitor = filled(retention=["1m for 10m", "10m for 1h"])
    first = get(monitor, "")["first"]
    feed(monitor, [pair(1, "b", "a", time=BASE)], start=360)
    monitor.checkpoint()
    answer = get(monitor, f"from={BASE}")

    assert first == answer["first"] == BASE + 290 * MINUTE
    assert answer["complete_from"] == first
    assert sum(point["n"] for point in answer["points"]) == 70
    assert window(monitor).n == 361


def test_groups_that_come_later_are_complete_from_then_on(tmp_path: Path) -> None:
    """Earlier samples are not in their panes, even if they come late, and the answer says so."""
    rows = [pair(at, "a", "a", time=BASE + 60 * at, group="v", city="x") for at in range(10)]
    join = {"votes": 1}
    feed(started(config(join=join), tmp_path / "state"), rows).close()
    monitor = started(config(join=join, fields={"group": "city"}), tmp_path / "state")
    more = [rows[9] | {"id": 20}, rows[9] | {"id": 21, "time": BASE + 600}, rows[0] | {"id": 22}]
    feed(monitor, more, start=10)
    monitor.checkpoint()
    (point,) = get(monitor, f"points=1&group=x&from={BASE}")["points"]

    assert point["n"] == 1
    assert get(monitor, f"group=x&from={BASE}")["complete_from"] == BASE + 600
    assert get(monitor, "points=1")["points"][0]["n"] == 13
    monitor.close()


def test_many_changed_panes_ask_for_a_checkpoint(tmp_path: Path) -> None:
    """Between checkpoints memory is bounded, whatever the times of samples."""
    saved, chance = list[Any](), random.Random(1)
    store = {"every_events": 10**6, "every_seconds": 10**6}
    monitor = started(config(store=store, join={"votes": 1}), tmp_path / "state")
    monitor.checkpoint()
    monitor.on_checkpoint(saved.append)
    feed(monitor, [pair(at, "a", "a", time=BASE + 60 * chance.randrange(600)) for at in range(50)])
    few = len(saved)
    feed(monitor, [pair(at, "a", "a", time=BASE + 60 * at) for at in range(100, 1300)], start=50)
    monitor.step([])

    assert (few, len(saved) > 0) == (0, True)
    monitor.close()


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    """A monitor of a quarter of an hour of events, those of before coarse by now."""
    stored = feed(started(CONFIG), [event for event in events(900, seed=2) if event != "{"])
    stored.checkpoint()
    return stored


def test_the_whole_range_has_the_metrics_of_the_total(monitor: Monitor) -> None:
    """Values, intervals and samples are those since the start, of classes too."""
    answer, snapshot = get(monitor, f"metrics={','.join(KEYS)}&points=1"), monitor.counts().total.snapshot()
    (point,), label = answer["points"], str(snapshot.labels[0])
    assert (point["n"], point["values"]) == (snapshot.n, {key: snapshot[key] for key in KEYS})
    for key in KEYS:
        interval = snapshot.interval(key)
        assert (point["low"][key], point["high"][key]) == (interval.low, interval.high)
    assert (answer["from"], answer["to"], answer["complete_from"]) == (answer["first"], answer["last"], answer["from"])

    key, strange = f"recall[{json.dumps(label)}]", 'recall["a, b"]'
    (point,) = get(monitor, f"metrics={quote(key)},accuracy&points=1")["points"]
    assert point["low"][key] < (value := point["values"][key]) < point["high"][key]
    assert value == snapshot["recall", label]
    assert get(monitor, f"metrics={quote(strange)}&points=1")["points"][0]["values"] == {strange: None}
    assert set(get(monitor, "points=1")["points"][0]["values"]) == set(monitor.view().headline)
    (point,) = get(monitor, "metrics=accuracy&points=1&group=nowhere")["points"]
    assert (point["n"], point["values"]) == (0, {"accuracy": None})


def test_times_without_samples_have_no_values(monitor: Monitor) -> None:
    """The range is as it was asked for, at times as people write them."""
    answer = get(monitor, "from=2020-01-01&to=2020-01-02&points=4&metrics=accuracy")
    assert [(point["n"], point["values"]) for point in answer["points"]] == [(0, {"accuracy": None})] * 4
    assert (answer["from"], answer["to"]) == (1577836800.0, 1577923200.0)
    assert answer["first"] > answer["to"]
    for text, time in (
        *(("now", NOW), ("-1h30m", NOW - 5400), (str(NOW - 5), NOW - 5)),
        *(("2024-01-15T22:13:20Z", 1705356800), ("2024-01-15", 1705276800)),
    ):
        assert get(monitor, f"from={text}&to={NOW + 9}&points=1")["from"] == time, text
    assert get(monitor, "from=-5&to=0&points=1")["from"] == -5
    for length, points, step in ((3600, 60, 60), (3510, 12, 300), (4000 * 86_400, 10, 0)):
        at = 1577836800 + 3600 - length % 3600
        edges = [point["to"] for point in get(monitor, f"from={at}&to={at + length}&points={points}")["points"][:-1]]
        assert len(edges) <= points
        assert not step or edges == list(range(at // step * step + step, at + length, step))


def test_a_bad_query_is_refused_with_the_reason(monitor: Monitor) -> None:
    """The answer is of status 400."""
    for query, message in (
        ("from=soon", "`from` to be a time"),
        ("from=-7x", "`from` to be a time"),
        ("from=2023-01-02&to=2023-01-01", "`to` to be after `from`"),
        ("points=0", "`points` to be from 1"),
        ("points=2001", "`points` to be from 1"),
        ("points=1e3", "`points` to be from 1"),
        ("metrics=acuracy", "did you mean 'accuracy'"),
        ("form=1", "Expected some of from, to"),
        ("from=1&from=2", "each once"),
        ("from", "bad query field"),
    ):
        assert message in get(monitor, query, 400)["error"], query


def test_answers_follow_the_stored_panes() -> None:
    """A value changes with its panes; folded groups have no number; without retention there are no samples."""
    how = config(counting={"windows": [], "max_groups": 1}, join={"votes": 1})
    monitor, seen = started(how, parts=(0, 1)), []
    for at, t in enumerate((0, 60, 60)):
        event = pair(at, "x", "x" if t else "y", time=BASE + t, group="abc"[at])
        feed(monitor, [event], start=at // 2, partition=at % 2)
        monitor.checkpoint()
        for _ in range(2):
            points = get(monitor, f"from={BASE}&to={BASE + 120}&points=2&metrics=accuracy")["points"]
            seen.append([(point["n"], point["values"]["accuracy"]) for point in points])
    assert seen[::2] == seen[1::2] == [[(1, 0.0), (0, None)], [(1, 0.0), (1, 1.0)], [(1, 0.0), (2, 1.0)]]
    groups = [get(monitor, f"group={name}&metrics=accuracy&points=1")["points"][0]["n"] for name in "abcd"]
    assert sorted(map(str, groups)) == ["1", "None", "None", "None"]

    answer = get(filled(retention=[]), "")
    assert (answer["first"], answer["last"]) == (None, None)
    assert {point["n"] for point in answer["points"]} == {0}


@pytest.mark.quick
def test_a_retention_that_cannot_be_is_refused() -> None:
    """Each length divides the next, ages grow and are at least their length; the error names the key."""
    wrong = (
        *(["7m for 1h", "1h"], ["1h for 1d", "1m"], ["1m", "1h"], ["1m for 2d", "1h for 1d"]),
        *(["1h for 1m"], ["1x for 1m"], ["1m for ever"]),
    )
    clock = Clock()
    all_refused(
        (lambda rule=rule: started(config(store={"retention": rule}), clock=clock), ValueError, "retention")
        for rule in wrong
    )
