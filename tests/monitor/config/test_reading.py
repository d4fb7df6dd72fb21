"""Configurations from TOML: the example, layers, and what is refused."""

from __future__ import annotations

import datetime
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics.monitor.config import (
    Config,
    ConfigError,
    ConfigKey,
    CountingTable,
    JoinTable,
    ServeTable,
    StoreTable,
    keys,
)
from stream_metrics.monitor.config.reading import configured, example, layered, load, tables_of

KEYS = list(keys())
ODD: dict[str, Any] = {
    "counting": {"title": "\x7f\0\n\"'\\é", "labels": ["1", 1, 1.5, True, 1e300, float("inf")]},
    "serve": {"token": "${T\u007f}", "port": 0, "matrix": True},
    "source": {"options": {"a.b": "\x7f", "": "", "é\n": "="}},
    "join": {"max_pending": 2**63 - 1},
    "alerts": {"rules": ['recall["\\u007f"] < 1']},
}


def problem(tables: dict[str, Any]) -> str:
    """Return what is wrong with tables; empty if nothing is."""
    try:
        configured(tables)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.quick
def test_the_example_reads_back() -> None:
    """Every key is in it with a comment above, its meaning is not empty, and its default is allowed."""
    text = example()
    tables, lines = tomllib.loads(text), text.splitlines()

    assert configured(tables) == Config()
    assert {(table, name) for table, items in tables.items() for name in items} == {key[:2] for key in KEYS}
    assert all(lines[at - 1].startswith("# ") for at, line in enumerate(lines) if " = " in line and line[0] != "#")
    assert [key.name for key in KEYS if not key.meaning or (key.allowed and key.default not in key.allowed)] == []


def test_a_configuration_reads_back_as_it_was_printed() -> None:
    """Every character and every number that a configuration may have is written as TOML has it."""
    config = configured(ODD)
    again = configured(tomllib.loads(example(config)))

    assert repr(again) == repr(config)
    assert again.source.options == ODD["source"]["options"]


def test_other_names_of_metrics_are_found() -> None:
    """The headline takes all keys that are taken elsewhere, and has them as the catalog spells them."""
    names = {alias: key for key, info in sm.metrics().items() for alias in info.aliases}

    assert names["mcc"] == "matthews_corrcoef"
    assert {alias: configured({"counting": {"metrics": [alias, "accuracy"]}}).counting.metrics for alias in names} == {
        alias: (key, "accuracy") for alias, key in names.items()
    }


