"""A griffe extension: compiled members get their docstrings from the running package."""

from __future__ import annotations

import importlib
import inspect

import griffe

__all__ = ["CompiledDocstrings"]


class CompiledDocstrings(griffe.Extension):
    """Read the docstrings that stub files of compiled modules lack."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: object) -> None:
        """Add the docstring of an object in a stub of kernels."""
        module, is_compiled, name = obj.path.partition(".kernels.")
        if is_compiled and obj.docstring is None:
            text = _docstring(f"{module}.kernels", name)
            if text:
                obj.docstring = griffe.Docstring(text, parent=obj, parser=griffe.Parser.numpy)


def _docstring(module: str, name: str) -> str | None:
    value: object = importlib.import_module(module)
    for part in name.split("."):
        value = inspect.getattr_static(value, part, None)
    return inspect.getdoc(value) if value is not None and not isinstance(value, int) else None
