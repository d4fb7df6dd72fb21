"""How often Python looks for garbage while our processes run."""

from __future__ import annotations

import gc

import pytest

from stream_metrics.garbage import collecting_rarely


@pytest.mark.parametrize(("before", "young"), [((700, 10, 5), 50_000), ((90_000, 10, 10), 90_000), ((0, 10, 10), 0)])
def test_garbage_is_looked_for_rarely(before: tuple[int, int, int], young: int) -> None:
    """Less often than before, not at all where that was switched off, and as before in the end."""
    original = gc.get_threshold()
    try:
        gc.set_threshold(*before)
        with collecting_rarely():
            assert gc.get_threshold() == (young, *before[1:])
        assert gc.get_threshold() == before
    finally:
        gc.set_threshold(*original)
