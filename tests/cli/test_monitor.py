"""``stream-metrics monitor``: files, flags over TOML over defaults, what is refused, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.cli import monitor as command
from stream_metrics.cli import monitor_watch
from stream_metrics.cli.logs import Lines
from stream_metrics.cli.main import _parser
from stream_metrics.monitor.config import Config, keys
from stream_metrics.monitor.config.reading import configured

EVENTS = [
    {"id": at, "time": 1_700_000_000 + at, "truth": "ab"[at % 2], "prediction": "a", "group": "xy"[at % 3 == 0]}
    for at in range(100)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with a file of events."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS) + "broken\n")
    return tmp_path


def test_a_file_is_reported_and_leaves_nothing(cli, folder) -> None:
    """The report has the snapshot, windows, groups, facts and alerts; alerts are said as they fire; no state file."""
    rules = ("--alerts-rules", "accuracy < 0.9", "--alerts-rules", "lag > 9")
    result = cli("monitor", "events.jsonl", "--no-page", *rules)

    assert result.status == 0
    assert "100 samples, 2 classes" in result.out
    assert "window  samples  accuracy" in result.out
    assert "rejected 1 for decode" in result.out
    assert "accuracy < 0.9 (now 0.500)" in result.out
    assert "ok: lag > 9" in result.out
    assert result.err.partition(" ")[2] == "WARNING firing: accuracy < 0.9 (now 0.5)\n"
    assert os.listdir(folder) == ["events.jsonl"]


def test_a_state_file_is_continued(cli, folder) -> None:
    """With --store-path, or a --config, the second run reads nothing twice, and says what it goes on from."""
    (folder / "monitor.toml").write_text('[store]\npath = "kept"\n')
    for arguments in (("--store-path", "named"), ("--config", "monitor.toml")):
        first = cli("monitor", "events.jsonl", "--no-page", *arguments, "--format", "json")
        second = cli("monitor", "events.jsonl", "--no-page", *arguments, "--format", "json")

        views = [json.loads(result.out) for result in (first, second)]
        assert [view["records"]["read"] for view in views] == [101, 101]
        assert [view["by_window"]["total"]["n"] for view in views] == [100, 100]
        assert "has 101 records; the counts go on from there" in second.err
    assert {"kept", "named"} <= set(os.listdir(folder))
    assert "monitor.sqlite" not in os.listdir(folder)


def test_a_report_has_whole_trend_lines(cli, folder) -> None:
    """Although the file is read at once, and the page reads its lines in parts."""
    pairs = ({"id": i, "time": 1_700_000_000 + 60 * i, "y_true": "a", "y_pred": "ab"[i % 2]} for i in range(600))
    (folder / "day.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))

    flags = ("--no-page", "--counting-metrics", "accuracy", "--format", "json")
    view = json.loads(cli("monitor", "day.jsonl", *flags).out)

    line = view["history"]["1h"]
    assert line["t"][-1] - line["t"][0] > 30_000
    assert line["n"][60:] == [60] * len(line["n"][60:])
    assert line["accuracy"][60:] == [0.5] * len(line["n"][60:])


def test_flags_win_over_the_file(cli, folder) -> None:
    """Each key is a flag of its table and name; what neither says has its default."""
    (folder / "m.toml").write_text('[counting]\ntitle = "toml"\nwindows = ["5m"]\n[join]\ndue = "1m"\n')

    flags = ("--counting-title", "flag", "--serve-port", "0", "--counting-labels", '["a", "b"]')
    view = json.loads(cli("monitor", "events.jsonl", "--config", "m.toml", *flags, "--format", "json").out)

    assert (view["title"], view["windows"]) == ("flag", ["total", "5m"])


def test_every_key_is_a_flag() -> None:
    """Written as a flag, every default is read back as itself."""
    texts: list[str] = ["monitor"]
    for key in keys():
        flag, value = f"--{key.table}-{key.name}".replace("_", "-"), key.default
        if key.type is bool:
            texts.append(flag if value else flag.replace("--", "--no-", 1))
        elif isinstance(value, tuple | dict):
            texts += [flag, ",".join(value)] if value else []
        else:
            texts += [flag, str(value).lower() if isinstance(value, bool) else str(value)]

    config, keeps = command._configured(_parser().parse_args([*texts, "-"]))

    assert config == configured({"source": {"kind": "stdin", "path": "-"}})
    assert keeps


def test_other_values_of_flags() -> None:
    """Lists, repeated rules with commas, pairs, classes that are numbers, and --follow."""
    texts = ["f.jsonl", "--follow", "--counting-windows", "5m, 1h", "--counting-pos-label", "1"]
    texts += ["--alerts-rules", "max_gap(recall, x) > 1", "--alerts-rules", "lag > 1"]
    texts += ["--counting-scores=any", "--no-alerts-log"]
    texts += ["--source-options", "a.b=c=d", "--source-options", "e=", "--counting-labels", "[0, 1]"]

    config, _ = command._configured(_parser().parse_args(["monitor", *texts]))

    assert config.source.follow
    assert config.counting.windows == ("5m", "1h")
    assert (config.counting.pos_label, config.counting.scores, config.counting.labels) == (1, "any", (0, 1))
    assert config.alerts.rules == ("max_gap(recall, x) > 1", "lag > 1")
    assert not config.alerts.log
    assert config.source.options == {"a.b": "c=d", "e": ""}


def test_the_example_is_a_configuration(cli) -> None:
    """--print-config writes TOML that reads back as the defaults."""
    result = cli("monitor", "--print-config")

    assert (result.status, result.err) == (0, "")
    assert configured(tomllib.loads(result.out)) == Config()


def test_the_configuration_that_is_printed_is_the_one_given(cli, tmp_path) -> None:
    """--print-config writes what file and flags say, and defaults for the rest."""
    path = tmp_path / "monitor.toml"
    path.write_text('[counting]\ntitle = "a\\"b"\nlabels = [0, 1.5, "c"]\n[join]\nttl = "1h"\n')

    result = cli("monitor", "events.jsonl", "--config", str(path), "--join-ttl", "2h", "--print-config")

    assert (result.status, result.err) == (0, "")
    config = configured(tomllib.loads(result.out))
    assert (config.source.path, config.join.ttl, config.counting.title) == ("events.jsonl", "2h", 'a"b')
    assert repr(config.counting.labels) == "(0, 1.5, 'c')"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "Expected FILE"),
        (("none.jsonl",), 1, "none.jsonl: No such file"),
        (("events.csv",), 2, "a monitor reads JSON Lines: 'stream-metrics run' counts it"),
        (("events.jsonl.gz",), 2, "decompress it to 'stream-metrics monitor -'"),
        (("events.jsonl", "--join-ttl", "soon"), 2, "Expected `ttl` in [join] to be a length of time"),
        (("events.jsonl", "--counting-windows", "1y"), 2, "'1y'"),
        (("events.jsonl", "--counting-metrics", "acuracy"), 2, "accuracy"),
        (("events.jsonl", "--counting-labels", "[" * 5000), 2, "is no JSON list"),
        (("events.jsonl", "--counting-pos-label", "[" * 5000, "--counting-scores", "5"), 2, "False, True, 'any'"),
        (("events.jsonl", "--serve-port", "x"), 2, "expected a whole number, but got 'x'"),
        (("events.jsonl", "--serve-port", "99999"), 2, "Expected `port`"),
        (("events.jsonl", "--serve-host", "0.0.0.0"), 2, "token"),
        (("--source-kind", "files"), 2, "'files'"),
        (("events.jsonl", "--source-kind", "kafka"), 2, "but got both"),
        (("events.jsonl", "--source-options", "x"), 2, "expected KEY=VALUE"),
        (("events.jsonl", "--config", "none.toml"), 1, ": none.toml: No such file"),
        (("events.jsonl", "--serve-socket", "none/page"), 1, ": Expected to serve on `socket` 'none/page', but got"),
        (("--export-dashboards", "events.jsonl"), 1, "events.jsonl/grafana/dashboards: Not a directory"),
        (("events.jsonl", "--serve-max-classes", "-1"), 2, "`max_classes` in [serve] to be a whole number >= 0"),
        (("events.jsonl", "--store-path", ""), 2, "Expected `path` in [store] to name a file"),
        (("events.jsonl", "--config", "events.jsonl"), 2, "events.jsonl: no TOML"),
        (("events.jsonl", "--alerts-webhook", "ftp://hunter2"), 2, "Expected `webhook` from --alerts-webhook-file"),
        (("events.jsonl", "--serve-token", "hunter2"), 2, "Expected `token` from --serve-token-file"),
        (
            ("events.jsonl", "--serve-token-file", "events.jsonl/x"),
            2,
            "Expected `token_file` in [serve] to name a file",
        ),
        (("events.jsonl", "--serve-token", "${NO_SUCH}"), 2, "the environment variable 'NO_SUCH'"),
        (("--source-options", "sasl.password=hunter2"), 2, "'sasl.password' as sasl.password_file=FILE"),
        (("events.jsonl", "--stay", "--once"), 2, "one of them"),
        (("--source-kind", "memory"), 2, "Expected `kind`"),
        (("--source-kind", "kafka"), 2, "predictions"),
    ],
)
def test_what_is_refused(cli, folder, arguments, status, message) -> None:
    """Wrong arguments are one line and exit status 2, bad files one line and 1, and no state file is left."""
    if arguments[:1] == ("--source-kind",) and "kafka" in arguments:
        pytest.importorskip("confluent_kafka", reason="without it, that it is missing is said first")

    result = cli("monitor", *arguments)

    assert (result.status, result.out) == (status, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert "hunter2" not in result.err
    assert os.listdir(folder) == ["events.jsonl"]


@pytest.mark.parametrize("suffix", [(), ("--counting-scores", "true")])
def test_files_of_run_are_read(cli, folder, suffix) -> None:
    """Records with y_true and y_pred need neither id nor time, and give the numbers of ``run``; so do events in it."""
    lines = [{"y_true": "ab"[at % 2], "y_pred": "a", "scores": {"a": 0.75, "b": 0.25}} for at in range(40)]
    (folder / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "old.jsonl").write_text("".join(json.dumps(event) + "\n" for event in EVENTS))

    for name in ("run.jsonl", "old.jsonl"):
        counted = json.loads(cli("run", name, "--format", "json").out)
        result = cli("monitor", name, "--format", "json", *suffix)
        view = json.loads(result.out)

        assert (result.status, result.err) == (0, "")
        assert view["by_window"]["total"]["n"] == counted["n"]
        assert view["records"]["rejected"] == dict.fromkeys(view["records"]["rejected"], 0)
        assert view["by_window"]["total"]["metrics"]["accuracy"] == counted["metrics"]["accuracy"]


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        (("events.jsonl",), False),
        (("events.jsonl", "--store-path", "kept"), False),
        (("-",), True),
        (("events.jsonl", "--serve-port", "0"), True),
        (("events.jsonl", "--serve-port", "0", "--no-page"), False),
        (("events.jsonl", "--once"), False),
    ],
)
def test_a_file_that_is_read_once_needs_no_port(cli, monkeypatch, arguments, page) -> None:
    """There is a page of input without an end, or if a flag asks for it; else no port is bound."""
    asked: list[str] = []

    def server(*_: Any, **__: Any) -> Any:
        asked.append("page")
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(monitor_watch, "_server", lambda *_: server)

    result = cli("monitor", *arguments, stdin=(json.dumps(EVENTS[0]) + "\n").encode())

    assert (asked, result.status) == ((["page"], 1) if page else ([], 0))


def test_bad_rules_show_where(cli) -> None:
    """The rule is shown with a caret below what cannot be read."""
    result = cli("monitor", "events.jsonl", "--alerts-rules", "accuracy < much")

    assert result.status == 2
    assert result.err.splitlines()[1:] == ["  accuracy < much", "             ^"]


@pytest.mark.parametrize(("missing", "flags"), [("confluent_kafka", ["--source-kind", "kafka"]), ("rich", ["--tui"])])
def test_missing_extras(cli, monkeypatch, missing, flags) -> None:
    """An optional package that is not there is one line with the extra to install, and exit status 2."""
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("stream_metrics.monitor.sources.kafka", "stream_metrics.monitor.view.terminal"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)

    result = cli("monitor", "--source-path", "events.jsonl", "--no-page", "--source-predictions", "p", *flags)

    assert (result.status, result.out) == (2, "")
    extra = "kafka" if missing == "confluent_kafka" else "monitor"
    assert result.err.endswith(f'pip install "stream-metrics[{extra}]"\n')
    assert result.err.count("\n") == 1


def test_dashboards_are_exported(cli, folder) -> None:
    """--export-dashboards writes files and prints their paths, with no source given."""
    pytest.importorskip("stream_metrics.monitor.serve.dashboards", reason="it is part of the server")

    result = cli("monitor", "--export-dashboards", "boards")

    assert (result.status, result.err) == (0, "")
    paths = result.out.split()
    assert paths
    assert all((folder / path).stat().st_size for path in paths)


def test_a_file_that_was_not_read_to_its_end_was_interrupted(cli, monkeypatch) -> None:
    """Stopped before the end of a file the status is 130; of a source without end it is 0."""
    monkeypatch.setattr("stream_metrics.monitor.runner.Runner._loop", lambda self: None)

    assert cli("monitor", "events.jsonl", "--no-page").status == 130
    assert cli("monitor", "events.jsonl", "--once", "--follow").status == 130
    assert cli("monitor", "events.jsonl", "--no-page", "--follow").status == 0


def test_a_file_without_events_is_another_than_was_meant(cli, folder) -> None:
    """All that is refused is said with the last reason, and is no success; an empty file is one."""
    (folder / "table.log").write_text("id,truth\n1,a\n")
    (folder / "empty").touch()

    refused, empty = (cli("monitor", name, "--no-page") for name in ("table.log", "empty"))

    assert (refused.status, empty.status, empty.err) == (1, 0, "")
    assert "none of the 2 records of the source holds one; the last is refused for its 'decode'" in refused.err
    assert "rejected 2 for decode" in refused.out


def test_stderr_that_nobody_reads_ends_nothing(folder) -> None:
    """An alert that cannot be said on stderr neither fails the run nor stops what it counts."""
    reading, writing = os.pipe()
    os.close(reading)
    with process("events.jsonl", "--once", "--alerts-rules", "lag < 9", stdout=subprocess.PIPE, stderr=writing) as run:
        os.close(writing)
        out, _ = run.communicate(timeout=20)

    assert run.returncode == 0
    assert "100 samples" in out
    assert "firing for" in out


def test_the_log_as_json(cli, folder) -> None:
    """Every line is JSON with time, level and logger: what is logged, and what ends the command."""
    rules = ("--alerts-rules", "accuracy < 0.9")
    reported = cli("monitor", "events.jsonl", "--log-format", "json", *rules)
    refused = cli("monitor", "nothing.jsonl", "--log-format", "json")
    quiet = cli("monitor", "events.jsonl", "--log-level", "error", *rules)
    line, problem = (json.loads(result.err) for result in (reported, refused))

    assert abs(datetime.fromisoformat(line.pop("time")).timestamp() - time.time()) < 60
    message = "firing: accuracy < 0.9 (now 0.5)"
    assert line == {"level": "warning", "logger": "stream_metrics.monitor.alerts", "message": message}
    assert problem["level"] == "error"
    assert "nothing.jsonl" in problem["message"]
    assert (reported.status, refused.status) == (0, 1)
    assert quiet.err == ""


def test_the_reason_of_a_logged_error(capsys) -> None:
    """A line of the log that has an exception has its type and text; libraries log there too, what is important."""
    with Lines().logged():
        try:
            raise ValueError("out of range")
        except ValueError:
            logging.getLogger("stream_metrics.monitor").exception("no view can be made")
        logging.getLogger("library").warning("of %s", "a library")
        logging.getLogger("library").info("not said")
    logging.getLogger("stream_metrics.monitor").info("not ours any more")

    lines = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["ERROR no view can be made: ValueError('out of range')", "WARNING of a library"]


def test_standard_input_leaves_nothing(folder) -> None:
    """What is piped in is counted, and kept only if a state file is named."""
    lines = (folder / "events.jsonl").read_text()
    with process("-", "--no-page", "--format", "json", stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        out, err = running.communicate(lines, timeout=20)

    assert (running.returncode, err) == (0, "")
    assert json.loads(out)["by_window"]["total"]["n"] == 100
    assert os.listdir(folder) == ["events.jsonl"]


def test_logging_is_as_before(cli) -> None:
    """The handler that says what is logged is gone afterwards."""
    log = logging.getLogger("stream_metrics.monitor")
    before = log.level, log.propagate, list(log.handlers)

    cli("monitor", "events.jsonl", "--no-page")

    assert (log.level, log.propagate, list(log.handlers)) == before


def process(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    code = "import sys; from stream_metrics.cli.main import main; sys.exit(main())"
    line = [sys.executable, "-c", code, "monitor", *arguments]
    return subprocess.Popen(line, text=True, **{"stderr": subprocess.PIPE, **more})


def wait_for_samples(url: str, n: int) -> None:
    """Return once the page shows so many samples; fail after twenty seconds."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with urllib.request.urlopen(f"{url}api/snapshot", timeout=10) as answer:
            if json.load(answer)["by_window"]["total"]["n"] == n:
                return
        time.sleep(0.01)
    raise AssertionError(f"Expected {n} samples within twenty seconds")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_real_process_serves_and_is_stopped(folder, number: int) -> None:
    """It serves the view until Ctrl-C or SIGHUP, writes a last checkpoint, reports if asked to, ends with status 0."""
    more = ("--format", "table") if number == signal.SIGINT else ()
    with process("events.jsonl", "--follow", "--serve-port", "0", *more, stdout=subprocess.PIPE) as running:
        try:
            assert running.stderr is not None
            url = running.stderr.readline().split()[-1]
            with urllib.request.urlopen(f"{url}readyz", timeout=10) as answer:
                assert answer.status == 200
            wait_for_samples(url, 100)
            running.send_signal(number)
            out, err = running.communicate(timeout=20)
        finally:
            running.kill()

    assert (running.returncode, err) == (0, "")
    assert ("100 samples, 2 classes" in out) == bool(more)
    assert bool(out) == bool(more)
    assert "monitor.sqlite" in os.listdir(folder)


