"""Tables of counts: the bytes are those of the samples, counted one by one, also of many groups from one table."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernels import run_writer
from support.refusals import refused
from support.state_checks import check_refused, counted, fed, with_batch

import stream_metrics as sm
from stream_metrics import testing

FIXED = {"labels": ["a", "b", 0], "other": "rest"}
TRUTH, PREDICTED, N = ["cat", "cat", "dog", "dog"], ["cat", None, "cat", "dog"], [3, 2, 1, 0]
NAN, INF = float("nan"), float("inf")
from_counts = sm.ConfusionMatrix.from_counts

label, weight = testing.labels(), st.sampled_from([1, 1, 1.0, 0.5, 0, 3, 2**40])  # sums of weights are exact
rows = st.lists(st.tuples(label, st.one_of(label, st.none()), weight), max_size=40)


def columns(table: list[Any], width: int) -> list[list[Any]]:
    """Return the columns of a table."""
    return [[row[at] for row in table] for at in range(width)]


def grouped(samples: list[Any]) -> list[tuple[Any, Any, int, Any]]:
    """Return labels, number and sum of weights of equal samples, where 1, True and 1.0 are different labels."""
    names = {repr(label): label for sample in samples for label in sample[:2]}
    groups = Counter((repr(t), repr(p), float(w)) for t, p, w in samples)
    return [(names[t], names[p], n, n * w) for (t, p, w), n in groups.items()]


@pytest.mark.quick
@given(samples=rows, configuration=st.sampled_from([{}, FIXED]), data=st.data())
def test_the_bytes_are_those_of_the_samples(samples: list[Any], configuration: Any, data: st.DataObject) -> None:
    """For any labels, weights, abstentions, order of rows and split of the table; sets and metrics count the same."""
    table = data.draw(st.permutations([*grouped(samples), ("never", "seen", 0, 0), ("a", None, 0, 0.0)]))
    cut = data.draw(st.integers(0, len(table)))
    state = sm.ConfusionMatrix(**configuration)
    for part in (table[:cut], table[cut:]):
        state.update_counts(*columns(part, 4))
    assert state.to_bytes() == counted(*samples, **configuration).to_bytes()

    expected = counted(*[(t, p) for t, p, _ in samples])
    counts = columns(grouped([(t, p, 1) for t, p, _ in samples]), 3)
    assert from_counts(*counts).to_bytes() == expected.to_bytes()
    for make in (sm.MetricSet, sm.Accuracy, sm.MacroF1):
        metric = make.from_counts(*counts)
        assert metric.to_bytes() == fed(make(), [(t, p) for t, p, _ in samples]).to_bytes()
        assert metric.n == expected.n


@given(st.lists(st.tuples(label, st.one_of(label, st.none()), st.integers(0, 3), st.integers(0, 99)), max_size=30))
def test_windows_and_groups_of_tables_are_those_of_the_samples(table: list[Any]) -> None:
    """Late rows are dropped as so many samples; a row that stands for none moves no time."""
    parts = [columns(rows, 4) for rows in (table[:10], table[10:])]
    samples = [columns([(t, p, at) for t, p, n, at in rows for _ in range(n)], 3) for rows in (table[:10], table[10:])]
    for make, has_groups in ((sm.MetricSet, False), (lambda: sm.ByGroup(sm.Accuracy()), True)):
        more = [{} if not has_groups else {"group": part[-1]} for part in (*parts, *samples)]
        tables = sm.TimeWindow.from_counts(make(), 40, *parts[0][:3], t=parts[0][3], panes=4, lateness=5, **more[0])
        tables.update_counts(*parts[1][:3], t=parts[1][3], **more[1])
        each = sm.TimeWindow(make(), 40, 4, 5)
        for (t, p, at), group in zip(samples, more[2:], strict=True):
            each.update_many(t, p, t=at, **group)
        assert (tables, tables.dropped) == (each, each.dropped)
    groups = sm.ByGroup(sm.Accuracy())
    groups.update_many(*samples[0][:2], group=samples[0][2])
    assert sm.ByGroup.from_counts(sm.Accuracy(), *parts[0][:3], group=parts[0][3]) == groups


FORMS: dict[str, Any] = {
    "generator": iter, "int64": np.array, "objects": lambda n: np.array(n, object),
    **{dtype: lambda n, dtype=dtype: np.array(n, dtype) for dtype in ("u8", ">i4", "f8")},
    "floats": lambda n: [float(x) for x in n], "decimals": lambda n: [Decimal(f"{x}.00") for x in n],
    "fractions": lambda n: [Fraction(x) for x in n], "numpy scalars": lambda n: [np.int32(x) for x in n],
    "pandas with an index": lambda n: pd.Series(n, index=[5, 1, 3, 2]),
    **{dtype: lambda n, dtype=dtype: pd.Series(n, dtype=dtype) for dtype in ("Int64", "Float64")},
}  # fmt: skip
LARGE = [2**53 + 1, 2**60 + 1, 2**61 - 3, 0]


def check_forms(forms: dict[str, Any], exact: list[str]) -> None:
    """Assert that forms of numbers of samples, and of sums of weights, count as lists; large ones if exact."""
    numbers: dict[str, Any] = {"n": N, "w": [6, 2, 1, 0]}
    expected = from_counts(TRUTH, PREDICTED, **numbers)
    assert (expected.n, expected.abstained, expected.weighted) == (4, 2, 3)
    for name, form in forms.items():
        for argument in numbers:
            state = from_counts(TRUTH, PREDICTED, **numbers | {argument: form(numbers[argument])})
            assert state.to_bytes() == expected.to_bytes(), (name, argument)
    for form in (forms[name] for name in exact):
        for named in ({"n": form(LARGE)}, {"n": [1, 1, 1, 0], "w": form(LARGE)}):
            assert from_counts(list("abcd"), list("abcd"), **named).matrix.tolist() == np.diag(LARGE[:3]).tolist()


@pytest.mark.quick
def test_forms_of_numbers() -> None:
    """Numbers of samples, and sums of weights, come as lists and libraries have them, exact beyond 2^53."""
    check_forms(FORMS, ["generator", "int64", "decimals", "Int64"])


def test_forms_of_numbers_in_arrow() -> None:
    """So they do as Arrow columns, decimals included."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    def arrow(kind: Any) -> Any:
        return lambda values: pa.array([Decimal(x) for x in values], pa.decimal128(38, 0)).cast(kind)

    kinds = [pa.int64(), pa.float64(), pa.decimal128(38, 0), pa.decimal128(38, 2), pa.decimal256(60, 0)]
    check_forms({str(kind): arrow(kind) for kind in kinds}, ["decimal128(38, 0)"])


