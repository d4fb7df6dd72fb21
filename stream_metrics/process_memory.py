"""How processes of ours manage memory: the command line and the monitor, no call of the library."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000  # objects, after which Python looks for garbage among them
M_MMAP_THRESHOLD = -3  # of malloc.h
LARGE = 1 << 20  # bytes


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let Python look for garbage after 50,000 new objects, not 700.

    The modules of a command stay, and so does most of what they make. A monitor reads up to twenty thousand records at
    once, which are freed without a search. To look at them takes up to a tenth of the time.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(YOUNG, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def return_large_blocks() -> None:
    """Let glibc take blocks of a megabyte and more from the system, and give them back when they are freed.

    By default that size grows up to 32 MB with the blocks that are freed. Then dicts of a million entries leave gaps
    between blocks that stay: a tenth of the memory of a monitor, and more of them over time.
    """
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another libc, or Windows
        return
    mallopt(M_MMAP_THRESHOLD, LARGE)
