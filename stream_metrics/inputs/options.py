"""Options that are numbers: checked where an object is made, so that nothing fails when it is read."""

from __future__ import annotations

import math

import numpy as np

from stream_metrics._core.numeric.kernels import real_number, row_values
from stream_metrics._core.numeric.kernels import whole as whole


def real(value: object, argument: str) -> float:
    """Return an option that is a real number, nan and infinities included; ``ValueError`` for anything else.

    Equal options are written as equal bytes, so there is one nan and one zero.
    """
    number = None if isinstance(value, bool | np.bool_) else real_number(value)
    if number is None:
        raise ValueError(f"Expected `{argument}` to be a number, but got {value!r:.60}")
    return math.nan if math.isnan(number) else number + 0.0  # -0.0 becomes 0.0


def truth(value: object, argument: str) -> bool:
    """Return an option that is True or False; ``ValueError`` for anything else but 1 and 0."""
    if isinstance(value, bool | np.bool_ | int) and value in (0, 1):
        return bool(value)
    raise ValueError(f"Expected `{argument}` to be True or False, but got {value!r:.60}")


def sequence(values: object, argument: str) -> list[object]:
    """Return the items of a sequence; ``ValueError`` for anything else, sets and text included."""
    items = row_values(values)
    if items is None:
        raise ValueError(f"Expected `{argument}` to be a sequence of numbers, but got {values!r:.60}")
    return items
