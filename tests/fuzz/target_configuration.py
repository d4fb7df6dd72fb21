"""Configuration: TOML or flags are a `Config` or a ConfigError; a configuration that is printed reads back as the same.

An input is a byte that selects TOML or flags, and the text: a TOML file, or one flag a line.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import re
import tempfile
import tomllib
from pathlib import Path
from random import Random
from typing import NoReturn

from fuzz import mutation

from stream_metrics.catalog.table import UnknownMetricError
from stream_metrics.cli import monitor_flags
from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config, ConfigError, keys
from stream_metrics.monitor.config.reading import configured, example, tables_of
from stream_metrics.monitor.config.secrets import is_secret_option, resolved, written_out
from stream_metrics.monitor.monitor import Monitor

__all__ = ["COVERED", "check", "mutate", "seeds"]

COVERED = (
    "stream_metrics.monitor.config.reading", "stream_metrics.monitor.config.secrets",
    "stream_metrics.cli.monitor_flags", "stream_metrics.cli.options", "tomllib",
)  # fmt: skip
KEYS = list(keys())
TABLES = sorted({key.table for key in KEYS})
VALUES = ["true", "false", "nan", "inf", "-inf", "0", "-1", "1", "1.5", "1e999", "65536", "1_000"]
VALUES += ["0xffffffffffffffffff", "1e300"]
VALUES += ["9" * 5000, "0x" + "f" * 5000, "[" * 2000, "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "{}", "[]"]
VALUES += ['""', '"${HOME}"', '"$${HOME}"', '"${"', '"/dev/null"', '{"sasl.password" = "x", "a_file" = "/dev/null"}']
VALUES += ['"30s"', '"0s"', '"1h"', '"9999d"', '"1ns"', '"\\u0000"', '"\\u007f"', '"\\ud800"', '"\\n"', '"é"']
VALUES += ["[1, 1.0, true]"]
VALUES += ['["1h", "1h"]', '["5m"]', '["total"]', '["accuracy"]', '["a", 1]', '["cat", "dog"]', "[nan]", "[1, [2]]"]
VALUES += ['{"a" = "b"}']
VALUES += ['["accuracy[1h] < 0.8"]', '["changed(accuracy) arl=10"]', '["lag > 1e999"]']
VALUES += ['["recall[\\"a\\"] < 1 for 5m"]', '"label"']
VALUES += ['"any"', '"prediction"', '"kafka"', '"log_loss"', '["log_loss"]', '["confusion_matrix"]']
VALUES += ['["roc_auc", "recall"]']
WORDS = [word.encode() for word in [*VALUES, *"[]{}=.,\n#\"'", '"""', *(f"[{table}]\n" for table in TABLES)]]
WORDS += [f"{word}{key.name}".encode() for key in KEYS for word in ("", f"--{key.table}-")]
FLAGS = [
    ["--join-ttl", "1h", "--counting-labels", "cat,dog"],
    ["--counting-labels=[0, 1]", "--counting-scores=true", "--counting-pos-label", "1"],
    ["--serve-matrix", "--serve-port", "0", "--source-options", "a=b", "--source-options", "c="],
    ["--alerts-rules", "accuracy[1h] < 0.8", "--store-every-seconds", "0.5", "--counting-windows", "5m, 1h"],
]
CODE = re.compile(r"'.*|got .*|arguments.*|\d+", re.DOTALL)


class _Parser(argparse.ArgumentParser):
    """Raises what it has to say."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


@functools.cache
def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    monitor_flags.add(parser)
    return parser


def seeds() -> list[bytes]:
    """Return the example as a whole and by table, some values, and flags."""
    tables = re.split(r"\n(?=\n# .*\n\[)", example())
    values = '[counting]\nlabels = ["a", 1, false, 2.5]\nscores = true\npos_label = 1\n[source.options]\n"a.b" = "c"\n'
    files = [b"\0" + text.encode() for text in [example(), values, *tables]]
    return files + [b"\1" + "\n".join(flags).encode() for flags in FLAGS]


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another input: mostly with the value of a key changed, sometimes words or bytes."""
    kind = chance.random()
    if kind < 0.05:
        return raw(data, chance)
    if kind < 0.3:
        return data[:1] + mutation.change_words(data[1:], chance, WORDS)
    key, value = chance.choice(KEYS), chance.choice(VALUES).encode()
    if chance.random() < 0.3:
        value = mutation.change_words(value, chance, WORDS)
    if data[:1] == b"\1":
        return data + f"\n--{key.table}-{key.name}=".replace("_", "-").encode() + value
    name, table = f"{key.name} = ".encode(), f"[{key.table}]\n".encode()
    before, header, after = data.partition(table)
    lines = [line for line in after.split(b"\n") if not line.startswith(name)]
    return before + (b"" if header else b"\n") + table + name + value + b"\n" + b"\n".join(lines)


def check(data: bytes) -> str:
    """Read a configuration, print it, read it again, and use it; return why it is none."""
    try:
        config = _from_flags(data[1:]) if data[:1] == b"\1" else _from_file(data[1:])
    except ConfigError as error:
        str(error).encode("utf-8", "surrogateescape")
        return CODE.sub("", re.sub(r"^.*toml: ", "", str(error)))
    printed = example(config)
    again = configured(tomllib.loads(printed))
    options = config.source.options.items()
    shown = {name: text for name, text in options if not (is_secret_option(name) and written_out(text))}
    assert repr(again) == repr(config), "another configuration than was printed"
    assert again.source.options == shown
    assert again.serve.token == ("" if written_out(config.serve.token) else config.serve.token)
    assert example(again) == printed or "is set, but not shown" in printed
    return _used(config)


def _from_file(text: bytes) -> Config:
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        Path(file.name).write_bytes(text)
        tables = tables_of(file.name)
    with contextlib.suppress(ConfigError):
        configured(resolved(tables))
    return configured(tables)


def _from_flags(text: bytes) -> Config:
    arguments = text.decode("utf-8", "replace").split("\n")
    return configured(monitor_flags.given(_parser().parse_args(arguments)))


def _used(config: Config) -> str:
    """Make a monitor with its alerts, or say what one refuses, as the command line does."""
    try:
        monitor = Monitor(config, clock=lambda: 1_700_000_000.0)
        monitor.assign([0])
        Alerts(config, monitor)
    except (StreamMetricsError, UnknownMetricError, ValueError) as error:
        return "of no use: " + CODE.sub("", str(error))
    return f"taken: {len(config.counting.windows)} {len(config.counting.labels)} {len(config.alerts.rules)}"
