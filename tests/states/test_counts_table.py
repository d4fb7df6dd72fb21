"""Tables of counts: the bytes are those of the samples, counted one by one."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing

Row = tuple[Any, Any, Any]
FIXED = {"labels": ["a", "b", 0], "other": "rest"}
TRUTH, PREDICTED, N = ["cat", "cat", "dog", "dog"], ["cat", None, "cat", "dog"], [3, 2, 1, 0]


def rows() -> st.SearchStrategy[list[Row]]:
    """Samples with weights whose sums are exact."""
    label, weight = testing.labels(), st.sampled_from([1, 1, 1.0, 0.5, 0, 3, 2**40])
    return st.lists(st.tuples(label, st.one_of(label, st.none()), weight), max_size=40)


def one_by_one(samples: list[Row], **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that has counted samples."""
    state = sm.ConfusionMatrix(**configuration)
    for sample in samples:
        state.update(*sample)
    return state


def grouped(samples: list[Row]) -> list[tuple[Any, Any, int, Any]]:
    """Return labels, number and sum of weights of equal samples, where 1, True and 1.0 are different labels."""
    names = {repr(label): label for sample in samples for label in sample[:2]}
    groups = Counter((repr(t), repr(p), float(w)) for t, p, w in samples)
    return [(names[t], names[p], n, n * w) for (t, p, w), n in groups.items()]


@given(samples=rows(), data=st.data())
@pytest.mark.parametrize("configuration", [{}, FIXED], ids=["open", "fixed"])
def test_the_bytes_are_those_of_the_samples(configuration: Any, samples: list[Row], data: st.DataObject) -> None:
    """For any labels, weights, abstentions, order of rows and split of the table."""
    table = data.draw(st.permutations([*grouped(samples), ("never", "seen", 0, 0), ("a", None, 0, 0.0)]))
    cut = data.draw(st.integers(0, len(table)))
    state = sm.ConfusionMatrix(**configuration)
    for part in (table[:cut], table[cut:]):
        columns = [list(column) for column in zip(*part, strict=True)] or [[], [], [], []]
        state.update_counts(*columns)

    assert state.to_bytes() == one_by_one(samples, **configuration).to_bytes()


@given(samples=rows())
def test_the_weight_of_a_row_is_the_number_of_its_samples(samples: list[Row]) -> None:
    """Without `w`; metrics and sets of labels count the same."""
    samples = [(t, p, 1) for t, p, _ in samples]
    t, p, n, _ = ([row[i] for row in grouped(samples)] for i in range(4))
    expected = one_by_one(samples)
    metrics = sm.MetricSet(), sm.Accuracy(), sm.MacroF1()
    for metric in metrics:
        metric.update_counts(t, p, n)

    assert sm.ConfusionMatrix.from_counts(t, p, n).to_bytes() == expected.to_bytes()
    assert [metric.state for metric in metrics] == [expected] * 3
    assert [metric.n for metric in metrics] == [expected.n] * 3


