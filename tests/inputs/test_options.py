"""Numeric options are checked by the constructor or the call that takes them, and never fail later."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import struct
import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.metric_classes import CLASSES
from support.refusals import all_refused, refused

import stream_metrics as sm

NO_NUMBERS: list[Any] = ["2", b"1", True, np.True_, [1], {}, {1}, np.array([2]), 1j, object(), max]
NO_NUMBERS += [np.timedelta64(1, "s")]
HUGE = 10**400
NO_WHOLE_NUMBERS: list[Any] = [1.5, 2.0, math.nan, math.inf, HUGE, -1, Decimal(2)]


def is_number(value: Any) -> bool:
    """Tell whether a default is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def metric_options() -> Iterator[tuple[str, Callable[[Any], Any], bool]]:
    """Yield every option of a metric class that is a number: its name, what makes one, whether it is whole."""
    for name, cls in CLASSES.items():
        for option, parameter in inspect.signature(cls).parameters.items():
            if is_number(parameter.default):
                make = lambda value, cls=cls, option=option: cls(**{option: value})  # noqa: E731
                yield f"{name}({option})", make, isinstance(parameter.default, int)
    for name in ("GeneralF1", "GeneralFowlkesMallows"):
        yield f"{name}(p)", lambda value, name=name: CLASSES[name](average="power", p=value), False


def state_options() -> Iterator[tuple[str, Callable[[Any], Any], bool]]:
    """Yield the options of states, sets and windows in the same way."""
    for option, whole in {"buckets": True, "sample": True, "threshold": False, "zero_division": False}.items():
        if option != "threshold":  # which needs scores
            yield f"MetricSet({option})", lambda value, option=option: sm.MetricSet(**{option: value}), whole
        yield f"scored {option}", lambda value, option=option: sm.MetricSet(scores=True, **{option: value}), whole
    for option in ("buckets", "sample"):
        yield f"RankSketch({option})", lambda value, option=option: sm.RankSketch(**{option: value}), True
    yield "Rolling(window)", lambda value: sm.Rolling(sm.MetricSet(), value), True
    yield "TimeWindow(panes)", lambda value: sm.TimeWindow(sm.MetricSet(), 60, value), True
    yield "ByGroup(max_groups)", lambda value: sm.ByGroup(sm.MetricSet(), value), True
    yield "Comparison(folds)", lambda value: sm.Comparison(folds=value), True
    yield "ChangeDetector(p0)", lambda value: sm.ChangeDetector(value), False
    yield "ChangeDetector(arl)", lambda value: sm.ChangeDetector(0.1, arl=value), False
    yield "ChangeDetector(reference)", lambda value: sm.ChangeDetector(reference=value), True


def asked_options() -> Iterator[tuple[str, Callable[[Any], Any], bool]]:
    """Yield what is asked of a snapshot or of the planning functions in the same way."""
    state = sm.MetricSet(scores=True)
    state.update_many([True, False] * 20, [0.9, 0.8, 0.7, 0.2] * 10)
    view = state.snapshot()
    yield "fbeta", lambda value: view.value("fbeta", beta=value), False
    yield "tpr_at_fpr", lambda value: view.value("tpr_at_fpr", fpr=value), False
    yield "bins", lambda value: view.value("expected_calibration_error", bins=value), True
    yield "level", lambda value: view.interval("accuracy", value), False
    yield "draws", lambda value: view.interval("accuracy", draws=value), True
    yield "t_opt", lambda value: view.interval("accuracy", valid="anytime", t_opt=value), False
    yield "with_intervals", view.with_intervals, False
    yield "width", lambda value: sm.samples_needed(value, 0.5), False
    yield "rate", lambda value: sm.samples_needed(0.1, value), False
    yield "power", lambda value: sm.power(100, value, rate=0.5), False
    yield "wanted", lambda value: sm.samples_for_power(value, 0.1, rate=0.5), False


OPTIONS = {name: (make, whole) for name, make, whole in [*metric_options(), *state_options(), *asked_options()]}


