"""Snapshots: frozen, lazy, and plain data on request."""

from __future__ import annotations

import json
import math
import pickle
import sys

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import snapshot as module
from stream_metrics.catalog import CATALOG
from stream_metrics.snapshot import Snapshot, label_names

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]


def snap(matrix=MATRIX, labels=("a", "b", "c"), **options):
    """Return a snapshot of a matrix."""
    return Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels), **options)


def test_values_of_whole_keys_are_floats():
    """A whole-matrix key gives a plain float."""
    value = snap()["accuracy"]

    assert type(value) is float
    assert value == 0.85


def test_later_updates_do_not_move_a_snapshot():
    """A snapshot keeps the values of its moment, also those read for the first time later."""
    state = sm.ConfusionMatrix()
    state.update("a", "a")
    taken = state.snapshot()
    state.update("a", "b")

    assert taken["accuracy"] == 1.0
    assert taken.confusion_matrix.tolist() == [[1]]
    assert (taken.n, taken.labels) == (1, ("a",))


def test_values_are_computed_once_and_only_on_demand(monkeypatch):
    """Taking a snapshot computes nothing, reading a key computes it once."""
    computed = []
    real = module.evaluate

    def counting(row, *arguments, **options):
        computed.append(row.key)
        return real(row, *arguments, **options)

    monkeypatch.setattr(module, "evaluate", counting)
    taken = snap()
    assert computed == []
    assert taken["cohen_kappa"] == taken["cohen_kappa"]
    assert taken.per_class["recall"]["a"] == taken.per_class["recall"]["a"]

    assert computed == ["cohen_kappa", "recall"]


@pytest.mark.parametrize("name", ["n", "labels", "weight", "confusion_matrix", "undefined", "per_class", "anything"])
def test_attributes_cannot_be_assigned(name):
    """No attribute of a snapshot can be set."""
    with pytest.raises(AttributeError):
        setattr(snap(), name, 1)


