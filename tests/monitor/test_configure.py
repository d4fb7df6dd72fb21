"""Configurations from TOML: the example, layers, and what is refused."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from stream_metrics.monitor.config import Config, Counting, Join, Serve
from stream_metrics.monitor.configure import ConfigError, configured, example, keys, load, tables_of


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


def test_later_layers_win() -> None:
    """Key by key, flags over a file over defaults; lists become tuples and whole numbers floats where they may."""
    file = {"join": {"ttl": "1h", "due": "5m"}, "counting": {"windows": ["5m"], "scores": "any"}}
    flags = {"join": {"ttl": "2h"}, "store": {"every_seconds": 2}, "serve": {"port": 0}}

    config = configured(file, flags)

    assert config.join == Join(ttl="2h", due="5m")
    assert config.counting == Counting(windows=("5m",), scores="any")
    assert config.serve == Serve(port=0)
    assert type(config.store.every_seconds) is float


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"jion": {}}, "did you mean 'join'"),
        ({"join": 3}, r"to be a table, \[join\], but got 3"),
        ({"join": {"tll": "1h"}}, r"Unknown key 'tll' in \[join\]; did you mean 'ttl'"),
        ({"join": {"webhook": "x"}}, r"it belongs to \[alerts\]"),
        ({"join": {"ttl": 3}}, r"`ttl` in \[join\] to be text, but got 3"),
        ({"serve": {"port": True}}, "a whole number, but got True"),
        ({"join": {"in_memory": -1}}, r"`in_memory` in \[join\] to be 0 or more, but got -1"),
        ({"serve": {"matrix": 1}}, "true or false, but got 1"),
        ({"counting": {"windows": "1h"}}, "a list of texts, but got '1h'"),
        ({"counting": {"labels": [[1]]}}, "a list, but got"),
        ({"counting": {"scores": "some"}}, "one of False, True, 'any', but got 'some'"),
        ({"source": {"kind": "files"}}, "one of 'file', 'stdin', 'kafka', 'memory', but got 'files'"),
        ({"source": {"options": {"a": 1}}}, "a table of texts"),
        ({"counting": {"pos_label": [1]}}, r"text, a number, true or false, but got \[1\]"),
        ({"counting": {"labels": [1, 2**63]}}, "whole numbers of 64 bits as `labels`"),
        ({"store": {"every_seconds": 10**400}}, "whole numbers of 64 bits"),
        ({"counting": {"labels": [[10**5000]]}}, "a list, but got a tuple that is too large to show"),
        ({"serve": {"host": 10**18}}, "to be text, but got 10{18}"),
    ],
)
def test_what_is_refused(tables, message) -> None:
    """Unknown tables and keys with what may be meant, other types, values that are none of those allowed."""
    with pytest.raises(ConfigError, match=message):
        configured(tables)


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


def test_errors_name_the_file(tmp_path) -> None:
    """A file that is no TOML, or has an unknown key, is named."""
    path = tmp_path / "monitor.toml"
    for text, message in (
        ("[join", "no TOML"),
        ("[join]\nttl = 1", "to be text"),
        ("\xff", "no TOML"),
        (f"[serve]\nport = {'9' * 5000}", "no TOML"),
        (f"[serve]\nport = 0x{'f' * 5000}", "64 bits"),
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
