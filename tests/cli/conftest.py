"""Calling the command line inside this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.command_line import SMALL, Result, run_command


@pytest.fixture
def cli() -> Callable[..., Result]:
    """Run a command line, with bytes for its stdin, and return status, stdout and stderr."""
    return run_command


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count in pieces of a few records, whatever the input."""
    for module, name, size in SMALL:
        monkeypatch.setattr(module, name, size)
