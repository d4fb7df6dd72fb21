"""Beyond `max_classes` classes are counted as one: what stays exact, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stream_metrics.errors import DecodeError
from stream_metrics.monitor.alerts.rule_reading import parse
from stream_metrics.monitor.config import Config, Counting, Serve
from stream_metrics.monitor.counts.batches import Rows
from stream_metrics.monitor.counts.class_limit import ClassLimit
from stream_metrics.monitor.counts.class_pool import ANOTHER, OTHER, ClassPool
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING, Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.view.summary import facts
from stream_metrics.monitor.view.types import View, WindowView
from stream_metrics.monitor.view.view import view
from stream_metrics.monitor.view.window_reading import read

MOST = 4
LABELS = Counting(windows=("1h",), panes=6, max_classes=MOST)
SCORES = replace(LABELS, scores=True)
START = 1_700_000_000.0


def pair(truth: Any, said: Any, at: float = 0.0, **more: Any) -> Pair:
    """Return a pair of a time in seconds after the start."""
    given: dict[str, Any] = {"scores": MISSING, "weight": None, "group": None, "origin": ("t", 0, int(at))} | more
    return Pair(truth=truth, prediction=said, predicted_at=START + at, labelled_at=START + at, **given)


def stream(n: int, classes: int, seed: int = 1, scores: bool = False) -> list[Pair]:
    """Return pairs of many classes, of which the first are frequent, one a second, a third of them wrong."""
    rng, pairs = np.random.default_rng(seed), []
    for at in range(n):
        truth, other = (f"c{int(x)}" for x in np.minimum(rng.exponential(2, 2), classes - 1))
        said = other if rng.random() < 0.3 else truth
        soft = {truth: 0.2, other: 0.3, said: 0.5} if scores else MISSING
        pairs.append(pair(truth, said, at, scores=soft, group=f"g{at % 3}"))
    return pairs


def counted(pairs: list[Pair], config: Counting = LABELS, **more: Any) -> Counts:
    """Return the counts of pairs, which are all countable."""
    counts = Counts(config, **more)
    assert counts.add(pairs) == []
    return counts


def total(*counts: Counts) -> WindowView:
    """Return the view of the total of partitions."""
    return view(read(counts), counts[0].config, View(), now=START).by_window["total"]


@pytest.mark.parametrize("config", [LABELS, SCORES], ids=["labels", "scores"])
def test_what_is_right_stays_right_and_classes_apart_are_exact(config: Counting) -> None:
    """Samples, accuracy and every class that is counted apart are those of unlimited counts; the rest is one class."""
    pairs = stream(600, 40, scores=bool(config.scores))
    few, all_ = counted(pairs, config), counted(pairs, replace(config, max_classes=10_000))

    part, whole = total(few), total(all_)

    assert (part.n, part.correct, part.metrics["accuracy"]) == (whole.n, whole.correct, whole.metrics["accuracy"])
    rows, exact = ({row.label: row for row in shown.classes} for shown in (part, whole))
    apart = rows.keys() - {OTHER, ANOTHER}
    assert apart == few.classes.labels - few.classes.pool.exempt
    assert len(apart) == MOST
    assert all((rows[name].support, rows[name].recall) == (exact[name].support, exact[name].recall) for name in apart)
    assert all(rows[name].roc_auc == pytest.approx(exact[name].roc_auc) for name in apart)
    assert part.classes_folded == sum(not {each.truth, each.prediction} <= apart for each in pairs)
    assert whole.classes_folded == 0
    assert {row.n for row in part.groups.rows} == {200}


@pytest.mark.parametrize("config", [LABELS, SCORES], ids=["labels", "scores"])
@given(cuts=st.sets(st.integers(0, 120), max_size=4), restart=st.booleans())
def test_batches_and_restarts_change_nothing(config: Counting, cuts: set[int], restart: bool) -> None:
    """However a stream is cut, and read back from bytes at each cut, the bytes are the same."""
    pairs = stream(60, 30, scores=bool(config.scores))
    soft = {f"d{at}": 0.25 for at in range(3)} | {"c0": 0.25} if config.scores else MISSING
    pairs += [pair("c0", "c0", at, scores=soft) for at in range(60, 120)]
    counts = Counts(config)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 120], strict=True):
        counts.add(pairs[start:end])
        if restart:
            counts = Counts.from_bytes(config, counts.to_bytes())

    assert counts.to_bytes() == counted(pairs, config).to_bytes()


def test_counts_within_the_limit_have_the_bytes_of_unlimited_ones() -> None:
    """The part of the classes is written only once something was folded."""
    within, beyond = counted(stream(50, MOST)), counted(stream(300, 30))

    assert within.to_bytes() == counted(stream(50, MOST), replace(LABELS, max_classes=10_000)).to_bytes()
    assert "classes" not in within.parts()
    assert "classes" in beyond.parts()
    with pytest.raises(DecodeError, match="Expected classes as they are written"):
        Counts.from_parts(LABELS, {**beyond.parts(), "classes": b"\x07"})


def test_partitions_of_a_process_have_the_same_classes() -> None:
    """For any split into partitions, their sum is exact in every class that is counted apart."""
    pairs, pool = stream(400, 30), ClassPool(LABELS)
    parts = [Counts(LABELS, pool=pool) for _ in range(3)]
    for at in range(0, 400, 7):
        parts[at % 3].add(pairs[at : at + 7])

    shown, exact = total(*parts), total(counted(pairs, replace(LABELS, max_classes=10_000)))

    rows = {row.label: row.support for row in shown.classes}
    assert len(rows.keys() - {OTHER, ANOTHER}) == MOST
    assert all(row.support == rows[row.label] for row in exact.classes if row.label in rows)
    assert shown.correct == exact.correct
    assert not any("another process" in each for each in shown.warnings)


def test_partitions_of_other_processes_may_have_others_which_is_said() -> None:
    """Two that folded differently have exact samples and accuracy; how many classes lack samples is said."""
    a, b = stream(300, 30, 1), [pair(f"x{at % 9}", f"x{at % 8}", at) for at in range(300)]
    parts, exact = [counted(a), counted(b)], counted(a + b, replace(LABELS, max_classes=10_000))

    shown, whole = total(*parts), total(exact)

    assert (shown.n, shown.correct) == (whole.n, whole.correct)
    assert any(each.startswith("Of 8 classes some samples are counted as __other__") for each in shown.warnings)
    assert parts[0].copy().merge(parts[1]).classes.partial == parts[1].copy().merge(parts[0]).classes.partial


@pytest.mark.parametrize("wrong", ["c1", "c29", "new"])
def test_corrections_are_exact(wrong: str) -> None:
    """A label that is corrected, from and to classes apart or folded, leaves the counts of the right one."""
    pairs = stream(300, 30)
    for at in (250, 251, 252, 253, 254, 255):
        counts = counted([*pairs[:at], pairs[at]._replace(truth=wrong), *pairs[at + 1 :]])
        assert counts.correct(pairs[at]._replace(truth=wrong), pairs[at])
        assert counts.to_bytes() == counted(pairs).to_bytes()


def test_scores_of_folded_classes_are_one() -> None:
    """They are added, or the largest is taken where scores are no probabilities; a mapping and a table are alike."""
    soft = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.1, "e": 0.1, "f": 0.2}
    any_score = replace(LABELS, scores="any")
    for config, rest in ((SCORES, 0.3), (any_score, 0.2)):
        few = replace(config, labels=("a", "b", "c", "d", OTHER))
        plain = {**{name: soft[name] for name in "abcd"}, OTHER: rest}
        for n in (3, 200):
            made = counted([pair("a", "c", at, scores=soft) for at in range(n)], config)
            named = counted([pair("a", "c", at, scores=plain) for at in range(n)], few)
            assert total(made).metrics["roc_auc_ovr"] == total(named).metrics["roc_auc_ovr"]
            assert total(made).metrics.get("brier_score") == total(named).metrics.get("brier_score")


def test_an_event_with_too_many_scores_is_rejected() -> None:
    """It would be all the classes at once; with fixed labels there is no such limit."""
    monitor = Monitor(Config(counting=replace(SCORES, max_classes=50)), clock=lambda: START)
    monitor.assign([0])
    events = [
        {"id": 1, "time": START, "scores": {f"k{i}": 0.001 for i in range(1_000)}, "truth": "k1"},
        {"id": 2, "time": START, "scores": {"a": 0.9, "b": 0.1}, "truth": "a"},
    ]
    values = [json.dumps(event).encode() for event in events]
    monitor.step([Record("t", 0, at, at + 1, None, None, value) for at, value in enumerate(values)])
    shown = monitor.view()

    assert (shown.by_window["total"].n, shown.records.rejected) == (1, {"score": 1})
    assert shown.dead_letters[0].detail == "scores of 1,000 classes, where max_classes is 50"
    names = tuple(f"k{i}" for i in range(60))
    fixed = Monitor(Config(counting=replace(SCORES, max_classes=50, labels=names)), clock=lambda: START)
    fixed.assign([0])
    event = {"id": 1, "time": START, "scores": dict.fromkeys(names, 1 / 60), "truth": "k1"}
    fixed.step([Record("t", 0, 0, 1, None, None, json.dumps(event).encode())])
    assert fixed.view().by_window["total"].n == 1


def test_folding_is_a_rule_value_a_warning_and_a_fact() -> None:
    """A rule may watch it; views, the terminal and the exporter say it."""
    counts = counted(stream(300, 30))
    shown = view(read([counts]), LABELS, View(), now=START)
    rule = parse("classes_folded[1h] > 0")

    part = shown.by_window["1h"]
    number = part.classes_folded
    assert rule.read(shown) == number > 20
    assert any(each.startswith(f"{number} samples have a class beyond max_classes") for each in part.warnings)
    assert f'window_folded_predictions{{model="{shown.title}",window="1h"}} {number:.1f}\n' in text(shown, Serve())
    assert ("classes", f"{number} samples are of further classes, counted as one") in facts(shown)
    with pytest.raises(ValueError, match=r"`max_classes` in \[counting\] to be a whole number >= 1"):
        Counts(replace(LABELS, max_classes=0))


def test_a_refused_label_lets_no_class_of_scores_pass() -> None:
    """The rows beside it in a batch have scores of a class beyond the limit, which are folded all the same."""
    limit = ClassLimit(ClassPool(Counting(max_classes=2)))
    rows = Rows([0], ["a"], ["b"], None, [{"a": 0.5, "b": 0.5}])
    assert limit.fold([rows]) == [rows]
    scores = [{"a": 0.25, "b": 0.25, "c": 0.5}, {"a": 1.0}]
    (folded,) = limit.fold([Rows([1, 2], ["a", ["x"]], ["b", "b"], None, scores)])

    assert folded.scores == [{"a": 0.25, "b": 0.25, OTHER: 0.5}, {"a": 1.0}]
    assert folded.truths == ["a", ["x"]]
