"""Errors that end a command with one line on stderr; the exit status travels inside the exception."""

from __future__ import annotations

__all__ = ["Problem", "UsageProblem"]


class Problem(Exception):
    """The data or a file is at fault."""

    status = 1


class UsageProblem(Problem):
    """The command line is at fault, or an optional package is missing."""

    status = 2
