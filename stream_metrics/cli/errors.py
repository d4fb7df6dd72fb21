"""Errors that end a command with one line on stderr; the exit status travels inside the exception."""

from __future__ import annotations

import errno
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

from stream_metrics.errors import StreamMetricsError


class CliError(Exception):
    """The data or a file is at fault."""

    status = 1


class FileError(CliError):
    """A file cannot be read, is damaged, or does not have the fields; --skip-bad-files goes on without it."""


class UsageError(CliError):
    """The command line is at fault, or an optional package is missing."""

    status = 2


LISTING = "'stream-metrics metrics' lists them"


def listed(names: Iterable[object]) -> str:
    """Return the first few names, for a message."""
    names = list(names)
    return (", ".join(map(repr, names[:8])) or "none") + (", ..." if len(names) > 8 else "")


EXPECTED = (CliError, StreamMetricsError, OSError)  # errors that are a line and no traceback


def explained(error: Exception) -> str:
    """Return an error in one line; of a file its name, without the number of the error."""
    if not isinstance(error, OSError):
        return str(error)
    text = error.strerror or str(error)
    return text if error.filename is None else f"{error.filename}: {text}"


@contextmanager
def taken_addresses(where: str) -> Iterator[None]:
    """Say what to do if an address is taken."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CliError(f"{where} is taken by another process; port 0 finds one that is free") from None
        raise


def river(module: str) -> ModuleType:
    """Return a module of river, which is imported by name because it is optional and untyped."""
    try:
        return importlib.import_module(f"river.{module}")
    except ImportError:
        raise UsageError('the demo needs river: pip install "stream-metrics[river]"') from None


@contextmanager
def usage() -> Iterator[None]:
    """Turn what is wrong with a configuration into a usage problem."""
    from stream_metrics.catalog.table import UnknownMetricError

    try:
        yield
    except UnknownMetricError as error:
        raise UsageError(str(UnknownMetricError(error.key, LISTING))) from None
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
