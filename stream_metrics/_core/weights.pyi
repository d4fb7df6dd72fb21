from typing import Any

from numpy import ndarray

def split_weights(weights: ndarray[Any, Any] | list[Any]) -> tuple[ndarray[Any, Any], ndarray[Any, Any] | None]: ...
