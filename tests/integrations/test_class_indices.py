"""Outputs of networks, counted: whatever has no class in a row is refused, and the counts stay as they are."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

import stream_metrics as sm
from stream_metrics.integrations.class_indices import count_outputs

pytestmark = pytest.mark.quick
NAMES = "outputs", "targets"
SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, np.nan, np.inf, -np.inf])


@given(st.integers(2, 4), st.integers(1, 5), st.data())
def test_the_largest_score_or_an_error(columns: int, rows: int, data: st.DataObject) -> None:
    """A metric of labels counts the first of the largest scores; nan in any row is refused by its position."""
    row = st.lists(SCORES, min_size=columns, max_size=columns)
    outputs = np.array(data.draw(st.lists(row, min_size=rows, max_size=rows)))
    targets = np.array(data.draw(st.lists(st.integers(0, columns - 1), min_size=rows, max_size=rows)))
    matrix, bad = sm.Accuracy(), [at for at, scores in enumerate(outputs) if np.isnan(scores).any()]

    if bad:
        error = refused(partial(count_outputs, matrix, outputs, targets, None, None, NAMES), sm.ScoreError)
        assert (error.argument, error.position) == ("outputs", bad[0])
        assert matrix.n == 0
        return
    count_outputs(matrix, outputs, targets, None, None, NAMES)
    right = [list(scores).index(max(scores)) == target for scores, target in zip(outputs, targets, strict=True)]
    assert matrix.get() == sum(right) / rows


def test_columns_are_those_of_the_classes() -> None:
    """A model with more or fewer outputs than there are classes is refused by metrics of every kind."""
    keys = ["accuracy", "macro_f1", "log_loss", "roc_auc_ovr"]
    for key, columns in [*product(keys, [0, 2, 4]), ("accuracy", 1), ("macro_f1", 1)]:
        counts = sm.MetricSet([key], scores=key in ("log_loss", "roc_auc_ovr"))
        outputs = np.full((2, columns), 1 / max(columns, 1))
        count = partial(count_outputs, counts, outputs, np.array([0, 1]), None, ("a", "b", "c"), NAMES)
        refused(count, sm.ScoreError, "`outputs` to have a column for each of the 3 `classes`")
        assert counts.n == 0


def test_an_index_of_no_class_is_no_abstention() -> None:
    """Negative and large indices are refused by position."""
    for outputs, targets, argument in [
        ([0, -1], [0, 1], "outputs"),
        ([0, 2], [0, 1], "outputs"),
        ([0, 1], [0, -1], "targets"),
        ([0, 1], [0, 2], "targets"),
        (np.array([0, 2**64 - 1], np.uint64), [0, 1], "outputs"),
        ([0.2, 0.8], [0, 2], "targets"),
        ([[0.2, 0.8], [0.5, 0.5]], [0, -1], "targets"),
    ]:
        counts = sm.Accuracy()
        count = partial(count_outputs, counts, np.asarray(outputs), np.array(targets), None, ("a", "b"), NAMES)
        error = refused(count, sm.LabelError)
        assert (error.argument, error.position) == (argument, 1)
        assert counts.n + counts.abstained == 0


def test_one_probability_is_of_class_1_against_0() -> None:
    """Beside one column of probabilities a target is 0 or 1, also of metrics of several classes."""
    outputs = np.array([0.2, 0.8, 0.5])
    for key, other in product(["accuracy", "macro_f1"], [2, -1, 0.5, np.nan]):
        counts = sm.MetricSet([key])
        count_outputs(counts, outputs, np.array([0, 1, 1]), None, None, NAMES)
        assert counts.get()[key] == 1.0
        before = counts.to_bytes()
        error = refused(
            partial(count_outputs, counts, outputs, np.array([0, 1, other]), None, None, NAMES), sm.LabelError
        )
        assert (error.argument, error.position) == ("targets", 2)
        assert counts.to_bytes() == before


def test_single_scores_are_of_pos_label() -> None:
    """Metrics of scores read one column as that of `pos_label`, against any other classes."""
    outputs, targets = np.array([0.2, 0.8, 0.5, 0.6]), np.array([0, 2, 1, 1])
    for classes, pos_label in [(None, 2), (("a", "b", "c"), "c")]:
        counts, own = sm.ROCAUC(pos_label=pos_label), sm.ROCAUC(pos_label=True)
        count_outputs(counts, outputs, targets, None, classes, NAMES)
        own.update_many(targets == 2, outputs)
        assert counts.get() == own.get() == 1.0
