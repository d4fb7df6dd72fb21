"""Configurations from TOML and from texts, with secrets from environment variables and files.

`${VAR}` in any text of the configuration is the value of an environment variable; `$${` is `${` itself. A key that ends
in `_file` names a file whose text, without the end of its last line, is the value of the key without `_file`; entries
of `options` may end so as well. A configuration is printed as it was written, without secrets that were written out.
Errors name the key, the variable or the file, never a value.

An error for an unknown key names the most similar one. Layers are tables by name, each a mapping of keys; a later layer
wins key by key.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from stream_metrics.monitor.config import Config, ConfigError, ConfigKey, keys
from stream_metrics.monitor.config.checking import VARIABLE, has_variable

FILE = "_file"
SECRET = {(key.table, key.name) for key in keys() if key.secret}
OPTIONS = ("password", "secret", "token", "key.pem", "sasl.oauthbearer.config", "assertion", "jaas", "credential")
PASSWORD = re.compile(r"\w+://(?:[^/?]*:[^/?]*@|.*[?&]password=)")
LARGEST = 1 << 16  # bytes of a file with a secret
Tables = Mapping[str, Mapping[str, Any]]


def is_secret_option(name: str) -> bool:
    """Return whether an option of the Kafka client holds a secret, rather than the name of a file with it."""
    return not name.endswith((FILE, ".location")) and any(word in name.lower() for word in OPTIONS)


def written_out(value: object) -> bool:
    """Return whether a secret is given as itself, and not as a variable."""
    return isinstance(value, str) and value != "" and not has_variable(value)


def has_password(value: object) -> bool:
    """Return whether a text is the address of a database with a password that is written out."""
    return written_out(value) and PASSWORD.match(str(value)) is not None


def resolved(tables: Tables) -> dict[str, dict[str, Any]]:
    """Return tables of a configuration with the values of variables and files; ``ConfigError`` if there is none."""
    whole: dict[str, dict[str, Any]] = {}
    for table, items in tables.items():
        secrets = {name for of, name in SECRET if of == table}
        values = {name: _expanded(value, f"`{name}` in [{table}]") for name, value in items.items()}
        values |= _read({key: values[key] for key in values if key.removesuffix(FILE) in secrets}, f"in [{table}]")
        _check_filled(items, values, secrets & values.keys(), f"in [{table}]")
        for name in secrets & values.keys():
            if isinstance(options := values[name], dict):
                _check_filled(items[name], options, filter(is_secret_option, options), f"in `{name}` of [{table}]")
                read = _read(options, f"in `{name}` of [{table}]")
                values[name] = {option: value for option, value in options.items() if not option.endswith(FILE)} | read
        whole[table] = values
    return whole


def _check_filled(written: Mapping[str, Any], values: Mapping[str, Any], secrets: Iterable[str], where: str) -> None:
    """Raise ``ConfigError`` for a secret whose variable is empty."""
    for name in secrets:
        if written.get(name) and not values[name]:
            raise ConfigError(f"Expected `{name}` {where} to be a secret, but the variable is empty")


def _expanded(value: Any, where: str) -> Any:
    """Return a value with its variables replaced, in lists and tables, too."""
    if isinstance(value, dict):
        return {name: _expanded(item, where) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(item, where) for item in value]
    if not isinstance(value, str):
        return value

    def text(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "${"
        if name not in os.environ:
            raise ConfigError(f"Expected the environment variable {name!r}, which {where} names, but it is not set")
        return os.environ[name]

    return VARIABLE.sub(text, value)


def _read(values: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return by key what files have, which are given by key and `_file`; ``ConfigError`` if a key is there as well."""
    read = {}
    for name, path in values.items():
        key = name.removesuffix(FILE)
        if key == name or not path:
            continue
        if values.get(key):
            raise ConfigError(f"Expected `{key}` or `{name}` {where}, but got both")
        read[key] = _secret(str(path), f"`{name}` {where}")
    return read


def _secret(path: str, where: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(f"Expected {where} to name a file with a secret, but got {path!r}: {reason}") from None
    if not text or len(data) > LARGEST:
        reason = "it is empty" if not text else "it is too long"
        raise ConfigError(f"Expected {where} to name a file with a secret, but got {path!r}: {reason}")
    return text


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
