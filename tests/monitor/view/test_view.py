"""The view has every key of the contract, the values of snapshots, and a bounded size, whatever was counted."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.page_views import plain
from support.pair_streams import HARD, SOFT, countable, counted, fed, pair, pairs, placed

from stream_metrics import testing
from stream_metrics.catalog.table import CATALOG
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.counts.delays import Delays
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.monitor.view.curves import MOST_POINTS
from stream_metrics.monitor.view.names import names_of
from stream_metrics.monitor.view.types import DeadLetter, JoinCounts, Lag, PartitionRow, View, to_json
from stream_metrics.monitor.view.view import WindowViews, view
from stream_metrics.monitor.view.window_reading import read
from stream_metrics.report.headlines import MONITOR
from stream_metrics.snapshots.snapshot import Snapshot

TOP = {
    "version", "title", "now", "started", "event_time", "windows", "headline", "by_window", "history", "join", "delays",
    "records", "lag", "checkpoint", "partitions", "replicas", "incomplete", "alerts", "changes", "dead_letters",
    "workers", "source", "unreadable", "flows", "reference", "undelivered", "firings",
    "annotations", "history_covers",
}  # fmt: skip
WINDOW = {
    "n", "weight", "abstained", "metrics", "estimates", "better", "range", "classes", "matrix", "curves", "groups",
    "coverage", "delay", "intervals", "interval_notes", "interval", "label_bounds", "label_bounds_missing", "warnings",
    "mismatch", "comparisons",
}  # fmt: skip
CLASS = {
    "label", "support", "predicted", "true_positives", "precision", "recall", "f1", "roc_auc", "intervals",
    "label_bounds",
}  # fmt: skip
MORE = {"late", "classes_omitted", "correct", "classes_folded"}  # beyond the contract


def shown(counts: Counts, **operation: Any) -> dict[str, Any]:
    """Return a view as it is sent, through JSON."""
    return plain(view(read([counts]), counts.config, View(event_time=counts.latest, **operation), now=200.0))


def stream(classes: list[Any], n: int, *, scores: bool, groups: int = 0) -> list[Pair]:
    """Return pairs of classes and groups by turns, of which a third are wrong."""
    rng, rows = np.random.default_rng(7), []
    for at in range(n):
        truth = classes[at % len(classes)]
        said = truth if rng.random() < 0.7 else classes[rng.integers(len(classes))]
        table = rng.random(len(classes))
        table[classes.index(said)] += 1
        soft = dict(zip(classes, (table / table.sum()).tolist(), strict=True)) if scores else MISSING
        group = f"g{at % groups}" if groups else None
        rows.append(Pair(truth, said, soft, 1, group, 100 + at / n, 100.5 + at / n, ("t", 0, at)))
    return rows


@pytest.mark.parametrize("config", [SOFT, HARD], ids=["scores", "labels"])
def test_views_that_are_used_again_are_those_of_now(config: Counting) -> None:
    """For any samples, corrections and moves of windows: the same view as one computed from nothing."""
    counts, windows, classes, used_again = Counts(config), WindowViews(), None, 0
    pairs = stream(["a", "b", "c"], 40, scores=config is SOFT, groups=2)
    for at, each in enumerate(pairs):
        if at % 3 == 0:
            counts.add([each])
            counts.predictions([each.predicted_at])
        if at == 7:
            assert counts.correct(pairs[0], pairs[0]._replace(truth="c"))
        now = 101 + at / 5
        again = view(read([counts], now), config, View(), now=now, windows=windows)
        assert to_json(again) == to_json(view(read([counts], now), config, View(), now=now))
        used_again += again.by_window["4s"].classes is classes
        classes = again.by_window["4s"].classes
    assert 10 < used_again < 38


def test_every_key_of_the_contract_is_there() -> None:
    """An empty monitor and a full one have the same keys; nothing is nan."""
    full = fed(SOFT, stream(["a", "b", "c"], 300, scores=True, groups=3))
    for counts in (Counts(SOFT), full, Counts(HARD), fed(HARD, stream(["a", "b"], 10, scores=False))):
        found = shown(counts)

        assert set(found) == TOP
        assert found["windows"] == ["total", "4s", "10s"] == list(found["by_window"])
        assert found["headline"] == list(MONITOR)
        for window in found["by_window"].values():
            assert set(window) == WINDOW | MORE
            assert set(window["matrix"]) == {"labels", "counts", "omitted"}
            assert set(window["curves"]) == {"roc", "pr", "reliability"}
            assert set(window["groups"]) == {"rows", "gaps", "folded"}
            assert set(window["coverage"]) == {"ratio", "labelled", "due"}
            assert set(window["delay"]) == {"p50", "p90", "p99"}
            assert set(window["metrics"]) == set(window["better"]) == set(window["range"]) >= set(MONITOR)
            for row in window["classes"]:
                assert set(row) == CLASS
            for row in window["groups"]["rows"]:
                assert set(row) == {"group", "n", "metrics", "intervals", "interval_notes", "classes_absent"}
                assert set(row["metrics"]) == set(MONITOR)
            for gap in window["groups"]["gaps"].values():
                assert set(gap) == {"size", "lowest", "highest", "interval", "note"}
            for curve in (*window["curves"]["roc"], *window["curves"]["pr"]):
                assert set(curve) == {"label", "x", "y"}


@given(st.sampled_from([SOFT, HARD]), st.lists(pairs(), max_size=30).map(placed))
def test_values_are_those_of_a_snapshot(config: Counting, drawn: list[Pair]) -> None:
    """Of whatever pairs, each number is that of a plain count, or null where that is 0/0."""
    drawn = countable(config, drawn)
    window = shown(fed(config, drawn))["by_window"]["total"]
    snapshot = counted(config, drawn).snapshot()

    assert (window["n"], window["weight"], window["abstained"]) == (snapshot.n, snapshot.weight, snapshot.abstained)
    assert window["correct"] == snapshot["tp_sum"]
    for key, found in window["metrics"].items():
        undefined = key in CATALOG and snapshot.estimate(key).kind == "undefined"
        expected = snapshot[key]
        assert found == (None if undefined or not math.isfinite(expected) else expected)
    assert [row["label"] for row in window["classes"]] == names_of(snapshot.labels)
    lost = set(snapshot.undefined)
    for row, label in zip(window["classes"], snapshot.labels, strict=True):
        assert row["support"] == snapshot.per_class["support"][label]
        assert row["predicted"] == snapshot.per_class["predicted_count"][label]
        assert row["true_positives"] == snapshot.per_class["tp"][label]
        for key in ("precision", "recall", "f1"):
            assert row[key] == (None if (key, label) in lost else snapshot.per_class[key][label])
        if row["roc_auc"] is not None:
            assert row["roc_auc"] == snapshot.per_class["roc_auc"][label]
    assert window["matrix"] == {
        "labels": names_of(snapshot.labels), "counts": snapshot.confusion_matrix.tolist(), "omitted": 0,
    }  # fmt: skip


def test_scores_have_areas_with_intervals_and_curves() -> None:
    """Areas, losses and curves are those of a plain count; certified intervals hold the value."""
    rows = stream(["a", "b", "c"], 900, scores=True)
    window = shown(fed(SOFT, rows))["by_window"]["10s"]
    snapshot = counted(SOFT, rows).snapshot()

    for key in ("roc_auc_ovr", "log_loss", "brier_score", "expected_calibration_error_top"):
        assert window["metrics"][key] == snapshot[key]
    estimate = snapshot.estimate("roc_auc_ovr")
    assert window["estimates"]["roc_auc_ovr"] == {"low": estimate.low, "high": estimate.high}
    assert estimate.low < window["metrics"]["roc_auc_ovr"] < estimate.high
    assert [row["roc_auc"] for row in window["classes"]] == [snapshot.per_class["roc_auc"][label] for label in "abc"]
    assert window["better"]["log_loss"] == "lower"
    assert window["range"]["log_loss"] == [0, None]
    for kind, curve_of in (("roc", snapshot.roc_curve), ("pr", snapshot.pr_curve)):
        for curve, label in zip(window["curves"][kind], "abc", strict=True):
            whole = curve_of(label)
            points = set(zip(np.round(whole.x, 5).tolist(), np.round(whole.y, 5).tolist(), strict=True))
            assert curve["label"] == label
            assert set(zip(curve["x"], curve["y"], strict=True)) <= points
            assert (curve["x"][0], curve["x"][-1]) == (0.0, 1.0)
            assert 100 < len(curve["x"]) <= MOST_POINTS
    (reliability,) = window["curves"]["reliability"]
    assert reliability["label"] == "top"
    np.testing.assert_allclose(reliability["w"], snapshot.reliability_curve().weights)


def test_a_single_score_is_one_curve() -> None:
    """Where events have the score of one class, there is a curve of that class, and an area."""
    rows = [
        Pair(at % 3 == 0, MISSING, ((at * 37) % 100) / 100, 1, None, 100.0, 101.0, ("t", 0, at)) for at in range(200)
    ]
    window = shown(fed(SOFT, rows))["by_window"]["total"]

    assert [curve["label"] for curve in window["curves"]["roc"]] == ["True"]
    assert {row["label"]: row["roc_auc"] is not None for row in window["classes"]} == {"False": False, "True": True}
    assert window["metrics"]["roc_auc_ovr"] is not None


def test_groups_come_worst_first() -> None:
    """By the first headline metric that groups have, those without a value last; groups so small have no gap."""
    rows = [
        Pair(truth, "a", MISSING, 1, group, 100.0, 101.0, ("t", 0, at))
        for at, (group, truth) in enumerate(
            [("de", "a"), ("de", "b"), ("fr", "b"), ("us", "a"), (5, None), ("it", "a")]
        )
    ]
    rows[4] = rows[4]._replace(truth="a", prediction=None)
    config = Counting(scores=True, metrics=("roc_auc_ovr", "accuracy", "matthews_corrcoef"))
    found = shown(fed(config, rows))["by_window"]["total"]["groups"]

    assert [row["group"] for row in found["rows"]] == ["fr", "de", "it", "us", "5"]
    assert [row["metrics"]["accuracy"] for row in found["rows"]] == [0.0, 0.5, 1.0, 1.0, None]
    assert found["rows"][0]["metrics"]["roc_auc_ovr"] is None
    assert found["gaps"] == {}
    lossy = Counting(metrics=("zero_one_loss",))
    assert shown(fed(lossy, rows))["by_window"]["1h"]["groups"]["rows"][0]["group"] == "fr"


def test_folded_groups_are_counted() -> None:
    """At most `max_groups` are listed; how many samples the others have is said."""
    found = shown(fed(HARD, stream(["a"], 50, scores=False, groups=5)))["by_window"]["10s"]["groups"]

    assert len(found["rows"]) == 2
    assert found["folded"] == 30


HOSTILE = [
    "<script>alert(1)</script>", "\"'`&lt;", "", " ", "1", 1, 2.0, "2.0", True and "True", b"x", "b'x'", (1, "a"),
    "(1, 'a')", "\ud800", "\x00", "x" * 100_000, "x" * 100_001, "total", "constructor", "__proto__", "\u202e",
]  # fmt: skip


def test_hostile_labels_stay_distinct_text() -> None:
    """Markup, quotes, control characters, labels with equal texts, very long ones: each is a text of its own."""
    rows = [
        Pair(label, label, MISSING, 1, label, 100.0, 101.0, ("t", 0, at)) for at, label in enumerate(HOSTILE)
    ]  # fmt: skip
    window = shown(fed(Counting(), rows))["by_window"]["1h"]
    labels = [row["label"] for row in window["classes"]]
    groups = [row["group"] for row in window["groups"]["rows"]]

    assert len(set(labels)) == len(set(groups)) == len(HOSTILE)
    assert all(type(name) is str and len(name) <= 200 for name in labels + groups)
    assert "<script>alert(1)</script>" in labels
    assert labels == window["matrix"]["labels"]
    assert sorted(labels) == sorted(groups)


@given(st.lists(testing.labels(), max_size=10, unique=True))
def test_names_are_distinct(labels: list[Any]) -> None:
    """For any labels, distinct ones have distinct names, which do not depend on the order."""
    names = names_of(labels)

    assert len(set(names)) == len(labels)
    assert names_of(labels[::-1]) == names[::-1]


@pytest.mark.parametrize("scores", [False, True])
def test_size_is_bounded(scores: bool) -> None:
    """Of 300 classes 200 are listed, 50 in the matrix, 10 in curves: those with the most samples."""
    classes = [f"class {at:03}" for at in range(300)]
    rows = stream(classes, 600, scores=False, groups=150)
    common = [row._replace(truth=name, prediction=name) for row in rows for name in ("class 299", "class 298")][:600]
    if scores:
        rows = [row._replace(scores={row.truth: 0.5, row.prediction: 0.25}) for row in rows]
    config = Counting(scores=scores)
    found = shown(fed(config, rows + common))
    window = found["by_window"]["1h"]

    assert len(window["classes"]) == 200
    assert window["classes_omitted"] == 100
    assert window["classes"][-1]["label"] == "class 299"
    assert [row["label"] for row in window["classes"]] == sorted(row["label"] for row in window["classes"])
    assert len(window["matrix"]["labels"]) == len(window["matrix"]["counts"]) == 50
    assert window["matrix"]["labels"][-2:] == ["class 298", "class 299"]
    assert window["matrix"]["omitted"] == 250
    assert len(window["curves"]["roc"]) <= 10
    assert len(window["groups"]["rows"]) == 100
    assert len(json.dumps(found)) < 400_000


def test_a_great_many_classes_are_shown() -> None:
    """Beyond the number for which a whole matrix can be had, the cells of the largest classes are there."""
    rows = [
        Pair(at % 5000, at % 4999, MISSING, 1, None, 100.0, 101.0, ("t", 0, at)) for at in range(10_000)
    ]  # fmt: skip
    config = Counting(max_classes=5_000)
    window = shown(fed(config, rows))["by_window"]["total"]

    assert window["classes_omitted"] == 4800
    assert window["matrix"]["omitted"] == 4950
    assert window["matrix"]["counts"][7][7] == 1
    assert window["metrics"]["accuracy"] == counted(config, rows).snapshot()["accuracy"]


def test_operation_is_sent_as_it_is() -> None:
    """The operation of a monitor stands beside the windows, with null where JSON has no number; what is unknown too."""
    sent = shown(
        Counts(HARD),
        join=JoinCounts(pending=3),
        lag=Lag(None, float("nan")),
        partitions=[PartitionRow(0, {"topic": 17}, None)],
        delays=Delays((1.0, 10.0), (5, 9, 3), 1.5),
        dead_letters=[DeadLetter("t", 0, 1, "label", "\ud800")],
        history={"1h": {"t": [], "n": []}},
        started=1.0,
    )

    assert sent["join"]["pending"] == 3
    assert sent["lag"] == {"records": None, "seconds": None}
    assert sent["partitions"] == [{"partition": 0, "next": {"topic": 17}, "lag": None, "owner": None, "age": None}]
    assert sent["delays"] == {"le": [1, 10], "counts": [5, 9, 3], "sum": 1.5}
    assert sent["dead_letters"][0]["detail"] == "\ud800"
    assert (sent["started"], sent["now"]) == (1.0, 200.0)
    assert sent["records"] == {"read": 0, "rejected": {}, "per_second": None, "rejected_share": None}


@pytest.mark.parametrize("config", [SOFT, HARD])
def test_json_reads_back_as_the_same_view(config: Counting) -> None:
    """The types describe the JSON: read back by them, it is the view that was written."""
    counts = fed(config, stream(["a", "b", "c"], 300, scores=config is SOFT, groups=3))
    written = view(read([counts]), config, View(event_time=counts.latest), now=200.0)

    assert msgspec.json.decode(to_json(written), type=View) == written


def test_a_monitor_without_partitions_has_a_view() -> None:
    """Before anything is assigned the view is that of empty counts."""
    assert plain(view({}, HARD, View(), now=200.0)) == shown(Counts(HARD))


def test_coverage_and_delays_are_shown() -> None:
    """Labelled of due predictions, and within what time half of the labels came."""
    counts = Counts(HARD)
    counts.predictions([100.0, 100.5, 101.0, 101.5])
    counts.add([Pair("a", "a", MISSING, 1, None, 100.0, 102.0, ("t", 0, 0))])
    window = shown(counts)["by_window"]["4s"]

    assert window["coverage"] == {"ratio": 0.25, "labelled": 1, "due": 4}
    assert window["delay"]["p50"] == pytest.approx(2.0, rel=0.125)
    assert shown(Counts(HARD))["by_window"]["4s"]["coverage"] == {"ratio": None, "labelled": 0, "due": 0}


def test_intervals_are_those_of_the_snapshot() -> None:
    """The total, watched from its start, has intervals for all looks; windows have those for one; some have none."""
    counts = fed(SOFT, stream(["a", "b", "c"], 300, scores=True))
    sets = {name: reading.state for name, reading in read([counts]).items()}

    windows = shown(counts)["by_window"]

    for name, valid in (("total", "anytime"), ("4s", "fixed"), ("10s", "fixed")):
        snapshot, found = Snapshot(sets[name].state), windows[name]
        assert (found["interval"]["level"], found["interval"]["valid"]) == (0.95, valid)
        assert found["intervals"].keys() & {"no_information_rate", "expected_calibration_error_top"} == set()
        for key in ("accuracy", "balanced_accuracy", "matthews_corrcoef"):
            expected = snapshot.interval(key, valid=valid)
            assert found["intervals"][key] == [expected.low, expected.high]
            assert expected.low < found["metrics"][key] < expected.high
        for row in found["classes"]:
            expected = snapshot.interval("recall", label=row["label"], valid=valid)
            assert row["intervals"]["recall"] == [expected.low, expected.high]


def unlabelled(counts: Counts, missing: int) -> Counts:
    """Return counts with some predictions more, which get no label."""
    counts.predictions([100.0] * missing)
    return counts


def test_missing_labels_have_bounds() -> None:
    """Beside intervals stands what the metrics would be with the least and the most favourable missing labels."""
    counts = unlabelled(fed(SOFT, stream(["a", "b", "c"], 300, scores=True)), 20)
    window = shown(counts)["by_window"]["total"]
    hits = round(300 * window["metrics"]["accuracy"])

    assert window["coverage"] == {"ratio": 300 / 320, "labelled": 300, "due": 320}
    bounds, reasons = window["label_bounds"], window["label_bounds_missing"]
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


def test_no_missing_label_leaves_nothing_open() -> None:
    """With a label for every prediction there are no such bounds, and no reasons."""
    window = shown(unlabelled(fed(HARD, stream(["a", "b"], 50, scores=False)), 0))["by_window"]["total"]

    assert window["coverage"]["ratio"] == 1.0
    assert (window["label_bounds"], window["label_bounds_missing"]) == ({}, {})
    assert [row["label_bounds"] for row in window["classes"]] == [{}, {}]


def test_missing_labels_of_weighted_samples_have_no_bounds() -> None:
    """The weight of a sample without a label is not known, and the reason says so."""
    pairs = [each._replace(weight=0.5) for each in stream(["a", "b"], 50, scores=False)]
    window = shown(unlabelled(fed(HARD, pairs), 5))["by_window"]["total"]

    assert window["label_bounds"] == {}
    assert window["label_bounds_missing"]["accuracy"].startswith("weights of samples without a label are not known")


def test_the_view_says_what_intervals_assume() -> None:
    """No view promises anything of missing, late or corrected labels."""
    windows = shown(unlabelled(fed(HARD, stream(["a", "b"], 50, scores=False)), 5))["by_window"]

    for name, looks in (("total", "all looks together"), ("4s", "one look at one moment")):
        said = windows[name]["interval"]["assumption"]
        assert said.startswith(f"for {looks}, if samples are independent and no label comes late, is missing")


def test_notes_of_intervals_are_sent() -> None:
    """A window that has seen one class says so beside the metrics that lean on the others, and on no other."""
    found = shown(fed(HARD, stream(["a"], 40, scores=False)))["by_window"]["4s"]

    assert found["interval_notes"]["balanced_accuracy"].startswith("only one class has samples")
    assert "accuracy" not in found["interval_notes"]


def test_labels_with_nothing_in_common_are_warned_of() -> None:
    """A window says that truth and predictions are of other types; one whose data look right says nothing."""
    right, wrong = (shown(fed(HARD, placed([pair(truth, said) for truth in (0, 1)]))) for said in (1, "1"))

    (warning,) = wrong["by_window"]["total"]["warnings"]
    assert warning.startswith("True labels and predictions have no class in common: 0, 1 and '1'")
    assert right["by_window"]["total"]["warnings"] == []


def test_weighted_samples_have_no_intervals() -> None:
    """Counts do not say how many samples stand behind weights."""
    pairs = [each._replace(weight=0.5) for each in stream(["a", "b"], 50, scores=False)]

    found = shown(fed(HARD, pairs))["by_window"]["total"]

    assert found["n"] == 50
    assert found["intervals"] == {}
    assert [row["intervals"] for row in found["classes"]] == [{}, {}]
