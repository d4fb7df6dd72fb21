"""Labels: which values are labels, their order, and how they are shown."""

from __future__ import annotations

import datetime
import enum
import itertools
from collections import namedtuple
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics import testing

pytestmark = pytest.mark.quick

Pair = namedtuple("Pair", "x y")
Colour = enum.IntEnum("Colour", {"RED": 3})
Animal = enum.StrEnum("Animal", {"CAT": "cat"})


def tensor(value: Any) -> Any:
    """Return what looks like a scalar of another array library."""
    return SimpleNamespace(shape=(), item=lambda: value)


def nested(depth: int) -> tuple[Any, ...]:
    """Return tuples in tuples."""
    label: tuple[Any, ...] = ()
    for _ in range(depth - 1):
        label = (label,)
    return label


def counted(*pairs: tuple[Any, Any], **options: Any) -> sm.ConfusionMatrix:
    """Return a matrix after some samples."""
    state = sm.ConfusionMatrix(**options)
    for pair in pairs:
        state.update(*pair)
    return state


def label_of(value: Any) -> Any:
    """Return the label that a value stands for."""
    return sm.ConfusionMatrix(labels=[value]).labels[0]


PLAIN: list[Any] = [
    "a", "", 3, 2**70, True, 0.5, b"a", (), (1, "x", (b"y", 0.5)), nested(32),
]  # fmt: skip
LABELS: list[tuple[Any, Any]] = [
    *((value, value) for value in PLAIN), (-0.0, 0.0), ((True, 2.0, -0.0), (1, 2, 0)), (Pair(1, "x"), (1, "x")),
    (Colour.RED, 3), (Animal.CAT, "cat"), (np.int8(3), 3), (np.uint64(2**64 - 1), 2**64 - 1), (np.float32(0.5), 0.5),
    (np.longdouble(0.5), 0.5), (np.float64(-0.0), 0.0), (np.bool_(True), True), (np.str_("a"), "a"),
    (np.bytes_(b"a"), b"a"), (np.array(3), 3), (np.array("a"), "a"), ((np.int8(3), np.str_("a")), (3, "a")),
    (tensor(3), 3), (tensor(0.5), 0.5), (Decimal("7"), 7), (Decimal("-7.00"), -7), (Decimal("-0.0"), 0),
    (Decimal("1E+30"), 10**30), (Decimal("123456789012345678901234567890"), 123456789012345678901234567890),
    (Decimal("0.5"), 0.5), (Decimal("0.1000000000000000055511151231257827021181583404541015625"), 0.1),
    (datetime.date(2020, 2, 29), "2020-02-29"), (datetime.date(1, 1, 1), "0001-01-01"),
    ((datetime.date.max, Decimal(2)), ("9999-12-31", 2)),
]  # fmt: skip


def test_a_label_becomes_a_plain_object() -> None:
    """What stands for a label becomes the Python object of the plain type, the same alone and in a batch."""
    for value, label in LABELS:
        shown = label_of(value)
        assert (repr(shown), type(shown)) == (repr(label), type(label))
        options = {"labels": [label]} if isinstance(label, float) else {}  # where a fraction is a label
        single, batch, plain = (sm.ConfusionMatrix(**options) for _ in range(3))
        single.update(value, value)
        batch.update_many([value], [value])
        plain.update(label, label)
        assert single.to_bytes() == batch.to_bytes() == plain.to_bytes(), value


