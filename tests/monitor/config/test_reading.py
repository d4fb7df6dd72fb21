"""Configurations from TOML: the example, layers, and what is refused."""

from __future__ import annotations

import datetime
import math
import tomllib
from typing import Any

import pytest
from msgspec import structs

from stream_metrics.catalog.table import ALIASES
from stream_metrics.monitor.config import Alerts, Config, ConfigError, Counting, Join, Key, Serve, Source, Store, keys
from stream_metrics.monitor.config.reading import configured, example, layered, load, tables_of


def test_the_example_reads_back_as_the_defaults() -> None:
    """Every key is in it, each with a comment above, and nothing else."""
    text = example()
    tables = tomllib.loads(text)

    assert configured(tables) == Config()
    assert {(table, name) for table, items in tables.items() for name in items} == {key[:2] for key in keys()}
    lines = text.splitlines()
    assert all(lines[at - 1].startswith("# ") for at, line in enumerate(lines) if " = " in line and line[0] != "#")


ODD: dict[str, Any] = {
    "counting": {"title": "\x7f\0\n\"'\\é", "labels": ["1", 1, 1.5, True, 1e300, float("inf")]},
    "serve": {"token": "${T\u007f}", "port": 0, "matrix": True},
    "source": {"options": {"a.b": "\x7f", "": "", "é\n": "="}},
    "join": {"max_pending": 2**63 - 1},
    "alerts": {"rules": ['recall["\\u007f"] < 1']},
}


def test_a_configuration_reads_back_as_it_was_printed() -> None:
    """Every character and every number that a configuration may have is written as TOML has it."""
    config = configured(ODD)

    assert repr(configured(tomllib.loads(example(config)))) == repr(config)
    assert configured(tomllib.loads(example(config))).source.options == ODD["source"]["options"]


def test_every_key_has_a_meaning() -> None:
    """What help and the example say is there for each key, and its default is among what is allowed."""
    for key in keys():
        assert key.meaning
        assert not key.allowed or key.default in key.allowed


def test_other_names_of_metrics_are_found() -> None:
    """The headline takes all keys that are taken elsewhere, and has them as the catalog spells them."""
    for alias, key in ALIASES.items():
        assert Counting(metrics=(alias, "accuracy")).metrics == (key, "accuracy")
    assert configured({"counting": {"metrics": ["mcc"]}}).counting.metrics == ("matthews_corrcoef",)


def test_later_layers_win() -> None:
    """Key by key, flags over a file over defaults; lists become tuples and whole numbers floats where they may."""
    file = {"join": {"ttl": "1h", "due": "5m"}, "counting": {"windows": ["5m"], "scores": "any"}}
    flags = {"join": {"ttl": "2h"}, "store": {"every_seconds": 2}, "serve": {"port": 0}}

    config = configured(layered(file, flags))

    assert config.join == Join(ttl="2h", due="5m")
    assert config.counting == Counting(windows=("5m",), scores="any")
    assert config.serve == Serve(port=0)
    assert type(config.store.every_seconds) is float


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"jion": {}}, "did you mean 'join'"),
        ({"join": 3}, r"to be a table, \[join\], but got an int"),
        ({"join": {"tll": "1h"}}, r"Unknown key 'tll' in \[join\]; did you mean 'ttl'"),
        ({"join": {"webhook": "x"}}, r"it belongs to \[alerts\]"),
        ({"join": {"ttl": 3}}, r"`ttl` in \[join\] to be text, but got 3"),
        ({"serve": {"port": True}}, "a whole number, but got True"),
        ({"join": {"in_memory": -1}}, r"`in_memory` in \[join\] to be a whole number >= 0, but got -1"),
        ({"serve": {"matrix": 1}}, "true or false, but got 1"),
        ({"counting": {"windows": "1h"}}, r"`windows` in \[counting\] to be a list, but got '1h'"),
        ({"counting": {"labels": [[1]]}}, r"`labels\[0\]` in \[counting\] to be .* or text, but got \[1\]"),
        ({"counting": {"scores": "some"}}, "one of False, True, 'any', but got 'some'"),
        ({"source": {"kind": "files"}}, "one of 'file', 'stdin', 'kafka', 'memory', but got 'files'"),
        ({"source": {"options": {"a": 1}}}, r"`options\['a'\]` in \[source\] to be text, but got an int that may be"),
        ({"counting": {"pos_label": [1]}}, r"true or false, a whole number, a number or text, but got \[1\]"),
        ({"counting": {"labels": [1, 2**63]}}, r"`labels\[1\]` in \[counting\] to be a whole number <= 92233720368"),
        (
            {"store": {"every_seconds": 10**400}},
            r"`every_seconds` in \[store\] to be a number in range, but got an int",
        ),
        ({"counting": {"labels": [[10**5000]]}}, r"`labels\[0\]` in .*, but got a list that is too large to show"),
        ({"serve": {"host": 10**18}}, "to be text, but got 10{18}"),
    ],
)
def test_what_is_refused(tables, message) -> None:
    """Unknown tables and keys with what may be meant, other types, values that are none of those allowed."""
    with pytest.raises(ConfigError, match=message):
        configured(tables)


