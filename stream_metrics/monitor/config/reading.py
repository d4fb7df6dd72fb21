"""Configurations from TOML and from texts; an error for an unknown key names the most similar one.

Layers are tables by name, each a mapping of keys; a later layer wins key by key.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from stream_metrics.monitor.config import Config, ConfigError, ConfigKey, keys
from stream_metrics.monitor.config.secrets import has_password, is_secret_option, resolved, written_out

__all__ = ["configured", "example", "layered", "load", "tables_of"]

Tables = Mapping[str, Mapping[str, Any]]
KEYS = {(key.table, key.name): key for key in keys()}
TABLES = {each.name: each.type for each in structs.fields(Config)}
HEAD = """\
# A monitor of stream_metrics: stream-metrics monitor --config FILE
# Every key is also a flag, such as --join-ttl, and has its default here; whatever is left out keeps it.
"""


def load(path: str) -> Config:
    """Return the configuration that a TOML file holds, with its secrets; ``ConfigError`` names the file and the key."""
    return configured(resolved(tables_of(path)))


def tables_of(path: str) -> dict[str, dict[str, Any]]:
    """Return the tables of a TOML file, checked; OSError if it cannot be opened."""
    with open(path, "rb") as file:
        try:
            tables = tomllib.load(file)
        except RecursionError:
            raise ConfigError(f"{path}: no TOML that can be read: nested too deeply") from None
        except ValueError as error:  # a TOMLDecodeError, no UTF-8, or a number with thousands of digits
            raise ConfigError(f"{path}: no TOML: {error}") from None
    try:
        configured(tables)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return tables


def layered(*layers: Tables) -> dict[str, dict[str, Any]]:
    """Return the keys of all layers by table."""
    tables: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for table, items in layer.items():
            tables.setdefault(table, {}).update(items)
    return tables


def configured(tables: Tables) -> Config:
    """Return the defaults with the values of tables; ``ConfigError`` for what is unknown or of another type.

    A variable that was not replaced may stand for any of the texts that are allowed.
    """
    for table, items in tables.items():
        if table not in TABLES:
            raise ConfigError(f"Expected a table of {list(TABLES)}, but got {table!r}{_near(table, TABLES)}")
        for name in items if isinstance(items, Mapping) else ():
            if (table, name) not in KEYS:
                raise ConfigError(f"Unknown key {name!r} in [{table}]{_near_key(table, name)}")
    by_name: dict[str, Any] = {
        table: TABLES[table](**items) if isinstance(items, Mapping) else items for table, items in tables.items()
    }
    return Config(**by_name)


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _near_key(table: str, name: str) -> str:
    elsewhere = (f"; it belongs to [{of}]" for of, key in KEYS if key == name)
    return _near(name, [key for of, key in KEYS if of == table]) or next(elsewhere, "")


def example(config: Config | None = None) -> str:
    """Return a TOML file with every key, what it means, and its value; it reads back as `config`, or ``Config()``.

    A secret that is written out in `config` is left out.
    """
    config = Config() if config is None else config
    lines, table = [HEAD], ""
    for key in keys():
        if key.table != table:
            table = key.table
            about = (type(getattr(config, table)).__doc__ or "").splitlines()[0]
            lines += [f"\n# {about}\n[{table}]"]
        allowed = f" ({', '.join(map(_toml, key.allowed))})" if key.allowed else ""
        value = getattr(getattr(config, table), key.name)
        lines.append(f"# {key.meaning}{allowed}\n{_line(key, value)}")
    return "\n".join(lines) + "\n"


def _line(key: ConfigKey, value: Any) -> str:
    """Return the line of a key, without what must not be shown."""
    if has_password(value):
        return f"# {key.name} is set, but not shown, since it has a password"
    if not key.secret:
        return f"{key.name} = {_toml(value)}"
    if isinstance(value, dict):
        hidden = [name for name, item in value.items() if is_secret_option(name) and written_out(item)]
        line = f"{key.name} = {_toml({name: item for name, item in value.items() if name not in hidden})}"
        return "\n".join([*(f"# {json.dumps(name)} is set, but not shown" for name in hidden), line])
    return f"# {key.name} is set, but not shown" if written_out(value) else f"{key.name} = {_toml(value)}"


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + "}"
    if type(value) is int:
        return f"{value:_}"
    if isinstance(value, float):
        return repr(value)  # TOML has nan and inf, JSON has not
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
