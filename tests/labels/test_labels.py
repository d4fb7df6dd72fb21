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

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.labels import canonical, is_missing, most_likely, ordering, sort_key, unique

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


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("a", "a"),
        ("", ""),
        (3, 3),
        (2**70, 2**70),
        (True, True),
        (0.5, 0.5),
        (-0.0, 0.0),
        (b"a", b"a"),
        ((), ()),
        ((1, "x", (b"y", 0.5)), (1, "x", (b"y", 0.5))),
        ((True, 2.0, -0.0), (1, 2, 0)),
        (Pair(1, "x"), (1, "x")),
        (Colour.RED, 3),
        (Animal.CAT, "cat"),
        (np.int8(3), 3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.float64(-0.0), 0.0),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.array(3), 3),
        (np.array("a"), "a"),
        ((np.int8(3), np.str_("a")), (3, "a")),
        (tensor(3), 3),
        (tensor(0.5), 0.5),
        (nested(32), nested(32)),
    ],
)
def test_a_label_becomes_a_plain_object(value: Any, label: Any) -> None:
    """What stands for a label becomes the Python object of the plain type."""
    got = canonical(value)

    assert repr(got) == repr(label)
    assert type(got) is type(label)


NO_LABELS = [
    None,
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float32("nan"),
    np.array(np.inf),
    [1],
    {1: 2},
    {1},
    np.array([1, 2]),
    np.array([1]),
    1j,
    np.complex128(1),
    datetime.datetime(2020, 1, 1),
    datetime.time(1),
    Decimal("1.1"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Decimal("1e1000"),
    Decimal("1e1000000"),
    Decimal("1e-1000000"),
    (1, Decimal("0.3")),
    np.datetime64("2020-01-01"),
    np.datetime64(1, "ns"),
    np.timedelta64(1, "ns"),
    object(),
    int,
    enum.Enum("Plain", "A").A,
    (1, None),
    (1, (2, float("nan"))),
    (1, [2]),
    tensor(None),
    tensor(float("nan")),
    bytearray(b"a"),
    nested(33),
    nested(100_000),
]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (Decimal("7"), 7),
        (Decimal("-7.00"), -7),
        (Decimal("-0.0"), 0),
        (Decimal("1E+30"), 10**30),
        (Decimal("123456789012345678901234567890"), 123456789012345678901234567890),
        (Decimal("0.5"), 0.5),
        (Decimal("0.1000000000000000055511151231257827021181583404541015625"), 0.1),
        (datetime.date(2020, 2, 29), "2020-02-29"),
        (datetime.date(1, 1, 1), "0001-01-01"),
        ((datetime.date.max, Decimal(2)), ("9999-12-31", 2)),
    ],
)
def test_decimals_and_dates_that_are_exact(value: Any, label: Any) -> None:
    """A Decimal becomes the number that equals it, a date its ISO text, the same in a batch and alone."""
    got = canonical(value)
    assert got == label
    assert type(got) is type(label)
    if not isinstance(label, float):  # a fraction is a label only where labels= names it
        single, batch, plain = sm.ConfusionMatrix(), sm.ConfusionMatrix(), sm.ConfusionMatrix()
        single.update(value, value)
        batch.update_many([value], [value])
        plain.update(label, label)
        assert single.to_bytes() == batch.to_bytes() == plain.to_bytes()


def test_a_decimal_that_is_no_number_is_missing() -> None:
    """As a prediction it is an abstention, as nan is."""
    state = sm.ConfusionMatrix()
    state.update("a", Decimal("NaN"))
    state.update_many(["a"], [Decimal("NaN")])

    assert state.abstained == 2


@pytest.mark.parametrize("value", NO_LABELS, ids=lambda value: f"{type(value).__name__}")
def test_what_is_no_label_is_refused(value: Any) -> None:
    """Anything else raises a LabelError that names argument and position."""
    with pytest.raises(sm.LabelError, match=r"^Expected `y_true` at position 7 to be .*, but got .+$"):
        canonical(value, "y_true", 7)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("y_true", value) for value in NO_LABELS]
    + [("y_pred", value) for value in NO_LABELS if not (isinstance(value, dict) or is_missing(value))],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_update_names_the_argument(argument: str, value: Any) -> None:
    """An update with what is no label names the argument, and counts nothing."""
    state = sm.ConfusionMatrix()
    before = state.to_bytes()

    with pytest.raises(sm.LabelError, match=f"`{argument}`"):
        state.update(**{"y_true": "a", "y_pred": "a"} | {argument: value})
    assert state.to_bytes() == before


def test_a_label_error_is_a_value_error_with_a_short_text() -> None:
    """Bad data can be caught as ValueError, and a huge value does not make a huge message."""
    with pytest.raises(ValueError, match="list") as caught:
        canonical(list(range(10_000)))

    assert len(str(caught.value)) < 200


