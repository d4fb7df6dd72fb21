"""``stream-metrics run`` as a process: Ctrl-C, pipes that break, stdin."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys

import pytest

import stream_metrics as sm
from stream_metrics.cli.interrupts import defer_interrupts, interruptible
from stream_metrics.cli.main import COMMANDS

COMMAND = [sys.executable, "-m", "stream_metrics"]
RECORD = b'{"y_true": 1, "y_pred": 1}\n'


def started(*arguments, **options):
    """Start a command with pipes on all ends and the usual handling of SIGINT."""
    usual = (lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) if os.name == "posix" else None
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *arguments], preexec_fn=usual, **{**pipes, **options})


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("record", [RECORD, b'{"y_true": 1, "scores": {"1": 0.7, "0": 0.3}}\n'])
def test_ctrl_c_keeps_what_was_counted(tmp_path, record):
    """Ctrl-C on a live pipe prints and saves the records read so far and exits with 130."""
    state = tmp_path / "state"
    scores = ["--scores"] * (record is not RECORD)
    with started("run", "-", "--every", "10", "--state", str(state), *scores) as process:
        process.stdin.write(record * 13)
        process.stdin.flush()
        header, line = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (header.split()[0], line.split()[0]) == (b"n", b"10")
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert sm.from_bytes(state.read_bytes()).n in range(10, 14)
    assert out


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_broken_pipe_is_quiet():
    """A reader that goes away ends the run without a word."""
    with started("run", "-", "--every", "1") as process:
        process.stdin.write(RECORD)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(RECORD * 100)
        process.stdin.close()
        err = process.stderr.read()
        process.wait(timeout=60)

    assert (process.returncode, err) == (141, b"")


def test_stdin_to_stdout():
    """The installed entry counts what is piped in and draws no progress line into a pipe."""
    result = subprocess.run(
        [*COMMAND, "run", "-", "--metrics", "accuracy"], input=RECORD * 3, capture_output=True, timeout=60, check=False
    )

    assert (result.returncode, result.stderr) == (0, b"")
    assert b"3 samples" in result.stdout


@pytest.mark.parametrize("command", ["run", "merge", "show", "demo"])
def test_help_has_an_example(cli, command):
    """Every command explains itself with an example."""
    result = cli(command, "--help")

    assert result.status == 0
    assert f"  stream-metrics {command} " in result.out + " "
    assert "example" in result.out


def test_version(cli):
    """--version prints name and version."""
    result = cli("--version")

    assert (result.status, result.out.split()[0]) == (0, "stream-metrics")


def test_interrupt_waits_for_the_end_of_a_chunk():
    """Ctrl-C inside the held block is raised after it; outside it is raised at once."""

    def interrupted(context):
        with context:
            signal.raise_signal(signal.SIGINT)
            reached.append(context)

    reached = []
    held, free = defer_interrupts(), contextlib.nullcontext()
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible():
            with pytest.raises(KeyboardInterrupt):
                interrupted(held)
            with pytest.raises(KeyboardInterrupt):
                interrupted(free)
        restored = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)

    assert [held] == reached
    assert signal.default_int_handler is restored


@pytest.mark.parametrize(
    ("command", "others"), [("run", ("monitor", "collector", "plots")), ("monitor inspect", ("cli.run", "collector"))]
)
def test_a_command_imports_only_what_it_needs(command, others):
    """The modules of other commands are not imported, since starting takes longer than counting a small file."""
    code = "import sys; from stream_metrics.cli.main import main; main(sys.argv[1:]); print(*sorted(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", code, *command.split(), "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    imported = set(output.splitlines()[-1].split())

    assert "stream_metrics.cli.main" in imported
    assert not {f"stream_metrics.{name}" for name in others} & imported
    assert f"usage: stream-metrics {command} " in output


def test_the_list_of_commands_is_whole(cli):
    """Help without a command lists every command and the option for the version; so does the error of a wrong one."""
    listed, wrong, version = cli("--help").out, cli("counts").err, cli("--version")

    for command in COMMANDS:
        assert re.search(rf"^    {command}\s", listed, re.MULTILINE)
        assert repr(command) in wrong
    assert "--version" in listed
    assert version.out.startswith("stream-metrics ")