@pytest.mark.quick
def test_later_layers_win() -> None:
    """Key by key, flags over a file over defaults; lists become tuples and whole numbers floats where they may."""
    file = {"join": {"ttl": "1h", "due": "5m"}, "counting": {"windows": ["5m"], "scores": "any"}}
    flags = {"join": {"ttl": "2h"}, "store": {"every_seconds": 2}, "serve": {"port": 0}}

    config = configured(layered(file, flags))

    assert config.join == JoinTable(ttl="2h", due="5m")
    assert (
        config.counting == CountingTable(windows=("5m",), scores="any") == CountingTable(windows=["5m"], scores="any")
    )  # type: ignore[arg-type]
    assert config.serve == ServeTable(port=0)
    assert type(config.store.every_seconds) is type(StoreTable(every_seconds=2).every_seconds) is float


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"jion": {}}, "did you mean 'join'"),
    ({"join": 3}, "to be a table, [join], but got an int"),
    ({"join": {"tll": "1h"}}, "Unknown key 'tll' in [join]; did you mean 'ttl'"),
    ({"join": {"webhook": "x"}}, "it belongs to [alerts]"),
    ({"join": {"ttl": 3}}, "`ttl` in [join] to be text, but got 3"),
    ({"serve": {"port": True}}, "a whole number, but got True"),
    ({"join": {"in_memory": -1}}, "`in_memory` in [join] to be a whole number >= 0, but got -1"),
    ({"counting": {"max_classes": 0}}, "`max_classes` in [counting] to be a whole number >= 1, but got 0"),
    ({"counting": {"max_groups": 0}}, "`max_groups` in [counting] to be a whole number >= 1, but got 0"),
    ({"counting": {"panes": 0}}, "`panes` in [counting] to be a whole number >= 1, but got 0"),
    ({"counting": {"clock": "wall"}}, "one of 'label', 'prediction', but got 'wall'"),
    ({"join": {"votes": 10**6}}, "`votes` in [join] to be a whole number <= 65536"),
    ({"join": {"ttl": "soon"}}, "`ttl` in [join] to be a length of time"),
    ({"serve": {"matrix": 1}}, "true or false, but got 1"),
    ({"counting": {"windows": "1h"}}, "`windows` in [counting] to be a list, but got '1h'"),
    ({"counting": {"windows": ["1h", "1x"]}}, "`windows[1]` in [counting] to be a length of time"),
    ({"counting": {"labels": [[1]]}}, "`labels[0]` in [counting] to be true or false, a whole number, a number"),
    ({"counting": {"scores": "some"}}, "one of False, True, 'any', but got 'some'"),
    ({"source": {"kind": "files"}}, "one of 'file', 'stdin', 'kafka', 'memory', but got 'files'"),
    ({"source": {"options": {"a": 1}}}, "`options['a']` in [source] to be text, but got an int that may be"),
    ({"counting": {"pos_label": [1]}}, "true or false, a whole number, a number or text, but got [1]"),
    ({"counting": {"labels": [1, 2**63]}}, "`labels[1]` in [counting] to be a whole number <= 92233720368"),
    ({"store": {"every_seconds": 10**400}}, "`every_seconds` in [store] to be a number in range, but got an int"),
    ({"store": {"every_seconds": 0}}, "`every_seconds` in [store]"),
    ({"store": {"retention": ["1m for 2d for 3d"]}}, "`retention[0]` in [store]"),
    ({"counting": {"labels": [[10**5000]]}}, "but got a list that is too large to show"),
    ({"serve": {"host": 10**18}}, "to be text, but got 1" + 18 * "0"),
    ({"source": {"options": {"sasl.password": "hunter2", "timeout": 6000}}}, "`options['timeout']` in [source]"),
    ({"source": {"options": "hunter2"}}, "that may be secret"),
    ({"serve": {"token": ["hunter2"]}}, "that may be secret"),
    ({"alerts": {"webhook": ["https://example.com/hunter2"]}}, "that may be secret"),
]


@pytest.mark.quick
def test_what_is_refused() -> None:
    """The error names table and key, what may be meant, and no secret; tables made in Python have the same error."""
    all_refused((lambda tables=tables: configured(tables), ConfigError, about) for tables, about in REFUSED)
    assert [tables for tables, _ in REFUSED if "hunter2" in problem(tables)] == []
    for tables, _ in REFUSED:
        ((name, values),) = tables.items()
        default, names = getattr(Config(), name, None), {key.name for key in KEYS if key.table == name}
        if default is None or not isinstance(values, dict) or not values.keys() <= names:
            continue
        for make in (lambda: type(default)(**values), lambda: structs.replace(default, **values)):  # noqa: B023
            assert str(refused(make, ConfigError)) == problem(tables)
    refused(lambda: Config(join="5m"), ConfigError, "'join' to be a table, [join], but got a str")  # type: ignore[arg-type]


def test_lengths_of_time_are_checked() -> None:
    """Where a table is made; a variable stands for any text until it is replaced."""
    wrong = []
    for key in KEYS:
        several = isinstance(key.default, tuple)
        for text, good in (("5m", True), ("soon", False), ("-1s", False), ("", False), ("${X}", True), ("0s", None)):
            if key.length:
                message = problem({key.table: {key.name: [text] if several else text}})
                fine = key.length == "of at least 0" if good is None else good
                expected = f"`{key.name}{'[0]' * several}` in [{key.table}] to be a length of time"
                wrong += [(key.name, text)] if (message == "") != fine or (message and expected not in message) else []
    assert wrong == []