def test_order_of_report() -> None:
    """Numbers come first, then text, bytes and tuples, each by value; arrival does not matter."""
    labels = [-3, False, 1, 2.0, 2**70, "", "B", "a", b"", b"a", (), (1,), (1, "x"), (2,), ("a",)]

    for shuffled in (labels[::-1], labels[7:] + labels[:7]):
        assert [shuffled[i] for i in ordering(shuffled)] == labels
        state = sm.ConfusionMatrix()
        for label in shuffled:
            state.update(label, label)
        assert state.labels == tuple(labels)


@given(st.lists(testing.labels(), unique_by=lambda label: repr(canonical(label))))
def test_order_is_that_of_the_sort_keys(labels: list[Any]) -> None:
    """The short way for text gives the order that the keys define."""
    plain = [canonical(label) for label in labels]

    assert ordering(plain) == sorted(range(len(plain)), key=lambda i: sort_key(plain[i]))


@pytest.mark.parametrize("seen", list(itertools.permutations([True, 1, 1.0])), ids=repr)
def test_a_number_is_shown_in_the_narrowest_type_seen(seen: tuple[Any, ...]) -> None:
    """Equal numbers are one label, shown as bool before int before float, in whatever order they came."""
    state, types = sm.ConfusionMatrix(), []
    for label in seen:
        state.update(label, label)
    for label in (True, 1, 1.0):
        types.append(type(state.labels[0]))
        state.revert(label, label)

    assert types == [bool, int, float]
    assert state.labels == ()


@pytest.mark.parametrize("seen", list(itertools.permutations([2, 2.0, np.float32(2)])), ids=repr)
def test_the_type_shown_survives_batches_and_merges(seen: tuple[Any, ...]) -> None:
    """Batches and merges count types as updates do."""
    one_by_one, batch, merged = sm.ConfusionMatrix(), sm.ConfusionMatrix(), sm.ConfusionMatrix()
    for label in seen:
        one_by_one.update(label, "x")
        shard = sm.ConfusionMatrix()
        shard.update(label, "x")
        merged.merge(shard)
    batch.update_many(list(seen), ["x"] * 3)

    assert type(one_by_one.labels[0]) is int
    assert one_by_one.to_bytes() == batch.to_bytes() == merged.to_bytes()


def test_fixed_labels_are_shown_as_they_were_given() -> None:
    """A label of a fixed set keeps its type, whatever equal numbers are counted."""
    state = sm.ConfusionMatrix(labels=[1.0, 0.0])
    state.update(True, False)

    assert repr(state.labels) == "(1.0, 0.0)"


@pytest.mark.parametrize("labels", [["a", "a"], [1, True], [0.0, -0.0], [(1,), (True,)]], ids=repr)
def test_a_fixed_set_has_no_label_twice(labels: list[Any]) -> None:
    """A label that comes twice in a fixed set is named with its position."""
    with pytest.raises(sm.LabelError, match="again at position 1"):
        unique(labels)


@pytest.mark.parametrize("labels", ["abc", b"abc"])
def test_text_is_no_set_of_labels(labels: Any) -> None:
    """A single text given as `labels` is a mistake, not a set of letters."""
    with pytest.raises(sm.LabelError, match="sequence of labels"):
        sm.ConfusionMatrix(labels=labels)


@pytest.mark.parametrize(
    ("scores", "label"),
    [
        ({"a": 0.2, "b": 0.8}, "b"),
        ({"b": 0.5, "a": 0.5}, "a"),
        ({"a": 0.5, 7: 0.5}, 7),
        ({"a": -2, "b": -1}, "b"),
        ({True: np.float32(0.1), False: 0.9}, False),
        ({"a": True, "b": False}, "a"),
        ({("x", 1): 1, (): 1}, ()),
        ({np.str_("b"): 1, np.int8(3): 1}, 3),
    ],
)
def test_the_largest_score_wins_and_ties_go_to_the_first_label(scores: dict[Any, Any], label: Any) -> None:
    """A mapping of scores stands for its largest; among equals, for the first in the order of report."""
    state, one = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    state.update("t", scores)
    one.update("t", label)

    assert most_likely(scores) == label
    assert most_likely(dict(reversed(scores.items()))) == label
    assert state == one


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None, "0.5", b"1", [1], 1j, 10**400], ids=repr)
def test_a_score_that_is_no_finite_number_is_refused(score: Any) -> None:
    """A bad score raises a ScoreError that names argument, position and label, even if another score is larger."""
    state = sm.ConfusionMatrix()

    with pytest.raises(sm.ScoreError, match=r"`y_pred` to be a finite number, but got .* for 'a'"):
        state.update("t", {"a": score, "b": 2.0})
    with pytest.raises(sm.ScoreError, match="`y_pred` at position 1 to be a finite number"):
        state.update_many(["t", "t"], ["a", {"b": 2.0, "a": score}])
    assert state == sm.ConfusionMatrix()


def test_a_key_of_scores_must_be_a_label() -> None:
    """A key that is no label raises a LabelError."""
    with pytest.raises(sm.LabelError, match="`y_pred`"):
        sm.ConfusionMatrix().update("t", {None: 1.0})
    with pytest.raises(sm.ScoreError, match="empty mapping"):
        most_likely({})
