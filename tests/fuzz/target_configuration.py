"""Configuration: TOML or flags are a `Config` or a ConfigError; a configuration that is printed reads back as the same.

An input is a byte that selects TOML or flags, and the text: a TOML file, or one flag a line.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from random import Random

from fuzz import mutation
from support.command_line import run_command

import stream_metrics as sm
from stream_metrics.monitor import Alerts, Monitor, load

COVERED = (
    "stream_metrics.monitor.config.reading", "stream_metrics.monitor.config.reading",
    "stream_metrics.cli.monitor_flags", "stream_metrics.cli.options", "tomllib",
)  # fmt: skip
EXAMPLE = run_command("monitor", "--print-config").out
TABLES = re.split(r"\n(?=\n# .*\n\[)", EXAMPLE)
KEYS = [
    (table, name)
    for part in TABLES
    for table in re.findall(r"^\[(\w+)\]", part, re.MULTILINE)[:1]
    for name in re.findall(r"^(\w+) =", part, re.MULTILINE)
]
VALUES = ["true", "false", "nan", "inf", "-inf", "0", "-1", "1", "1.5", "1e999", "65536", "1_000"]
VALUES += ["9" * 5000, "0x" + "f" * 5000, "[" * 2000, "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "{}", "[]"]
VALUES += ['""', '"${HOME}"', '"$${HOME}"', '"${"', '"/dev/null"', '{"sasl.password" = "x", "a_file" = "/dev/null"}']
VALUES += ['"30s"', '"0s"', '"1h"', '"9999d"', '"1ns"', '"\\u0000"', '"\\u007f"', '"\\ud800"', '"\\n"', '"é"']
VALUES += ['["1h", "1h"]', '["5m"]', '["total"]', '["accuracy"]', '["a", 1]', '["cat", "dog"]', "[nan]", "[1, [2]]"]
VALUES += ['["accuracy[1h] < 0.8"]', '["changed(accuracy) arl=10"]', '["lag > 1e999"]']
VALUES += ['"any"', '"prediction"', '"kafka"', '"log_loss"', '["log_loss"]', '["confusion_matrix"]']
VALUES += ['["recall[\\"a\\"] < 1 for 5m"]', '["roc_auc", "recall"]', '{"a" = "b"}', "[1, 1.0, true]", '"label"']
VALUES += ["1e300", "0xffffffffffffffffff"]
WORDS = [
    word.encode()
    for word in [*VALUES, *"[]{}=.,\n#\"'", '"""', *(f"[{table}]\n" for table in sorted({table for table, _ in KEYS}))]
]
WORDS += [f"{word}{name}".encode() for table, name in KEYS for word in ("", f"--{table}-")]
FLAGS = [
    ["--join-ttl", "1h", "--counting-labels", "cat,dog"],
    ["--counting-labels=[0, 1]", "--counting-scores=true", "--counting-pos-label", "1"],
    ["--serve-matrix", "--serve-port", "0", "--source-options", "a=b", "--source-options", "c="],
    ["--alerts-rules", "accuracy[1h] < 0.8", "--store-every-seconds", "0.5", "--counting-windows", "5m, 1h"],
]
CODE = re.compile(r"'.*|got .*|arguments.*|\d+", re.DOTALL)


def seeds() -> list[bytes]:
    """Return the example as a whole and by table, some values, and flags."""
    values = '[counting]\nlabels = ["a", 1, false, 2.5]\nscores = true\npos_label = 1\n[source.options]\n"a.b" = "c"\n'
    files = [b"\0" + text.encode() for text in [EXAMPLE, values, *TABLES]]
    return files + [b"\1" + "\n".join(flags).encode() for flags in FLAGS]


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another input: mostly with the value of a key changed, sometimes words or bytes."""
    kind = chance.random()
    if kind < 0.05:
        return raw(data, chance)
    if kind < 0.3:
        return data[:1] + mutation.change_words(data[1:], chance, WORDS)
    (table, name), value = chance.choice(KEYS), chance.choice(VALUES).encode()
    if chance.random() < 0.3:
        value = mutation.change_words(value, chance, WORDS)
    if data[:1] == b"\1":
        return data + f"\n--{table}-{name}=".replace("_", "-").encode() + value
    key, head = f"{name} = ".encode(), f"[{table}]\n".encode()
    before, header, after = data.partition(head)
    lines = [line for line in after.split(b"\n") if not line.startswith(key)]
    return before + (b"" if header else b"\n") + head + key + value + b"\n" + b"\n".join(lines)


def check(data: bytes) -> str:
    """Read a configuration, print it, read it again, and use it; return why it is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "monitor.toml"
        file.write_bytes(data[1:])
        given = data[1:].decode("utf-8", "replace").split("\n") if data[:1] == b"\1" else ["--config", str(file)]
        status, printed, said = run_command("monitor", *given, "--print-config")
        if status != 0:
            assert (status, printed) == (2, ""), said
            said.encode("utf-8", "surrogateescape")
            return CODE.sub("", re.sub(r"^.*toml: ", "", said.splitlines()[-1]))
        if data[:1] != b"\1":
            _loaded(file)
        file.write_text(printed, encoding="utf-8")
        again = run_command("monitor", "--config", file, "--print-config")
        assert again == (0, printed, "") or "is set, but not shown" in printed, "another configuration than was printed"
        return _loaded(file)


def _loaded(file: Path) -> str:
    """Make a monitor with its alerts, or say what one refuses, as the command line does."""
    try:
        config = load(str(file))
        monitor = Monitor(config, clock=lambda: 1_700_000_000.0)
        monitor.assign([0])
        Alerts(config, monitor)
    except (sm.StreamMetricsError, sm.UnknownMetricError, ValueError) as error:
        return "of no use: " + CODE.sub("", str(error))
    return f"taken: {len(config.counting.windows)} {len(config.counting.labels)} {len(config.alerts.rules)}"
