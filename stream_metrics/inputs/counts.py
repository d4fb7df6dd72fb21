"""Tables of counts: rows that stand for several equal samples, as `GROUP BY` gives them.

The number of samples of a row is a whole number in any form that engines give: int64, a Decimal of scale 0, or a float
where a missing value made a column of floats. A float of at least 2**53 is refused, because it may have been rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import WeightError
from stream_metrics.inputs.batch import Batch, Weights, label_batch, score_batch
from stream_metrics.inputs.columns import read_weights
from stream_metrics.labels import Label

MOST = 2**62 - 1  # samples of one table, so that no sum of two such numbers overflows
EXACT = 2.0**53


def count_batch(y_true: object, y_pred: object, n: object, w: object) -> Batch:
    """Return a batch of labels whose rows stand for `n` samples each, of the weight `w` in sum."""
    batch = label_batch(y_true, y_pred, w)
    batch.samples = read_counts(n, batch.n)
    if batch.weights is not None:
        _check_weights(batch.weights, batch.samples)
    return batch


def score_count_batch(scores: object, y_true: object, n: object, classes: Iterable[Label] | None) -> Batch:
    """Return a batch of scores whose rows stand for `n` samples each."""
    batch = score_batch(y_true, scores, None, classes)
    batch.samples = read_counts(n, batch.n)
    return batch


def read_counts(n: object, rows: int) -> NDArray[np.int64]:
    """Return the numbers of samples of `rows` rows; WeightError names the position of a value that is not one."""
    numbers = read_weights(n, rows, "n")
    if isinstance(numbers, list):
        counts = np.array([_whole(number, at) for at, number in enumerate(numbers)], np.int64)
    else:
        end = EXACT if numbers.dtype.kind == "f" else MOST + 1
        bad = np.flatnonzero(~((numbers >= 0) & (numbers < end) & (np.floor(numbers) == numbers)))
        if len(bad):
            raise _refusal(numbers[bad[0]].item(), int(bad[0]))
        counts = numbers.astype(np.int64)
    if int(counts.max(initial=0)) * rows > MOST and sum(counts.tolist()) > MOST:
        total = sum(counts.tolist())
        raise WeightError(argument="n", subject="the sum of `n`", expected="to stay below 2**62", got=total)
    return counts


def _whole(number: Any, position: int) -> int:
    """Return a number of any type as an int."""
    try:
        whole = int(number)
        exact = not isinstance(number, str | bytes) and bool(whole == number)
    except (TypeError, ValueError, ArithmeticError):
        raise _refusal(number, position) from None
    if not exact or not 0 <= whole <= MOST or (isinstance(number, float) and number >= EXACT):
        raise _refusal(number, position)
    return whole


def _refusal(number: object, position: int) -> WeightError:
    rounded = isinstance(number, float) and EXACT <= number <= MOST
    most = "2**53 - 1, if it is a float" if rounded else "2**62 - 1"
    expected = f"to be a whole number of samples from 0 to {most}"
    return WeightError(argument="n", position=position, expected=expected, got=number)


def _check_weights(weights: Weights, samples: NDArray[np.int64]) -> None:
    """Raise WeightError for the first row that has a weight and no sample."""
    some = weights.wholes != 0 if weights.parts is None else (weights.wholes != 0) | (weights.parts != 0)
    bad = np.flatnonzero(some & (samples == 0))
    if len(bad):
        got = weights.take(bad[:1]).numbers()[0]
        raise WeightError(argument="w", position=int(bad[0]), expected="to be 0 where `n` is 0", got=got)