ODDITIES: list[Any] = [
    *(True, -1, 2**63, -(2**70), 10**5000, 1.5, math.nan, -math.inf, None, b"hunter2", datetime.date(2020, 1, 1)),
    *("hunter2", "", "\udcff", "a - at `$.join.ttl`", "${X}", "$${X}", "x" * 10_000),
    *(["\udcff"], {"\udcff": ["\udcff"]}),
    *([], ["hunter2"], [["hunter2"]], [1, 2**64], (True, None), {}, {"hunter2": 1}, {"a": ["hunter2"]}, {1: "hunter2"}),
]


def well_taken(key: ConfigKey, value: Any) -> bool:
    """Return whether a key takes a value as it is, or the error has its name, is short, and shows no secret."""
    tables = {key.table: {key.name: value}}
    if message := problem(tables):
        named = f"`{key.name}" in message and f"in [{key.table}] to be " in message
        return named and len(message) < 500 and (key.shown or "hunter2" not in message.replace("['hunter2']", ""))
    table = getattr(configured(tables), key.table)
    taken = getattr(table, key.name)
    return (
        (taken == (tuple(value) if isinstance(value, list) else value) or value != value)
        and (key.shown or f"{key.name}=" not in repr(table))
        and (not key.allowed or value in (*key.allowed, "${X}"))
        and (type(taken) is not int or -(2**63) <= taken < 2**63)
    )


def test_values_are_accepted_as_they_are_or_refused_by_name() -> None:
    """For every key, and values of every type."""
    assert [(key.name, repr(value)[:40]) for key in KEYS for value in ODDITIES if not well_taken(key, value)] == []


def test_unknown_names_are_refused_whatever_they_are() -> None:
    """Also names that look like the end of a message of msgspec; tables that are none show nothing that is in them."""
    for name in ("x - at `$.join.ttl`", "`", "$", "\n", "\udcff", ""):
        refused(lambda name=name: configured({name: {}}), ConfigError, "Expected a table of")
        refused(lambda name=name: configured({"join": {"ttl": 3, name: 1}}), ConfigError, "Unknown key '")
    error = refused(lambda: configured(tomllib.loads('[[serve]]\ntoken = "hunter2"\n')), ConfigError)
    assert str(error).endswith("'serve' to be a table, [serve], but got a list")


def test_errors_name_the_file(tmp_path: Path) -> None:
    """A file that is no TOML, or has an unknown key, is named; one that is in UTF-8 is read."""
    path = tmp_path / "monitor.toml"
    for text, message in (
        *(("[join", "no TOML"), ("[join]\nttl = 1", "to be text"), ("\xff", "no TOML")),
        (f"[serve]\nport = {'9' * 5000}", "no TOML"),
        (f"[serve]\nport = 0x{'f' * 5000}", "whole number <= 65535, but got an int that"),
        (f"[counting]\nlabels = {'[' * 5000}", "nested too deeply"),
    ):
        path.write_text(text, "latin-1")
        assert str(refused(lambda: load(str(path)), ConfigError, message)).startswith(f"{path}: ")

    path.write_text('[counting]\ntitle = "\u00e9"\n', "utf-8")
    assert load(str(path)).counting.title == "\u00e9"
    assert tables_of(str(path)) == {"counting": {"title": "\u00e9"}}


def test_the_password_of_a_database_is_not_shown() -> None:
    """Neither in what --print-config prints, nor in the text of the object."""
    for path, shown in (
        ("postgresql://me:hunter2@db/models", False),
        ("postgresql://me@db/models?password=hunter2", False),
        ("postgresql://me:${PASSWORD}@db/models", True),
        ("postgresql://me@db:5432/models?options=-csearch_path%3Dfraud", True),
        ("/var/lib/a:b@c/monitor.sqlite", True),
    ):
        config = configured({"store": {"path": path}})
        assert (path in example(config)) == shown
        assert "hunter2" not in example(config) + repr(config)
