"""Bytes: every later release reads the bytes of earlier ones, in every process; damaged bytes are refused."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing, wire
from stream_metrics.wire import encoded

GOLDEN = Path(__file__).parent / "golden"
MANIFEST: dict[str, Any] = json.loads((GOLDEN / "states_v1.json").read_text())


class Text(str):
    """A str of another class."""

    __slots__ = ()


class Number(int):
    """An int of another class."""


@pytest.mark.parametrize(
    "value", [Text("a"), Number(7), np.float64(0.5), np.bytes_(b"a"), np.str_("b"), [Number(2**70)]]
)
def test_subclasses_are_written_as_their_base(value: Any) -> None:
    """An object of a subclass has the bytes of the plain value; another object is refused."""
    kind = next((base for base in (str, bytes, float, int) if isinstance(value, base)), None)

    assert encoded(value) == encoded([2**70] if kind is None else kind(value))
    with pytest.raises(TypeError, match="something that msgpack can write, but got object"):
        encoded(object())


def writer() -> Any:
    """Return the script that wrote the golden files, as a module."""
    spec = importlib.util.spec_from_file_location("write_golden", GOLDEN / "write_golden.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def example() -> bytes:
    """Return the bytes of a state with everything in it."""
    state = sm.ConfusionMatrix(labels=["b", "a"], other=2**70)
    state.update_many(["a", "b", (1, "x"), "a"], ["b", "b", 5, None], [1, 0.1, 2**53 + 1, 1])
    return state.to_bytes()


@pytest.mark.parametrize("name", MANIFEST)
def test_golden_bytes_are_read_as_ever(name: str) -> None:
    """A file of an earlier release holds what it held, whatever options came later, and is written again as it was."""
    data = (GOLDEN / f"{name}.bin").read_bytes()
    state = sm.from_bytes(data)
    contents, expected = writer().contents(state), MANIFEST[name]
    contents["configuration"] = {option: contents["configuration"][option] for option in expected["configuration"]}

    assert contents == expected
    assert state.to_bytes() == data
    assert type(state).from_bytes(data) == state


@pytest.mark.parametrize("name", [name for name in MANIFEST if name not in writer().EARLIER])
def test_golden_states_are_written_as_ever(name: str) -> None:
    """The same samples still give the bytes of the file."""
    assert writer().STATES[name]().to_bytes() == (GOLDEN / f"{name}.bin").read_bytes()


UNLISTED: dict[str, Any] = json.loads((GOLDEN / "unlisted_metrics_v1.json").read_text())


@pytest.mark.parametrize("key", UNLISTED)
def test_bytes_of_metrics_that_lost_their_class_are_read_as_ever(key: str) -> None:
    """They have the value and the bytes that they had, can be pickled, and merge."""
    data = bytes.fromhex(UNLISTED[key]["bytes"])
    metric, twin = sm.from_bytes(data), sm.Metric.from_bytes(data)

    assert repr(metric.get()) == UNLISTED[key]["value"]
    assert metric.to_bytes() == data
    assert pickle.loads(pickle.dumps(metric)) == metric == twin == metric.copy()
    assert metric.merge(twin).state.n == 2 * twin.state.n
    again = metric.reconfigured(zero_division=1.0)
    assert again.reconfigured(zero_division=metric.zero_division) == metric
    assert type(again) is type(metric)


@pytest.mark.parametrize("name", MANIFEST)
def test_golden_states_can_be_reconfigured(name: str) -> None:
    """With no other option a state of any earlier version stays what it is."""
    state = sm.from_bytes((GOLDEN / f"{name}.bin").read_bytes())
    if hasattr(state, "reconfigured"):  # neither detectors nor aggregates have options that can change
        assert state.reconfigured().to_bytes() == state.to_bytes()


def test_every_golden_file_is_in_the_manifest() -> None:
    """No state is without its file, no file without its state."""
    assert (
        sorted(path.stem for path in GOLDEN.glob("*.bin"))
        == sorted(MANIFEST)
        == sorted([*writer().STATES, *writer().EARLIER])
    )


@pytest.mark.parametrize("name", MANIFEST)
def test_every_truncation_is_refused(name: str) -> None:
    """Bytes that end early raise a DecodeError, wherever they end."""
    data = (GOLDEN / f"{name}.bin").read_bytes()

    for end in range(0, len(data), 1 + len(data) // 500):
        with pytest.raises(sm.DecodeError):
            sm.from_bytes(data[:end])
    with pytest.raises(sm.DecodeError):
        sm.from_bytes(data + b"\0")


def test_every_flipped_bit_is_refused() -> None:
    """A single wrong bit, anywhere, raises a DecodeError."""
    data = example()

    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(sm.DecodeError):
            sm.from_bytes(bytes(damaged))


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"SMET",
        pickle.dumps([1, 2, 3]),
        encoded({"a": 1}),
        b'{"a": 1}',
        b"\x93NUMPY\x01\x00v\x00",
        b"SQLite format 3\x00" + bytes(100),
        bytes(1000),
        example()[1:],
        "SMET\x01",
        None,
        17,
        ["S", "M"],
    ],
    ids=repr,
)
def test_foreign_bytes_are_refused(foreign: Any) -> None:
    """What another program wrote raises a DecodeError, and so does what are no bytes."""
    for read in (sm.from_bytes, sm.ConfusionMatrix.from_bytes, sm.MCC.from_bytes):
        with pytest.raises(sm.DecodeError, match=r"^Expected .*, but got "):
            read(foreign)


@given(st.binary(max_size=300))
def test_garbage_is_refused(garbage: bytes) -> None:
    """Random bytes raise a DecodeError, with the magic in front too."""
    for data in (garbage, b"SMET\x01" + garbage):
        with pytest.raises(sm.DecodeError):
            sm.from_bytes(data)


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_is_refused_by_its_number(version: int) -> None:
    """Bytes of a newer format say so before anything of them is read."""
    data = bytearray(example())
    data[4] = version

    with pytest.raises(sm.DecodeError, match=f"format version 1, but got {version}"):
        sm.from_bytes(bytes(data))


@pytest.mark.parametrize("holder", [bytes, bytearray, memoryview])
def test_any_buffer_of_bytes_will_do(holder: Any) -> None:
    """Bytes may come as bytes, bytearray or memoryview."""
    assert sm.from_bytes(holder(example())).to_bytes() == example()


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (sm.ConfusionMatrix(), sm.MCC),
        (sm.ConfusionMatrix(), sm.MetricSet),
        (sm.MCC(), sm.ConfusionMatrix),
        (sm.MCC(), sm.Accuracy),
        (sm.MetricSet(), sm.MCC),
    ],
)
def test_bytes_of_another_class_are_refused(written: Any, read_as: Any) -> None:
    """A class reads its own bytes only, and names both classes."""
    with pytest.raises(sm.DecodeError, match=rf"bytes of an? {read_as.__name__}, but got those of an? "):
        read_as.from_bytes(written.to_bytes())


def test_a_general_class_reads_what_derives_from_it() -> None:
    """`Metric.from_bytes` reads the bytes of every metric."""
    assert sm.Metric.from_bytes(sm.FBeta(2.0).to_bytes()) == sm.FBeta(2.0)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_states_can_be_pickled(protocol: int) -> None:
    """Every kind of state survives pickle, by its own bytes."""
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


@pytest.mark.parametrize("read", ["sm.from_bytes(data)", "sm.merge([data])", "sm.TimeWindow.from_bytes(data)"])
def test_bytes_are_read_by_a_process_that_has_used_nothing(read: str) -> None:
    """A process that has only imported the package knows every kind, also inside another one."""
    window = sm.TimeWindow(sm.ROCAUC(), period="1h", panes=4)
    window.update(True, 0.5, t=0)
    data = f"data = bytes.fromhex({window.to_bytes().hex()!r})"
    code = f"import stream_metrics as sm; {data}; print({read}.to_bytes().hex())"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert bytes.fromhex(result.stdout) == window.to_bytes()


def test_every_kind_has_the_module_that_defines_it() -> None:
    """The table of modules is complete: every public class that writes bytes is in it."""
    public = [getattr(sm, name) for name in sm.__all__]
    classes = [value for value in public if isinstance(value, type) and issubclass(value, wire.Portable)]
    modules = {
        value.KIND: value.__module__.removeprefix("stream_metrics.") for value in classes if "KIND" in vars(value)
    }

    assert {**modules, "metric": "metrics.classes"} == wire._MODULES


def test_bytes_do_not_depend_on_the_process() -> None:
    """For any hash seed, the same samples give the same bytes."""
    code = (
        "import stream_metrics as sm; m = sm.MetricSet(labels=['x', 'y'], other='z')\n"
        "s = sm.ConfusionMatrix()\n"
        "for i in range(300): s.update(f'label {i * 7919 % 83}', i % 5, 0.1); m.update('x', str(i))\n"
        "print(s.to_bytes().hex(), m.to_bytes().hex(), sm.WeightedBalancedAccuracy({'b': 1, 'a': 2}).to_bytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1
