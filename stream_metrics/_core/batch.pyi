from typing import Any

from numpy import ndarray

def count_integers(t: ndarray[Any, Any], p: ndarray[Any, Any]) -> tuple[int, ndarray[Any, Any]] | None: ...
def encode_bytes(rows: ndarray[Any, Any]) -> tuple[ndarray[Any, Any], ndarray[Any, Any]]: ...
def encode_objects(values: list[Any], argument: str, may_abstain: bool) -> tuple[ndarray[Any, Any], list[Any]]: ...
def count_codes(
    t: ndarray[Any, Any],
    p: ndarray[Any, Any],
    true_labels: int,
    predicted_labels: int,
    wholes: ndarray[Any, Any] | None,
    parts: ndarray[Any, Any] | None,
) -> tuple[tuple[Any, Any, Any, Any], tuple[ndarray[Any, Any], ndarray[Any, Any]], int, int]: ...
