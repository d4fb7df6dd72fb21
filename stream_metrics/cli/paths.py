"""The input files that the arguments of ``run`` stand for: files, folders, patterns, tables; stdin.

A part of a path that begins with _ or . is hidden, as for Spark: `_SUCCESS`, `_temporary`, `.part-0.crc`. In a folder
and where a pattern matched it, it is no data. A folder KEY=VALUE is a partition, whatever its name begins with, and
what was written out is taken.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.sources import FORMATS, STDIN, declared_format
from stream_metrics.cli.table_formats import Tables

__all__ = ["expand_paths"]


def expand_paths(named: Iterable[str]) -> list[str]:
    """Return the files that arguments stand for: files, stdin, patterns such as 'part-*', folders, Delta tables.

    Raises
    ------
    CliError
        If a folder or a pattern has no file, or a file belongs to a table, whose log says which files are current.
    """
    tables = Tables()
    return [file for name in named for file in _expand(name, tables)]


def _expand(named: str, tables: Tables) -> list[str]:
    if named == STDIN:
        return [named]
    if glob.has_magic(named) and not os.path.exists(named):
        matching = [path for path in sorted(glob.glob(named, recursive=True)) if not _has_hidden_match(path, named)]
        if not matching:
            raise CliError(f"{named}: no file is named so")
    else:
        matching = [named]
    files: dict[str, str] = {}  # a pattern with ** matches a folder and what is in it
    for path in matching:
        if os.path.isdir(path):
            inside = list(_walk(path, tables, frozenset()))
        else:
            tables.refuse_part(path)
            inside = [path]
        files |= {os.path.normpath(file): file for file in inside}
    if not files:
        raise CliError(f"{named}: Is a directory, and no file in it ends in {', '.join(FORMATS)}")
    return list(files.values())


def _walk(folder: str, tables: Tables, above: frozenset[str]) -> Iterator[str]:
    """Yield the files with data in a folder and in the folders in it, in order."""
    if not above:
        tables.refuse_part(folder)
    table = tables.files(folder)
    if table is not None:
        yield from table
        return
    above |= {os.path.realpath(folder)}
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    for entry in inside:
        is_folder = entry.is_dir()
        if _is_hidden(entry.name) and not (is_folder and "=" in entry.name):
            continue
        if entry.is_symlink():
            tables.refuse_part(entry.path)
        if not is_folder and declared_format(entry.name):
            yield entry.path
        elif is_folder and os.path.realpath(entry.path) not in above:  # a link may lead back
            yield from _walk(entry.path, tables, above)


def _is_hidden(name: str) -> bool:
    """Tell whether a part of a path is hidden by its name."""
    return name.startswith(("_", "."))


def _has_hidden_match(path: str, pattern: str) -> bool:
    """Tell whether a hidden part of a path was matched by a wildcard, and by none that begins like it."""
    wanted, parts = pattern.split(os.sep), path.split(os.sep)
    fixed = next(at for at, part in enumerate(wanted) if glob.has_magic(part))
    written = [part for part in wanted[fixed:] if _is_hidden(part)]
    return any(
        _is_hidden(part)
        and not any(fnmatchcase(part, name) for name in written)
        and not ("=" in part and at + 1 < len(parts))
        for at, part in enumerate(parts[fixed:], fixed)
    )
