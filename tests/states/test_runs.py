"""States of many groups that are written from one table of counts: the bytes of states that counted group by group."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.errors import LabelError, WeightError
from stream_metrics.states.runs import run_writer

TEXT = ["cat", "dog", "", "ü", "a\ud800", "x" * 300]
NUMBERS = [0, 1, 2, True, False, 1.0, 0.0, -3, 2**40, 2**70]
OTHERS = [b"cat", ("a", 1), (), "1"]
BINARY = [0, 1, True, False]
COUNTS = st.one_of(st.integers(0, 3), st.integers(0, 2**40))


def written(state, rows, starts):
    """Return what the writer of a state returns for rows of (truth, prediction, number of samples)."""
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    return run_writer(state)(*columns, np.array(starts))


def counted(state, rows):
    """Return the bytes of a copy of a state that has counted rows."""
    state = state.copy()
    state.update_counts(*zip(*rows, strict=True)) if rows else None
    return state.to_bytes()


@st.composite
def runs(draw, labels):
    """Return rows of counts and the rows where runs of one group start."""
    pairs = st.tuples(st.sampled_from(labels), st.sampled_from([None, *labels]), COUNTS)
    rows = draw(st.lists(pairs, max_size=30))
    return rows, sorted(draw(st.lists(st.integers(0, len(rows)), min_size=1, max_size=6)))


PROTOTYPES = {
    "matrix": (sm.ConfusionMatrix(), [*TEXT, *NUMBERS, *OTHERS]),
    "text": (sm.MetricSet(), TEXT),
    "numbers": (sm.MetricSet(["accuracy", "macro_f1"], zero_division=1.0), NUMBERS),
    "metric": (sm.MacroF1(), [*TEXT, *NUMBERS, *OTHERS]),
    "binary": (sm.F1(), BINARY),
    "fixed": (sm.ConfusionMatrix(["dog", 1, "cat", 0.5]), ["cat", "dog", 1, True, 1.0, 0.5]),
    "other": (sm.MetricSet(labels=["dog", "cat"], other="rest"), [*TEXT, *NUMBERS]),
    "number as other": (sm.MetricSet(labels=["dog", 2], other=True), [*TEXT, *NUMBERS]),
    "other that is fixed": (sm.ConfusionMatrix(["dog", 1], 1), [*TEXT, *NUMBERS]),
    "no labels": (sm.ConfusionMatrix([], "rest"), TEXT),
    "many": (sm.MetricSet(), [f"{number:03}" for number in range(300)]),
    "many numbers": (sm.ConfusionMatrix(), list(range(300))),
    "many fixed": (sm.ConfusionMatrix(range(1_000)), [0, 7, 300, 999]),
}


@pytest.mark.parametrize("name", PROTOTYPES)
@given(data=st.data())
def test_states_of_runs_have_the_bytes_of_states_that_count_their_rows(name, data):
    state, labels = PROTOTYPES[name]
    rows, starts = data.draw(runs(labels))
    before = state.to_bytes()
    assert written(state, rows, starts) == [counted(state, rows[low:high]) for low, high in pairwise(starts)]
    assert state.to_bytes() == before


@pytest.mark.parametrize("size", [1, 15, 16, 17, 128, 129, 4_000])
def test_lengths_of_every_size_are_written_as_a_state_writes_them(size):
    state = sm.ConfusionMatrix()
    rows = [(f"label {number}", f"label {number // 3}", 1 + number) for number in range(size)]
    assert written(state, rows, [0, len(rows)]) == [counted(state, rows)]
    rows += [(number, number // 2, 2**62 // 8 // size) for number in range(6 * size)]
    assert written(state, rows, [0, len(rows)]) == [counted(state, rows)]


@pytest.mark.parametrize(
    ("state", "row", "error", "argument"),
    [
        (sm.ConfusionMatrix(), (None, "a", 1), LabelError, "y_true"),
        (sm.ConfusionMatrix(), ("a", 0.5, 1), LabelError, "y_pred"),
        (sm.ConfusionMatrix(["a"]), ("a", "b", 1), LabelError, "y_pred"),
        (sm.F1(), (2, 1, 1), LabelError, "y_true"),
        (sm.ConfusionMatrix(), ("a", "a", -1), WeightError, "n"),
        (sm.ConfusionMatrix(), ("a", "a", 0.5), WeightError, "n"),
    ],
)
def test_a_bad_row_of_any_run_is_refused_by_its_position(state, row, error, argument):
    good = ("a", "a", 1) if not isinstance(state, sm.F1) else (1, 1, 1)
    with pytest.raises(error) as caught:
        written(state, [good, good, row], [0, 1, 3])
    assert (caught.value.argument, caught.value.position) == (argument, 2)


def test_what_counts_more_than_labels_has_no_writer():
    containers = sm.ByGroup(sm.MetricSet()), sm.Rolling(sm.F1(), 3)
    for state in sm.MetricSet(scores=True), sm.ROCAUC(), sm.LogLoss(), *containers:
        assert run_writer(state) is None


def test_samples_of_the_state_are_not_written():
    state = sm.MetricSet()
    state.update_many(["a", "b"], ["a", "c"], unit=[1, 2])
    assert written(state, [("z", "a", 2)], [0, 1]) == [counted(sm.MetricSet(), [("z", "a", 2)])]