BAD: list[tuple[Any, Any]] = [
    *((x, x) for x in (-1, 1.5, None, NAN, INF, "2", b"2", 2.0**53, 2**62, 2**64)),
    (Decimal("1.5"), "Decimal('1.5')"), (Decimal("NaN"), "Decimal('NaN')"), (pd.NA, "<NA>"), (1j, "1j"),
]  # fmt: skip
COLUMNS: list[tuple[Any, ...]] = [
    *((np.array([1, 1, x, 1]), 2, x) for x in (0.5, NAN, 2.0**60, -7)),
    (np.array([1, 1, 2**63, 1], np.uint64), 2, 2**63),
    *((column, None) for column in ([1, 2, 3], 5, "1231", dict.fromkeys(range(4)), np.ones((4, 1), int))),
    (np.array([1, 2, 3, 4], "M8[s]"), 0),
]


@pytest.mark.quick
def test_tables_that_are_refused() -> None:
    """The error names argument, row and value; a bad row, even one that stands for no sample, rejects the table."""
    state = sm.ConfusionMatrix(["cat", "dog"])
    state.update_counts(TRUTH, PREDICTED, N)
    tables: list[tuple[Any, ...]] = [
        *(((TRUTH, PREDICTED, [3, 2, bad, 0]), sm.WeightError, "n", 2, got) for bad, got in BAD),
        *(((TRUTH, PREDICTED, column), sm.WeightError, "n", *fields) for column, *fields in COLUMNS),
        *(
            ((TRUTH, PREDICTED, N, w), sm.WeightError, "w", at)
            for w, at in (([3, 2, 1, 0.5], 3), ([3, -2, 1, 0], 1), ([3, 2, None, 0], 2), ([3, 2, 1], None))
        ),
        ((TRUTH, PREDICTED[:3], N), sm.LabelError, "y_pred", None),
        ((["cat", None, "dog", "dog"], PREDICTED, N), sm.LabelError, "y_true", 1),
        ((TRUTH, [*PREDICTED[:3], []], N), sm.LabelError, "y_pred", 3),
        ((TRUTH, ["cat", None, "cat", "bird"], N), sm.LabelError, "y_pred", 3),
    ]
    check_refused(state, "update_counts", tables)


