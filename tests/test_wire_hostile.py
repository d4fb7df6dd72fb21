"""Bytes with a correct header and checksum and a body that no state writes: refused at little cost."""

from __future__ import annotations

import base64
import struct
import sys
import tracemalloc
import zlib
from functools import partial
from typing import Any

import pytest
from support.cases import every_case
from support.refusals import all_refused, refused
from support.wire_reader import Raw, framed, packed

import stream_metrics as sm

EMPTY = [None, [], 0, 0, [], [], b"\0"]
HUGE = 2**31
NAN = float("nan")


def confusion(**changes: Any) -> bytes:
    """Return the body of a small state with some of its content changed: 1 -> 2, once."""
    content = {"fixed": None, "other": [], "n": 1, "abstained": 0, "labels": [1, 2]}
    content |= {"appearances": [0, 1, 0, 0, 1, 0], "cells": b"\x00\x01\x01"} | changes
    return packed(["confusion", list(content.values())])


def nested(depth: int) -> list[Any]:
    """Return lists in lists."""
    return [] if depth == 0 else [nested(depth - 1)]


def one(label: Any, *appearances: int) -> dict[str, Any]:
    """Return the content of a state that has counted one label."""
    return {"labels": [label], "appearances": [*appearances], "cells": b"\x01\x01"}


FIXED: dict[str, Any] = {"labels": [], "appearances": [], "cells": b"\x00\x01\x01", "fixed": [1, 2]}
CELLS: list[Any] = [
    b"", "\x00\x01\x01", None, b"\x04\x01\x01", b"\x01\x00\x01\x00\x00", b"\x02\x01\x01\x00", b"\x00\x01\x01\x05\x01",
    b"\x00\x01\x01" + b"\xff" * 9 + b"\x01\x01", b"\x00\x01\x01\x00\x00", b"\x00\x01", b"\x00\x01\x81",
    b"\x00\x01\x81\x00", b"\x00\x01" + b"\xff" * 9 + b"\x02", b"\x00\x01" + b"\xff" * 50,
    b"\x00\x01" + b"\xff" * 9 + b"\x01", b"\x00\x01" + b"\xff" * 8 + b"\x7f\x00\x01",
]  # fmt: skip
BROKEN: dict[str, list[dict[str, Any]]] = {
    "labels": [
        {"labels": [2, 1]}, {"labels": [1, 1]}, {"labels": [1, True]}, {"labels": b"\x01\x02"},
        {"labels": "ab", "appearances": []}, {"labels": [1, 2, 3], "appearances": [0, 1, 0] * 3},
        one(NAN, 0, 0, 1), one(float("inf"), 0, 0, 1), one(-0.0, 0, 0, 1), one([NAN]), one([True]), one([1.0]),
        one(None), one({"a": 1}), one(nested(33)), one(nested(400)),
    ],
    "extensions": [
        one(Raw(b"\xd6\xff\0\0\0\1")), one(Raw(b"\xd4\x02a")), one(Raw(b"\xd4\x01\x05"), 0, 1, 0),
        one(Raw(b"\xc7\x0b\x01\0\0" + bytes([1] * 9)), 0, 1, 0),
    ],
    "fixed": [
        FIXED | {"labels": [2], "appearances": [0, 1, 0]},
        *(FIXED | {"fixed": labels} for labels in ([1, 1], [nested(400), 2], {1: 1, 2: 2}, "ab", 0, [1, -0.0])),
        {"other": ["z"]}, FIXED | {"other": ["y", "z"]}, FIXED | {"other": "z"}, FIXED | {"other": [None]},
    ],
    "numbers": [
        {"n": -1}, {"abstained": -1}, {"n": 2**63}, {"n": True}, {"n": 1.0}, {"n": "1"}, {"abstained": None},
    ],
    "appearances": [
        {"appearances": [0, 1, 0]}, {"appearances": [0, 1, 0] * 3}, one("a", 0, 1, 0), {"appearances": b"\0\1\0\0\1\0"},
        {"appearances": [0, 1, 0, 0, 1, -1]}, {"appearances": [0, 1, 0, 0, 2**64 - 1, 0]},
        {"appearances": [1, 1, 0, 0, 1, 0]},
    ],
    "cells": [
        *({"cells": cells} for cells in CELLS),
        *(one("a") | {"cells": cells} for cells in (b"\x00\x00\x01", b"\x01", b"\x01\x01\x01")),
        one("a") | {"labels": []},
    ],
}  # fmt: skip


@pytest.mark.quick
def test_a_broken_invariant_is_refused() -> None:
    """Content that no state has raises a DecodeError, inside a metric and a set too; without a change it is read."""
    state = sm.ConfusionMatrix()
    state.update(1, 2)
    assert state.to_bytes() == framed(confusion())
    heads = b"", packed(["metric", [["accuracy", 0.0, [], {}], None]])[:-1], packed(["set", [[None, None], None]])[:-1]
    with every_case() as case:
        for name, changes in BROKEN.items():
            for change in changes:
                for head in heads:
                    with case((name, f"{change!s:.100}", head)):
                        body = confusion(**change)
                        crafted = framed(head + body[len(b"\x92\xa9confusion") :] if head else body)
                        refused(partial(sm.from_bytes, crafted), sm.DecodeError, "Expected ")


