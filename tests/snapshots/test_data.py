"""Snapshots as data: plain types, names for labels, nan as null, pandas on request."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.snapshot import Snapshot

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
PARTS = "n weight abstained labels confusion_matrix metrics per_class matrices undefined omitted warnings"


def snap(matrix=MATRIX, labels=("a", "b", "c"), **options):
    """Return a snapshot of a matrix."""
    return Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels), **options)


def test_data_holds_everything_in_plain_types():
    """`to_dict` survives a JSON round trip unchanged and has every default row of labels."""
    data = snap().to_dict()

    assert json.loads(json.dumps(data)) == data
    assert " ".join(data) == PARTS
    listed = {*data["metrics"], *data["per_class"], *data["matrices"]}

    assert listed == {key for key, row in CATALOG.items() if row.default and row.state == "counts"}
    assert data["metrics"]["majority_class"] == "b"
    assert data["confusion_matrix"] == MATRIX
    assert (data["n"], data["weight"], data["abstained"], data["omitted"]) == (100, 100, 0, {})


def test_chosen_matrices_are_nested_lists():
    """A matrix-valued key is part of the data if it is chosen."""
    data = snap([[40, 0], [10, 0]], ("no", "yes"), keys=["expected_matrix"]).to_dict()

    assert data["matrices"] == {"expected_matrix": [[40.0, 0.0], [10.0, 0.0]]}
    assert json.loads(json.dumps(data)) == data


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
    assert "generalized_mcc" in data["omitted"]
    assert not data["metrics"].keys() & set(data["omitted"])
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
    assert sorted(frame.columns) == sorted(snap().per_class)
    assert list(frame.columns)[:4] == ["precision", "recall", "f1", "support"]
    assert all(key.startswith("baseline_") for key in frame.columns[-9:])
    assert list(snap(keys=["recall", "precision"]).to_frame().columns) == ["recall", "precision"]


def test_the_frame_of_metrics_has_a_row_for_each_number():
    """`to_frame("metrics")` starts as the report does; ends are those of intervals that are shown, 0/0 is marked."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    taken = snap()
    frame = taken.to_frame("metrics")
    shown = taken.with_intervals().to_frame("metrics")

    assert list(frame.columns) == ["title", "value", "low", "high", "undefined"]
    assert list(frame.index)[:3] == ["accuracy", "balanced_accuracy", "macro_f1"]
    assert set(frame.index) == set(taken) - {"majority_class"}
    assert frame["value"].to_dict() == {key: taken[key] for key in frame.index}
    assert frame["low"].isna().all()
    assert tuple(shown.loc["accuracy", ["low", "high"]]) == tuple(taken.interval("accuracy"))
    assert snap([[3, 0], [0, 0]], ["a", "b"]).to_frame("metrics").loc["cohen_kappa", "undefined"]
    assert set(frame.loc[["accuracy", "macro_f1"], "undefined"]) == {False}
    with pytest.raises(ValueError, match="`rows` to be 'classes' or 'metrics', but got 'metric'"):
        taken.to_frame("metric")


def test_the_frame_of_metrics_of_a_binary_stream_has_its_class():
    """Values of `pos_label` stand beside those of the whole where there is one question."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    taken = sm.evaluate([0, 1, 1, 0], scores=[0.2, 0.9, 0.4, 0.6])

    assert taken.to_frame("metrics").loc["roc_auc", "value"] == taken["roc_auc"] == 0.75


def test_without_pandas_the_error_says_how_to_get_it(monkeypatch):
    """A missing pandas is named, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ImportError, match="pip install pandas"):
        snap().to_frame()
