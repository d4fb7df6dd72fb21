"""Bytes: every later release reads the bytes of earlier ones, in every process; damaged bytes are refused."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.cases import every_case
from support.changed_bytes import bytes_of, content_of
from support.refusals import all_refused, refused
from support.wire_reader import packed

import stream_metrics as sm
from stream_metrics import testing

GOLDEN = Path(__file__).parent / "golden"
MANIFEST: dict[str, Any] = json.loads((GOLDEN / "states_v1.json").read_text())
UNLISTED: dict[str, Any] = json.loads((GOLDEN / "unlisted_metrics_v1.json").read_text())
BYTES = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("*.bin"))}


def writer() -> Any:
    """Return the script that wrote the golden files, as a module."""
    spec: Any = importlib.util.spec_from_file_location("write_golden", GOLDEN / "write_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example() -> bytes:
    """Return the bytes of a state with everything in it."""
    state = sm.ConfusionMatrix(labels=["b", "a"], other=2**70)
    state.update_many(["a", "b", (1, "x"), "a"], ["b", "b", 5, None], [1, 0.1, 2**53 + 1, 1])
    return state.to_bytes()


def assert_holds(contents: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare what a state shows with the manifest, which has more of inner numbers, and of options those of then."""
    options = {name: contents["configuration"][name] for name in expected["configuration"]}
    if "total" in contents and "workers" in contents:
        assert_holds(contents.pop("total"), expected["total"])
    assert contents | {"configuration": options} == {name: expected.get(name) for name in contents}


@pytest.mark.quick
def test_golden_bytes_are_read_and_written_as_ever() -> None:
    """A file of an earlier release holds what it held; the same samples give its bytes; no other option changes it."""
    script = writer()
    assert sorted(BYTES) == sorted(MANIFEST) == sorted([*script.STATES, *script.EARLIER])
    with every_case() as case:
        for name, expected in MANIFEST.items():
            with case(name):
                state = sm.from_bytes(BYTES[name])
                assert_holds(script.contents(state), expected)
                assert state.to_bytes() == BYTES[name]
                assert type(state).from_bytes(BYTES[name]) == state
                if hasattr(state, "reconfigured"):  # neither detectors nor aggregates have options that can change
                    assert state.reconfigured().to_bytes() == BYTES[name]
                if name not in script.EARLIER:
                    assert script.STATES[name]().to_bytes() == BYTES[name]


@pytest.mark.quick
def test_bytes_of_metrics_that_lost_their_class_are_read_as_ever() -> None:
    """They have the value and the bytes that they had, can be pickled, and merge."""
    with every_case() as case:
        for key, old in UNLISTED.items():
            with case(key):
                data = bytes.fromhex(old["bytes"])
                metric, twin = sm.from_bytes(data), sm.Metric.from_bytes(data)
                assert repr(metric.get()) == old["value"]
                assert metric.to_bytes() == data
                assert pickle.loads(pickle.dumps(metric)) == metric == twin == metric.copy()
                assert metric.merge(twin).state.n == 2 * twin.state.n
                again = metric.reconfigured(zero_division=1.0)
                assert again.reconfigured(zero_division=metric.zero_division) == metric
                assert type(again) is type(metric)


class Text(str):
    """A str of another class."""

    __slots__ = ()


class Number(int):
    """An int of another class."""


@pytest.mark.quick
def test_subclasses_are_written_as_their_base() -> None:
    """Labels and options of a subclass have the bytes of the plain value."""
    plain: list[Any] = ["a", "b", 7, 2**70, b"a", (2**70,), 0.25]
    own = [Text("a"), np.str_("b"), Number(7), Number(2**70), np.bytes_(b"a"), (Number(2**70),), np.float64(0.25)]
    assert sm.ConfusionMatrix(labels=own).to_bytes() == sm.ConfusionMatrix(labels=plain).to_bytes()
    assert sm.FBeta(np.float64(0.5)).to_bytes() == sm.FBeta(0.5).to_bytes()
    assert sm.MetricSet([Text("accuracy")]).to_bytes() == sm.MetricSet(["accuracy"]).to_bytes()


