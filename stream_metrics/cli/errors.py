"""Errors that end a command with one line on stderr; the exit status travels inside the exception."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["CliError", "UsageError", "listed"]


class CliError(Exception):
    """The data or a file is at fault."""

    status = 1


class UsageError(CliError):
    """The command line is at fault, or an optional package is missing."""

    status = 2


def listed(names: Iterable[Any]) -> str:
    """Return the first few names, for a message."""
    names = list(names)
    return (", ".join(map(repr, names[:8])) or "none") + (", ..." if len(names) > 8 else "")
