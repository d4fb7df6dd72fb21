"""One number of evaluated states, for every kind of key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import find
from stream_metrics.errors import UnknownKeyError, unexpected_label
from stream_metrics.evaluation.evaluation import Evaluation
from stream_metrics.labels import canonical
from stream_metrics.ranking.classes import asked_class

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["number_of"]


def number_of(evaluation: Evaluation, key: str, label: Label | None = None, **options: object) -> float:
    """Return a value as a float; nan if it is 0/0, or there is no such class."""
    row = find(key)
    if row.kind == "matrix":
        raise UnknownKeyError(f"Expected a key with one value, but {key!r} is a matrix")
    if options:
        evaluation = evaluation.with_options(row.key, options)
    value, undefined = evaluation.value_and_undefined(key)
    if row.kind == "whole":
        if label is not None:
            raise unexpected_label(key, label)
        return math.nan if undefined or not isinstance(value, int | float) else float(value)
    if label is None:
        label = asked_class(evaluation.view("ranks", key)) if row.state == "ranks" else None
        if label is None:
            expected = f"to be the class for the per-class key {key!r}"
            raise UnknownKeyError(argument="label", expected=expected, but="got none")
    label, table = canonical(label, "label"), evaluation.per_class(key)
    return math.nan if label not in table or label in undefined else float(table[label])
