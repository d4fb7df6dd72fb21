"""MetricSet: many metrics of one state."""

from __future__ import annotations

from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

NAN = float("nan")


def fed(metrics: Any) -> Any:
    """Return the set after a few samples."""
    metrics.update_many(["a", "a", "b", "c"], ["a", "b", "b", None], [1, 2, 0.5, 1])
    return metrics


def test_a_set_reads_every_default_metric() -> None:
    """Without keys a snapshot has every default row of labels, from one state."""
    metrics = fed(sm.MetricSet())
    snapshot = metrics.snapshot()

    assert {*snapshot, *snapshot.omitted} == {
        key for key, row in CATALOG.items() if row.default and row.kind == "whole" and row.state == "counts"
    }
    assert metrics.get()["accuracy"] == snapshot["accuracy"] == 1.5 / 3.5
    assert (metrics.n, metrics.abstained) == (3, 1)


def test_metrics_are_chosen_by_key_or_class() -> None:
    """Keys, classes, and keys that come twice give each metric once, in the order given."""
    metrics = sm.MetricSet(["recall", sm.Accuracy, "macro_f1", "accuracy"])

    assert metrics.metrics == ("recall", "accuracy", "macro_f1")
    values = fed(metrics).get()
    assert list(values) == ["recall", "accuracy", "macro_f1"]
    assert values["recall"] == metrics.snapshot().per_class["recall"]
    assert list(metrics.snapshot()) == ["recall", "accuracy", "macro_f1"]
    assert list(metrics.snapshot().per_class) == ["recall"]


@pytest.mark.parametrize("metrics", [["acuracy"], ["MCC"], ["accuracy", 5], "accuracy", [None]])
def test_unknown_metrics_are_refused(metrics: Any) -> None:
    """A key that no metric has is refused, with those that it may have meant."""
    with pytest.raises((KeyError, ValueError, TypeError, AttributeError)):
        sm.MetricSet(metrics)


def test_a_misspelt_key_is_answered_with_close_ones() -> None:
    """The error suggests keys."""
    with pytest.raises(KeyError, match="'accuracy'"):
        sm.MetricSet(["acuracy"])


@pytest.mark.parametrize("instead", [0.5, -1, "0", float("inf")])
def test_zero_division_is_checked_when_given(instead: Any) -> None:
    """Only 0, 1 and nan can stand for 0/0."""
    with pytest.raises(ValueError, match=r"`zero_division` to be 0.0, 1.0 or nan"):
        sm.MetricSet(zero_division=instead)


def test_zero_division_reaches_every_metric() -> None:
    """It replaces each 0/0; None leaves each metric its own."""
    assert sm.MetricSet(["accuracy", "zero_one_loss"], zero_division=1.0).get() == {
        "accuracy": 1.0,
        "zero_one_loss": 1.0,
    }
    own = sm.MetricSet(["accuracy", "zero_one_loss"]).get()
    assert own["accuracy"] == 0.0
    assert repr(own["zero_one_loss"]) == repr(CATALOG["zero_one_loss"].zero_division)


CONFIGURATIONS = [
    {},
    {"metrics": ["accuracy", "recall"]},
    {"metrics": []},
    {"labels": ["a", "b", "c"]},
    {"labels": ["a"], "other": "rest", "zero_division": NAN},
]


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_the_configuration_survives_bytes_and_clones(configuration: dict[str, Any]) -> None:
    """Bytes and clones keep the configuration."""
    metrics = fed(sm.MetricSet(**configuration))
    clone = metrics.clone()

    assert sm.from_bytes(metrics.to_bytes()) == metrics
    assert fed(clone) == metrics


@pytest.mark.parametrize("configuration", CONFIGURATIONS[3:], ids=str)
def test_sets_of_other_labels_do_not_merge(configuration: dict[str, Any]) -> None:
    """A MergeError, and nothing changes."""
    metrics = fed(sm.MetricSet())
    before = metrics.to_bytes()

    with pytest.raises(sm.MergeError, match=r"^Expected .*, but got "):
        metrics.merge(sm.MetricSet(**configuration))
    assert metrics.to_bytes() == before


class Counting(sm.MetricSet):
    """A set that knows how often it was fed."""

    calls = 0

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        self.calls += 1
        super().update(y_true, y_pred, w)


def test_a_subclass_may_override_update() -> None:
    """An overridden method is called, also after a copy, and the class survives bytes."""
    metrics = Counting(["accuracy"])
    metrics.update("a", "a")
    twin = metrics.copy()
    twin.update("a", "b")

    assert (metrics.calls, twin.calls, twin.n) == (1, 2, 2)
    assert type(Counting.from_bytes(metrics.to_bytes())) is Counting


def test_repr_says_how_much_is_in_it() -> None:
    """The repr names metrics, samples and classes."""
    assert repr(fed(sm.MetricSet())) == "MetricSet(every metric, 3 samples, 2 classes)"
    assert repr(sm.MetricSet(["accuracy"])) == "MetricSet(1 metric, 0 samples, 0 classes)"
