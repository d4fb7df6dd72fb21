"""Calling the command line inside this process."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest
from support.command_line import SMALL, Result, run_command


@pytest.fixture
def cli() -> Callable[..., Result]:
    """Run a command line, with bytes for its stdin, and return status, stdout and stderr."""
    return run_command


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Let Ctrl-C raise, also where the test run was started in the background, which ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count in pieces of a few records, whatever the input."""
    for module, name, size in SMALL:
        monkeypatch.setattr(module, name, size)