@pytest.mark.parametrize("key", [key for key in keys() if key.length], ids=lambda key: f"{key.table}.{key.name}")
def test_lengths_of_time_are_checked(key: Key) -> None:
    """Where a table is made; a variable stands for any text until it is replaced."""
    several = isinstance(key.default, tuple)
    for text, good in (("5m", True), ("soon", False), ("-1s", False), ("", False), ("${X}", True), ("0s", None)):
        good = key.length == "of at least 0" if good is None else good
        tables = {key.table: {key.name: [text] if several else text}}
        message = refused(tables)
        assert (message == "") == good
        if message:
            assert f"`{key.name}{'[0]' * several}` in [{key.table}] to be a length of time" in message


MISTAKES: list[tuple[type[Any], dict[str, Any]]] = [
    (Join, {"ttl": 3}),
    (Join, {"ttl": "soon"}),
    (Join, {"in_memory": -1}),
    (Join, {"votes": 10**6}),
    (Counting, {"windows": "1h"}),
    (Counting, {"windows": ("1h", "1x")}),
    (Counting, {"labels": ((1,),)}),
    (Counting, {"clock": "labels"}),
    (Counting, {"scores": "some"}),
    (Source, {"options": {"a": 1}}),
    (Store, {"every_seconds": 0}),
    (Store, {"retention": ("1m for 2d for 3d",)}),
    (Serve, {"port": True}),
    (Serve, {"token": 5}),
    (Alerts, {"retry": "0s"}),
]


@pytest.mark.parametrize(("table", "values"), MISTAKES, ids=str)
def test_tables_made_in_python_are_checked_as_those_of_toml(table: type[Any], values: dict[str, Any]) -> None:
    """When they are made, and when they are changed, with the same error."""
    with pytest.raises(ConfigError) as made:
        table(**values)
    with pytest.raises(ConfigError) as changed:
        structs.replace(table(), **values)
    assert str(made.value) == str(changed.value) == refused({table.__name__.lower(): values})


def test_values_made_in_python_are_those_of_toml() -> None:
    """Lists become tuples, whole numbers floats; what is no table is refused."""
    assert Counting(windows=["1h"]) == Counting(windows=("1h",))  # type: ignore[arg-type]
    assert type(Store(every_seconds=2).every_seconds) is float
    with pytest.raises(ConfigError, match=r"'join' to be a table, \[join\], but got a str"):
        Config(join="5m")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tables",
    [
        {"source": {"options": {"sasl.password": "hunter2", "session.timeout.ms": 6000}}},
        {"source": {"options": "hunter2"}},
        {"serve": {"token": ["hunter2"]}},
        {"alerts": {"webhook": ["https://example.com/hunter2"]}},
    ],
)
def test_errors_show_no_secrets(tables) -> None:
    """What may hold a password is named, not shown."""
    with pytest.raises(ConfigError, match="that may be secret") as refused:
        configured(tables)

    assert "hunter2" not in str(refused.value)