@pytest.mark.quick
def test_a_metric_or_set_that_cannot_be_made_is_refused() -> None:
    """A configuration that no metric or set has raises a DecodeError that names the kind."""
    precision, fbeta = ("precision", 0.0), ("fbeta", 0.0, [True])
    metrics: list[Any] = [
        ["no_such_metric", 0.0, [], {}], ["confusion_matrix", 0.0, [], {}], [1, 0.0, [], {}],
        [["accuracy"], 0.0, [], {}], ["accuracy", 0.5, [], {}], ["accuracy", None, [], {}], ["accuracy", "0", [], {}],
        [*precision, [], {}], [*precision, [1, 2], {}], ["accuracy", 0.0, [1], {}], [*precision, [NAN], {}],
        [*fbeta, {"gamma": 1.0}], [*fbeta, {}], [*fbeta, {"beta": -1.0}], [*fbeta, {"beta": NAN}],
        [*fbeta, {"beta": "1"}], [*fbeta, {"beta": 2}], [*fbeta, {"labels": ["a"]}], ["accuracy", 0.0, [], []],
        ["accuracy", 0.0, [], {5: 1}], ["weighted_balanced_accuracy", 0.0, [], {"weights": {"a": -1.0}}],
        ["accuracy", 0.0, []], [], None,
    ]  # fmt: skip
    sets: list[Any] = [
        ["accuracy", None], [["accuracy", "no"], None], [["accuracy"] * 2, None], [[1], None], [None, 0.5], [{}, None],
        [], 5,
    ]  # fmt: skip
    for kind, name, configurations in (("metric", "Metric", metrics), ("set", "MetricSet", sets)):
        bodies = [packed([kind, [each, EMPTY]]) for each in configurations]
        expected = f"the content of a {name}: "
        all_refused((partial(sm.from_bytes, framed(body)), sm.DecodeError, expected) for body in bodies)


@pytest.mark.quick
def test_a_body_that_is_no_state_is_refused() -> None:
    """Not [kind, content], more than that, not in shortest form, nested without end, however little stack is left."""
    empty = packed(["confusion", EMPTY])
    bodies = [
        b"", b"\xc1", packed(["confusion"]), packed(["confusion", EMPTY, 1]), packed(["no such kind", EMPTY]),
        packed([["confusion"], EMPTY]), packed({"confusion": EMPTY}), packed("confusion"), empty + b"\0",
        packed(["confusion", EMPTY[:-1]]), packed(["confusion", [*EMPTY, 1]]), packed(["confusion", None]),
        packed(["metric", EMPTY]), empty.replace(b"\xc4\x01\0", b"\xc5\0\x01\0"),
        empty.replace(b"\xc0\x90\0", b"\xc0\x90\xcc\0"), b"\x91" * 1000 + b"\x90", b"\x91" * 100_000 + b"\x90",
        b"\x92\xa9confusion" + b"\x91" * 500 + b"\x90", b"\x92\xa9\xff\xffnfusion\x90",
    ]  # fmt: skip
    all_refused((partial(sm.from_bytes, framed(body)), sm.DecodeError, "Expected ") for body in bodies)

    def deeper(frames: int) -> None:
        if frames:
            return deeper(frames - 1)
        with pytest.raises((sm.DecodeError, RecursionError)):
            sm.from_bytes(framed(confusion(**one(nested(200)))))

    deeper(sys.getrecursionlimit() - 200)


def test_an_announced_size_is_not_believed() -> None:
    """A body that announces two thousand million labels takes memory in proportion to its length."""
    announced = [struct.pack(">BI", head, HUGE) for head in (0xDD, 0xC6, 0xDB, 0xDF)]
    announced += [b"\xc9" + struct.pack(">IB", HUGE, 1), (b"\xdd" + struct.pack(">I", 900_000)) * 500]
    starts = (b"", b"\x92\xa9confusion\x97\xc0\x90\x00\x00", b"\x92\xa9confusion\x97")
    bodies = [start + announcement + bytes(1_000_000) for start in starts for announcement in announced]
    bodies.append(confusion(labels=list(range(100_000)), appearances=[0, 1, 0] * 100_000))  # labels without counts
    with every_case() as case:
        for at, body in enumerate(bodies):
            with case(at):
                tracemalloc.start()
                error = refused(partial(sm.from_bytes, framed(body)), sm.DecodeError)
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak < 100 * len(body)
    assert "a count for every label" in str(error)


# an aggregate of two fading sets; in one, the newer of its two states has counted 2**63 - 3 samples
LARGE_FADING = (
    "c-oCnJxc>Y5PiEjlMpP<e_&~6ADe6Jw9-Ft;Ca|s#Gs{vSXjwAMno%vAlUdDj&PNQ`6YH%g2b7*J-"
    "dLzz|P0pH}ht1cYEJ;zjp$^=4Cl5%6we#WO@e2FNgWT(Q$dl&nLy0xvK7~0EAFG%s#dr-"
    "*Gbsu=aU912ZCE6}NEy0RyNfsD~ZUC8;Ik?E$EXB&4<nc!RVpt+0!v-AK9ub&q;ONK+^*1?;snCQZlE2~STQ{6Dqy-"
    "o6GRWU)+3)=3*?Su%?e^>t>_W*Is9n@;_<>@H|s1}r<%{Cr{dQ*Vm0E5QrrlN~{|=x3^IlwB;-VvsF>Up@MuxB"
)


@pytest.mark.quick
def test_an_aggregate_that_cannot_be_merged_is_refused() -> None:
    """Every state inside a worker's state counts for what the merge of all workers has to hold."""
    data = zlib.decompress(base64.b85decode(LARGE_FADING))
    refused(partial(sm.from_bytes, data), sm.DecodeError, "of all states together to stay below")
