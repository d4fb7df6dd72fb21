"""Secrets of a configuration: from environment variables and files, and shown nowhere.

`${VAR}` in any text of the configuration is the value of an environment variable; `$${` is `${` itself. A key that ends
in `_file` names a file whose text, without the end of its last line, is the value of the key without `_file`; entries
of `options` may end so as well. A configuration is printed as it was written, without secrets that were written out.
Errors name the key, the variable or the file, never a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stream_metrics.monitor.config import ConfigError, keys
from stream_metrics.monitor.config.checking import VARIABLE, has_variable

__all__ = ["SECRET", "has_password", "is_secret_option", "resolved", "written_out"]

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
