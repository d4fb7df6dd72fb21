"""Configurations from TOML and from texts; an error for an unknown key names the most similar one.

Layers are tables by name, each a mapping of keys; a later layer wins key by key.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from stream_metrics.errors import with_article
from stream_metrics.monitor.config import Config, ConfigError, Key, keys
from stream_metrics.monitor.config.secrets import has_password, has_variable, is_secret_option, resolved, written_out

__all__ = ["configured", "example", "layered", "load", "tables_of"]

Tables = Mapping[str, Mapping[str, Any]]
KEYS = {(key.table, key.name): key for key in keys()}
CHOICES = [key for key, about in KEYS.items() if about.allowed]
TABLES = list(Config.__struct_fields__)
PLACE = re.compile(r"(.*) - at (?:`key` in )?`\$\.(\w+)\.(\w+)(\[.+\])?`", re.DOTALL)
EXPECTED = re.compile(r"Expected `([^`]+)`(.*?)(?:, got .*)?", re.DOTALL)
WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a table",
}  # fmt: skip
LONGEST = 200  # characters of a value in an error
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
    items: dict[str, Any] = {of: dict(each) if isinstance(each, Mapping) else each for of, each in tables.items()}
    later = {}
    for table, name in CHOICES:
        if isinstance(items.get(table), dict) and has_variable(items[table].get(name)):
            later[table, name] = items[table].pop(name)
    try:
        config = msgspec.convert(items, Config)
    except msgspec.ValidationError as error:
        raise _refused(str(error), tables) from None
    except UnicodeEncodeError:  # of a text that is not expected; those that are, such as names of files, are taken
        return configured(_escaped(items))
    for (table, name), value in later.items():
        config = structs.replace(config, **{table: structs.replace(getattr(config, table), **{name: value})})
    return config


def _escaped(value: Any) -> Any:
    """Return tables without lone surrogates."""
    if isinstance(value, dict):
        return {_escaped(name): _escaped(each) for name, each in value.items()}
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _refused(problem: str, tables: Tables) -> ConfigError:
    """Return the error for what msgspec says of tables, without what may be secret."""
    for table, items in tables.items():
        if table not in TABLES:
            return ConfigError(f"Expected a table of {TABLES}, but got {table!r}{_near(table, TABLES)}")
        if not isinstance(items, Mapping):
            return ConfigError(f"Expected {table!r} to be a table, [{table}], but got {with_article(type(items))}")
        for name in items:
            if (table, name) not in KEYS:
                return ConfigError(f"Unknown key {name!r} in [{table}]{_near_key(table, name)}")
    match = PLACE.fullmatch(problem)
    assert match is not None  # all other problems are those above
    message, table, name, place = match.groups("")
    key, value = KEYS[table, name], tables[table][name]
    if place == "[...]":
        wrong = next(entry for entry, item in value.items() if not isinstance(item, str))
        place, value = f"[{wrong!r}]", value[wrong]
    elif place:
        value = value[int(place[1:-1])]
    got = _brief(value) if key.shown else f"{with_article(type(value))} that may be secret"
    return ConfigError(f"Expected `{name}{place}` in [{table}] to be {_expected(key, message)}, but got {got}")


def _expected(key: Key, message: str) -> str:
    """Return in words what msgspec expected."""
    match = EXPECTED.fullmatch(message)
    if key.allowed or match is None:
        return f"one of {', '.join(map(repr, key.allowed))}" if key.allowed else "a number in range"
    *types, last = (WORDS.get(each, each) for each in match[1].split(" | "))
    return f"{', '.join(types)} or {last}{match[2]}" if types else last + match[2]


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _near_key(table: str, name: str) -> str:
    elsewhere = (f"; it belongs to [{of}]" for of, key in KEYS if key == name)
    return _near(name, [key for of, key in KEYS if of == table]) or next(elsewhere, "")


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deep, or a number with thousands of digits
        text = ""
    return text if 0 < len(text) <= LONGEST else f"{with_article(type(value))} that is too large to show"


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