def test_what_is_no_number_is_refused() -> None:
    """An error of the package says what was expected, at once."""
    failures = []
    for option, (make, whole) in OPTIONS.items():
        for value in NO_NUMBERS + NO_WHOLE_NUMBERS if whole else NO_NUMBERS:
            if option == "ByGroup(max_groups)" and value is HUGE:
                continue  # more groups than there can be
            try:
                make(value)
                failures.append((option, value))
            except ValueError as error:
                if not str(error).startswith("Expected "):
                    failures.append((option, error))

    assert not failures


@pytest.mark.parametrize("kind", ["metrics", "states"])
def test_what_is_taken_can_be_read_and_written(kind: str) -> None:
    """Whatever number an option takes, the object can be read, copied, written and merged."""
    numbers = [0, 1, 2, 0.25, -0.0, -1.0, 1e300, np.float32(0.5), np.int64(3), np.array(0.5), Fraction(1, 2)]
    for option, make, _ in metric_options() if kind == "metrics" else state_options():
        taken, refusals = 0, []
        for value in [*numbers, Decimal("0.5"), float("nan"), float("inf")]:
            try:
                state = make(value)
            except ValueError as error:
                refusals.append(str(error))
                continue
            taken += 1
            state.snapshot()
            twin = pickle.loads(pickle.dumps(state))
            assert twin == state == copy.deepcopy(state) == type(state).from_bytes(state.to_bytes()), (option, value)
            if not isinstance(state, sm.Rolling | sm.ChangeDetector):
                assert twin.merge(state) == state, (option, value)
        assert taken, option
        assert all(text.startswith("Expected ") for text in refusals), option


@pytest.mark.quick
def test_there_is_one_nan_and_one_zero() -> None:
    """For 0/0, -0.0 is 0.0, and every nan is the same: equal states are equal bytes; bytes of others are refused."""
    assert str(sm.Accuracy(zero_division=-0.0).get()) == "0.0"
    others = [struct.unpack(">d", bytes.fromhex(text))[0] for text in ("fff8000000000000", "7ff8000000000001")]
    makes: list[Callable[[float], Any]] = [
        lambda nan: sm.Accuracy(zero_division=nan),
        lambda nan: sm.MetricSet(zero_division=nan),
        lambda nan: sm.Rolling(sm.ROCAUC(zero_division=nan), 3),
    ]
    for make in makes:
        data = make(math.nan).to_bytes()
        assert make(-0.0).to_bytes() == make(0.0).to_bytes() == make(0).to_bytes()
        assert all(make(nan).to_bytes() == data for nan in others)
        for payload in ("fff8000000000000", "7ff8000000000001", "7ff0000000000001", "fff7fffffff60000"):
            body = data[9:].replace(struct.pack(">d", math.nan), bytes.fromhex(payload))
            assert body != data[9:]
            with pytest.raises(sm.DecodeError):
                sm.from_bytes(data[:5] + zlib.crc32(body).to_bytes(4, "little") + body)


@pytest.mark.quick
def test_a_function_is_no_average_of_a_metric() -> None:
    """A metric can be written as bytes, and a function cannot; a snapshot takes one."""
    state = sm.ConfusionMatrix()
    state.update_many([1, 2, 2], [1, 2, 1])
    snapshot = state.snapshot()
    for metric, of in ((sm.GeneralF1, "f1"), (sm.GeneralFowlkesMallows, "fowlkes_mallows")):
        error = refused(lambda: metric(average=max), ValueError, "Expected `average`")  # type: ignore[arg-type]  # noqa: B023
        assert "to be a name" in str(error)
        assert "snapshot.value" in str(error)
        assert snapshot.value(metric.key, average=max) == max(snapshot.value(of).values())


@pytest.mark.quick
def test_weights_of_classes_and_states_of_merge() -> None:
    """Weights of classes are a mapping or a sequence of numbers, never a set; `merge` takes nothing but states."""
    weights: list[Any] = ["ab", {1, 2}, 3, object(), [object()], {"a": "b"}, ["1"], [None]]
    states: list[Any] = ["ab", [1], 5, [sm.Accuracy(), "b"], {"a": 1}]
    all_refused((lambda bad=bad: sm.WeightedBalancedAccuracy(weights=bad), ValueError, "Expected ") for bad in weights)
    all_refused((lambda bad=bad: sm.merge(bad), sm.MergeError, "Expected `states`") for bad in states)
