"""Snapshots are frozen and lazy, and convert to plain data."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.evaluation import evaluation as module
from stream_metrics.snapshots.snapshot import Snapshot

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
    real = module.compute

    def counting(row, *arguments, **options):
        computed.append(row.key)
        return real(row, *arguments, **options)

    monkeypatch.setattr(module, "compute", counting)
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


def test_a_per_class_key_gives_all_classes_or_one():
    """A per-class key is a dict, with a label a number; a class that is none and a label too many are errors."""
    recalls = dict(snap().per_class["recall"])
    assert snap()["recall"] == snap().value("recall") == recalls
    assert [snap()["recall", label] for label in recalls] == list(recalls.values())
    assert snap().value("recall", label="c") == snap()["tpr", "c"] == recalls["c"]
    with pytest.raises(KeyError, match="one of the classes"):
        snap()["recall", "z"]
    with pytest.raises(KeyError, match="per-class key and one label"):
        snap()["accuracy", "a"]
    with pytest.raises(KeyError, match=r"snapshot\['accuracy'\]"):
        snap().per_class["accuracy"]


def test_an_unknown_key_suggests_a_known_one():
    """A misspelt key is answered with its neighbours."""
    with pytest.raises(KeyError, match="accuracy"):
        snap()["acuracy"]


def test_iteration_membership_and_length_agree():
    """Iteration, `in`, `get` and `len` describe the same keys, by default the whole-matrix ones."""
    taken = snap()
    keys = list(taken)

    assert len(taken) == len(keys) == len(set(keys))
    assert all(key in taken for key in keys)
    assert "accuracy" in taken
    assert "mcc" in taken
    assert taken.get("mcc") == taken["matthews_corrcoef"]
    assert taken.get("log_loss", 0) == 0
    assert "recall" not in taken
    assert 7 not in taken


def test_chosen_keys_limit_what_is_listed_but_not_what_can_be_read():
    """`keys` decides iteration and data; any other row can still be read."""
    taken = snap(keys=["macro_f1", "recall", "macro_f1"])
    data = taken.to_dict()

    assert list(taken) == ["macro_f1", "recall"]
    assert dict(taken) == {"macro_f1": taken["macro_f1"], "recall": dict(taken.per_class["recall"])}
    assert list(taken.per_class) == ["recall"]
    assert (list(data["metrics"]), list(data["per_class"]), data["matrices"]) == (["macro_f1"], ["recall"], {})
    assert taken["accuracy"] == 0.85


def test_an_unknown_chosen_key_is_refused_at_once():
    """A snapshot with a misspelt key is never made."""
    with pytest.raises(KeyError):
        snap(keys=["macro_f11"])


@pytest.mark.parametrize("zero_division", [0.5, -1, "warn", math.inf])
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
def test_undefined_classes_do_not_depend_on_the_replacement(zero_division):
    """Which classes are 0/0 follows from the counts; the replacement only fills them."""
    matrix = [[40, 0, 0], [10, 0, 0], [0, 0, 0]]
    taken = snap(matrix, zero_division=zero_division)
    classes = [entry for entry in taken.undefined if isinstance(entry, tuple)]

    assert classes == [entry for entry in snap(matrix).undefined if isinstance(entry, tuple)]
    assert np.array_equal(taken.per_class["recall"]["c"], zero_division, equal_nan=True)


def test_the_replacement_depends_on_the_metric_unless_it_is_chosen():
    """Without `zero_division` a metric has 0.0 for 0/0 and a loss nan; a chosen number holds for all."""
    empty = sm.ConfusionMatrix()

    assert empty.snapshot()["accuracy"] == 0.0
    assert math.isnan(empty.snapshot()["zero_one_loss"])
    assert Snapshot(empty, zero_division=1.0)["accuracy"] == Snapshot(empty, zero_division=1.0)["zero_one_loss"] == 1.0


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


def test_an_undefined_value_of_a_class_is_announced() -> None:
    """An estimate of 0/0 is of the kind undefined, also for counts."""
    metrics = sm.MetricSet()
    metrics.update_many(["a", "a", "b"], ["a", "a", "a"])

    assert metrics.snapshot().estimate("precision", "b").kind == "undefined"
    assert metrics.snapshot().estimate("precision", "a").kind == "exact"


def test_a_snapshot_of_nothing_is_refused() -> None:
    """There must be a state."""
    with pytest.raises(ValueError, match="at least one state"):
        sm.Snapshot()
