"""ConfusionMatrix.from_matrix: a table of counts becomes a state."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm


def test_a_matrix_is_a_state_with_those_labels_fixed() -> None:
    """Rows are true; every whole number in a cell is that many samples."""
    state = sm.ConfusionMatrix.from_matrix([[3, 0], [1, 2]], ["b", "a"])
    same = sm.ConfusionMatrix(labels=["b", "a"])
    same.update_many(["b", "b", "b", "a", "a", "a"], ["b", "b", "b", "b", "a", "a"])

    assert state == same
    assert state.n == 6
    assert state.fixed_labels == ("b", "a")


def test_labels_are_positions_if_none_are_given() -> None:
    """Without labels the classes are 0 to K-1."""
    assert sm.ConfusionMatrix.from_matrix(np.eye(3, dtype=np.uint8)).labels == (0, 1, 2)


def test_a_matrix_of_floats() -> None:
    """A cell that is no whole number is one sample of that weight."""
    state = sm.ConfusionMatrix.from_matrix([[0.5, 3.0], [0.0, 0.1]])

    assert state.matrix.tolist() == [[0.5, 3.0], [0.0, 0.1]]
    assert state.total == Fraction(0.1) + Fraction(7, 2)
    assert state.n == 5


@pytest.mark.parametrize("cell", [2**24 + 1, 2**31 + 1, 2**53 + 1, 2**60 + 1])
def test_large_counts_are_exact(cell: int) -> None:
    """Counts beyond 2^24, 2^31 and 2^53 stay what they are, and count on."""
    state = sm.ConfusionMatrix.from_matrix([[cell, 1], [0, cell]])
    state.update(0, 0)

    assert state.matrix.tolist() == [[cell + 1, 1], [0, cell]]
    assert (state.n, state.total) == (2 * cell + 2, 2 * cell + 2)
    assert state.true_dot_predicted == (cell + 2) * (cell + 1) + cell * (cell + 1)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", ">i8", "u8", "f2", "f4", ">f8", "?", "O"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_any_numeric_array_will_do(dtype: str, layout: Any) -> None:
    """The type and layout of the array do not matter."""
    matrix = np.array([[1, 0], [1, 1]]).astype(dtype, order=layout)

    assert sm.ConfusionMatrix.from_matrix(matrix) == sm.ConfusionMatrix.from_matrix([[1, 0], [1, 1]])


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0, 2), (2, 2, 2)])
def test_a_matrix_must_be_square(shape: tuple[int, ...]) -> None:
    """Other shapes are refused by name."""
    with pytest.raises(ValueError, match=r"`matrix` to be square, but got the shape \("):
        sm.ConfusionMatrix.from_matrix(np.zeros(shape))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "2 `labels` for the matrix, but got 1"),
        (["a", "b", "c"], "2 `labels` for the matrix, but got 3"),
        (["a", "a"], "distinct, but got 'a'"),
        ([1, True], "distinct, but got True"),
        ("ab", "sequence of labels"),
        (["a", float("nan")], "position 1"),
    ],
)
def test_labels_must_fit(labels: Any, message: str) -> None:
    """There must be one label a row, each once."""
    with pytest.raises(sm.LabelError, match=message):
        sm.ConfusionMatrix.from_matrix([[1, 0], [0, 1]], labels)


@pytest.mark.parametrize("cell", [-1, -0.5, float("nan"), float("inf"), 2.0**63, 2**63, 2**64, "1", None, 1j])
def test_a_cell_must_be_a_weight(cell: Any) -> None:
    """A cell that is no weight is refused."""
    with pytest.raises(sm.WeightError, match=r"Expected `matrix` .*, but got "):
        sm.ConfusionMatrix.from_matrix([[1, 0], [cell, 1]])


def test_cells_of_mixed_types_are_exact() -> None:
    """In an array of objects a whole number is not rounded beside a fraction."""
    state = sm.ConfusionMatrix.from_matrix(np.array([[2**53 + 1, 0], [0, Fraction(1, 2)]], dtype=object))

    assert state.total == 2**53 + Fraction(3, 2)


def test_a_bad_cell_is_named() -> None:
    """The message speaks of the matrix."""
    with pytest.raises(sm.WeightError, match="Expected `matrix` at non-zero cell 1 to be a finite number"):
        sm.ConfusionMatrix.from_matrix([[1, 0], [float("nan"), 1]])


def test_the_sum_of_the_cells_has_the_limit_of_weights() -> None:
    """Cells that fit one by one, but not together, are refused."""
    assert sm.ConfusionMatrix.from_matrix([[2**62, 0], [0, 2**62 - 3]]).total == 2**63 - 3
    with pytest.raises(sm.WeightError, match="the number of samples"):
        sm.ConfusionMatrix.from_matrix([[2**62, 0], [0, 2**62 - 2]])
    with pytest.raises(sm.WeightError, match="the sum of all weights"):
        sm.ConfusionMatrix.from_matrix([[2**62, 0], [0, 2**62]])


def test_an_empty_matrix_is_a_state_without_classes() -> None:
    """No rows, no classes: the set of labels is fixed and empty."""
    state = sm.ConfusionMatrix.from_matrix(np.zeros((0, 0)))

    assert (state.fixed_labels, state.k, state.n) == ((), 0, 0)
    assert sm.from_bytes(state.to_bytes()) == state


def test_what_was_read_can_be_written_down_again() -> None:
    """The matrix of a state, given back with its labels, is that state."""
    state = sm.ConfusionMatrix(labels=["x", "y", "z"])
    state.update_many(["x", "y", "y", "z"] * 9, ["y", "y", "z", "x"] * 9)

    assert sm.ConfusionMatrix.from_matrix(state.matrix, state.labels) == state


def test_a_matrix_beyond_the_square_table() -> None:
    """More than 1024 classes are kept sparse, with the same readings."""
    matrix = np.diag(np.arange(1500)) + np.eye(1500, k=3, dtype=int)
    state = sm.ConfusionMatrix.from_matrix(matrix)

    assert np.array_equal(state.matrix, matrix)
    assert state.true_totals.tolist() == matrix.sum(axis=1).tolist()
    assert state.predicted_totals.tolist() == matrix.sum(axis=0).tolist()


def test_a_masked_matrix_is_refused() -> None:
    """A masked cell has no weight; an array that could be masked and is not is a matrix like any other."""
    cells = [[1, 2], [3, 4]]
    with pytest.raises(sm.WeightError, match="a masked array with gaps"):
        sm.ConfusionMatrix.from_matrix(np.ma.array(cells, mask=[[0, 1], [0, 0]]))
    assert sm.ConfusionMatrix.from_matrix(np.ma.array(cells)) == sm.ConfusionMatrix.from_matrix(cells)
