"""Bytes with a correct header and checksum and a body that no state writes: refused at little cost."""

from __future__ import annotations

import random
import struct
import sys
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import Ext

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.wire import encoded

EMPTY = [None, [], 0, 0, [], [], b"\0"]
HUGE = 2**31


def signed(body: bytes) -> bytes:
    """Return a body with the header and checksum that belong to it."""
    return b"SMET\x01" + zlib.crc32(body).to_bytes(4, "little") + body


def confusion(**changes: Any) -> bytes:
    """Return the bytes of a small state with some of its content changed: 1 -> 2, once."""
    content = {"fixed": None, "other": [], "n": 1, "abstained": 0, "labels": [1, 2]}
    content |= {"appearances": [0, 1, 0, 0, 1, 0], "cells": b"\x00\x01\x01"} | changes
    return signed(encoded(["confusion", list(content.values())]))


def nested(depth: int) -> list[Any]:
    """Return lists in lists."""
    label: list[Any] = []
    for _ in range(depth):
        label = [label]
    return label


def test_the_state_that_is_changed_below_is_a_good_one() -> None:
    """Without a change the crafted bytes are those of the state."""
    state = sm.ConfusionMatrix()
    state.update(1, 2)

    assert state.to_bytes() == confusion()


ONE = {"labels": ["a"], "appearances": [], "cells": b"\x01\x01"}
FIXED = {"labels": [], "appearances": [], "cells": b"\x00\x01\x01", "fixed": [1, 2]}
BROKEN: dict[str, dict[str, Any]] = {
    "labels unsorted": {"labels": [2, 1]},
    "label twice": {"labels": [1, 1]},
    "equal labels": {"labels": [1, True]},
    "label without a count": {"labels": [1, 2, 3], "appearances": [0, 1, 0] * 3},
    "label in both sets": FIXED | {"labels": [2], "appearances": [0, 1, 0]},
    "fixed label twice": FIXED | {"fixed": [1, 1]},
    "nan": ONE | {"labels": [float("nan")], "appearances": [0, 0, 1]},
    "inf": ONE | {"labels": [float("inf")], "appearances": [0, 0, 1]},
    "minus zero": ONE | {"labels": [-0.0], "appearances": [0, 0, 1]},
    "nan in a tuple": ONE | {"labels": [[float("nan")]]},
    "bool in a tuple": ONE | {"labels": [[True]]},
    "float in a tuple": ONE | {"labels": [[1.0]]},
    "no label": ONE | {"labels": [None]},
    "mapping": ONE | {"labels": [{"a": 1}]},
    "time": ONE | {"labels": [Ext(-1, b"\0\0\0\1")]},
    "extension": ONE | {"labels": [Ext(2, b"a")]},
    "small big int": ONE | {"labels": [Ext(1, b"\x05")], "appearances": [0, 1, 0]},
    "padded big int": ONE | {"labels": [Ext(1, b"\0\0" + bytes([1] * 9))], "appearances": [0, 1, 0]},
    "deep label": ONE | {"labels": [nested(33)]},
    "deeper label": ONE | {"labels": [nested(400)]},
    "deep fixed label": FIXED | {"fixed": [nested(400), 2]},
    "labels as bytes": {"labels": b"\x01\x02"},
    "labels as text": {"labels": "ab", "appearances": []},
    "fixed as mapping": FIXED | {"fixed": {1: 1, 2: 2}},
    "fixed as text": FIXED | {"fixed": "ab"},
    "fixed as number": FIXED | {"fixed": 0},
    "fixed minus zero": FIXED | {"fixed": [1, -0.0]},
    "other without labels": {"other": ["z"]},
    "two others": FIXED | {"other": ["y", "z"]},
    "other as text": FIXED | {"other": "z"},
    "other none": FIXED | {"other": [None]},
    "negative n": {"n": -1},
    "negative abstained": {"abstained": -1},
    "huge n": {"n": 2**63},
    "n true": {"n": True},
    "n float": {"n": 1.0},
    "n text": {"n": "1"},
    "abstained none": {"abstained": None},
    "appearances missing": {"appearances": [0, 1, 0]},
    "appearances too many": {"appearances": [0, 1, 0] * 3},
    "appearances of text": ONE | {"appearances": [0, 1, 0]},
    "appearances negative": {"appearances": [0, 1, 0, 0, 1, -1]},
    "appearances huge": {"appearances": [0, 1, 0, 0, 2**64 - 1, 0]},
    "appearances as bytes": {"appearances": b"\0\1\0\0\1\0"},
    "shown too wide": {"appearances": [1, 1, 0, 0, 1, 0]},
    "cells empty": {"cells": b""},
    "cells as text": {"cells": "\x00\x01\x01"},
    "cells none": {"cells": None},
    "mode too large": {"cells": b"\x04\x01\x01"},
    "mode says every cell": {"cells": b"\x01\x00\x01\x00\x00"},
    "mode says few cells": ONE | {"cells": b"\x00\x00\x01"},
    "mode says fractions": {"cells": b"\x02\x01\x01\x00"},
    "cell outside": {"cells": b"\x00\x01\x01\x05\x01"},
    "cell far outside": {"cells": b"\x00\x01\x01" + b"\xff" * 9 + b"\x01\x01"},
    "cell of zero": {"cells": b"\x00\x01\x01\x00\x00"},
    "cells cut short": {"cells": b"\x00\x01"},
    "number cut short": {"cells": b"\x00\x01\x81"},
    "number padded": {"cells": b"\x00\x01\x81\x00"},
    "number too large": {"cells": b"\x00\x01" + b"\xff" * 9 + b"\x02"},
    "number endless": {"cells": b"\x00\x01" + b"\xff" * 50},
    "counter beyond 2^63": {"cells": b"\x00\x01" + b"\xff" * 9 + b"\x01"},
    "sum beyond 2^63": {"cells": b"\x00\x01" + b"\xff" * 8 + b"\x7f\x00\x01"},
    "every cell, too few": ONE | {"cells": b"\x01"},
    "every cell, too many": ONE | {"cells": b"\x01\x01\x01"},
    "no labels, a cell": ONE | {"labels": []},
}


