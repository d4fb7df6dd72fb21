"""Rows that a state refuses: the others are counted exactly, and the record does not depend on how rows are split."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.changed_bytes import bytes_of
from support.refusals import all_refused, refused

import stream_metrics as sm

MOST_REASONS, MOST_EXAMPLES, LONGEST = 20, 10, 300  # reasons and rows that are shown, and their length
SCORES = {"a": 0.25, "b": 0.75}
KINDS: dict[str, tuple[Callable[[], Any], dict[str, tuple[list[Any], list[Any]]]]] = {  # good and bad values
    "labels": (sm.MetricSet,
               {"y_true": (["a", 1, True], [None, math.nan, [1]]), "y_pred": (["a", None], [{1}, 2**3000])}),
    "fixed": (lambda: sm.MetricSet(labels=["a", "b"]),
              {"y_true": (["a", "b"], ["c"]), "y_pred": (["a", "b"], ["d", 1])}),
    "weights": (sm.ConfusionMatrix,
                {"y_true": ([1, 2], [None]), "y_pred": ([1], []), "w": ([0, 0.5, 3], [-1, math.inf])}),
    "scores": (lambda: sm.MetricSet(scores=True),
               {"y_true": (["a", "b"], [None]),
                "scores": ([SCORES, None], [{"a": 2.0, "b": 0}, {"a": "x"}, {"a": math.nan}])}),
    "single": (sm.ROCAUC, {"y_true": ([0, 1], [2, "x"]), "y_pred": ([0.5, 0.1], [math.nan, math.inf])}),
    "groups": (lambda: sm.ByGroup(sm.MetricSet()),
               {"y_true": (["a"], [None]), "y_pred": (["a", "b"], []), "group": (["x", "y"], [None, math.nan])}),
    "times": (lambda: sm.TimeWindow(sm.MetricSet(), "1h"),
              {"y_true": (["a"], [None]), "y_pred": (["a", "b"], []), "t": ([1_000, 1_001.5], [None, "soon", 1e30])}),
}  # fmt: skip


@st.composite
def batches(draw: st.DrawFn) -> tuple[Callable[[], Any], dict[str, list[Any]]]:
    """What makes a state, and columns for it, some rows of which are bad."""
    make, values = KINDS[draw(st.sampled_from(list(KINDS)))]
    n, share, rng = draw(st.integers(1, 60)), draw(st.sampled_from([0.0, 0.02, 0.3, 1.0])), draw(st.randoms())
    columns = {
        name: [rng.choice(bad if bad and rng.random() < share else good) for _ in range(n)]
        for name, (good, bad) in values.items()
    }
    return make, columns


def row_by_row(make: Callable[[], Any], columns: dict[str, Any], place: tuple[Any, ...]) -> tuple[Any, sm.BadRows]:
    """Return the state of the good rows and the record of the bad ones, each row counted alone."""
    state, bad = make(), sm.BadRows()
    for at in range(len(columns["y_true"])):
        try:
            state.update_many(**{name: x if name == "classes" else x[at : at + 1] for name, x in columns.items()})
        except ValueError as error:
            bad.add(error, (*place[:2], None if place[2] is None else place[2] + at))
    return state, bad


@pytest.mark.quick
@given(batches(), st.integers(0, 2**40), st.randoms())
def test_good_rows_are_counted_and_bad_rows_are_named(batch: Any, first: int, rng: random.Random) -> None:
    """The state is that of the good rows, byte for byte; the record has every bad row, by its number.

    Rows that are split anywhere and merged in any tree, through bytes, give one record and one state.
    """
    make, columns = batch
    n, (expected, rows) = len(columns["y_true"]), row_by_row(make, columns, ("f", 7, first))
    state, bad = make(), sm.BadRows()
    bad.count_into(state, **columns, file="f", partition=7, row=first)

    assert (state, bad) == (expected, rows)
    assert bad.n == sum(bad.reasons.values())

    parts = []
    for start, stop in pairwise([0, *sorted(rng.choices(range(n + 1), k=3)), n]):
        some, record = make(), sm.BadRows()
        if stop > start:
            rows = {name: values[start:stop] for name, values in columns.items()}
            record.count_into(some, **rows, file="f", partition=7, row=first + start)
        parts.append((some, sm.BadRows.from_bytes(record.to_bytes())))
    while len(parts) > 1:
        left, right = (parts.pop(rng.randrange(len(parts))) for _ in range(2))
        parts.append((left[0].merge(right[0]), left[1] + right[1]))
    assert parts == [(state, bad)]
    assert parts[0][1].to_bytes() == bad.to_bytes()


@given(st.lists(st.text("abc", max_size=3), max_size=90), st.randoms())
def test_numbers_of_the_reasons_shown_are_exact(texts: list[str], rng: random.Random) -> None:
    """Reasons that are not shown never take a row from one that is."""
    shards = [sm.BadRows() for _ in range(3)]
    for at, text in enumerate(texts):
        rng.choice(shards).add(sm.LabelError(text), (None, None, at))
    total = sm.merge(shards)

    assert total.n == len(texts)
    assert total.reasons == {text: texts.count(text) for text in sorted(set(texts))[:MOST_REASONS]}
    assert len(total.first) == min(len(texts), MOST_EXAMPLES)
    assert bool(total) == bool(texts)


def test_as_many_reasons_and_rows_are_shown() -> None:
    """At most so many, as texts of at most so many characters that can be written; a reset forgets them."""
    bad, other = sm.BadRows(), sm.BadRows()
    for at in range(40):
        bad.add(ValueError(f"{at:02}" + "x" * 5_000), (None, None, at))
    other.add(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"))
    other.add(ValueError("\ud800" + "x" * 5_000))

    assert (bad.n, len(bad.reasons), len(bad.first)) == (40, MOST_REASONS, MOST_EXAMPLES)
    assert {len(text) for text in [*bad.reasons, *(row.error for row in bad.first)]} == {LONGEST}
    assert any(reason.startswith("UnicodeDecodeError: 'utf-8' codec") for reason in other.reasons)
    assert sm.from_bytes(other.to_bytes()) == other
    bad.reset()
    assert bad == sm.BadRows()


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_any_form(library: str) -> None:
    """Columns that can be read once, and with an index of their own, are cut by position, and so are data frames."""
    package, index = pytest.importorskip(library), [9, 9, 1, 0]
    scores = pd.DataFrame({"a": [0.5, 0.5, 2.0, 0.25], "b": [0.5, 0.5, 0.0, 0.75]}, index=index)
    expected = sm.MetricSet(scores=True)
    expected.update_many(["a", "a"], ["a", "b"], scores=[[0.5, 0.5], [0.25, 0.75]], classes=["a", "b"])
    forms: dict[str, list[Callable[[list[Any]], Any]]] = {
        "pandas": [
            *(list, tuple, iter, lambda x: np.array(x, object), pd.Categorical),
            *(lambda x, dtype=dtype: pd.Series(x, index=index, dtype=dtype) for dtype in (None, "category")),
        ],
        "pyarrow": [
            *(lambda x: package.array(x), lambda x: package.array(x).dictionary_encode()),
            lambda x: package.chunked_array([x[:3], x[3:]]),
        ],
    }
    for make in forms[library]:
        state, bad = sm.MetricSet(scores=True), sm.BadRows()
        bad.count_into(state, make(["a", None, "b", "a"]), make(["a", "a", "b", "b"]), scores=scores)
        assert state == expected
        assert [row.row for row in bad.first] == [1, 2]


@pytest.mark.parametrize(("library", "row"), [("pandas", 0), ("pandas", None), ("pyarrow", 7)])
def test_defects_are_found_in_columns_of_any_form(library: str, row: int | None) -> None:
    """Many rows with several defects at once give the state and the record that they give one by one."""
    n, rng = 120, np.random.default_rng(5)
    gaps = [rng.random(n) < 0.3 for _ in range(4)]
    labels, numbers = rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)
    texts, some = np.array(["a", "b", "c"])[labels].astype(object), np.where(gaps[0], np.nan, numbers)
    texts[gaps[0]] = None
    weights = np.where(gaps[1], rng.choice([-1.0, np.nan, np.inf, 2.0**63, -0.0], n), 2.0)
    scores = np.where(gaps[2], rng.choice([np.nan, np.inf, -0.5, 1.5, 1.0], n), 0.25)
    labels[:12], scores[:14], weights[:14] = 2, 1.5, 2.0  # of an area, the label is bad and the score is not
    truths = [texts, texts.tolist(), pd.Categorical(texts), pd.Series(texts, dtype="string"), some, some > 0]
    truths += [pd.array(some, "Int64"), np.where(gaps[3], np.inf, some)]
    if library == "pyarrow":
        pa: Any = pytest.importorskip("pyarrow")
        truths = [pa.array(texts), pa.array(texts).dictionary_encode(), pa.array(labels, mask=gaps[0]), pa.array(some)]
        weights = pa.array(weights, mask=gaps[3])
        some = pa.array([None if gap else f"2024-05-0{1 + at % 9}" for at, gap in enumerate(gaps[0])])
    for truth in truths:
        for make, more in (
            (sm.MetricSet, {"y_pred": truth}), (lambda: sm.MetricSet(labels=["a", 0.0]), {"y_pred": truth}),
            (lambda: sm.MetricSet(scores=True), {"scores": np.column_stack([scores, 1 - scores]), "classes": [0, 1]}),
            (sm.ROCAUC, {"y_true": labels, "y_pred": scores}),
            (lambda: sm.ByGroup(sm.MetricSet()), {"y_pred": labels, "group": truth}),
            (lambda: sm.TimeWindow(sm.MetricSet(), "1m"), {"y_pred": labels, "t": some}),
        ):  # fmt: skip
            columns = {"y_true": truth, "w": weights, **more}
            state, bad = make(), sm.BadRows()
            bad.count_into(state, **columns, row=row)
            assert (state, bad) == row_by_row(make, columns, (None, None, row))


@pytest.mark.quick
def test_what_is_wrong_with_the_batch_raises() -> None:
    """Columns of different lengths, and arguments that the state does not take, are no bad rows."""
    state, bad = sm.MetricSet(), sm.BadRows()
    scores = {"scores": [[0.5, 0.5]], "classes": ["a", "b"]}
    all_refused([
        (lambda: bad.count_into(state, ["a", None], ["a"]), ValueError, "as many rows"),
        (lambda: bad.count_into(state, [], ["a"]), ValueError, "as many rows"),
        (lambda: bad.count_into(state, ["a"], ["a"], **scores), ValueError, "labels only"),
        (lambda: bad.count_into(state, "text", ["a"]), ValueError, "column of labels"),
        (lambda: bad.merge(sm.Accuracy()), sm.MergeError, "got an Accuracy"),
    ])  # fmt: skip

    assert not bad
    assert state == sm.MetricSet()


@pytest.mark.quick
def test_texts() -> None:
    """A record as text has numbers, reasons and places; so has the sentence of a report."""
    state, bad = sm.ConfusionMatrix(["a"]), sm.BadRows()
    assert str(bad) == "No bad rows"
    assert bad.sentence(3) is None

    bad.count_into(state, ["a", None, "a"], ["a", "a", "b"], file="x.csv", row=10)
    assert str(bad).splitlines() == [
        "2 bad rows, not counted:",
        "  1: Expected `y_pred` to be one of the fixed labels ['a']",
        "  1: Expected `y_true` to be a str, int, bool, finite float, bytes, or a tuple of these",
        "The first 2:",
        f"  {bad.first[0]}",
        "  x.csv, row 12: Expected `y_pred` to be one of the fixed labels ['a'], but got 'b'",
    ]
    assert repr(bad) == "BadRows(2 rows)"
    assert bad.sentence(1) == f"2 of 3 rows could not be counted; the first: {bad.first[0]}"
    assert bad.to_dict()["first"][1] == {"file": "x.csv", "partition": None, "row": 12, "error": bad.first[1].error}

    row = type(bad.first[0])
    texts = [str(row(*place, "no")) for place in ((None, 2, None), ("f", 2, 1), (None, None, None))]
    assert texts == ["partition 2: no", "partition 2 of f, row 1: no", "no"]


GOLDEN = bytes.fromhex(
    "534d4554010b60c62792a86261645f726f777393029192bf45787065637465642060795f747275656020746f206265206120"
    "6c6162656c029294a1660203d93245787065637465642060795f747275656020746f2062652061206c6162656c2c20627574"
    "206974206973206d697373696e6794a16602c0d93245787065637465642060795f747275656020746f2062652061206c6162"
    "656c2c20627574206974206973206d697373696e67"
)


@pytest.mark.quick
def test_bytes_of_format_1() -> None:
    """These bytes were written by the first version that had records, and every later one reads and writes them."""
    bad = sm.BadRows()
    error = sm.LabelError(argument="y_true", position=9, expected="to be a label", but="it is missing")
    for row in (3, None):
        bad.add(error, ("f", 2, row))

    assert bad.to_bytes() == GOLDEN
    assert sm.from_bytes(GOLDEN) == bad


PLACE = [None, None, None, "r"]
DAMAGED: list[list[Any]] = [
    [1, [], []], [-1, [], []], ["x", [], []], [1, [], [PLACE[1:]]], [0, [["r", 0]], []],
    *([1, [reason], [PLACE]] for reason in (["r", 2], ["r", True], ["r" * 301, 1])),
    *([1, [["r", 1]], [place]] for place in ([1, None, None, "r"], [None, "p", None, "r"])),
    [2, [["b", 1], ["a", 1]], [[*PLACE[:3], "b"], [*PLACE[:3], "a"]]],
]  # fmt: skip


def test_damaged_bytes_are_refused() -> None:
    """Bytes that no record would have written are no record."""
    assert sm.from_bytes(bytes_of("bad_rows", [1, [["r" * 300, 1]], [PLACE]])).n == 1
    for content in DAMAGED:
        refused(lambda: sm.from_bytes(bytes_of("bad_rows", content)), sm.DecodeError)  # noqa: B023


def test_a_record_is_reduced_over_ranks() -> None:
    """`all_reduce` of torch merges records like states; here of the only rank."""
    adapter = pytest.importorskip("stream_metrics.integrations.torch", reason="needs torch", exc_type=ImportError)
    bad = sm.BadRows()
    bad.count_into(sm.MetricSet(), ["a", None], ["a", "a"], partition=3)

    assert adapter.all_reduce(bad) == bad
