"""Snapshots, of groups too, are frozen, lazy and mappings, and convert to plain data, JSON, frames and text."""

from __future__ import annotations

import json
import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused
from support.values import snapshot
from support.widths import widest

import stream_metrics as sm

pytestmark = pytest.mark.quick
MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
ABC = ("a", "b", "c")
OTHER_ZEROS: list[Any] = [0.5, -1, "warn", math.inf]
PARTS = "n weight abstained labels confusion_matrix metrics per_class matrices undefined omitted warnings"


def snap(matrix: Any = MATRIX, labels: Any = ABC, **options: Any) -> sm.Snapshot:
    """Return a snapshot of a matrix."""
    return snapshot(matrix, labels, **options)


def test_a_snapshot_does_not_move() -> None:
    """It keeps the values of its moment, also those read later; a pickled one is the same, with its choice of keys."""
    state = sm.ConfusionMatrix()
    state.update("a", "a")
    taken = state.snapshot()
    state.update("a", "b")
    chosen = snap(keys=["macro_f1", "recall", "macro_f1"], zero_division=1.0)
    again = pickle.loads(pickle.dumps(chosen))

    assert (taken["accuracy"], taken.n, taken.labels) == (1.0, 1, ("a",))
    assert taken.confusion_matrix.tolist() == [[1]]
    assert again.to_dict() == chosen.to_dict()
    assert list(again) == ["macro_f1", "recall"] == list(dict(again))
    assert list(again.per_class) == ["recall"]
    data = again.to_dict()
    assert (list(data["metrics"]), list(data["per_class"]), data["matrices"]) == (["macro_f1"], ["recall"], {})
    assert again["accuracy"] == 0.85  # what is not listed can still be read


def test_nothing_of_it_can_be_written() -> None:
    """Attributes, arrays and values per class are read-only."""
    taken = snap()
    for name in ("n", "labels", "weight", "confusion_matrix", "undefined", "per_class", "anything"):
        refused(lambda name=name: setattr(taken, name, 1), AttributeError)  # type: ignore[misc]
    for array in (taken.confusion_matrix, taken["expected_matrix"]):
        refused(lambda array=array: array.__setitem__((0, 0), 7), ValueError, "read-only")  # type: ignore[misc]
    refused(lambda: taken.per_class["recall"].__setitem__("c", 1.0), (TypeError, AttributeError))  # type: ignore[attr-defined, arg-type]


def test_a_key_gives_a_number_all_classes_or_one() -> None:
    """A whole key is a float, a per-class key a dict, with a label a number."""
    taken = snap()
    recalls = dict(taken.per_class["recall"])

    assert type(taken["accuracy"]) is float
    assert taken["accuracy"] == 0.85
    assert recalls["c"] == 31 / 36
    assert taken["recall"] == taken.value("recall") == recalls == {label: taken["recall", label] for label in ABC}
    assert taken.value("recall", label="c") == taken["tpr", "c"] == recalls["c"]
    assert "mcc" in taken
    assert taken.get("mcc") == taken["matthews_corrcoef"]
    assert "recall" not in taken
    assert 7 not in taken
    assert set(taken.per_class) >= {"precision", "recall", "f1", "support"}
    assert len(taken.per_class) == len(list(taken.per_class))
    balanced = taken.value("weighted_balanced_accuracy", weights=dict.fromkeys(ABC, 1.0))
    assert balanced == pytest.approx(taken["balanced_accuracy"])
    assert taken.value("fbeta", beta=1.0) == pytest.approx(dict(taken.per_class["f1"]))
    assert taken.estimate("accuracy") == (0.85, 0.85, 0.85, 0.0, "exact")
    all_refused([
        (lambda: taken["recall", "z"], KeyError, "'z'"),
        (lambda: taken["accuracy", "a"], KeyError, "per-class key"),
        (lambda: taken.per_class["accuracy"], KeyError, "snapshot['accuracy']"),
        (lambda: taken["acuracy"], KeyError, "'accuracy'"),
        (lambda: taken.value("fbeta", gamma=1.0), (TypeError, ValueError), "gamma"),  # type: ignore[list-item]
        (lambda: taken.estimate("recall"), KeyError, "'recall'"),
        (lambda: taken.estimate("expected_matrix"), KeyError, "a matrix"),
        (lambda: taken.to_frame("metric"), ValueError, "`rows`"),  # type: ignore[arg-type]
        (lambda: sm.Snapshot(), ValueError, "at least one state"),
        (lambda: snap(keys=["macro_f11"]), KeyError, "'macro_f1'"),
        *((lambda zero=zero: snap(zero_division=zero), ValueError, "zero_division") for zero in OTHER_ZEROS),
    ])  # fmt: skip


