"""The command in a process of its own: Ctrl-C, pipes that break, what it imports, what it sets up."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys

import pytest
from support.command_line import COMMAND, start_command

import stream_metrics as sm

RECORD = b'{"y_true": 1, "y_pred": 1}\n'
SCORED = b'{"y_true": 1, "scores": {"1": 0.7, "0": 0.3}}\n'
posix = pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")


@posix
@pytest.mark.parametrize("record", [RECORD, SCORED])
def test_ctrl_c_keeps_what_was_counted(tmp_path, record):
    """Ctrl-C on a live pipe prints and saves the records read so far and exits with 130."""
    state = tmp_path / "state"
    with start_command("run", "-", "--every", 10, "--state", state, *["--scores"] * (record is SCORED)) as process:
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


@posix
def test_broken_pipe_is_quiet():
    """A reader that goes away ends the run without a word."""
    with start_command("run", "-", "--every", 1) as process:
        process.stdin.write(RECORD)
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(RECORD * 100)
        process.stdin.close()
        err = process.stderr.read()
        process.wait(timeout=60)

    assert (process.returncode, err) == (141, b"")


@posix
def test_the_line_of_progress_is_wiped_out():
    """On a terminal it is drawn while records come, and nothing of it is left when the report comes."""
    ours, theirs = os.openpty()
    drawn = b""
    with start_command("run", "-", stderr=theirs) as process:
        os.close(theirs)
        while b" records  " not in drawn:
            process.stdin.write(RECORD * 1000)
            process.stdin.flush()
            if select.select([ours], [], [], 0)[0]:
                drawn += os.read(ours, 10_000)
        out, _ = process.communicate(timeout=60)
        with contextlib.suppress(OSError):  # the other side has ended
            while block := os.read(ours, 10_000):
                drawn += block
    os.close(ours)

    assert drawn.endswith(b"\r\x1b[K")
    assert b"samples, " in out


# What a process does before and after the command that its arguments are; the last line on stderr is what it found.
PROGRAM = """
import gc, os, sys
from stream_metrics.cli.main import main
objects = []
gc.callbacks.append(lambda phase, info: objects.append(len(gc.get_objects()) if phase == "start" else 0))
threshold = gc.get_threshold()
try:
    status = main()
except SystemExit as error:
    status = error.code
assert gc.isenabled() and gc.get_threshold() == threshold
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
names = [name.removeprefix("stream_metrics.") for name in sys.modules if name.startswith("stream_metrics.")]
print(status, os.environ.get("OPENBLAS_NUM_THREADS"), tasks, max(objects, default=0), *names, file=sys.stderr)
"""


def seen_after(*arguments, **environment):
    """Return status, threads that numpy may start, threads, objects searched for garbage, and modules imported."""
    clean = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    order = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(order, env=clean | environment, capture_output=True, text=True, check=True, timeout=60)
    status, numbers, tasks, objects, *modules = done.stderr.splitlines()[-1].split()
    return int(status), numbers, int(tasks), int(objects), set(modules)


def test_numpy_starts_no_threads_unless_asked_to():
    """They would wait for work in a loop; and modules are not searched for garbage, which takes as long as a count."""
    own, other = {"OPENBLAS_NUM_THREADS": "3"}, {"OMP_NUM_THREADS": "2"}
    for environment, threads in (({}, "1"), (own, "3"), (other, "None")):
        status, variable, tasks, objects, _ = seen_after("metrics", **environment)
        assert (status, variable) == (0, threads)
        assert tasks == 1 or environment
        assert objects < 5000


def test_a_command_imports_only_what_it_needs(tmp_path):
    """Starting takes longer than counting a small file."""
    path = tmp_path / "pairs.csv"
    path.write_text("y_true,y_pred\na,a\na,b\nb,b\n")
    *_, plain = seen_after("run", path)
    *_, window = seen_after("run", path, "--window", "2", "--every", "1")
    *_, inspect = seen_after("monitor", "inspect", "--help")

    assert not {"monitor", "collector", "plots", "containers.rolling", "containers.timed"} & plain
    assert "containers.rolling" in window
    assert not {"monitor", "collector", "plots", "containers.timed"} & window
    assert not {"cli.run", "collector"} & inspect


INTERRUPTED = """
import os, signal, sys
module, sys.argv[1:] = sys.argv[1], ["run", "-"]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)
import runpy
runpy.run_module("stream_metrics", run_name="__main__", alter_sys=True)
"""


@posix
@pytest.mark.parametrize("module", ["numpy._core.multiarray", "stream_metrics.cli.counting"])
def test_ctrl_c_during_imports(module):
    """The process ends by the signal, and prints nothing."""
    order = [sys.executable, "-c", INTERRUPTED, module]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@posix
def test_an_ignored_ctrl_c_stays_ignored(cli):
    """While and after the command runs, SIGINT has the handler that the caller gave it."""
    usual = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.default_int_handler, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            ignored = handler is signal.SIG_IGN
            assert cli("run", "-", "--every", 1, stdin=RECORD * 9, interrupt_after=2).status == (0 if ignored else 130)
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)


def test_the_list_of_commands_is_whole(cli):
    """Help, which the bare command prints too, and the error of a wrong one list every command; each has help."""
    listed, wrong, version = cli("--help").out, cli("counts").err, cli("--version")
    names = re.findall(r"^    ([a-z]+)  ", listed.partition("COMMAND\n")[2], re.MULTILINE)

    assert {"run", "merge", "show", "metrics", "monitor", "query", "collect", "demo"} <= set(names)
    assert [name for name in names if repr(name) not in wrong] == []
    assert [name for name in names if f"  stream-metrics {name}" not in cli(name, "--help").out] == []
    assert "--version" in listed
    assert cli() == (0, listed, "")
    assert version == (0, f"stream-metrics {sm.__version__}\n", "")


def test_stdin_to_stdout():
    """The installed entry counts what is piped in and draws no progress line into a pipe."""
    order = [*COMMAND, "run", "-", "--metrics", "accuracy"]
    result = subprocess.run(order, input=RECORD * 3, capture_output=True, timeout=60, check=False)

    assert (result.returncode, result.stderr) == (0, b"")
    assert b"3 samples" in result.stdout
