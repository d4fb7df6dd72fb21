"""The content of a state as its bytes have it, to be changed and read again."""

from __future__ import annotations

from typing import Any

import stream_metrics as sm
from stream_metrics.wire import decoded, encoded
from support.wire_mutants import signed


def content_of(state: Any) -> list[Any]:
    """Return the content of a state; lists in it are tuples."""
    return list(decoded(state.to_bytes()[9:])[1])


def read(kind: str, content: list[Any]) -> Any:
    """Return the state of a kind whose bytes have that content, under a checksum that is right."""
    return sm.from_bytes(signed(encoded([kind, content])))
