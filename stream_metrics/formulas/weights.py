"""Numbers that a caller gives per class: class weights and priors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from stream_metrics.formulas.protocol import Counts, Floats

if TYPE_CHECKING:
    from stream_metrics.labels import Label

PerClass: TypeAlias = "Mapping[Label, float] | Sequence[float] | Floats"


def per_class_numbers(c: Counts, given: PerClass, name: str) -> Floats:
    """Return the numbers in the order of report.

    A mapping may name further labels (they may come later in a stream) but must name every class; a sequence is
    parallel to the labels. Every number must be finite and >= 0. `ValueError` says which is not.
    """
    labels = c.labels
    if not isinstance(given, Mapping):
        if isinstance(given, str | bytes | Set) or not isinstance(given, Iterable):
            raise ValueError(f"Expected `{name}` to be a mapping or a sequence of numbers, but got {given!r:.60}")
        numbers = list(given)
        if len(numbers) != len(labels):
            raise ValueError(f"Expected `{name}` to have {len(labels)} numbers, one per class, but got {len(numbers)}")
        given = dict(zip(labels, numbers, strict=True))
    for label, number in given.items():
        if not isinstance(number, Real) or not math.isfinite(number) or number < 0:
            raise ValueError(f"Expected `{name}` of {label!r} to be a finite number >= 0, but got {number!r}")
    missing = [label for label in labels if label not in given]
    if missing:
        raise ValueError(f"Expected `{name}` to have a number for every class, but {missing[0]!r} has none")
    return np.array([float(given[label]) for label in labels])