def test_arrays_are_read_only():
    """The confusion matrix and the matrix-valued metrics cannot be written to."""
    taken = snap()
    for array in (taken.confusion_matrix, taken["expected_matrix"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7


def test_per_class_values_are_a_read_only_mapping():
    """`per_class` maps keys to labels to floats, and refuses assignment."""
    taken = snap()

    assert taken.per_class["recall"]["c"] == 31 / 36
    assert list(taken.per_class["recall"]) == ["a", "b", "c"]
    assert set(taken.per_class) >= {"precision", "recall", "f1", "support"}
    assert len(taken.per_class) == len(list(taken.per_class))
    with pytest.raises(TypeError):
        taken.per_class["recall"]["c"] = 1.0


def test_a_per_class_key_points_to_per_class():
    """Asking for a per-class key as if it were one value says where to find it, and the other way round."""
    with pytest.raises(KeyError, match=r"per_class\['recall'\]\[label\]"):
        snap()["recall"]
    with pytest.raises(KeyError, match=r"snapshot\['accuracy'\]"):
        snap().per_class["accuracy"]


def test_an_unknown_key_suggests_a_known_one():
    """A misspelt key is answered with its neighbours."""
    with pytest.raises(KeyError, match="accuracy"):
        snap()["acuracy"]


def test_iteration_membership_and_length_agree():
    """Iteration, `in` and `len` describe the same whole-matrix keys."""
    taken = snap()
    keys = list(taken)

    assert len(taken) == len(keys) == len(set(keys))
    assert all(key in taken for key in keys)
    assert "accuracy" in taken
    assert "recall" not in taken
    assert 7 not in taken


def test_chosen_keys_limit_what_is_listed_but_not_what_can_be_read():
    """`keys` decides iteration and data; any other row can still be read."""
    taken = snap(keys=["macro_f1", "recall", "macro_f1"])
    data = taken.to_dict()

    assert list(taken) == ["macro_f1"]
    assert list(taken.per_class) == ["recall"]
    assert (list(data["metrics"]), list(data["per_class"]), data["matrices"]) == (["macro_f1"], ["recall"], {})
    assert taken["accuracy"] == 0.85


def test_an_unknown_chosen_key_is_refused_at_once():
    """A snapshot with a misspelt key is never made."""
    with pytest.raises(KeyError):
        snap(keys=["macro_f11"])


@pytest.mark.parametrize("zero_division", [0.5, -1, "warn", None])
def test_other_zero_divisions_are_refused(zero_division):
    """Only 0.0, 1.0 and nan may stand for 0/0."""
    with pytest.raises(ValueError, match="zero_division"):
        snap(zero_division=zero_division)


def test_value_takes_the_options_of_the_formula():
    """`value` passes options on: whole keys give a float, per-class keys a dict."""
    taken = snap()
    equal = {"a": 1.0, "b": 1.0, "c": 1.0}

    assert taken.value("weighted_balanced_accuracy", weights=equal) == pytest.approx(taken["balanced_accuracy"])
    assert taken.value("fbeta", beta=1.0) == pytest.approx(dict(taken.per_class["f1"]))
    with pytest.raises((TypeError, ValueError), match="gamma"):
        taken.value("fbeta", gamma=1.0)


def test_estimates_of_exact_values_are_points():
    """Every label metric has an exact estimate: low == value == high, no standard error."""
    assert snap().estimate("accuracy") == (0.85, 0.85, 0.85, 0.0, "exact")
    with pytest.raises(KeyError):
        snap().estimate("recall")
    with pytest.raises(KeyError):
        snap().estimate("expected_matrix")


def test_undefined_lists_what_was_replaced():
    """Values that are 0/0 are listed by key, or by key and label."""
    taken = snap([[40, 0], [10, 0]], ("no", "yes"))

    assert taken["matthews_corrcoef"] == taken.per_class["precision"]["yes"] == 0.0
    assert {"matthews_corrcoef", ("precision", "yes")} <= set(taken.undefined)
    assert "accuracy" not in taken.undefined
    assert ("recall", "yes") not in taken.undefined
    assert snap().undefined == ()


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
def test_undefined_does_not_depend_on_the_replacement(zero_division):
    """Which values are 0/0 follows from the counts; the replacement only fills them."""
    matrix = [[40, 0, 0], [10, 0, 0], [0, 0, 0]]
    taken = snap(matrix, zero_division=zero_division)

    assert taken.undefined == snap(matrix).undefined
    assert np.array_equal(taken.per_class["recall"]["c"], zero_division, equal_nan=True)


def test_data_holds_everything_in_plain_types():
    """`to_dict` survives a JSON round trip unchanged and has every default row."""
    data = snap().to_dict()

    assert json.loads(json.dumps(data)) == data
    assert list(data) == [
        "n", "weight", "abstained", "labels", "confusion_matrix", "metrics", "per_class", "matrices", "undefined", "omitted",
    ]  # fmt: skip
    listed = {*data["metrics"], *data["per_class"], *data["matrices"]}
    assert listed == {key for key, row in CATALOG.items() if row.default}
    assert data["metrics"]["majority_class"] == "b"
    assert data["confusion_matrix"] == MATRIX
    assert (data["n"], data["weight"], data["abstained"], data["omitted"]) == (100, 100, 0, [])


def test_nan_becomes_null_in_json():
    """JSON knows no nan: it is written as null, everything else as `to_dict` has it."""
    taken = snap([[40, 0], [10, 0]], ("no", "yes"), zero_division=math.nan)
    data = json.loads(taken.to_json(indent=1))

    assert data["metrics"]["matthews_corrcoef"] is None
    assert data["per_class"]["precision"] == {"no": 0.8, "yes": None}
    assert ["precision", "yes"] in data["undefined"]
    assert json.loads(snap().to_json()) == snap().to_dict()


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("a", "", "日本"), ["a", "", "日本"]),
        ((False, True), ["False", "True"]),
        ((-1, 0.5, 2), ["-1", "0.5", "2"]),
        ((1, "1"), ["int(1)", "1"]),
        ((1, "1", "int(1)"), ["int(int(1))", "1", "int(1)"]),
        ((b"x", "x", "b'x'"), ["bytes(b'x')", "x", "b'x'"]),
        (((1, "a"), "(1, 'a')"), ["tuple((1, 'a'))", "(1, 'a')"]),
    ],
)
def test_json_names_of_labels_never_collide(labels, names):
    """A text label is its own name; any other gets its repr, wrapped in its type while that is taken."""
    assert label_names(labels) == names
    assert list(snap(np.eye(len(labels), dtype=int), labels).to_dict()["per_class"]["recall"]) == names


