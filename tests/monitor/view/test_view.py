"""The view has the values of snapshots, every key whatever was counted, a bounded size, and a summary that fits."""

from __future__ import annotations

import itertools
import json
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.inner_views import ViewCut, cut_if, facts, summary
from support.monitor_oracle import recount
from support.monitor_runs import START, Clock, Monitor, config, feed, pair, read, started
from support.page_views import empty_view, hostile_view, make_view, plain, typed

from stream_metrics import testing

COUNTING = {"windows": ["4s", "10s"], "panes": 4, "max_groups": 2}
WINDOWS = ["total", "4s", "10s"]
HEADLINE = ["accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef"]


def shown(events: Sequence[Any], **counting: Any) -> dict[str, Any]:
    """Return the view of events that have ended, as it is sent."""
    return ended(read(events, counting={**COUNTING, **counting}, join={"votes": 1}))


def ended(monitor: Monitor) -> dict[str, Any]:
    """Return the view of a monitor as it is sent, whose source has ended, so that no time passes."""
    monitor.report_source(ended=True)
    return plain(monitor.view())


def stream(classes: Sequence[Any], n: int, *, scores: bool = False, groups: int = 0) -> list[dict[str, Any]]:
    """Return pairs within a second, of classes and groups by turns, of which a third are wrong."""
    rng, events = np.random.default_rng(7), []
    for at in range(n):
        truth = classes[at % len(classes)]
        said = truth if rng.random() < 0.7 else classes[rng.integers(len(classes))]
        table = rng.random(len(classes))
        table[list(classes).index(said)] += 1
        event = pair(at, truth, said, time=START + at / n)
        if scores:
            event["scores"] = dict(zip(classes, (table / table.sum()).tolist(), strict=True))
        events.append(event | ({"group": f"g{at % groups}"} if groups else {}))
    return events