def test_undefined_lists_what_was_replaced() -> None:
    """Values that are 0/0 are listed by key, or by key and label, whatever replaces them; a loss has nan by default."""
    taken, empty = snap([[40, 0], [10, 0]], ("no", "yes")), sm.ConfusionMatrix()
    matrix = [[40, 0, 0], [10, 0, 0], [0, 0, 0]]
    classes = []
    for zero in (None, 0.0, 1.0, math.nan):
        one = snap(matrix, zero_division=zero)
        classes.append([entry for entry in one.undefined if isinstance(entry, tuple)])
        assert repr(one.per_class["recall"]["c"]) == repr(zero or 0.0 if zero is None else zero)

    assert taken["matthews_corrcoef"] == taken.per_class["precision"]["yes"] == 0.0
    assert {"matthews_corrcoef", ("precision", "yes")} <= set(taken.undefined)
    assert not {"accuracy", ("recall", "yes")} & set(taken.undefined)
    assert taken.estimate("precision", "yes").kind == "undefined"
    assert snap().undefined == ()
    assert classes[0] == classes[1] == classes[2] == classes[3]
    assert empty.snapshot()["accuracy"] == 0.0
    assert math.isnan(empty.snapshot()["zero_one_loss"])
    assert sm.Snapshot(empty, zero_division=1.0)["zero_one_loss"] == 1.0


def test_data_holds_everything_in_plain_types() -> None:
    """`to_dict` survives a JSON round trip unchanged; nan is null; a chosen matrix is nested lists."""
    taken, lost = snap(), snap([[40, 0], [10, 0]], ("no", "yes"), zero_division=math.nan)
    data, holes = taken.to_dict(), json.loads(lost.to_json(indent=1))
    chosen = snap([[40, 0], [10, 0]], ("no", "yes"), keys=["expected_matrix"]).to_dict()
    ones = snap([[1, 0], [0, 2]], (0, 1)).to_dict()["metrics"]

    assert json.loads(json.dumps(data)) == data == json.loads(taken.to_json())
    assert " ".join(data) == PARTS
    assert {*data["metrics"], *data["per_class"], *data["matrices"]} == {*taken.default_keys()}
    assert data["metrics"]["majority_class"] == "b"
    assert data["confusion_matrix"] == MATRIX
    assert (data["n"], data["weight"], data["abstained"], data["omitted"]) == (100, 100, 0, {})
    assert chosen["matrices"] == {"expected_matrix": [[40.0, 0.0], [10.0, 0.0]]}
    assert holes["metrics"]["matthews_corrcoef"] is None
    assert holes["per_class"]["precision"] == {"no": 0.8, "yes": None}
    assert ["precision", "yes"] in holes["undefined"]
    assert type(ones["accuracy"]) is float  # which is not the class 1
    assert ones["majority_class"] == "1"


def test_json_names_of_labels_never_collide() -> None:
    """A text label is its own name; any other gets its repr, wrapped in its type while that is taken."""
    for labels, names in (
        (("a", "", "日本"), ["a", "", "日本"]), ((False, True), ["False", "True"]), ((-1, 0.5, 2), ["-1", "0.5", "2"]),
        ((1, "1", "int(1)"), ["int(int(1))", "1", "int(1)"]), ((b"x", "x", "b'x'"), ["bytes(b'x')", "x", "b'x'"]),
        (((1, "a"), "(1, 'a')"), ["tuple((1, 'a'))", "(1, 'a')"]),
    ):  # fmt: skip
        assert list(snap(np.eye(len(labels), dtype=int), labels).to_dict()["per_class"]["recall"]) == names


def test_samples_are_counted_apart() -> None:
    """`n` counts samples, `weight` sums their weights, abstentions are in neither metric nor matrix."""
    state, empty = sm.ConfusionMatrix(), sm.ConfusionMatrix().snapshot()
    state.update("a", "a", 2.5)
    state.update("a", None)
    taken, data = state.snapshot(), json.loads(empty.to_json())

    assert (taken.weight, taken.abstained, taken["accuracy"]) == (2.5, 1, 1.0)
    assert taken.n == state.n
    assert (data["n"], data["labels"], data["confusion_matrix"]) == (0, [], [])
    assert "accuracy" in empty.undefined
    assert repr(snap()) == "<Snapshot n=100, classes=3, accuracy=0.85>"
    assert repr(empty) == "<Snapshot n=0, classes=0>"