def test_a_number_that_equals_a_label_stays_a_number():
    """Accuracy 1.0 is not mistaken for the class 1, nor the majority class for a number."""
    metrics = snap([[1, 0], [0, 2]], (0, 1)).to_dict()["metrics"]

    assert metrics["accuracy"] == 1.0
    assert type(metrics["accuracy"]) is float
    assert metrics["majority_class"] == "1"


def test_an_empty_state_gives_data_and_no_error():
    """Without a sample every value exists, and the data can be written."""
    taken = sm.ConfusionMatrix().snapshot()
    data = json.loads(taken.to_json())

    assert (data["n"], data["labels"], data["confusion_matrix"]) == (0, [], [])
    assert taken["accuracy"] == 0.0
    assert "accuracy" in taken.undefined


def test_abstentions_and_weights_are_reported_apart():
    """`n` counts samples, `weight` sums their weights, abstentions are in neither metric nor matrix."""
    state = sm.ConfusionMatrix()
    state.update("a", "a", 2.5)
    state.update("a", None)
    taken = state.snapshot()

    assert (taken.weight, taken.abstained) == (2.5, 1)
    assert taken.n == state.n
    assert taken["accuracy"] == 1.0


def test_very_many_classes_are_written_by_cell():
    """Above 4096 classes the matrix is sparse, and rows that need a square table are refused and listed."""
    state = sm.ConfusionMatrix()
    state.update_many(np.arange(5000), np.arange(5000) // 2 * 2)
    taken = state.snapshot()
    data = taken.to_dict()

    assert set(data["confusion_matrix"]) == {"rows", "columns", "values"}
    assert data["confusion_matrix"]["columns"][:4] == [0, 0, 2, 2]
    assert "expected_matrix" in data["omitted"]
    assert data["metrics"]["accuracy"] == 0.5
    with pytest.raises(ValueError, match="4096"):
        _ = taken.confusion_matrix
    with pytest.raises(ValueError, match="4096"):
        taken["expected_matrix"]


def test_the_frame_has_one_row_per_class():
    """`to_frame` is a pandas table of the per-class values; tuple labels stay labels."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = snap(labels=("a", ("b", 1), 3)).to_frame()

    assert list(frame.index) == ["a", ("b", 1), 3]
    assert not isinstance(frame.index, pandas.MultiIndex)
    assert frame.loc["a", "recall"] == 24 / 27
    assert list(frame.columns) == list(snap().per_class)


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch):
    """A missing pandas is named, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ImportError, match="pip install pandas"):
        snap().to_frame()


def test_repr_is_one_line():
    """`repr` gives the size and the accuracy."""
    assert repr(snap()) == "<Snapshot n=100, classes=3, accuracy=0.85>"
    assert repr(sm.ConfusionMatrix().snapshot()) == "<Snapshot n=0, classes=0>"


def test_a_snapshot_can_be_pickled():
    """A snapshot survives pickling, with its choice of keys."""
    taken = snap(keys=["macro_f1"], zero_division=1.0)
    again = pickle.loads(pickle.dumps(taken))

    assert again.to_dict() == taken.to_dict()
    assert list(again) == ["macro_f1"]