@pytest.mark.parametrize("changes", BROKEN.values(), ids=BROKEN)
def test_a_broken_invariant_is_refused(changes: dict[str, Any]) -> None:
    """Content that no state has raises a DecodeError, inside a metric and a set too."""
    data = confusion(**changes)
    content = data[9 + len(b"\x92\xa9confusion") :]
    before = encoded(["metric", [["accuracy", 0.0, [], {}], None]])[:-1], encoded(["set", [[None, None], None]])[:-1]

    for crafted in (data, *(signed(body + content) for body in before)):
        with pytest.raises(sm.DecodeError, match=r"^Expected "):
            sm.from_bytes(crafted)


CONFIGURATIONS = {
    "unknown metric": ["no_such_metric", 0.0, [], {}],
    "a row without a class": ["confusion_matrix", 0.0, [], {}],
    "key as number": [1, 0.0, [], {}],
    "key as list": [["accuracy"], 0.0, [], {}],
    "zero_division": ["accuracy", 0.5, [], {}],
    "zero_division none": ["accuracy", None, [], {}],
    "zero_division text": ["accuracy", "0", [], {}],
    "pos_label missing": ["precision", 0.0, [], {}],
    "pos_label too many": ["precision", 0.0, [1, 2], {}],
    "pos_label of a whole": ["accuracy", 0.0, [1], {}],
    "pos_label nan": ["precision", 0.0, [float("nan")], {}],
    "unknown option": ["fbeta", 0.0, [True], {"gamma": 1.0}],
    "option missing": ["fbeta", 0.0, [True], {}],
    "option too small": ["fbeta", 0.0, [True], {"beta": -1.0}],
    "option nan": ["fbeta", 0.0, [True], {"beta": float("nan")}],
    "option text": ["fbeta", 0.0, [True], {"beta": "1"}],
    "option int": ["fbeta", 0.0, [True], {"beta": 2}],
    "option that is none": ["fbeta", 0.0, [True], {"labels": ["a"]}],
    "options as list": ["accuracy", 0.0, [], []],
    "option names": ["accuracy", 0.0, [], {5: 1}],
    "weights": ["weighted_balanced_accuracy", 0.0, [], {"weights": {"a": -1.0}}],
    "too short": ["accuracy", 0.0, []],
    "nothing": [],
    "no list": None,
}


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_metric_that_cannot_be_made_is_refused(configuration: Any) -> None:
    """A configuration that no metric has raises a DecodeError."""
    with pytest.raises(sm.DecodeError, match=r"^Expected the content of a Metric: "):
        sm.from_bytes(signed(encoded(["metric", [configuration, EMPTY]])))


SETS = [
    ["accuracy", None],
    [["accuracy", "no"], None],
    [["accuracy"] * 2, None],
    [[1], None],
    [None, 0.5],
    [{}, None],
    [],
    5,
]