def test_very_many_classes_are_written_by_cell() -> None:
    """Above 4096 classes the matrix is sparse, and rows that need a square table are refused and listed."""
    state = sm.ConfusionMatrix()
    state.update_many(np.arange(5000), np.arange(5000) // 2 * 2)
    taken = state.snapshot()
    data = taken.to_dict()

    assert set(data["confusion_matrix"]) == {"rows", "columns", "values"}
    assert data["confusion_matrix"]["columns"][:4] == [0, 0, 2, 2]
    assert "generalized_mcc" in data["omitted"]
    assert not data["metrics"].keys() & set(data["omitted"])
    assert data["metrics"]["accuracy"] == 0.5
    refused(lambda: taken.confusion_matrix, ValueError, "4096")
    refused(lambda: taken["expected_matrix"], ValueError, "4096")


def test_frames() -> None:
    """One row per class, tuple labels too, or one for each number, as the report starts; 0/0 is marked."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    taken = snap()
    frame, metrics = snap(labels=("a", ("b", 1), 3)).to_frame(), taken.to_frame("metrics")
    binary = sm.evaluate([0, 1, 1, 0], scores=[0.2, 0.9, 0.4, 0.6])

    assert list(frame.index) == ["a", ("b", 1), 3]
    assert not isinstance(frame.index, pandas.MultiIndex)
    assert frame.loc["a", "recall"] == 24 / 27
    assert sorted(frame.columns) == sorted(taken.per_class)
    assert list(frame.columns)[:4] == ["precision", "recall", "f1", "support"]
    assert all(key.startswith("baseline_") for key in frame.columns[-9:])
    assert list(snap(keys=["recall", "precision"]).to_frame().columns) == ["recall", "precision"]
    assert list(metrics.columns) == ["title", "value", "low", "high", "undefined"]
    assert list(metrics.index)[:3] == ["accuracy", "balanced_accuracy", "macro_f1"]
    assert metrics["value"].to_dict() == dict(taken)  # numbers only
    matrix = taken.to_frame("confusion_matrix")
    assert (matrix.index.name, matrix.columns.name) == ("y_true", "y_pred")
    assert tuple(matrix.index) == tuple(matrix.columns) == taken.labels
    assert np.array_equal(matrix, taken.confusion_matrix)
    assert metrics["low"].isna().all()
    shown = taken.with_intervals().to_frame("metrics")
    assert tuple(shown.loc["accuracy", ["low", "high"]]) == tuple(taken.interval("accuracy"))
    assert snap([[3, 0], [0, 0]], ["a", "b"]).to_frame("metrics").loc["cohen_kappa", "undefined"]
    assert not metrics.loc[["accuracy", "macro_f1"], "undefined"].any()
    assert binary.to_frame("metrics").loc["roc_auc", "value"] == binary["roc_auc"] == 0.75


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing pandas is named, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    refused(lambda: snap().to_frame(), ImportError, "pip install pandas")


def groups(**more: Any) -> sm.ByGroup:
    """Return three groups: `good` all right, `half` half right, `bad` all wrong; and one without a prediction."""
    state = sm.ByGroup(sm.MetricSet(), **more)
    for group, predictions in (("good", "aabb"), ("half", "abab"), ("bad", "bbaa")):
        for y_true, y_pred in zip("aabb", predictions, strict=True):
            state.update(y_true, y_pred, group=group)
    state.update("a", None, group="none")
    return state


def test_worst_groups_and_gaps() -> None:
    """By the better direction of the metric; groups of 0/0 are left out; a gap has two ends."""
    taken = groups().snapshot()

    assert taken.worst("accuracy") == [("bad", 0.0), ("half", 0.5), ("good", 1.0)]
    assert taken.worst("zero_one_loss", 2) == [("bad", 1.0), ("half", 0.5)]
    assert taken.worst("recall", 1, label="a") == [("bad", 0.0)]
    assert taken.worst("accuracy", least=5) == taken.worst("recall", label="never seen") == []
    assert taken.max_gap("accuracy") == 1.0
    assert tuple(taken.gap("accuracy")) == tuple(taken.gap("precision", label="a")) == (1.0, "bad", "good")
    assert taken.values_of("accuracy") == {"bad": 0.0, "good": 1.0, "half": 0.5}
    assert math.isnan(sm.ByGroup(sm.MetricSet()).snapshot().max_gap("accuracy"))
    all_refused(
        [
            (lambda: taken.worst("support", label="a"), ValueError, "better"),
            (lambda: taken.worst("recall"), KeyError, "`label`"),
            (lambda: taken.gap("accuracy", label="a"), KeyError, "no label"),
            (lambda: taken.gap("acuracy"), KeyError, "'accuracy'"),
            (lambda: taken["nobody"], KeyError, "nobody"),
        ]
    )


def test_scores_compare_by_the_class_asked_for() -> None:
    """A per-class value of scores is that of `pos_label` unless another is named."""
    state = sm.ByGroup(sm.MetricSet(scores=True))
    for group, scores in (("up", (0.9, 0.1)), ("down", (0.1, 0.9))):
        state.update(True, scores[0], group=group)
        state.update(False, scores[1], group=group)
    taken = state.snapshot()

    assert taken.worst("roc_auc", 1) == [("down", 0.0)]
    assert taken.worst("log_loss", 1)[0][0] == "down"
    assert taken.max_gap("roc_auc", label=True) == 1.0


def test_data_has_every_group_by_name() -> None:
    """JSON holds all groups, what is folded, and all samples, of one moment; names of groups do not collide."""
    state, free = groups(max_groups=2), sm.ByGroup(sm.Accuracy())
    for key in (1, "1", ("x", 1)):
        free.update(1, 1, group=key)
    before, taken = state.snapshot().to_json(), state.snapshot()
    state.update("a", "a", group=1)
    state.update("a", "a", group="1")
    data = json.loads(state.snapshot().to_json())

    assert taken.to_json() == before != state.snapshot().to_json()
    assert set(data) == {"overall", "groups", "other", "warnings"}
    assert len(data["groups"]) == 2
    assert data["overall"]["n"] == 14 == data["other"]["n"] + sum(view["n"] for view in data["groups"].values())
    assert list(json.loads(free.snapshot().to_json())["groups"]) == ["int(1)", "1", "('x', 1)"]


def test_the_report_shows_worst_groups_and_gaps() -> None:
    """Sizes, groups from the worst, all together, and where they differ most."""
    lines = groups().snapshot().report(80).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Group"))

    assert lines[0] == "12 samples in 4 groups"
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["bad", "half", "good", "none", "(all)"]
    assert lines[start + 4].split() == ["none", "0", "-", "-", "-", "-"]
    assert lines[start + 5].split() == ["(all)", "12", "0.500", "0.500", "0.500", "0.000"]
    assert "Groups in order of balanced accuracy, worst first" in lines
    assert lines[-1].split() == ["Matthews", "correlation", "2.000", "bad", "-1.000", "good", "1.000"]
    assert str(sm.ByGroup(sm.MetricSet()).snapshot()) == "0 samples in 0 groups"
    assert repr(groups().snapshot()) == "<GroupSnapshot n=12, groups=4>"
    for inner in (sm.Accuracy(), sm.CrossEntropy(), sm.ConfusionMatrix()):
        state = sm.ByGroup(inner)
        for truth, group in ((True, "a"), (False, "b")):
            state.update(truth, 0.7 if isinstance(inner, sm.CrossEntropy) else True, group=group)
        assert "Largest difference" in state.snapshot().report(80)
    detectors = sm.ByGroup(sm.ChangeDetector(0.3, of="accuracy"))
    detectors.update_many([1] * 300, [1] * 150 + [0] * 150, group=["x", "y"] * 150)
    shown = detectors.snapshot()
    assert [line.split()[:3] for line in str(shown).splitlines()[-2:]] == [["x", "150", "4"], ["y", "150", "4"]]
    assert shown.to_json().count('"alarms": 4') == shown._repr_html_().count("of 10000") == 2


@pytest.mark.quick
def test_groups_of_detectors_have_no_metrics() -> None:
    """What compares metrics of groups says so."""
    detectors = sm.ByGroup(sm.ChangeDetector(0.2, arl=100, of=sm.outcome("accuracy")))
    detectors.update_many([1, 0, 1], [1, 1, 1], group=["a", "b", "a"])
    view = detectors.snapshot()
    for compare in (view.values_of, view.worst, view.gap, view.intervals, view.gap_interval):
        error: Any = refused(lambda: compare("accuracy"), sm.OptionError)  # noqa: B023
        assert error.argument == "groups"
    for show in (view.plot, view.with_intervals):
        assert refused(show, sm.OptionError)


def test_the_report_fits_any_width() -> None:
    """Long and strange names of groups, many groups, folded ones: no line is wider than asked for."""
    state = sm.ByGroup(sm.MetricSet(scores=True), max_groups=30, other="everybody else")
    for i in range(200):
        state.update(
            i % 3 == 0, (i % 10) / 10, group=f"a customer with a long name, number {i % 50}\n" + "长" * (i % 4)
        )
    taken = state.snapshot()
    for width in (40, 57, 80, 200):
        text = taken.report(width)
        assert widest(text) <= width
        assert "groups left out" in text
        assert "(eve" in text or width < 60
