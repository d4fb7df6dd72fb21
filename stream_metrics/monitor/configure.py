"""A configuration from TOML and from texts: what is unknown or of another type is refused, with what is meant instead.

Whole numbers are 0 or more; further checks are made where a value is used.

Layers are tables by name, each a mapping of keys; a later layer wins key by key.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, NamedTuple, get_type_hints

from stream_metrics.errors import with_article
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.secrets import (
    ConfigError,
    has_password,
    has_variable,
    is_secret,
    is_secret_option,
    resolved,
    written_out,
)

__all__ = ["ConfigError", "Key", "configured", "example", "keys", "load", "tables_of"]

Tables = Mapping[str, Mapping[str, object]]
WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    bool | str: "true, false or text",
    object: "text, a number, true or false",
    tuple[str, ...]: "a list of texts",
    tuple[object, ...]: "a list",
    dict[str, str]: "a table of texts",
}
HEAD = """\
# A monitor of stream_metrics: stream-metrics monitor --config FILE
# Every key is also a flag, such as --join-ttl, and has its default here; whatever is left out keeps it.
"""


class Key(NamedTuple):
    """A key of the configuration: the table and name, the type, the default, what it means, what it may be."""

    table: str
    name: str
    type: type[object] | UnionType
    default: object
    meaning: str
    allowed: tuple[object, ...]


def keys() -> Iterator[Key]:
    """Yield every key, in order."""
    for table in dataclasses.fields(Config):
        initial: Any = table.default
        hints = get_type_hints(type(initial))
        for field in dataclasses.fields(initial):
            default = getattr(initial, field.name)
            yield Key(table.name, field.name, hints[field.name], default, **field.metadata)


def load(path: str) -> Config:
    """Return the configuration that a TOML file holds, with its secrets; ``ConfigError`` names the file and the key."""
    return configured(resolved(tables_of(path)))


def tables_of(path: str) -> dict[str, dict[str, object]]:
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


def configured(*layers: Tables) -> Config:
    """Return the defaults with the values of layers; ``ConfigError`` for what is unknown or of another type."""
    known = {(key.table, key.name): key for key in keys()}
    values: dict[str, dict[str, object]] = {table: {} for table, _ in known}
    for layer in layers:
        for table, items in layer.items():
            if table not in values:
                raise ConfigError(f"Expected a table of {list(values)}, but got {table!r}{_near(table, values)}")
            if not isinstance(items, Mapping):
                raise ConfigError(f"Expected {table!r} to be a table, [{table}], but got {_brief(items)}")
            for name, value in items.items():
                if (table, name) not in known:
                    raise ConfigError(f"Unknown key {name!r} in [{table}]{_near_key(table, name, known)}")
                values[table][name] = _checked(known[table, name], value)
    return dataclasses.replace(Config(), **{table: _of(table, values[table]) for table in values})


def _of(table: str, values: Mapping[str, object]) -> Any:
    return dataclasses.replace(getattr(Config(), table), **values)


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _near_key(table: str, name: str, known: Mapping[tuple[str, str], Key]) -> str:
    near = _near(name, [key for of, key in known if of == table])
    elsewhere = [of for of, key in known if key == name]
    return f"; it belongs to [{elsewhere[0]}]" if elsewhere and not near else near


def _checked(key: Key, value: Any) -> object:
    """Return a value of TOML as the type of its key."""
    for item in value if isinstance(value, list | tuple) else (value,):
        if isinstance(item, int) and not -(2**63) <= item < 2**63:
            what = f"`{key.name}` in [{key.table}]"
            raise ConfigError(f"Expected whole numbers of 64 bits as {what}, but got a longer one")
    if key.type is float and type(value) is int:  # TOML tells 1 from 1.0
        value = float(value)
    if key.type in (tuple[str, ...], tuple[object, ...]) and isinstance(value, list):
        value = tuple(value)
    if not _fits(key.type, value):
        got = _unshown(value) if is_secret(key.table, key.name) else _brief(value)
        raise ConfigError(f"Expected `{key.name}` in [{key.table}] to be {WORDS[key.type]}, but got {got}")
    if key.type is int and value < 0:
        raise ConfigError(f"Expected `{key.name}` in [{key.table}] to be 0 or more, but got {value}")
    if (
        key.allowed
        and not has_variable(value)
        and not any(value == other and type(value) is type(other) for other in key.allowed)
    ):
        listed = ", ".join(map(repr, key.allowed))
        raise ConfigError(f"Expected `{key.name}` in [{key.table}] to be one of {listed}, but got {value!r}")
    return value


def _unshown(value: object) -> str:
    """Return what a value is that may be secret."""
    entries = value.items() if isinstance(value, dict) else ()
    wrong = [f"{name!r} is {with_article(type(item))}" for name, item in entries if not isinstance(item, str)]
    return f"{with_article(type(value))} that may be secret{f', in which {wrong[0]}' if wrong else ''}"


def _brief(value: object) -> str:
    try:
        return repr(value)
    except (RecursionError, ValueError):  # too deep, or a number with thousands of digits
        return f"{with_article(type(value))} that is too large to show"


def _fits(wanted: object, value: object) -> bool:
    if wanted is object:
        return isinstance(value, str | int | float | bool)
    if wanted == tuple[str, ...]:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if wanted == tuple[object, ...]:
        return isinstance(value, tuple) and all(isinstance(item, str | int | float | bool) for item in value)
    if wanted == dict[str, str]:
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    if wanted == bool | str:
        return isinstance(value, bool | str)
    return type(value) is wanted


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


def _line(key: Key, value: Any) -> str:
    """Return the line of a key, without what must not be shown."""
    if has_password(value):
        return f"# {key.name} is set, but not shown, since it has a password"
    if not is_secret(key.table, key.name):
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
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:_}"
    if isinstance(value, float):
        return repr(value)  # TOML has nan and inf, JSON has not
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