@pytest.mark.parametrize("configuration", SETS, ids=repr)
def test_a_set_that_cannot_be_made_is_refused(configuration: Any) -> None:
    """Unknown keys, keys that come twice, and other things that are no set."""
    with pytest.raises(sm.DecodeError, match=r"^Expected the content of a MetricSet: "):
        sm.from_bytes(signed(encoded(["set", [configuration, EMPTY]])))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        encoded(["confusion"]),
        encoded(["confusion", EMPTY, 1]),
        encoded(["no such kind", EMPTY]),
        encoded([["confusion"], EMPTY]),
        encoded({"confusion": EMPTY}),
        encoded("confusion"),
        encoded(["confusion", EMPTY]) + b"\0",
        encoded(["confusion", EMPTY[:-1]]),
        encoded(["confusion", [*EMPTY, 1]]),
        encoded(["confusion", None]),
        encoded(["metric", EMPTY]),
        encoded(["confusion", EMPTY]).replace(b"\xc4\x01\0", b"\xc5\0\x01\0"),
        encoded(["confusion", EMPTY]).replace(b"\xc0\x90\0", b"\xc0\x90\xcc\0"),
        b"\x91" * 1000 + b"\x90",
        b"\x91" * 100_000 + b"\x90",
        b"\x92\xa9confusion" + b"\x91" * 500 + b"\x90",
        b"\x92\xa9\xff\xffnfusion\x90",
    ],
    ids=range(19),
)
def test_a_body_that_is_no_state_is_refused(body: bytes) -> None:
    """Not [kind, content], more than that, not in shortest form, nested without end."""
    with pytest.raises(sm.DecodeError, match=r"^Expected "):
        sm.from_bytes(signed(body))


def test_the_stack_does_not_matter() -> None:
    """A nested label is refused as such however little of the stack is left."""
    data = confusion(**ONE | {"labels": [nested(200)]})

    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            with pytest.raises((sm.DecodeError, RecursionError)):
                sm.from_bytes(data)

    deeper(sys.getrecursionlimit() - 200)


@pytest.mark.parametrize(
    "announcement",
    [
        b"\xdd" + struct.pack(">I", HUGE),
        b"\xc6" + struct.pack(">I", HUGE),
        b"\xdb" + struct.pack(">I", HUGE),
        b"\xdf" + struct.pack(">I", HUGE),
        b"\xc9" + struct.pack(">IB", HUGE, 1),
        (b"\xdd" + struct.pack(">I", 900_000)) * 500,
    ],
    ids=["array", "bytes", "text", "map", "extension", "arrays in arrays"],
)
@pytest.mark.parametrize("before", [b"", b"\x92\xa9confusion\x97\xc0\x90\x00\x00", b"\x92\xa9confusion\x97"])
def test_an_announced_size_is_not_believed(before: bytes, announcement: bytes) -> None:
    """A body that announces two thousand million labels takes memory in proportion to its length."""
    data = signed(before + announcement + bytes(1_000_000))
    tracemalloc.start()
    with pytest.raises(sm.DecodeError):
        sm.from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100 * len(data)


def test_many_announced_labels_need_many_bytes() -> None:
    """Labels without counts are refused before tables are made for them."""
    data = confusion(labels=list(range(100_000)), appearances=[0, 1, 0] * 100_000)
    tracemalloc.start()
    with pytest.raises(sm.DecodeError, match="a count for every label"):
        sm.from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100 * len(data)


@given(st.lists(testing.samples(), max_size=8), st.booleans(), st.randoms(use_true_random=False))
def test_mutated_bodies_are_read_exactly_or_refused(samples: list[Any], fixed: bool, rng: random.Random) -> None:
    """Whatever is changed in a body, it is refused, or it is the bytes of a state that can be used."""
    state: Any = sm.ConfusionMatrix(labels=["a", 1], other="z") if fixed else sm.ConfusionMatrix()
    for sample in samples:
        state.update(*sample)
    for written in (state, sm.FBeta(2.0, pos_label="a"), sm.MetricSet(["accuracy", "recall"])):
        body = bytearray(written.to_bytes()[9:])
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(body))
            body[at : at + rng.randint(0, 2)] = rng.choice(
                [b"", rng.randbytes(1), b"\0", b"\xff", bytes(body[at : at + 4])]
            )
        try:
            twin = sm.from_bytes(signed(bytes(body)))
        except sm.DecodeError:
            continue
        assert twin.to_bytes() == signed(bytes(body))
        twin.merge(twin).update(1, 1)
        assert twin.snapshot().n == twin.n
