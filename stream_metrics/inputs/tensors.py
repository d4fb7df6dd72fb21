"""Arrays of NumPy and tensors of torch, and which error an argument raises.

Tensors are read where they are if that is this machine's own memory, without importing torch for it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, TimeError, WeightError

COLUMNS: dict[str, tuple[type[StreamMetricsError], str]] = {
    "scores": (ScoreError, "a column or a table of scores"),
    "w": (WeightError, "a column of weights"),
    "n": (WeightError, "a column of numbers of samples"),
    "t": (TimeError, "a column of times"),
    "x": (ScoreError, "a column of losses"),
}  # by argument; all others are of labels
LABELS = LabelError, "a column of labels"
Array: TypeAlias = np.ndarray[Any, Any]  # of any shape and type
Values: TypeAlias = Array | list[Any]  # numbers in an array, or anything in a list


def is_single(value: object) -> bool:
    """Tell whether a value stands for all rows of a batch: a label or a number, and no column."""
    return isinstance(value, str | bytes | int | float) or getattr(value, "shape", None) == ()


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


def tensor_to_numpy(values: Any, argument: str) -> Any:
    """Return a tensor as an array over its own memory, without its gradient, and anything else as it is.

    What NumPy has no type for, bfloat16 and float8, becomes float32, which holds it exactly. Raises the error of the
    argument for a tensor of which there is no such array: on another device, sparse, quantised, nested.
    """
    if not (hasattr(values, "detach") and hasattr(values, "layout")):
        return values
    if values.device.type == "cpu" and str(values.layout) == "torch.strided" and not values.is_quantized:
        values = values.detach().resolve_conj().resolve_neg()
        try:
            return values.numpy()
        except (TypeError, RuntimeError):
            if values.is_floating_point() and not values.is_nested:
                return values.float().numpy()
    kind = "quantised" if values.is_quantized else str(values.layout).removeprefix("torch.")
    raise COLUMNS.get(argument, LABELS)[0](
        argument=argument,
        expected="to be a dense tensor on the CPU, as `.cpu()` and `.to_dense()` give it",
        but=f"got one of {values.dtype} that is {kind} on {values.device}",
    )
