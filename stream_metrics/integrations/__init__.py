"""Adapters to other libraries, one module each, which are loaded when their name is first read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ADAPTERS = ("beam", "dask", "ray", "river", "spark", "torch", "torchmetrics")


def __getattr__(name: str) -> Any:
    if name not in ADAPTERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(ADAPTERS)}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return list(ADAPTERS)