ODDITIES: list[Any] = [
    *(True, -1, 2**63, -(2**70), 10**5000, 1.5, math.nan, -math.inf, None, b"hunter2", datetime.date(2020, 1, 1)),
    *("hunter2", "", "\udcff", "a - at `$.join.ttl`", "${X}", "$${X}", "x" * 10_000),
    *([], ["hunter2"], [["hunter2"]], [1, 2**64], (True, None), {}, {"hunter2": 1}, {"a": ["hunter2"]}, {1: "hunter2"}),
]


def refused(tables: dict[str, Any]) -> str:
    """What is wrong with tables; empty if nothing is."""
    try:
        configured(tables)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("key", list(keys()), ids=lambda key: f"{key.table}.{key.name}")
def test_values_are_accepted_as_they_are_or_refused_by_name(key: Key) -> None:
    """Each key takes a value, or the error has table and key, is short, and has nothing that may be secret."""
    for value in ODDITIES:
        tables = {key.table: {key.name: value}}
        if message := refused(tables):
            assert f"`{key.name}" in message
            assert f"in [{key.table}] to be " in message
            assert len(message) < 500
            assert key.shown or "hunter2" not in message.replace("['hunter2']", "")
            continue
        config = configured(tables)
        taken = getattr(getattr(config, key.table), key.name)
        assert taken == (tuple(value) if isinstance(value, list) else value) or value != value
        assert key.shown or f"{key.name}=" not in repr(getattr(config, key.table))
        assert not key.allowed or value in (*key.allowed, "${X}")
        assert type(taken) is not int or -(2**63) <= taken < 2**63


def test_unknown_names_are_refused_whatever_they_are() -> None:
    """Also names that look like the end of a message of msgspec; tables that are none show nothing that is in them."""
    for name in ("x - at `$.join.ttl`", "`", "$", "\n", "\udcff", ""):
        with pytest.raises(ConfigError, match="Expected a table of"):
            configured({name: {}})
        with pytest.raises(ConfigError, match=r"Unknown key '.*' in \[join\]"):
            configured({"join": {"ttl": 3, name: 1}})
    with pytest.raises(ConfigError, match=r"Expected 'serve' to be a table, \[serve\], but got a list"):
        configured(tomllib.loads('[[serve]]\ntoken = "hunter2"\n'))


def test_errors_name_the_file(tmp_path) -> None:
    """A file that is no TOML, or has an unknown key, is named."""
    path = tmp_path / "monitor.toml"
    for text, message in (
        ("[join", "no TOML"),
        ("[join]\nttl = 1", "to be text"),
        ("\xff", "no TOML"),
        (f"[serve]\nport = {'9' * 5000}", "no TOML"),
        (f"[serve]\nport = 0x{'f' * 5000}", "whole number <= 65535, but got an int that"),
        (f"[counting]\nlabels = {'[' * 5000}", "nested too deeply"),
    ):
        path.write_text(text, "latin-1")
        with pytest.raises(ConfigError, match=f"monitor.toml: .*{message}"):
            load(str(path))

    path.write_text('[counting]\ntitle = "\u00e9"\n', "utf-8")
    assert load(str(path)).counting.title == "\u00e9"
    assert tables_of(str(path)) == {"counting": {"title": "\u00e9"}}


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("postgresql://me:hunter2@db/models", False),
        ("postgresql://me@db/models?password=hunter2", False),
        ("postgresql://me:${PASSWORD}@db/models", True),
        ("postgresql://me@db:5432/models?options=-csearch_path%3Dfraud", True),
        ("/var/lib/a:b@c/monitor.sqlite", True),
    ],
)
def test_the_password_of_a_database_is_not_shown(path: str, shown: bool) -> None:
    """Neither in what --print-config prints, nor in the text of the object."""
    config = configured({"store": {"path": path}})

    assert (path in example(config)) == shown
    assert "hunter2" not in example(config) + repr(config)
