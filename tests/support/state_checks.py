"""What several tests of states do: count samples one by one, and check tables of calls that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

import stream_metrics as sm
from support.oracle import Oracle

State = TypeVar("State")
FIELDS = ("argument", "position", "got")
FORMS = [  # recall, precision, F1, Jaccard and specificity as a ratio of sums of hits, true, predicted and all weights
    ((1, 0, 0, 0), (0, 1, 0, 0)), ((1, 0, 0, 0), (0, 0, 1, 0)), ((2, 0, 0, 0), (0, 1, 1, 0)),
    ((1, 0, 0, 0), (-1, 1, 1, 0)), ((1, -1, -1, 1), (0, -1, 0, 1)),
]  # fmt: skip


def fed(state: State, samples: Iterable[Any], **named: Any) -> State:
    """Return the state after it has counted the samples one by one, all with the same named arguments."""
    for sample in samples:
        state.update(*sample, **named)  # type: ignore[attr-defined]
    return state


def with_batch(state: State, *columns: Any, **named: Any) -> State:
    """Return the state after it has counted a batch."""
    state.update_many(*columns, **named)  # type: ignore[attr-defined]
    return state


def counted(*samples: Any, **configuration: Any) -> sm.ConfusionMatrix:
    """Return a matrix that has counted the samples one by one."""
    return fed(sm.ConfusionMatrix(**configuration), samples)


def check_refused(state: Any, call: str | Callable[..., Any], cases: Iterable[tuple[Any, ...]]) -> None:
    """Assert that calls on a state are refused and leave its bytes as they were, and list those that are not.

    A case has the arguments of the call, a tuple or a mapping, then the type of the error and, if they are given,
    its `argument`, `position` and `got`, which an error without fields has to say in its text.
    """
    before, failures = state.to_bytes(), []
    for arguments, kind, *fields in cases:
        positional, named = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
        try:
            if isinstance(call, str):
                getattr(state, call)(*positional, **named)
            else:
                call(state, *positional, **named)
            seen: list[Any] = ["counted"]
        except sm.StreamMetricsError as error:
            seen = [type(error), *(getattr(error, name) for name in FIELDS[: len(fields)])]
            for at, says in enumerate(("`{}`", "at position {}", "got {}")[: len(fields)]):
                if seen[1 + at] is None and any(says.format(x) in str(error) for x in (fields[at], repr(fields[at]))):
                    seen[1 + at] = fields[at]  # an error that has a text and no fields
        if seen[0] is not kind or repr(seen[1:]) != repr(fields):
            failures.append((f"{arguments!r:.80}", seen, fields))
        if state.to_bytes() != before:
            failures.append((f"{arguments!r:.80}", "the state has changed"))
            break
    assert not failures, failures


def assert_same_column(actual: Any, expected: Any) -> None:
    """Compare two columns of a rank sketch field by field, weights in units of the second one."""
    for name in actual._fields:
        mine, theirs = getattr(actual, name), getattr(expected, name)
        scale = expected.units // actual.units if name in ("counts", "totals", "sample_weights", "units") else None
        for x, y in zip(mine, theirs, strict=True) if isinstance(mine, tuple) else [(mine, theirs)]:
            np.testing.assert_array_equal(x if scale is None else np.asarray(x, object) * scale, y)


def assert_same_readings(state: sm.ConfusionMatrix, oracle: Oracle) -> None:
    """Assert that whatever a formula may read of a matrix is that of the plain Python table."""
    assert repr(state.labels) == repr(oracle.labels)
    for name in ("k", "n", "abstained", "total", "hits", "weight", "correct", "unit"):
        assert getattr(state, name) == getattr(oracle, name), name
    for name in ("true_dot_true", "true_dot_predicted", "predicted_dot_predicted"):
        assert getattr(state, name) == getattr(oracle, name), name
    small = oracle.k < 100
    for name in ("true_totals", "predicted_totals", "diagonal", *["matrix"] * small):
        mine, theirs = getattr(state, name), getattr(oracle, name)
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist()), name
    assert [x.tolist() for x in state.cells()] == [x.tolist() for x in oracle.cells()]
    for form in FORMS[1:3]:
        assert np.array_equal(state._ratios(*form), oracle._ratios(*form), equal_nan=True)
    if small:
        assert state.unit_totals() == oracle.unit_totals()
        assert [list(x) for x in state.unit_cells()] == [list(x) for x in oracle.unit_cells()]