@pytest.mark.quick
def test_sums_that_are_refused() -> None:
    """Neither samples nor weights overflow, in one table or on top of others."""
    four = list("aabb"), list("abab"), [2**60] * 4
    refused(lambda: sm.ConfusionMatrix().update_counts(*four), sm.WeightError, "the sum of `n` to stay below 2**62")
    half = ["a"], ["a"], [2**62 - 1]
    check_refused(from_counts(*half, [1]), "update_counts", [((*half, [1]), sm.WeightError)])
    two = ["a", "b"], ["a", "b"], [1, 1], [2**62, 2**62]
    check_refused(from_counts(*half), "update_counts", [(half, sm.WeightError), (two, sm.WeightError)])
    sketch = sm.RankSketch.from_counts([0.5], [1], [2**62 - 1])
    check_refused(sketch, "update_counts", [(([0.5], [1], [2**62 - 1]), sm.WeightError)])


@pytest.mark.quick
def test_hints_of_update_counts() -> None:
    """What reads scores says which class takes tables of scores; another name of `n` says which argument is meant."""
    for metric in (sm.ROCAUC(), sm.LogLoss(), sm.MetricSet(scores=True)):
        error = refused(partial(metric.update_counts, [0, 1], [0, 1], [1, 1]), sm.ScoreError, "labels only")
        assert "RankSketch.update_counts" in str(error)
    refused(partial(sm.Accuracy().update_counts, [0], [0], count=[1]), TypeError, "did you mean `n`")


SIZES: list[dict[str, Any]] = [{}, {"buckets": 4, "sample": 2}, {"buckets": 4, "sample": 64, "pairs": False}]
truths = st.sampled_from([0, 1, True, False, 1.0, 0.0])
singles = st.tuples(st.one_of(testing.probabilities(), st.floats(-1e6, 1e6)), truths, st.integers(0, 4))
names = st.sampled_from(["a", "b", 1, True, 2.0])
mappings = st.one_of(st.none(), st.dictionaries(names, testing.probabilities(), max_size=3))
scored = st.one_of(st.lists(singles, max_size=25), st.lists(st.tuples(mappings, names, st.integers(0, 4)), max_size=25))


@pytest.mark.quick
@settings(max_examples=30)
@given(table=scored, size=st.sampled_from(SIZES), data=st.data())
def test_counts_by_score_have_the_bytes_of_the_samples(table: list[Any], size: Any, data: st.DataObject) -> None:
    """Single scores, mappings and abstentions, in any order, and however the table is cut."""
    shuffled = data.draw(st.permutations(table))
    cut = data.draw(st.integers(0, len(table)))
    state = sm.RankSketch(**size)
    for part in (shuffled[:cut], shuffled[cut:]):
        state.update_counts(*columns(part, 3))
    expected = fed(sm.RankSketch(**size), [(truth, score) for score, truth, n in table for _ in range(n)])

    assert state.to_bytes() == expected.to_bytes()
    assert sm.RankSketch.from_counts(*columns(table, 3), **size) == state


def test_large_tables_of_scores() -> None:
    """A row of a table of scores stands for several samples too; many scores are sampled; huge counts are exact."""
    rng = np.random.default_rng(5)
    table = rng.integers(0, 20, (300, 3)) / 20
    truth, n = rng.integers(0, 3, 300), rng.integers(0, 4, 300)
    for size in SIZES:
        expected = with_batch(sm.RankSketch(**size), truth.repeat(n), table.repeat(n, axis=0), classes=[0, 1, 2])
        assert sm.RankSketch.from_counts(table, truth, n, classes=[0, 1, 2], **size) == expected
        assert sm.RankSketch.from_counts(pd.DataFrame(table, columns=[0, 1, 2]), truth, n, **size) == expected

    scores, own, n = rng.random(20_000), rng.random(20_000) < 0.3, rng.integers(1, 4, 20_000)
    many = with_batch(sm.RankSketch(), own.repeat(n), scores.repeat(n))
    assert sm.RankSketch.from_counts(scores, own, n) == many
    assert sm.RankSketch.from_counts(scores, own, n.astype(float)) == many
    assert many.n == n.sum()

    huge = sm.RankSketch.from_counts([0.2, 0.8, 0.8], [0, 0, 1], [2**60, 1, 2**60 + 1])
    assert huge.n == 2**61 + 2
    assert huge.snapshot().per_class["roc_auc"][1] == pytest.approx(1 - 2**-62, abs=0)


@pytest.mark.quick
def test_tables_of_scores_that_are_refused() -> None:
    """One bad row rejects the table, and the error names it."""
    two = [0.1, 0.2]
    tables: list[tuple[Any, ...]] = [
        *(((two, [0, 1], n), sm.WeightError, "n", at) for n, at in (([1, -1], 1), ([0.5, 1], 0), ([1], None))),
        (([0.1, NAN], [0, 1], [1, 1]), sm.ScoreError, "scores", 1),
        (([None, "0.2"], [0, 1], [1, 1]), sm.ScoreError, "scores", 1),
        (([0.1], [0, 1], [1, 1]), sm.ScoreError, "scores", None),
        ((two, [0, None], [1, 1]), sm.LabelError, "y_true", 1),
        ((two, ["spam", "ham"], [1, 1]), sm.LabelError, "y_true", 0),
    ]
    check_refused(sm.RankSketch.from_counts([0.5], [1], [3]), "update_counts", tables)


