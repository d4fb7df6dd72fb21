"""Secrets of a configuration: where they come from, and that nothing shows them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.monitor_runs import config, configured, example, load, started
from support.refusals import refused

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


def loaded(folder: Path, text: str) -> Any:
    """Return the configuration of a TOML file."""
    path = folder / "monitor.toml"
    path.write_text(text)
    return load(str(path))


def test_variables_are_replaced_in_every_text(tmp_path: Path) -> None:
    """In texts, lists and tables, several in one text; `$${` is `${`, and other signs of a dollar stay."""
    text = """
        counting = {title = "a ${PASSWORD} $${PASSWORD} $x ${ b", labels = ["${PASSWORD}", 3]}
        source = {options = {a = "${PASSWORD}-${EMPTY}"}}
    """
    whole = loaded(tmp_path, text)

    assert (whole.counting.title, whole.counting.labels) == ("a hunter2 ${PASSWORD} $x ${ b", ("hunter2", 3))
    assert whole.source.options == {"a": "hunter2-"}


def test_files_hold_secrets(tmp_path: Path) -> None:
    """The text of a file without its last end of line, for keys and for options of Kafka."""
    path = tmp_path / "secret"
    path.write_bytes(b" a b\r\n")
    whole = loaded(
        tmp_path,
        f"[serve]\ntoken_file = '{path}'\n[alerts]\nwebhook_file = '{path}'\nauthorization_file = '{path}'\n"
        f"[source]\noptions = {{'sasl.password_file' = '{path}', 'a' = 'b'}}",
    )

    assert whole.serve.token == whole.alerts.webhook == whole.alerts.authorization == " a b"
    assert whole.source.options == {"a": "b", "sasl.password": " a b"}


REFUSED = [
    ("serve.token = '${NO_SUCH}'", "'NO_SUCH', which `token` in [serve] names, but it is not set"),
    ("serve.token = '${EMPTY}'", "`token` in [serve] to be a secret, but the variable is empty"),
    ("source.options = {'sasl.password' = '${EMPTY}'}", "`sasl.password` in `options` of [source] to be a secret, but"),
    ("serve.token_file = 'none'", "`token_file` in [serve] to name a file with a secret, but got 'none': No such file"),
    ("serve.token_file = '/dev/null'", "it is empty"),
    ("serve.token_file = '/dev/zero'", "it is too long"),
    ("serve = {token = 'hunter2', token_file = 'x'}", "`token` or `token_file` in [serve], but got both"),
    ("source.options = {a_file = 'none'}", "`a_file` in `options` of [source] to name a file"),
    ("source.options = {a_file = 'x', a = 'hunter2'}", "got both"),
]


def test_what_is_refused(tmp_path: Path) -> None:
    """Each error names the key and the variable or the file, and no value."""
    for text, message in REFUSED:
        assert HIDDEN not in str(refused(lambda text=text: loaded(tmp_path, text), ValueError, message))


def test_nothing_prints_a_secret(tmp_path: Path) -> None:
    """Neither a configuration nor its TOML; variables are printed as they were written."""
    written, whole = configured(tomllib.loads(EVERYTHING)), loaded(tmp_path, EVERYTHING)
    printed = example(written)

    assert HIDDEN not in repr(written) + repr(whole) + str(whole.serve) + printed + example(whole)
    assert not any(HIDDEN in str(each.__rich_repr__()) for each in (whole.source, whole.serve, whole.alerts))
    assert configured(tomllib.loads(printed)).source.options == {"ssl.key.password": "${PASSWORD}", "client.id": "me"}
    assert whole.source.options["ssl.key.password"] == HIDDEN


@pytest.mark.parametrize("mask", [0, 0o777])
def test_files_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    """State file, its log and locks are for their owner only, and so are those of a collector."""
    command = [sys.executable, "-c", PROGRAM, str(mask), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert done.stderr == ""
    modes = dict(line.split() for line in done.stdout.splitlines())
    assert {"m.sqlite", "m.sqlite-wal", "m.sqlite-shm", "m.sqlite.lock", "m.sqlite.turn"} <= modes.keys()
    assert {"c.sqlite", "c.sqlite-wal", "c.sqlite-shm", "c.sqlite.lock"} <= modes.keys()
    assert set(modes.values()) == {"600"}


PROGRAM = """
import os, sys
os.umask(int(sys.argv[1]))
os.chdir(sys.argv[2])
from stream_metrics.collector.store import CollectorStore
from support.monitor_runs import config, started
collected = CollectorStore("c.sqlite")
monitor = started(config(store={"shared": True}), "m.sqlite", shared=True)
for name in os.listdir("."):
    print(name, oct(os.stat(name).st_mode & 0o7777)[2:])
"""


def test_files_that_are_there_become_private(tmp_path: Path) -> None:
    """A state file that an earlier version made for all to read is closed when it is opened."""
    started(config(), tmp_path / "m.sqlite").close()
    for each in tmp_path.iterdir():
        each.chmod(0o644)
    before = os.umask(0)
    try:
        monitor = started(config(), tmp_path / "m.sqlite")
    finally:
        os.umask(before)

    assert {each.stat().st_mode & 0o7777 for each in tmp_path.iterdir()} == {0o600}
    monitor.close()
