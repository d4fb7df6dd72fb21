from typing import Any

from numpy import ndarray

def pack_cells(
    rows: ndarray[Any, Any],
    columns: ndarray[Any, Any],
    wholes: ndarray[Any, Any],
    parts: ndarray[Any, Any] | None,
    classes: int,
) -> bytes: ...