@pytest.mark.parametrize(("scores", "groups", "first"), [(True, 2, 6), (False, 2, 6), (False, 104, 320)])
def test_views_in_between_change_nothing(scores: bool, groups: int, first: int) -> None:
    """A monitor that is asked often shows what one that is asked once does, to the last bit; rows are used again."""
    tables = {"counting": {**COUNTING, "scores": scores, "max_groups": groups}, "join": {"votes": 1}}
    names = [1, "1", *range(2, groups)]  # two groups have one name
    events = [
        event | {"time": START + 10 * at / (first + 30), "group": names[at % groups]}
        for at, event in enumerate(stream("abc", first + 30, scores=scores))
    ]
    events[first + 9 : first + 9] = [{"id": at, "time": START + at, "truth": "ab"[at % 2]} for at in (1, 2)]
    clock, cuts, classes, used_again = Clock(), [0, *range(first, len(events), 3 + groups // 8)], None, 0
    asked = started(config(**tables), clock=clock)
    for start, end in itertools.pairwise([*cuts, len(events)]):
        clock.now = events[end - 1]["time"]
        feed(asked, events[start:end], start=start)
        once = ended(feed(started(config(**tables), clock=clock), events[:end]))
        for _ in range(2):
            part = ended(asked)
            assert [part[key] for key in ("by_window", "headline")] == [once[key] for key in ("by_window", "headline")]
            again = asked.view().by_window["4s"].classes
            used_again += again is classes
            classes = again
    assert len(cuts) <= used_again < 2 * len(cuts)


def test_a_view_that_is_cut_changes_nothing() -> None:
    """Windows, groups and metrics are parts; another thread is not cut, nor this one afterwards."""
    monitor, again, other = (read(stream("ab", 20, groups=2), counting=COUNTING) for _ in range(3))
    before, others = monitor.counts().parts(), list[Any]()
    for parts in range(30):
        asked = iter([False] * parts + [True])
        with pytest.raises(ViewCut), cut_if(lambda asked=asked: next(asked)):
            monitor.view()
        assert monitor.counts().parts() == before
    with cut_if(lambda: True):
        thread = threading.Thread(target=lambda: others.append(ended(other)))
        thread.start()
        thread.join()

    assert ended(monitor)["by_window"] == ended(again)["by_window"] == others[0]["by_window"]


LABELS = st.sampled_from(["a", "b", "c", 0, 1, 1.0, True, "1", "True", "", "\ud800", None])
SCORES = st.none() | st.dictionaries(st.sampled_from("abc"), testing.probabilities(), min_size=1)
PAIRS = st.fixed_dictionaries(
    {"truth": LABELS, "prediction": LABELS, "scores": SCORES, "weight": st.sampled_from([None, 1, 2, 0.5, 0])}
)


@given(st.booleans(), st.lists(PAIRS, max_size=20))
def test_values_are_those_of_a_snapshot(scores: bool, drawn: list[dict[str, Any]]) -> None:
    """For any pairs, each number is that of a plain count, or null where that is 0/0."""
    events = [{"id": at, "time": START, **each} for at, each in enumerate(drawn)]
    monitor = read(events, counting={**COUNTING, "scores": scores})
    window, snapshot = ended(monitor)["by_window"]["total"], monitor.counts().total.snapshot()

    assert (window["n"], window["weight"], window["abstained"]) == (snapshot.n, snapshot.weight, snapshot.abstained)
    assert window["correct"] == snapshot["tp_sum"]
    for key, number in window["metrics"].items():
        undefined = snapshot.estimate(key).kind == "undefined" or not math.isfinite(snapshot[key])
        assert number == (None if undefined else snapshot[key])
    lost = set(snapshot.undefined)
    names = snapshot.to_dict()["labels"]
    assert [row["label"] for row in window["classes"]] == names
    for row, label in zip(window["classes"], snapshot.labels, strict=True):
        counts = [snapshot.per_class[key][label] for key in ("support", "predicted_count", "tp")]
        assert [row["support"], row["predicted"], row["true_positives"]] == counts
        for key in ("precision", "recall", "f1"):
            assert row[key] == (None if (key, label) in lost else snapshot.per_class[key][label])
        assert row["roc_auc"] in (None, snapshot.per_class.get("roc_auc", {}).get(label))
    cells = {"labels": names, "counts": snapshot.confusion_matrix.tolist(), "omitted": 0}
    assert window["matrix"] == cells


def test_scores_have_areas_with_intervals_and_curves() -> None:
    """Areas, losses and curves are those of a plain count; certified intervals hold the value.

    Where events have the score of one class, that class has a curve, and there is an area.
    """
    events = stream("abc", 900, scores=True)
    window = shown(events, scores=True)["by_window"]["10s"]
    snapshot = recount(events).snapshot()

    for key in ("roc_auc_ovr", "log_loss", "brier_score", "expected_calibration_error_top"):
        assert window["metrics"][key] == snapshot[key]
    estimate = snapshot.estimate("roc_auc_ovr")
    assert window["estimates"]["roc_auc_ovr"] == {"low": estimate.low, "high": estimate.high}
    assert estimate.low < window["metrics"]["roc_auc_ovr"] < estimate.high
    assert [row["roc_auc"] for row in window["classes"]] == [snapshot.per_class["roc_auc"][label] for label in "abc"]
    assert (window["better"]["log_loss"], window["range"]["log_loss"]) == ("lower", [0, None])
    for kind, curve_of in (("roc", snapshot.roc_curve), ("pr", snapshot.pr_curve)):
        for curve, label in zip(window["curves"][kind], "abc", strict=True):
            whole = curve_of(label)
            points = set(zip(np.round(whole.x, 5).tolist(), np.round(whole.y, 5).tolist(), strict=True))
            assert curve["label"] == label
            assert set(zip(curve["x"], curve["y"], strict=True)) <= points
            assert (curve["x"][0], curve["x"][-1]) == (0.0, 1.0)
            assert 100 < len(curve["x"]) <= 200
    (reliability,) = window["curves"]["reliability"]
    assert reliability["label"] == "top"
    np.testing.assert_allclose(reliability["w"], snapshot.reliability_curve().weights)

    ones = [{"id": at, "time": START, "truth": at % 3 == 0, "scores": ((at * 37) % 100) / 100} for at in range(200)]
    single = shown(ones, scores=True)["by_window"]["total"]
    assert [curve["label"] for curve in single["curves"]["roc"]] == ["True"]
    assert {row["label"]: row["roc_auc"] is not None for row in single["classes"]} == {"False": False, "True": True}
    assert single["metrics"]["roc_auc_ovr"] is not None


@pytest.mark.quick
def test_groups_come_worst_first() -> None:
    """By the first metric of the headline that groups have, those without a value last; beyond the limit none."""
    pairs = [("de", "a"), ("de", "b"), ("fr", "b"), ("us", "a"), (5, "a"), ("it", "a")]
    events = [pair(at, truth, None if group == 5 else "a", group=group) for at, (group, truth) in enumerate(pairs)]
    options = {"scores": True, "max_groups": 5, "metrics": ["roc_auc_ovr", "accuracy", "matthews_corrcoef"]}
    groups = shown(events, **options)["by_window"]["total"]["groups"]
    lossy = shown(events, **options | {"scores": False, "metrics": ["zero_one_loss"]})["by_window"]["10s"]["groups"]
    folded = shown(stream("a", 50, groups=5))["by_window"]["10s"]["groups"]

    assert [row["group"] for row in groups["rows"]] == ["fr", "de", "it", "us", "5"]
    assert [row["metrics"]["accuracy"] for row in groups["rows"]] == [0.0, 0.5, 1.0, 1.0, None]
    assert groups["rows"][0]["metrics"]["roc_auc_ovr"] is None
    assert groups["gaps"] == {}
    assert lossy["rows"][0]["group"] == "fr"
    assert (len(folded["rows"]), folded["folded"]) == (2, 30)


HOSTILE = [
    "<script>alert(1)</script>", "\"'`&lt;", "", " ", "1", 1, 2.0, "2.0", "2", "True", "\ud800", "\x00", "x" * 201,
    "x" * 300, "x" * 301, "total", "constructor", "__proto__", "\u202e",
]  # fmt: skip


def test_hostile_labels_stay_distinct_text() -> None:
    """Markup, quotes, control characters, equal texts, very long ones: each is a text of its own in any order."""
    labels = []
    for order in (HOSTILE, HOSTILE[::-1]):
        events = [pair(at, label, label, time=START, group=label) for at, label in enumerate(order)]
        window = shown(events, max_groups=100)["by_window"]["10s"]
        labels.append([row["label"] for row in window["classes"]])
        assert window["matrix"]["labels"] == labels[-1]
        assert sorted(row["group"] for row in window["groups"]["rows"]) == sorted(labels[-1])

    assert labels[0] == labels[1]
    assert len(set(labels[0])) == len(HOSTILE)
    assert max(map(len, labels[0])) == 200
    assert {"<script>alert(1)</script>", "constructor", "\u202e"} <= set(labels[0])


@pytest.mark.parametrize("scores", [False, True])
def test_size_is_bounded(scores: bool) -> None:
    """Of 300 classes 200 are listed, 50 in the matrix, 10 in curves: those with the most samples."""
    classes = [f"class {at:03}" for at in range(300)]
    events = stream(classes, 600, groups=150)
    common = [event | {"truth": f"class {299 - at % 2}"} for at, event in enumerate(events)]
    events += [event | {"prediction": event["truth"], "id": 600 + at} for at, event in enumerate(common)]
    if scores:
        events[:600] = [event | {"scores": {event["truth"]: 0.5, event["prediction"]: 0.25}} for event in events[:600]]
    view = shown(events, scores=scores, max_groups=100, max_classes=1000)
    window = view["by_window"]["10s"]
    labels = [row["label"] for row in window["classes"]]

    assert (len(labels), window["classes_omitted"], labels[-1]) == (200, 100, "class 299")
    assert labels == sorted(labels)
    assert len(window["matrix"]["labels"]) == len(window["matrix"]["counts"]) == 50
    assert window["matrix"]["labels"][-2:] == ["class 298", "class 299"]
    assert window["matrix"]["omitted"] == 250
    assert len(window["curves"]["roc"]) == 10 * scores
    assert len(window["groups"]["rows"]) == 100
    assert len(json.dumps(view)) < 400_000


def test_a_great_many_classes_are_shown() -> None:
    """Beyond the number for which a whole matrix can be had, the cells of the largest classes are there."""
    events = [pair(at, at % 5000, at % 4999, time=START) for at in range(10_000)]
    window = shown(events, windows=[], max_classes=5_000)["by_window"]["total"]

    assert (window["classes_omitted"], window["matrix"]["omitted"]) == (4800, 4950)
    assert window["matrix"]["counts"][7][7] == 1
    assert window["metrics"]["accuracy"] == recount(events, False).snapshot()["accuracy"]


def test_intervals_are_those_of_the_snapshot() -> None:
    """The total, watched from its start, has intervals for all looks; windows have those for one; some have none."""
    events = stream("abc", 300, scores=True)
    windows, snapshot = shown(events, scores=True)["by_window"], recount(events).snapshot()

    for name, valid in (("total", "anytime"), ("4s", "fixed"), ("10s", "fixed")):
        part = windows[name]
        looks = "all looks together" if name == "total" else "one look at one moment"
        said = f"for {looks}, if samples are independent and no label comes late, is missing"
        assert (part["interval"]["level"], part["interval"]["valid"]) == (0.95, valid)
        assert part["interval"]["assumption"].startswith(said)
        assert part["intervals"].keys() & {"no_information_rate", "expected_calibration_error_top"} == set()
        for key in ("accuracy", "balanced_accuracy", "matthews_corrcoef"):
            expected = snapshot.interval(key, valid=valid)
            assert part["intervals"][key] == [expected.low, expected.high]
            assert expected.low < part["metrics"][key] < expected.high
        for row in part["classes"]:
            expected = snapshot.interval("recall", label=row["label"], valid=valid)
            assert row["intervals"]["recall"] == [expected.low, expected.high]


def predictions(n: int) -> list[dict[str, Any]]:
    """Return predictions that get no label."""
    return [{"id": f"unlabelled {at}", "time": START, "prediction": "a"} for at in range(n)]


def test_missing_labels_have_bounds() -> None:
    """Beside intervals stands what the metrics would be with the least and the most favourable missing labels."""
    window = shown([*predictions(20), *stream("abc", 300, scores=True)], scores=True)["by_window"]["total"]
    bounds, reasons, hits = (window[key] for key in ("label_bounds", "label_bounds_missing", "correct"))

    assert window["coverage"] == {"ratio": 300 / 320, "labelled": 300, "due": 320}
    assert bounds["accuracy"] == [hits / 320, (hits + 20) / 320]
    brier = window["metrics"]["brier_score"] * 300 / 320
    assert bounds["brier_score"] == pytest.approx([brier, brier + 2 * 20 / 320])
    assert {"balanced_accuracy", "macro_f1", "cohen_kappa", "matthews_corrcoef", "roc_auc_ovr"} <= set(bounds)
    for key, (low, high) in bounds.items():
        assert low < window["metrics"][key] < high
    assert reasons.keys() == {key for key, value in window["metrics"].items() if value is not None} - set(bounds)
    assert reasons["weighted_f1"] == "no bound is known for this metric"
    for row in window["classes"]:
        right, all_true = row["recall"] * row["support"], row["support"] + 20
        assert row["label_bounds"]["recall"] == pytest.approx([right / all_true, (right + 20) / all_true])


@pytest.mark.quick
def test_samples_of_which_less_is_known() -> None:
    """With every label there are no bounds of missing ones; with weights neither these nor intervals."""
    events = stream("ab", 50)
    whole = shown(events)["by_window"]["total"]
    weighted = shown([*(event | {"weight": 0.5} for event in events), *predictions(5)])["by_window"]["total"]

    assert whole["coverage"]["ratio"] == 1.0
    assert (whole["label_bounds"], whole["label_bounds_missing"]) == ({}, {})
    assert [row["label_bounds"] for row in whole["classes"]] == [{}, {}]
    assert (weighted["n"], weighted["intervals"], weighted["label_bounds"]) == (50, {}, {})
    assert [row["intervals"] for row in weighted["classes"]] == [{}, {}]
    assert "weights of samples without a label are not known" in weighted["label_bounds_missing"]["accuracy"]


@pytest.mark.quick
def test_notes_and_warnings_are_sent() -> None:
    """One class alone is noted beside metrics of all; labels as predictions have are not warned of."""
    notes = shown(stream("a", 40))["by_window"]["4s"]["interval_notes"]
    right = shown([pair(at, at, 1) for at in (0, 1)])["by_window"]["total"]

    assert notes["balanced_accuracy"].startswith("only one class has samples")
    assert "accuracy" not in notes
    assert right["warnings"] == []


MARKUP = ["[red]x[/red]", "\x1b[31mred", "a\nb", "", "日本語の長い名前はここで切られる", "x" * 300, "[/]"]
VIEWS = [make_view(3, 2, drift=0.5), make_view(200, 100), empty_view(), hostile_view(MARKUP)]


def test_the_summary() -> None:
    """It fits, and has every window, the worst groups, alerts with their duration, and names as they are written."""
    for view, width in itertools.product(VIEWS, (80, 140)):
        assert max(map(len, summary(typed(view), width).splitlines())) <= width
    view = make_view(4, 14, drift=0.9)
    text, hostile = summary(typed(view), 80), summary(typed(VIEWS[-1]), 100)

    assert text.startswith("window")
    assert all(f"{view['by_window'][name]['metrics']['accuracy']:.3f}" in text for name in view["windows"])
    assert "and 4 groups that do better" in text
    assert "firing for 12.3 min: balanced_accuracy[1h] < 0.8 for 5m" in text
    assert ("[red]x[/red]" in hostile, "a\\nb" in hostile, "\x1b" in hostile) == (True, True, False)

    assert "any labels" not in dict(facts(typed(view)))
    view["checkpoint"]["error"], view["incomplete"] = "disk full", ["some are gone"]
    view["by_window"]["1h"]["label_bounds"] = {"macro_f1": [0.8, 0.95], "accuracy": [0.85, 0.97], "log_loss": [0, 1]}
    said = facts(typed(view))
    assert said[-2:] == [("not saved", "disk full"), ("incomplete", "some are gone")]
    assert dict(said)["any labels"] == "accuracy 0.850 to 0.970, macro F1 0.800 to 0.950"
    assert {("labels (total)", "none is due yet"), ("delay", "no label yet")} <= set(facts(typed(empty_view())))
    for name in ("1h", "1d"):
        view["by_window"][name]["n"] = 0  # then the total is the window that facts are of
    assert "any labels" not in dict(facts(typed(view)))
