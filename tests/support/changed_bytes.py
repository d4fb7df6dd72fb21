"""Bytes of states with a changed content, read and written without the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support import wire_reader


def content_of(state: Any) -> list[Any]:
    """Return the content in the bytes of a state, in lists."""
    content: list[Any] = listed(wire_reader.read(state.to_bytes())[1])
    return content


def listed(value: Any) -> Any:
    """Return a value with lists instead of tuples."""
    return [listed(item) for item in value] if isinstance(value, list | tuple) else value


def bytes_of(kind: str, content: Any) -> bytes:
    """Return the bytes of a content."""
    return wire_reader.framed(wire_reader.packed([kind, content]))


def rewritten(state: Any, change: Callable[[list[Any]], Any]) -> bytes:
    """Return the bytes of a state after a change of its content, which may be done in place or returned."""
    content = content_of(state)
    changed = change(content)
    return bytes_of(state.KIND, content if changed is None else changed)