MISSING: list[Any] = [None, float("nan"), np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT")]
NO_LABELS: list[Any] = [
    float("inf"), -float("inf"), np.array(np.inf), [1], {1}, np.array([1, 2]), np.array([1]), 1j, np.complex128(1),
    datetime.datetime(2020, 1, 1), datetime.time(1), Decimal("1.1"), Decimal("-Infinity"), Decimal("1e1000"),
    Decimal("1e1000000"), Decimal("1e-1000000"), (1, Decimal("0.3")), np.datetime64("2020-01-01"),
    np.datetime64(1, "ns"), np.timedelta64(1, "ns"), object(), int, enum.Enum("Plain", "A").A, (1, None),
    (1, (2, float("nan"))), (1, [2]), tensor(None), tensor(float("nan")), bytearray(b"a"), nested(33), nested(100_000),
]  # fmt: skip


def test_what_is_no_label_is_refused() -> None:
    """Anything else raises a LabelError that names argument and position, in a short text, and nothing is counted."""
    cases: list[tuple[str, Any]] = [("y_true", value) for value in [*MISSING, *NO_LABELS, {1: 2}]]
    state, wrong = sm.ConfusionMatrix(), []
    for argument, value in [*cases, *(("y_pred", value) for value in NO_LABELS), ("y_true", list(range(10_000)))]:
        column = np.empty(8, object)
        column[:7], column[7] = "a", value
        columns = {"y_true": ["a"] * 8, "y_pred": ["a"] * 8} | {argument: list(column)}
        alone = refused(lambda: state.update(**{"y_true": "a", "y_pred": "a"} | {argument: value}), sm.LabelError)  # noqa: B023
        batch = refused(lambda: state.update_many(**columns), sm.LabelError)  # noqa: B023
        named = (alone.argument, alone.position), (batch.argument, batch.position)  # type: ignore[attr-defined]
        if named != ((argument, None), (argument, 7)) or len(str(alone)) > 200 or "but" not in str(alone):
            wrong.append((argument, value, named))
    assert wrong == []
    assert state == sm.ConfusionMatrix()
    all_refused((lambda value=value: label_of(value), sm.LabelError, "labels") for value in [*MISSING, *NO_LABELS])


def test_what_is_missing_is_an_abstention() -> None:
    """As a prediction a value that is not there is an abstention, alone and in a batch."""
    state = counted(*(("a", value) for value in MISSING))
    state.update_many(["a"] * len(MISSING), MISSING)

    assert (state.n, state.abstained) == (0, 2 * len(MISSING))


def order(label: Any) -> tuple[int, Any]:
    """Return a key by which labels stand in reports."""
    if isinstance(label, tuple):
        return 3, tuple(map(order, label))
    return (0 if isinstance(label, int | float) else 1 if isinstance(label, str) else 2), label


@given(st.lists(testing.labels()))
def test_numbers_come_first_then_text_bytes_and_tuples(drawn: list[Any]) -> None:
    """Each by value; when they arrive does not matter."""
    labels = [-3, False, 1, 2.0, 2**70, "", "B", "a", b"", b"a", (), (1,), (1, "x"), (2,), ("a",)]
    for shuffled in (labels[::-1], labels[7:] + labels[:7]):
        assert counted(*((label, label) for label in shuffled)).labels == tuple(labels)
    shown = counted(*((label, label) for label in drawn)).labels
    assert list(shown) == sorted(shown, key=order)
    assert set(shown) == {label_of(label) for label in drawn}


def test_a_number_is_shown_in_the_narrowest_type_seen() -> None:
    """Equal numbers are one label, bool before int before float, in any order, in batches, merges and reverts."""
    for seen in itertools.permutations([True, 1, 1.0]):
        state, types = counted(*((label, label) for label in seen)), []
        for label in (True, 1, 1.0):
            types.append(type(state.labels[0]))
            state.revert(label, label)
        assert (types, state.labels) == ([bool, int, float], ())
    for seen in itertools.permutations([2, 2.0, np.float32(2)]):
        one_by_one, batch = counted(*((label, "x") for label in seen)), sm.ConfusionMatrix()
        batch.update_many(list(seen), ["x"] * 3)
        merged = sm.merge([counted((label, "x")) for label in seen])
        assert type(one_by_one.labels[0]) is int
        assert one_by_one.to_bytes() == batch.to_bytes() == merged.to_bytes()


def test_fixed_labels_are_shown_as_they_were_given() -> None:
    """A label of a fixed set has the type that was given, whatever is counted; none comes twice; text is no set."""
    assert repr(counted((True, False), labels=[1.0, 0.0]).labels) == "(1.0, 0.0)"
    for labels in (["a", "a"], [1, True], [0.0, -0.0], [(1,), (True,)]):
        error = refused(lambda: sm.ConfusionMatrix(labels=labels), sm.LabelError, "labels")  # noqa: B023
        assert (error.position, error.expected) == (1, "to be distinct")  # type: ignore[attr-defined]
    for no_set in ("abc", b"abc", {"a"}, frozenset("a"), 3):
        refused(lambda: sm.ConfusionMatrix(labels=no_set), sm.LabelError, "sequence of labels")  # noqa: B023


def test_a_score_that_is_no_finite_number_is_refused() -> None:
    """A bad score raises a ScoreError that names argument, position and label, even if another score is larger."""
    state = sm.ConfusionMatrix()
    for score in (float("nan"), float("inf"), None, "0.5", b"1", [1], 1j, 10**400):
        for call, position in (
            (lambda: state.update("t", {"a": score, "b": 2.0}), None),  # noqa: B023
            (lambda: state.update_many(["t", "t"], ["a", {"b": 2.0, "a": score}]), 1),  # noqa: B023
        ):
            error = refused(call, sm.ScoreError, "for 'a'")
            assert (error.argument, error.position) == ("y_pred", position)  # type: ignore[attr-defined]
            assert error.expected == "to be a finite number"  # type: ignore[attr-defined]
    assert refused(lambda: state.update("t", {None: 1.0}), sm.LabelError).argument == "y_pred"  # type: ignore[attr-defined]
    assert state == sm.ConfusionMatrix()
