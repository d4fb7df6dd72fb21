"""Tensors of torch, read where they are if that is this machine's own memory. torch itself is not imported for it."""

from __future__ import annotations

from typing import Any

from stream_metrics.errors import LabelError, ScoreError, WeightError

__all__ = ["untensored"]


def untensored(values: Any, argument: str, error: type[LabelError | ScoreError | WeightError]) -> Any:
    """Return a tensor as an array over its own memory, without its gradient, and anything else as it is.

    What NumPy has no type for, bfloat16, becomes float32, which holds it exactly. Raises `error` for a tensor of which
    there is no such array: on another device, sparse, quantised.
    """
    if not (hasattr(values, "detach") and hasattr(values, "layout")):
        return values
    if values.device.type != "cpu" or str(values.layout) != "torch.strided" or values.is_quantized:
        kind = "quantised" if values.is_quantized else str(values.layout).removeprefix("torch.")
        raise error(
            f"Expected `{argument}` to be a dense tensor on the CPU, as `.cpu()` and `.to_dense()` give it, but got "
            f"one that is {kind} on {values.device}"
        )
    values = values.detach().resolve_conj().resolve_neg()
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
