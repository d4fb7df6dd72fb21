"""What a value of a configuration must be, checked whenever a table is made: from TOML, from flags or in Python.

The type of a key says what it may be, and whether it is a length of time. A text that names a variable of the
environment is checked when the variable has been replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec
from msgspec import structs

from stream_metrics.errors import StreamMetricsError, with_article
from stream_metrics.inputs.times import parse_duration

VARIABLE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
PLACE = re.compile(r"(.*?)(?: - at (?:`key` in )?`\$(\[.+\])?`)?", re.DOTALL)
EXPECTED = re.compile(r"Expected `([^`]+)`(.*?)(?:, got .*)?", re.DOTALL)
WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a table",
}  # fmt: skip
LONGEST = 200  # characters of a value in an error
LENGTH = 'a length of time {}, such as "30s", "5m", "1h" or "2d"'


class ConfigError(StreamMetricsError, ValueError):
    """A configuration that cannot be read."""


class ConfigKey(NamedTuple):
    """A key of the configuration: the table and name, the type, the default, what it means, what it may be.

    `length` is "" for a key that is no length of time, else "above 0" or "of at least 0"; it is "rule" for two of them.
    """

    table: str
    name: str
    type: type[object] | UnionType
    default: Any
    meaning: str
    allowed: tuple[object, ...]
    secret: bool
    shown: bool
    length: str


def keys_of(table: type[msgspec.Struct]) -> Iterator[ConfigKey]:
    """Yield the keys of a table, whose types say what they mean."""
    name = table.__name__.removesuffix("Table").lower()
    for each in structs.fields(table):
        kind, *_, about = get_args(each.type)
        default = each.default if each.default_factory is msgspec.NODEFAULT else each.default_factory()
        yield ConfigKey(name, each.name, kind, default, about.description, _allowed(kind), **about.extra)


def _allowed(kind: Any) -> tuple[object, ...]:
    """Return all values of a type if these can be listed."""
    parts = [kind] if get_origin(kind) is Literal else get_args(kind)
    values = [(False, True) if part is bool else get_args(part) for part in parts]
    return tuple(value for part in values for value in part) if all(values) else ()


def has_variable(value: object) -> bool:
    """Return whether a text names a variable of the environment."""
    return isinstance(value, str) and any(match[1] is not None for match in VARIABLE.finditer(value))


def checked(key: ConfigKey, kind: Any, value: Any) -> Any:
    """Return a value of a key as its type `kind` has it; ``ConfigError`` if it is of another."""
    if key.allowed and has_variable(value):
        return value
    try:
        value = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _refused(key, value, str(error)) from None
    except UnicodeEncodeError:  # of a text that is not expected; those that are, such as names of files, are taken
        return checked(key, kind, _escaped(value))
    if key.length:
        entries = [("", value)] if isinstance(value, str) else [(f"[{at}]", each) for at, each in enumerate(value)]
        for place, text in entries:
            if not (has_variable(text) or _is_length(text, key)):
                more = f"{LENGTH.format('above 0')}, or two with `for` between" if key.length == "rule" else ""
                raise _error(key, place, more or LENGTH.format(key.length), text)
    return value


def _is_length(text: str, key: ConfigKey) -> bool:
    parts = text.split(" for ") if key.length == "rule" else [text]
    try:
        for part in parts:
            parse_duration(part.strip(), key.name, zero=key.length == "of at least 0")
    except ValueError:
        return False
    return len(parts) <= 2


def _escaped(value: Any) -> Any:
    """Return a value without lone surrogates."""
    if isinstance(value, dict):
        return {_escaped(name): _escaped(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(each) for each in value]
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _refused(key: ConfigKey, value: Any, problem: str) -> ConfigError:
    """Return the error for what msgspec says of a value, without what may be secret."""
    match = PLACE.fullmatch(problem)
    assert match is not None
    message, place = match.groups("")
    if place == "[...]":
        wrong = next(entry for entry, item in value.items() if not (isinstance(entry, str) and isinstance(item, str)))
        place, value = f"[{wrong!r}]", value[wrong]
    elif place:
        value = list(value)[int(place[1:-1])]
    return _error(key, place, _expected(key, message), value)


def _error(key: ConfigKey, place: str, expected: str, value: Any) -> ConfigError:
    got = _brief(value) if key.shown else f"{with_article(type(value))} that may be secret"
    return ConfigError(f"Expected `{key.name}{place}` in [{key.table}] to be {expected}, but got {got}")


def _expected(key: ConfigKey, message: str) -> str:
    """Return in words what msgspec expected."""
    match = EXPECTED.fullmatch(message)
    if key.allowed or match is None:
        return f"one of {', '.join(map(repr, key.allowed))}" if key.allowed else "a number in range"
    *types, last = (WORDS.get(each, each) for each in match[1].split(" | "))
    return f"{', '.join(types)} or {last}{match[2]}" if types else last + match[2]


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # too deep, or a number with thousands of digits
        text = ""
    return text if 0 < len(text) <= LONGEST else f"{with_article(type(value))} that is too large to show"
