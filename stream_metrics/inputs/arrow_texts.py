"""Columns of short texts of Arrow, numbered where they lie: sooner than Arrow does it for any text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_metrics._core.numeric.kernels import encode_texts
from stream_metrics.inputs.tensors import Array

if TYPE_CHECKING:
    from pyarrow import Array as ArrowArray
    from pyarrow import ChunkedArray

WIDTHS = {  # bytes of an offset or a view
    "string": 4,
    "binary": 4,
    "large_string": 8,
    "large_binary": 8,
    "string_view": 16,
    "binary_view": 16,
}


def encode_short(values: ArrowArray | ChunkedArray, chunks: list[ArrowArray]) -> tuple[Array, list[Any]] | None:
    """Return the codes and the names of a column of text with these chunks, in the order of their first rows.

    None if a text is long, many are different, or the column is not in the memory of the processor.
    """
    width = WIDTHS.get(str(values.type))
    buffers = [chunk.buffers() for chunk in chunks]
    if width is None or not all(buffer is None or buffer.is_cpu for parts in buffers for buffer in parts):
        return None
    encoded = encode_texts(
        [
            (
                len(chunk),
                chunk.offset,
                valid.address if chunk.null_count else 0,
                places.address,
                [0 if part is None else part.address for part in data],
            )
            for chunk, (valid, places, *data) in zip(chunks, buffers, strict=True)
        ],
        width,
    )
    if encoded is None:
        return None
    codes, firsts = encoded
    return codes, [values[row].as_py() for row in firsts]
