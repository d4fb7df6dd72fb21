"""The keys of a monitor as flags: `ttl` of the table `join` is --join-ttl."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from stream_metrics.cli import options
from stream_metrics.labels.class_names import number_named
from stream_metrics.monitor.config import ConfigKey, keys
from stream_metrics.monitor.config.reading import is_secret_option, written_out

TEXTS = tuple[str, ...]
READERS: dict[Any, Callable[[str], Any]] = {int: options.whole, float: options.number, TEXTS: options.texts}


def add(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each key."""
    group: Any = None
    table = ""
    for key in keys():
        if key.table != table:
            table = key.table
            group = parser.add_argument_group(f"keys of [{table}]")
        _add(group, key)


def _add(group: Any, key: ConfigKey) -> None:
    flag, about = f"--{key.table}-{key.name}".replace("_", "-"), key.meaning.replace("%", "%%")
    common: dict[str, Any] = {"dest": _dest(key), "default": None}
    if key.type is bool:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, help=about, **common)
    elif key.table == "alerts" and key.type == TEXTS:  # rules have commas in them
        group.add_argument(flag, action="append", metavar="RULE", help=f"{about}; can be repeated", **common)
    elif key.type == dict[str, str]:
        kind = _pair
        group.add_argument(flag, action="append", type=kind, metavar="KEY=VALUE", help=f"{about}; repeated", **common)
    else:
        metavar = "VALUE" if not key.allowed else "|".join(map(_written, key.allowed))
        default = f" (default: {_written(key.default)})" if key.default not in ("", ()) else ""
        group.add_argument(flag, type=_reader(key), metavar=metavar, help=f"{about}{default}", **common)


def _dest(key: ConfigKey) -> str:
    return f"key_{key.table}_{key.name}"


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reader(key: ConfigKey) -> Callable[[str], Any]:
    """Return what reads the text of a flag."""
    if key.secret:
        return _no_secret(key)
    if key.type in READERS:
        return READERS[key.type]
    if isinstance(key.default, tuple):
        return options.labels
    return str if isinstance(key.default, str) else _value


def _no_secret(key: ConfigKey) -> Callable[[str], str]:
    """Return what refuses a secret that is written out, since every user of the machine can list the processes."""

    def read(text: str) -> str:
        if written_out(text):
            raise argparse.ArgumentTypeError(
                f"Expected `{key.name}` from --{key.table}-{key.name}-file, --config or '${{VAR}}', "
                "since all users of this machine can see a command line"
            )
        return text

    return read


def _value(text: str) -> Any:
    """Read true, false or a number as such, and all else as text."""
    value = number_named(text)
    return text if value is None else value


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError("expected KEY=VALUE, but got a text without =")
    if is_secret_option(name) and written_out(value):
        raise argparse.ArgumentTypeError(
            f"Expected the secret {name!r} as {name}_file=FILE, from --config or as '{name}=${{VAR}}', "
            "since all users of this machine can see a command line"
        )
    return name, value


def given(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the keys for which there was a flag, by table."""
    tables: dict[str, dict[str, Any]] = {}
    for key in keys():
        value = getattr(arguments, _dest(key))
        if value is not None:
            tables.setdefault(key.table, {})[key.name] = dict(value) if key.type == dict[str, str] else value
    return tables
