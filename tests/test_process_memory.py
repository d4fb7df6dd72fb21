"""How our processes manage memory."""

from __future__ import annotations

import gc

import pytest

from stream_metrics.process_memory import collecting_rarely, return_large_blocks


@pytest.mark.quick
def test_garbage_is_looked_for_rarely() -> None:
    """Less often than before, not at all where that was switched off, and as before in the end."""
    original = gc.get_threshold()
    try:
        for before, young in (((700, 10, 5), 50_000), ((90_000, 10, 10), 90_000), ((0, 10, 10), 0)):
            gc.set_threshold(*before)
            with collecting_rarely():
                assert gc.get_threshold() == (young, *before[1:])
            assert gc.get_threshold() == before
    finally:
        gc.set_threshold(*original)


@pytest.mark.quick
def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `mallopt` nothing happens."""
    asked = []
    monkeypatch.setattr("ctypes.CDLL", lambda name: asked.append(name) or object())
    return_large_blocks()

    assert asked == [None]