def arrow(values: list[Any], kind: str, *arguments: Any) -> Any:
    """Return an Arrow column of a type."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pa.array([Decimal(x) for x in values], pa.decimal128(38, 0)).cast(getattr(pa, kind)(*arguments))


FORMS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "int64": np.array,
    "uint8": lambda n: np.array(n, np.uint8),
    "uint64": lambda n: np.array(n, np.uint64),
    "big endian": lambda n: np.array(n, ">i4"),
    "float64": lambda n: np.array(n, float),
    "objects": lambda n: np.array(n, object),
    "floats": lambda n: [float(x) for x in n],
    "decimals": lambda n: [Decimal(x) for x in n],
    "decimals with places": lambda n: [Decimal(f"{x}.00") for x in n],
    "fractions": lambda n: [Fraction(x) for x in n],
    "numpy scalars": lambda n: [np.int32(x) for x in n],
    "pandas": pd.Series,
    "pandas with an index": lambda n: pd.Series(n, index=[5, 1, 3, 2]),
    "pandas nullable": lambda n: pd.Series(n, dtype="Int64"),
    "pandas floats": lambda n: pd.Series(n, dtype="Float64"),
    "Arrow int64": lambda n: arrow(n, "int64"),
    "Arrow float64": lambda n: arrow(n, "float64"),
    "Arrow decimal": lambda n: arrow(n, "decimal128", 38, 0),
    "Arrow decimal with places": lambda n: arrow(n, "decimal128", 38, 2),
    "Arrow large decimal": lambda n: arrow(n, "decimal256", 60, 0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("argument", ["n", "w"])
def test_forms_of_numbers(form: str, argument: str) -> None:
    """Numbers of samples, and sums of weights, come as engines and libraries have them."""
    numbers = {"n": N, "w": [6, 2, 1, 0]}
    expected = sm.ConfusionMatrix.from_counts(TRUTH, PREDICTED, **numbers)
    numbers[argument] = FORMS[form](numbers[argument])

    assert sm.ConfusionMatrix.from_counts(TRUTH, PREDICTED, **numbers).to_bytes() == expected.to_bytes()
    assert (expected.n, expected.abstained, expected.weighted) == (4, 2, 3)


LARGE = [2**53 + 1, 2**60 + 1, 2**61 - 3, 0]


@pytest.mark.parametrize("form", [list, np.array, FORMS["decimals"], FORMS["Arrow decimal"], FORMS["pandas nullable"]])
def test_large_numbers_are_exact(form: Any) -> None:
    """Beyond what a float holds exactly, and as weights, too."""
    for named in ({"n": form(LARGE)}, {"n": [1, 1, 1, 0], "w": form(LARGE)}):
        state = sm.ConfusionMatrix.from_counts(list("abcd"), list("abcd"), **named)
        assert state.matrix.tolist() == np.diag(LARGE[:3]).tolist()


BAD = {
    "negative": (-1, -1),
    "fraction": (1.5, 1.5),
    "fraction as a decimal": (Decimal("1.5"), "Decimal('1.5')"),
    "missing": (None, None),
    "nan": (float("nan"), float("nan")),
    "infinite": (float("inf"), float("inf")),
    "decimal nan": (Decimal("NaN"), "Decimal('NaN')"),
    "missing in pandas": (pd.NA, "<NA>"),
    "text": ("2", "2"),
    "a label": (b"2", b"2"),
    "complex": (1j, "1j"),
    "rounded, perhaps": (2.0**53, 2.0**53),
    "too large": (2**62, 2**62),
    "larger than int64": (2**64, 2**64),
}


@pytest.mark.parametrize("name", BAD)
def test_numbers_that_are_refused(name: str) -> None:
    """The error names argument, row and value, and nothing is counted."""
    bad, got = BAD[name]
    state = sm.ConfusionMatrix.from_counts(TRUTH, PREDICTED, N)
    before = state.to_bytes()
    with pytest.raises(sm.WeightError, match="`n` at position 2 to be a whole number of samples") as caught:
        state.update_counts(TRUTH, PREDICTED, [3, 2, bad, 0])

    assert (caught.value.argument, caught.value.position) == ("n", 2)
    assert repr(caught.value.got) == repr(got)
    assert state.to_bytes() == before


COLUMNS: dict[str, tuple[Any, ...]] = {
    "float array": (np.array([1, 1, 0.5, 1]), 2, 0.5),
    "float array with nan": (np.array([1, np.nan, 1, 1]), 1, float("nan")),
    "float array, rounded perhaps": (np.array([1, 1, 1, 2.0**60]), 3, 2.0**60),
    "int array": (np.array([1, -7, 1, 1]), 1, -7),
    "uint64 array": (np.array([1, 1, 2**63, 1], np.uint64), 2, 2**63),
    "too short": ([1, 2, 3], None, None),
    "one number": (5, None, None),
    "text": ("1231", None, None),
    "mapping": (dict.fromkeys(range(4)), None, None),
    "matrix": (np.ones((4, 1), int), None, None),
    "times": (np.array([1, 2, 3, 4], "M8[s]"), None, None),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_are_refused(name: str) -> None:
    """Arrays name the first bad row; a column of another length is refused as a whole."""
    column, position, got = COLUMNS[name]
    with pytest.raises(sm.WeightError, match="`n`") as caught:
        sm.ConfusionMatrix.from_counts(TRUTH, PREDICTED, column)
    assert caught.value.position == position
    if position is not None:
        assert repr(caught.value.got) == repr(got)


@pytest.mark.parametrize(
    ("arguments", "error", "field", "position"),
    [
        ((TRUTH, PREDICTED, N, [3, 2, 1, 0.5]), sm.WeightError, "w", 3),
        ((TRUTH, PREDICTED, N, [3, -2, 1, 0]), sm.WeightError, "w", 1),
        ((TRUTH, PREDICTED, N, [3, 2, None, 0]), sm.WeightError, "w", 2),
        ((TRUTH, PREDICTED, N, [3, 2, 1]), sm.WeightError, "w", None),
        ((TRUTH, PREDICTED[:3], N), sm.LabelError, "y_pred", None),
        ((["cat", None, "dog", "dog"], PREDICTED, N), sm.LabelError, "y_true", 1),
        ((TRUTH, [*PREDICTED[:3], []], N), sm.LabelError, "y_pred", 3),
        ((TRUTH, ["cat", None, "cat", "bird"], N), sm.LabelError, "y_pred", 3),
    ],
)
def test_tables_that_are_refused(arguments: Any, error: Any, field: str, position: int | None) -> None:
    """A bad row, even one that stands for no sample, rejects the table."""
    state = sm.ConfusionMatrix(["cat", "dog"])
    state.update_counts(TRUTH, PREDICTED, N)
    before = state.to_bytes()
    with pytest.raises(error) as caught:
        state.update_counts(*arguments)

    assert (caught.value.argument, caught.value.position) == (field, position)
    assert state.to_bytes() == before


def test_sums_that_are_refused() -> None:
    """Neither samples nor weights overflow, in one table or on top of others."""
    state = sm.ConfusionMatrix()
    with pytest.raises(sm.WeightError, match=r"the sum of `n` to stay below 2\*\*62"):
        state.update_counts(list("aabb"), list("abab"), [2**61, 2**60, 2**60, 1])
    half = ["a"], ["a"], [2**62 - 1]
    for weight in ([1], None):
        state = sm.ConfusionMatrix.from_counts(*half, weight)
        before = state.to_bytes()
        with pytest.raises(sm.WeightError, match="the number of samples"):
            state.update_counts(*half, weight)
        assert state.to_bytes() == before
    with pytest.raises(sm.WeightError, match="the sum of all weights"):
        state.update_counts(["a", "b"], ["a", "b"], [1, 1], [2**62, 2**62])

    assert state.to_bytes() == before


def test_samples_of_another_weight() -> None:
    """All samples of a row have the weight w / n, so they are weighted unless it is 1."""
    state = sm.ConfusionMatrix.from_counts(list("abc"), list("abb"), [3, 4, 5], [3.0, 2, 0])
    samples = [("a", "a", 1)] * 3 + [("b", "b", 0.5)] * 4 + [("c", "b", 0)] * 5
    assert state.to_bytes() == one_by_one(samples).to_bytes()
    assert (state.n, state.weighted, state.weight) == (12, 9, 5)


def test_states_of_counts_merge_with_others() -> None:
    """A state of counts is an open state like any other."""
    counts = sm.ConfusionMatrix.from_counts(TRUTH, PREDICTED, N)
    rows = sm.ConfusionMatrix()
    rows.update_many(["bird", "cat"], ["cat", "cat"])
    counts.merge(rows)

    assert counts.labels == ("bird", "cat", "dog")
    assert counts.n == 6
    counts.revert("dog", "cat")
    assert counts.labels == ("bird", "cat")


@pytest.mark.parametrize("make", [sm.ROCAUC, sm.LogLoss, lambda: sm.MetricSet(scores=True)])
def test_what_reads_scores_refuses_counts_of_labels(make: Any) -> None:
    """The message says which class takes tables of scores."""
    metric = make()
    with pytest.raises(sm.ScoreError, match=r"labels only.*RankSketch\.update_counts"):
        metric.update_counts([0, 1], [0, 1], [1, 1])


def test_another_name_of_the_counts() -> None:
    """The message says which argument is meant."""
    with pytest.raises(TypeError, match="did you mean `n`"):
        sm.Accuracy().update_counts([0], [0], count=[1])