TEXT = ["cat", "dog", "", "ü", "a\ud800", "x" * 300]
NUMBERS = [0, 1, 2, True, False, 1.0, 0.0, -3, 2**40, 2**70]
PROTOTYPES: list[tuple[Any, list[Any]]] = [
    (sm.ConfusionMatrix(), [*TEXT, *NUMBERS, b"cat", ("a", 1), (), "1"]),
    (sm.MetricSet(["accuracy", "macro_f1"], zero_division=1.0), NUMBERS),
    (sm.F1(), [0, 1, True, False]),
    (sm.ConfusionMatrix(["dog", 1, "cat", 0.5]), ["cat", "dog", 1, True, 1.0, 0.5]),
    (sm.MetricSet(labels=["dog", 2], other=True), [*TEXT, *NUMBERS]),
    (sm.ConfusionMatrix(["dog", 1], 1), [*TEXT, *NUMBERS]),
    (sm.ConfusionMatrix([], "rest"), TEXT),
    (sm.MacroF1(), [f"{number:03}" for number in range(300)]),
    (sm.ConfusionMatrix(range(1_000)), [0, 7, 300, 999]),
]


def written(state: Any, table: list[Any], starts: list[int]) -> list[bytes]:
    """Return what the kernel that writes states from runs of a table returns for rows of (truth, prediction, n)."""
    return run_writer(state)(*columns(table, 3), np.array(starts))


def state_bytes(state: Any, table: list[Any]) -> bytes:
    """Return the bytes of a state like this one that has counted a table."""
    state = state.copy()
    state.reset()
    state.update_counts(*columns(table, 3))
    return state.to_bytes()


@settings(max_examples=60)
@given(st.sampled_from(PROTOTYPES), st.data())
def test_states_of_runs_have_the_bytes_of_states_that_count_their_rows(prototype: Any, data: st.DataObject) -> None:
    """States of many groups are written from one table of counts without a state for each."""
    state, labels = prototype
    n = st.one_of(st.integers(0, 3), st.integers(0, 2**40))
    row = st.tuples(st.sampled_from(labels), st.sampled_from([None, *labels]), n)
    table = data.draw(st.lists(row, max_size=30))
    starts = sorted(data.draw(st.lists(st.integers(0, len(table)), min_size=1, max_size=6)))
    assert written(state, table, starts) == [state_bytes(state, table[low:high]) for low, high in pairwise(starts)]


def test_runs_of_any_length() -> None:
    """Lengths of every size are written as a state writes them, and samples of the prototype are not."""
    state = fed(sm.ConfusionMatrix(), [("a", "b", 0.5)])
    for size in (1, 15, 16, 17, 128, 129, 4_000):
        table = [(f"label {number}", f"label {number // 3}", 1 + number) for number in range(size)]
        numbers = [(number, number // 2, 2**62 // 8 // size) for number in range(6 * size)]
        for some in (table, table + numbers):
            assert written(state, some, [0, len(some)]) == [state_bytes(state, some)]
    scores = sm.MetricSet(scores=True), sm.ROCAUC(), sm.LogLoss()
    assert not any(map(run_writer, (*scores, sm.ByGroup(sm.MetricSet()), sm.Rolling(sm.F1(), 3))))


def test_a_bad_row_of_a_run_is_named() -> None:
    """The error has the argument and the position in the whole table."""
    cases: list[tuple[Any, ...]] = [
        (sm.ConfusionMatrix(), (None, "a", 1), sm.LabelError, "y_true"),
        (sm.ConfusionMatrix(), ("a", 0.5, 1), sm.LabelError, "y_pred"),
        (sm.ConfusionMatrix(["a"]), ("a", "b", 1), sm.LabelError, "y_pred"),
        (sm.F1(), (2, 1, 1), sm.LabelError, "y_true"),
        (sm.ConfusionMatrix(), ("a", "a", -1), sm.WeightError, "n"),
        (sm.ConfusionMatrix(), ("a", "a", 0.5), sm.WeightError, "n"),
    ]
    for state, row, error, argument in cases:
        good = (1, 1, 1) if isinstance(state, sm.F1) else ("a", "a", 1)
        check_refused(state, written, [(([good, good, row], [0, 1, 3]), error, argument, 2)])