def test_every_truncation_and_every_flipped_bit_is_refused() -> None:
    """Bytes that end early or late, or with a single wrong bit, raise a DecodeError."""
    with every_case() as case:
        for name, data in BYTES.items():
            with case(name):
                for end in range(0, len(data), 1 + len(data) // 500):
                    refused(partial(sm.from_bytes, data[:end]), sm.DecodeError)
                refused(partial(sm.from_bytes, data + b"\0"), sm.DecodeError)
    data = example()
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        refused(partial(sm.from_bytes, bytes(damaged)), sm.DecodeError)


@pytest.mark.quick
def test_foreign_bytes_are_refused() -> None:
    """What another program wrote, what are no bytes, another version, and bytes of another class."""
    foreign: list[Any] = [
        b"", b"SMET", pickle.dumps([1, 2, 3]), packed({"a": 1}), b'{"a": 1}', b"\x93NUMPY\x01\x00v\x00",
        b"SQLite format 3\x00" + bytes(100), bytes(1000), example()[1:], "SMET\x01", None, 17, ["S", "M"],
    ]  # fmt: skip
    readers = (sm.from_bytes, sm.ConfusionMatrix.from_bytes, sm.MCC.from_bytes)
    all_refused((partial(read, data), sm.DecodeError, ", but got ") for data in foreign for read in readers)
    for version in (0, 2, 255):
        data = example()[:4] + bytes([version]) + example()[5:]
        error = refused(partial(sm.from_bytes, data), sm.DecodeError, f"format version 1, but got {version}")
        assert ("written by a newer version" in str(error)) is (version > 1)
    options, *states = content_of(sm.MetricSet(["roc_auc"]))
    sets = ([["new"], *options[1:]], [*options, ["ranks", "new"]], [*options, ["ranks"], "new"])
    contents = [("sets", []), ("groups", [["new", []], [], [], [], []]), *(("set", [x, *states]) for x in sets)]
    for kind, content in contents:
        refused(partial(sm.from_bytes, bytes_of(kind, content)), sm.DecodeError, "written by a newer version")
    written: list[tuple[Any, Any]] = [
        (sm.ConfusionMatrix(), sm.MCC), (sm.ConfusionMatrix(), sm.MetricSet), (sm.MCC(), sm.ConfusionMatrix),
        (sm.MCC(), sm.Accuracy), (sm.MetricSet(), sm.MCC),
    ]  # fmt: skip
    for state, read_as in written:
        error = refused(partial(read_as.from_bytes, state.to_bytes()), sm.DecodeError, f"{read_as.__name__}, but got")
        assert (type(state).__name__ if read_as is sm.MCC else " those of a") in str(error)


@pytest.mark.quick
def test_bytes_come_in_any_buffer_and_pickle() -> None:
    """As bytes, bytearray or memoryview; a general class reads what derives from it."""
    for holder in (bytes, bytearray, memoryview):
        assert sm.from_bytes(holder(example())).to_bytes() == example()
    assert sm.Metric.from_bytes(sm.FBeta(2.0).to_bytes()) == sm.FBeta(2.0)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for state in (sm.from_bytes(example()), sm.MCC(), sm.FBeta(2.0, pos_label="a"), sm.MetricSet(["accuracy"])):
            twin = pickle.loads(pickle.dumps(state, protocol))
            assert twin == state
            assert type(twin) is type(state)


@given(testing.labels(), testing.labels())
def test_every_label_survives(first: Any, second: Any) -> None:
    """Labels of all types come back as what they were, in open and fixed sets."""
    state = sm.ConfusionMatrix()
    state.update(first, second)
    fixed = sm.ConfusionMatrix(labels=dict.fromkeys([first, second]))

    assert repr(sm.from_bytes(state.to_bytes()).labels) == repr(state.labels)
    assert repr(sm.from_bytes(fixed.to_bytes()).labels) == repr(fixed.labels)


FRESH = """
import os, sys, numpy, stream_metrics as sm
for line in sys.stdin:
    read, data = eval(line)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        assert read(sm)(data).to_bytes() == data
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_bytes_are_read_by_a_process_that_has_used_nothing() -> None:
    """A process that has only imported the package knows every kind, also inside another one."""
    window = sm.TimeWindow(sm.ROCAUC(), period="1h", panes=4)
    window.update(True, 0.5, t=0)
    kinds = {name.partition("_")[0]: data for name, data in BYTES.items()} | {"window": window.to_bytes()}
    kinds["bad_rows"] = sm.BadRows().to_bytes()
    lines = [f"(lambda sm: sm.from_bytes, {data!r})" for data in kinds.values()]
    lines += [f"(lambda sm: lambda data: sm.merge([data]), {kinds['window']!r})"]
    lines += [f"(lambda sm: sm.TimeWindow.from_bytes, {kinds['window']!r})"]
    result = subprocess.run([sys.executable, "-c", FRESH], input="\n".join(lines), capture_output=True, text=True)
    assert result.stdout.split() == ["0"] * len(lines), result.stderr


def test_bytes_do_not_depend_on_the_process() -> None:
    """For any hash seed, the same samples give the same bytes."""
    code = (
        "import stream_metrics as sm; m = sm.MetricSet(labels=['x', 'y'], other='z')\n"
        "s = sm.ConfusionMatrix()\n"
        "for i in range(300): s.update(f'label {i * 7919 % 83}', i % 5, 0.1); m.update('x', str(i))\n"
        "print(s.to_bytes().hex(), m.to_bytes().hex(), sm.WeightedBalancedAccuracy({'b': 1, 'a': 2}).to_bytes().hex())"
    )
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("0", "4242")]
    outputs = {subprocess.check_output([sys.executable, "-c", code], env=environment) for environment in environments}
    assert len(outputs) == 1
