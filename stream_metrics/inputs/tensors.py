"""Containers of rows: what can be read as a column or a table, before it is asked what the rows are.

Tensors of torch are read where they are if that is this machine's own memory, without importing torch for it. Sets and
mappings have no order that two columns could share, so they are no columns.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Set, Sized
from typing import Any, Protocol, TypeAlias

import numpy as np

from stream_metrics.errors import LabelError, ScoreError, TimeError, WeightError

__all__ = [
    "COLUMNS",
    "Array",
    "Rows",
    "Values",
    "is_single",
    "as_container",
    "native",
    "masked_to_list",
    "tensor_to_numpy",
]

COLUMNS: dict[str, tuple[type[ValueError], str]] = {
    "scores": (ScoreError, "a column or a table of scores"),
    "w": (WeightError, "a column of weights"),
    "n": (WeightError, "a column of numbers of samples"),
    "t": (TimeError, "a column of times"),
    "x": (ValueError, "a column of losses"),
}  # by argument; all others are of labels
LABELS = LabelError, "a column of labels"
Array: TypeAlias = np.ndarray[Any, Any]  # of any shape and type
Values: TypeAlias = Array | list[Any]  # numbers in an array, or anything in a list


class Rows(Protocol):
    """A column or a table of any library, which can be read more than once."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __iter__(self) -> Iterator[object]:
        """Iterate over the rows."""


def as_container(values: Any, argument: str) -> Rows:
    """Return a column that can be read more than once: an array, a list, or a container of another library as it is.

    Raises the error of the argument for what is no column: text, a single value, a set or a mapping.
    """
    if type(values) is list or type(values) is tuple:
        return values
    if type(values) is np.ndarray and values.ndim:
        return native(values)
    values = masked_to_list(tensor_to_numpy(values, argument))
    unordered = isinstance(values, str | bytes | bytearray | Set | Mapping)
    if unordered or getattr(values, "shape", None) == () or not _has_rows(values):
        error, what = COLUMNS.get(argument, LABELS)
        raise error(f"Expected `{argument}` to be {what}, but got {values!r:.60}")
    if isinstance(values, np.ndarray):
        return native(values)
    if isinstance(values, Iterable) and not isinstance(values, memoryview | array):
        return values if isinstance(values, Sized) else list(values)
    return native(np.asarray(values))


def is_single(value: object) -> bool:
    """Tell whether a value stands for all rows of a batch: a label or a number, and no column."""
    return isinstance(value, str | bytes | int | float) or getattr(value, "shape", None) == ()


def _has_rows(values: object) -> bool:
    return isinstance(values, Iterable) or hasattr(values, "__array__")


def native(values: Array) -> Array:
    """Return an array of numbers whose type comes from another package (bfloat16, float8, int4) as int64 or float64.

    Long doubles are rounded to float64. Any other array is returned as it is.
    """
    dtype = values.dtype
    if dtype.kind == "V" and dtype.names is None and dtype.type is not np.void:
        target = next((kind for kind in (np.int64, np.float64) if np.can_cast(dtype, kind)), None)
        return values if target is None else values.astype(target)
    if dtype.kind == "f" and dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # a long double may become infinite
            return values.astype(np.float64)
    return values


def masked_to_list(values: Any) -> Any:
    """Return a masked array as a list with None where it is masked, anything else as it is."""
    return values.tolist() if hasattr(values, "mask") and hasattr(values, "filled") else values


def tensor_to_numpy(values: Any, argument: str) -> Any:
    """Return a tensor as an array over its own memory, without its gradient, and anything else as it is.

    What NumPy has no type for, bfloat16, becomes float32, which holds it exactly. Raises the error of the argument for
    a tensor of which there is no such array: on another device, sparse, quantised.
    """
    if not (hasattr(values, "detach") and hasattr(values, "layout")):
        return values
    if values.device.type != "cpu" or str(values.layout) != "torch.strided" or values.is_quantized:
        kind = "quantised" if values.is_quantized else str(values.layout).removeprefix("torch.")
        raise COLUMNS.get(argument, LABELS)[0](
            f"Expected `{argument}` to be a dense tensor on the CPU, as `.cpu()` and `.to_dense()` give it, but got "
            f"one that is {kind} on {values.device}"
        )
    values = values.detach().resolve_conj().resolve_neg()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