def test_the_terminal_view_in_a_terminal(folder) -> None:
    """With --tui in a terminal the view is drawn in the alternate screen, and the report comes after it."""
    pytest.importorskip("rich", reason="the terminal view needs rich")
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    with process("events.jsonl", "--no-page", "--tui", stdout=theirs, env=environment) as running:
        os.close(theirs)
        drawn = b""
        try:
            while block := os.read(ours, 65536):
                drawn += block
        except OSError:  # the other side has ended
            pass
        running.communicate(timeout=20)
    os.close(ours)

    assert running.returncode == 0
    begins, ends = drawn.index(b"\x1b[?1049h"), drawn.index(b"\x1b[?1049l")
    assert b"classes (" in drawn[begins:ends]
    assert b"100 samples, 2 classes" in drawn[ends:]


WITHOUT = """
import sys
for name in ("starlette", "uvicorn", "prometheus_client"):
    sys.modules[name] = None
from stream_metrics.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "status", "counts"),
    [
        (("monitor", "events.jsonl", "--serve-port", "0"), 0, True),
        (("monitor", "events.jsonl"), 0, True),
        (("monitor", "events.jsonl", "--stay"), 2, False),
        (("collect", "--store", "agg.sqlite"), 2, False),
    ],
)
def test_without_the_extra_only_the_page_is_missing(folder, arguments, status, counts) -> None:
    """What is counted is printed all the same, and one line says what the page needs; a collector is nothing else."""
    command = [sys.executable, "-c", WITHOUT, *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    assert result.returncode == status
    assert ("joined" in result.stdout) == counts
    if arguments != ("monitor", "events.jsonl"):
        assert re.fullmatch(
            r'.*needs Starlette and uvicorn: pip install "stream-metrics\[monitor\]".*\n', result.stderr
        )
