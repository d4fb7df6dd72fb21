"""Beyond `max_classes` classes are counted as one: what stays exact, over partitions and workers, and the notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.alert_receiver import alerting
from support.monitor_runs import START, config, crash, exported, feed, lines_of, pair, read, started, window

MOST = 4
OTHER = {"__other__", "__another__"}
COUNTING: dict[str, Any] = {"windows": ["1h"], "panes": 6, "max_classes": MOST}
UNLIMITED = {**COUNTING, "max_classes": 10_000}
EITHER = pytest.mark.parametrize("scores", [False, True], ids=["labels", "scores"])


def stream(n: int, classes: int, seed: int = 1, scores: bool = False) -> list[dict[str, Any]]:
    """Return pairs of many classes, of which the first are frequent, a third of them wrong."""
    rng, pairs = np.random.default_rng(seed), []
    for at in range(n):
        truth, other = (f"c{int(x)}" for x in np.minimum(rng.exponential(2, 2), classes - 1))
        said = other if rng.random() < 0.3 else truth
        soft = {"scores": {truth: 0.2, other: 0.3, said: 0.5}} if scores else {}
        pairs.append(pair(at, truth, said, group=f"g{at % 3}", **soft))
    return pairs


def assert_exact(few: Any, whole: Any, most: int = MOST) -> set[str]:
    """Assert that samples and accuracy are exact, and every class counted apart, and return the names of these."""
    assert (few.n, few.correct, few.metrics["accuracy"]) == (whole.n, whole.correct, whole.metrics["accuracy"])
    rows, exact = ({row.label: row for row in shown.classes} for shown in (few, whole))
    apart = rows.keys() - OTHER
    assert len(apart) <= most
    for name in apart & exact.keys():
        assert (rows[name].support, rows[name].recall) == (exact[name].support, exact[name].recall)
        assert rows[name].roc_auc == pytest.approx(exact[name].roc_auc)
    return apart


@EITHER
def test_what_is_right_stays_right_and_classes_apart_are_exact(scores: bool) -> None:
    """Samples, accuracy and every class that is counted apart are those of unlimited counts; the rest is one class."""
    events = stream(600, 40, scores=scores)
    few, whole = (window(read(events, counting={**how, "scores": scores})) for how in (COUNTING, UNLIMITED))
    apart = assert_exact(few, whole)

    assert len(apart) == MOST
    assert few.classes_folded == sum(not {each["truth"], each["prediction"]} <= apart for each in events)
    assert whole.classes_folded == 0
    assert {row.n for row in few.groups.rows} == {200}
    events = stream(50, MOST, scores=scores)
    within = [read(events, counting={**how, "scores": scores}) for how in (COUNTING, UNLIMITED)]
    assert within[0].counts().parts() == within[1].counts().parts()


@EITHER
def test_batches_and_restarts_change_nothing(tmp_path: Path, scores: bool) -> None:
    """However a stream is cut, and written and read at each cut, the bytes are the same."""
    how, results = config(counting={**COUNTING, "scores": scores}), list[Any]()
    soft = {"scores": {f"d{at}": 0.25 for at in range(3)} | {"c0": 0.25}} if scores else {}
    events = stream(60, 30, scores=scores) + [pair(at, "c0", "c0", **soft) for at in range(60, 120)]
    for size in (9, 60, 120):
        monitor = started(how, tmp_path / str(size))
        for at in range(0, 120, size):
            feed(monitor, events[at : at + size], start=at).close()
            monitor = started(how, tmp_path / str(size))
        results += [monitor.counts().parts(), feed(started(how), events, size // 9).counts().parts()]
        monitor.close()
    assert all(result == results[0] for result in results)


STEPS = st.tuples(st.sampled_from(["take", "take", "save", "die"]), st.integers(0, 2), st.integers(0, 2))


@EITHER
@given(steps=st.lists(STEPS, max_size=25), seed=st.integers(0, 100))
def test_workers_of_a_store_count_the_same_classes_apart(
    tmp_path_factory: pytest.TempPathFactory, scores: bool, steps: list[tuple[str, int, int]], seed: int
) -> None:
    """Three workers take over partitions from each other, checkpoint and die: the sum is that of one that knew all."""
    how = config(counting={**COUNTING, "scores": scores, "max_classes": 3})
    path = tmp_path_factory.mktemp("workers") / "state"
    streams = [stream(15, 8, seed + part, scores=scores) for part in range(3)]
    workers, owners = dict[int, Any](), dict[int, int]()

    def take(number: int, part: int, n: int) -> None:
        """Have a worker read the next events of a partition, which it takes over as it was stored."""
        worker = workers.setdefault(number, started(how, path, parts=(), shared=True))
        if owners.get(part) != number:
            if (old := owners.pop(part, None)) in workers:
                workers[old].lost([part])
            owners[part] = number
            worker.assign([part])
        (at,) = (row.next.get("t", 0) for row in worker.view().partitions if row.partition == part)
        worker.step(lines_of(streams[part][at : at + n], at, part))

    for what, number, part in steps:
        if what == "take":
            take(number, part, 3)
        elif what == "save" and number in workers:
            workers[number].checkpoint()
        elif what == "die" and number in workers:
            crash(workers.pop(number))
            owners = {at: owner for at, owner in owners.items() if owner != number}
    for part in range(3):
        take(part, part, 100)
    for worker in workers.values():
        worker.close()
    last = started(how, path, parts=range(3), shared=True)
    exact = feed(started(config(counting={**UNLIMITED, "scores": scores}), parts=range(3)), streams[0])
    for part in (1, 2):
        feed(exact, streams[part], partition=part)

    for name in ("total", "1h"):
        assert_exact(window(last, name), window(exact, name), 3)
    assert not any("another process" in each for each in last.view().by_window["total"].warnings)
    last.close()


def test_merged_counts_are_exact() -> None:
    """Counts of processes that fold other classes have exact samples and accuracy."""
    others = [pair(at, f"x{at % 9}", f"x{at % 8}") for at in range(300)]
    a, b = (read(each, counting=COUNTING).counts() for each in (stream(300, 30), others))
    whole = read([*stream(300, 30), *(event | {"id": f"x{at}"} for at, event in enumerate(others))], counting=UNLIMITED)
    merged, exact = a.copy().merge(b).total.snapshot(), whole.counts().total.snapshot()
    assert (merged.n, merged["accuracy"]) == (exact.n, exact["accuracy"])
    assert b.copy().merge(a).total.snapshot()["accuracy"] == exact["accuracy"]


def test_scores_of_many_classes() -> None:
    """An event with more than the limit would be all the classes at once, and is rejected; fixed classes have no limit.

    A label that is none of the fixed ones is refused as it is.
    """
    events = [
        {"id": f"{n}", "time": START, "scores": {f"k{i}": 1 / n for i in range(n)}, "truth": "k1"}
        for n in (1000, 51, 50)
    ]
    monitor = read(events, counting={**COUNTING, "scores": True, "max_classes": 50})
    assert (window(monitor).n, monitor.view().records.rejected) == (1, {"score": 2})
    assert [letter.detail for letter in monitor.view().dead_letters] == [
        f"scores of {n} classes, where max_classes is 50" for n in ("51", "1,000")
    ]
    fixed = {**COUNTING, "scores": True, "labels": [f"k{at}" for at in range(60)]}
    events = [events[1], *(pair(at, f"k{at}", "k0") for at in range(60)), pair(60, "c8", "k0")]
    monitor = read(events, counting=fixed)
    shown = window(monitor)
    assert (shown.n, shown.classes_folded, monitor.view().records.rejected) == (61, 0, {"label": 1})
    assert "'c8'" in monitor.view().dead_letters[0].detail
    assert set(monitor.counts().total.snapshot().labels) == set(fixed["labels"])


@pytest.mark.parametrize("wrong", ["c1", "c29", "new"])
def test_corrections_are_exact(wrong: str) -> None:
    """A label that is corrected, from and to classes apart or folded, leaves the counts of the right one."""
    events = stream(300, 30)
    right = read(events, counting=COUNTING).counts().total.to_bytes()
    for at in (250, 251, 252, 253, 254, 255):
        label = {name: value for name, value in events[at].items() if name != "prediction"} | {"time": START + 300}
        late = [*events[:at], events[at] | {"truth": wrong}, *events[at + 1 :], label]
        assert read(late, counting=COUNTING).counts().total.to_bytes() == right


def test_scores_of_folded_classes_are_one() -> None:
    """They are added, or the largest is taken where scores are no probabilities; beside refused labels as well."""
    known = [pair(1, "a", "b"), pair(2, "c", "d")]
    soft = {"a": 0.25, "e": 0.25, "f": 0.5}
    for scores, rest in ((True, 0.75), ("any", 0.5)):
        fixed = {**COUNTING, "scores": scores, "labels": ["a", "b", "c", "d", "__other__"]}
        for n in (3, 200):
            events = [pair(at + 3, "ac"[at % 2], "a", scores=soft) for at in range(n)]
            plain = [event | {"scores": {"a": 0.25, "__other__": rest}} for event in events]
            refused = pair(n + 3, "x" * 2_000_000, "a", scores=soft)
            folded = read([*known, *events, refused], counting={**COUNTING, "scores": scores})
            named = read([*known, *plain], counting=fixed)
            assert folded.view().records.rejected == {"label": 1}
            assert window(folded).metrics["roc_auc_ovr"] == window(named).metrics["roc_auc_ovr"]
            assert window(folded).metrics.get("brier_score") == window(named).metrics.get("brier_score")


def test_folding_is_a_rule_value_a_warning_and_exported() -> None:
    """A rule may watch it; views and the exporter say it."""
    rule = "classes_folded[1h] > 20"
    monitor, alerts = alerting(counting=COUNTING, log=False, rules=[rule])
    feed(monitor, stream(300, 30))
    part, number = window(monitor, "1h"), window(monitor, "1h").classes_folded
    alerts.look()

    assert [(each.rule, each.value) for each in monitor.view().alerts] == [(rule, number)]
    assert number > 20
    assert any(each.startswith(f"{number} samples have a class beyond max_classes") for each in part.warnings)
    assert f'window_folded_predictions{{window="1h"}} {number:.1f}\n' in exported(monitor)
