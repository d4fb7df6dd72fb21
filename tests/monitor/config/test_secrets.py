"""Secrets of a configuration: where they come from, and that nothing shows them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_metrics.monitor.config import Config, ConfigError
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.config.reading import configured, example, load
from stream_metrics.monitor.config.secrets import SECRET, resolved
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store

HIDDEN = "hunter2"
EVERYTHING = f"""
[source]
options = {{"sasl.password" = "{HIDDEN}", "ssl.key.password" = "${{PASSWORD}}", "client.id" = "me"}}
[serve]
token = "{HIDDEN}"
[alerts]
webhook = "https://example.com/{HIDDEN}"
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set variables that configurations name."""
    monkeypatch.setenv("PASSWORD", HIDDEN)
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("NO_SUCH", raising=False)


def test_variables_are_replaced_in_every_text() -> None:
    """In texts, lists and tables, several in one text; `$${` is `${`, and other signs of a dollar stay."""
    tables = {
        "counting": {"title": "a ${PASSWORD} $${PASSWORD} $x ${ b", "windows": ["${PASSWORD}"], "panes": 3},
        "source": {"options": {"a": "${PASSWORD}-${EMPTY}"}},
    }

    whole = resolved(tables)

    assert whole["counting"] == {"title": "a hunter2 ${PASSWORD} $x ${ b", "windows": ["hunter2"], "panes": 3}
    assert whole["source"] == {"options": {"a": "hunter2-"}}


def test_files_hold_secrets(tmp_path: Path) -> None:
    """The text of a file without its last end of line, for keys and for options of Kafka."""
    path = tmp_path / "secret"
    path.write_bytes(b" a b\r\n")
    file = tmp_path / "monitor.toml"
    lines = [f"[{table}]\n{name}_file = '{path}'" for table, name in sorted(SECRET) if table == "serve"]
    file.write_text("\n".join([*lines, f"[source]\noptions = {{'sasl.password_file' = '{path}', 'a' = 'b'}}"]))

    config = load(str(file))

    assert config.serve.token == " a b"
    assert config.source.options == {"a": "b", "sasl.password": " a b"}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"serve": {"token": "${NO_SUCH}"}}, r"'NO_SUCH', which `token` in \[serve\] names, but it is not set"),
        ({"serve": {"token": "${EMPTY}"}}, r"`token` in \[serve\] to be a secret, but the variable is empty"),
        ({"source": {"options": {"sasl.password": "${EMPTY}"}}}, r"`sasl.password` in .* but the variable is empty"),
        ({"serve": {"token_file": "none"}}, r"`token_file` in \[serve\] .* got 'none': No such file"),
        ({"serve": {"token_file": "/dev/null"}}, "it is empty"),
        ({"serve": {"token_file": "/dev/zero"}}, "it is too long"),
        ({"serve": {"token": HIDDEN, "token_file": "x"}}, r"`token` or `token_file` in \[serve\], but got both"),
        ({"source": {"options": {"a_file": "none"}}}, r"`a_file` in `options` of \[source\] .* No such file"),
        ({"source": {"options": {"a_file": "x", "a": HIDDEN}}}, "got both"),
    ],
)
def test_what_is_refused(tables: dict[str, dict[str, object]], message: str) -> None:
    """Each error names the key and the variable or the file, and no value."""
    with pytest.raises(ConfigError, match=message) as refused:
        resolved(tables)

    assert HIDDEN not in str(refused.value)


def test_nothing_prints_a_secret() -> None:
    """Neither a configuration nor its TOML; variables are printed as they were written."""
    tables = tomllib.loads(EVERYTHING)
    written, whole = configured(tables), configured(resolved(tables))
    printed = example(written)

    assert HIDDEN not in repr(written) + repr(whole) + str(whole.serve) + printed + example(whole)
    assert not any(HIDDEN in str(each.__rich_repr__()) for each in (whole.source, whole.serve, whole.alerts))
    assert configured(tomllib.loads(printed)).source.options == {"ssl.key.password": "${PASSWORD}", "client.id": "me"}
    assert whole.source.options["ssl.key.password"] == HIDDEN


def test_errors_name_the_option_that_is_no_text() -> None:
    """The likeliest slip, a number among options, is named without the others."""
    with pytest.raises(ConfigError, match=r"`options\['session.timeout.ms'\]` in \[source\] .* an int") as refused:
        configured({"source": {"options": {"sasl.password": HIDDEN, "session.timeout.ms": 6000}}})

    assert HIDDEN not in str(refused.value)


@pytest.fixture
def umask() -> Iterator[None]:
    """Have new files open to everybody."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The mode of every file."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("mask", [0, 0o022, 0o177, 0o777])
def test_files_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    """State file, its log, locks and export are for their owner only, and so are those of a collector."""
    command = [sys.executable, "-c", PROGRAM, str(mask), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.stderr == ""
    found = dict(line.split() for line in done.stdout.splitlines())
    assert {"m.sqlite", "m.sqlite-wal", "m.sqlite-shm", "m.sqlite.lock", "m.sqlite.turn", "export"} <= found.keys()
    assert {"c.sqlite", "c.sqlite-wal", "c.sqlite-shm", "c.sqlite.lock"} <= found.keys()
    assert set(found.values()) == {"600"}


PROGRAM = """
import os, sys
os.umask(int(sys.argv[1]))
os.chdir(sys.argv[2])
from stream_metrics.collector.store import Store as CollectorStore
from stream_metrics.monitor.config import Config, Store as StoreConfig
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store
collected = CollectorStore("c.sqlite")
monitor = Monitor(Config(store=StoreConfig(path="m.sqlite", shared=True, export="export")), Store("m.sqlite", True))
monitor.assign([0])
monitor.export()
for name in os.listdir("."):
    print(name, oct(os.stat(name).st_mode & 0o7777)[2:])
"""


def test_files_that_are_there_become_private(tmp_path: Path, umask: None) -> None:
    """A state file that an earlier version made for all to read is closed when it is opened."""
    path = tmp_path / "m.sqlite"
    Store(str(path)).close()
    for each in tmp_path.iterdir():
        each.chmod(0o644)
    config = Config(store=StoreConfig(path=str(path), export=str(tmp_path / "export")))
    (tmp_path / "export").touch(mode=0o644)
    store = Store(str(path))
    monitor = Monitor(config, store)
    monitor.assign([0])
    monitor.export()

    assert set(modes(tmp_path).values()) == {0o600}
    monitor.close()
