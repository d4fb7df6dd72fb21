"""``stream-metrics monitor``: files, flags over TOML over defaults, what is refused, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.command_line import as_json_lines, refusal, run_json, start_command, until

EVENTS = [
    {"id": at, "time": 1_700_000_000 + at, "truth": "ab"[at % 2], "prediction": "a", "group": "xy"[at % 3 == 0]}
    for at in range(100)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own to work in, with a file of events."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_bytes(as_json_lines(EVENTS) + b"broken\n")
    return tmp_path


def test_a_file_is_reported_and_leaves_nothing(cli, folder) -> None:
    """The report has the snapshot, windows, groups, facts and alerts; alerts are said as they fire; no state file."""
    rules = ("--alerts-rules", "accuracy < 0.9", "--alerts-rules", "lag > 9")
    result = cli("monitor", "events.jsonl", "--no-page", *rules)

    assert result.status == 0
    for part in ("100 samples, 2 classes", "window  samples  accuracy", "rejected 1 for decode"):
        assert part in result.out
    assert ("accuracy < 0.9 (now 0.500)" in result.out, "ok: lag > 9" in result.out) == (True, True)
    assert result.err.partition(" ")[2] == "WARNING firing: accuracy < 0.9 (now 0.5)\n"
    assert os.listdir(folder) == ["events.jsonl"]


def test_a_state_file_is_continued(cli, folder) -> None:
    """With --store-path, or a --config, the second run reads nothing twice, and says what it goes on from."""
    (folder / "monitor.toml").write_text('[store]\npath = "kept"\n')
    for arguments in (("--store-path", "named"), ("--config", "monitor.toml")):
        results = [cli("monitor", "events.jsonl", "--no-page", *arguments, "--format", "json") for _ in range(2)]
        for view in (json.loads(result.out) for result in results):
            assert (view["records"]["read"], view["by_window"]["total"]["n"]) == (101, 100)
        assert "has 101 records; the counts go on from there" in results[1].err
    assert {"kept", "named"} <= set(os.listdir(folder)) - {"monitor.sqlite"} == set(os.listdir(folder))


def test_a_report_has_whole_trend_lines(folder) -> None:
    """Although the file is read at once, and the page reads its lines in parts."""
    pairs = ({"id": i, "time": 1_700_000_000 + 60 * i, "y_true": "a", "y_pred": "ab"[i % 2]} for i in range(600))
    (folder / "day.jsonl").write_bytes(as_json_lines(pairs))

    line = run_json("monitor", "day.jsonl", "--no-page", "--counting-metrics", "accuracy")["history"]["1h"]

    assert line["t"][-1] - line["t"][0] > 30_000
    assert line["n"][60:] == [60] * len(line["n"][60:])
    assert line["accuracy"][60:] == [0.5] * len(line["n"][60:])


def printed(cli, *arguments: str) -> dict[str, Any]:
    """Return the configuration that a command line means."""
    result = cli("monitor", *arguments, "--print-config")
    assert (result.status, result.err) == (0, "")
    return tomllib.loads(result.out)


def test_every_key_is_a_flag(cli, folder) -> None:
    """Written as a flag, every default is read back as itself; so is the TOML that is printed."""
    defaults, texts = printed(cli), []
    for table, values in defaults.items():
        for name, value in values.items():
            flag = f"--{table}-{name}".replace("_", "-")
            if name in ("scores", "pos_label") and table == "counting":
                texts += [flag, str(value).lower()]
            elif isinstance(value, bool):
                texts.append(flag if value else flag.replace("--", "--no-", 1))
            elif isinstance(value, list):
                texts += [flag, ",".join(value)] if value else []
            elif value != "" and not isinstance(value, dict):
                texts += [flag, str(value)]

    assert len(texts) > 60
    assert printed(cli, *texts) == defaults
    (folder / "m.toml").write_text(cli("monitor", "--print-config").out)
    assert printed(cli, "--config", "m.toml") == defaults


def test_other_values_of_flags(cli, folder) -> None:
    """Flags win over TOML and TOML over defaults; lists, rules with commas, pairs, and classes that are numbers."""
    (folder / "m.toml").write_text(
        '[counting]\ntitle = "a\\"b"\nlabels = [0, 1.5, "c"]\n[join]\nttl = "1h"\ndue = "1m"\n'
    )
    texts = ["f.jsonl", "--config", "m.toml", "--join-ttl", "2h", "--follow", "--counting-windows", "5m, 1h"]
    texts += ["--alerts-rules", "max_gap(recall, x) > 1", "--alerts-rules", "lag > 1", "--counting-pos-label", "1"]
    texts += ["--counting-scores=any", "--no-alerts-log", "--source-options", "a.b=c=d", "--source-options", "e="]

    config = printed(cli, *texts)
    counting, alerts = config["counting"], config["alerts"]

    assert (config["source"]["path"], config["source"]["follow"]) == ("f.jsonl", True)
    assert config["source"]["options"] == {"a.b": "c=d", "e": ""}
    assert (config["join"]["ttl"], config["join"]["due"]) == ("2h", "1m")
    assert (counting["title"], counting["windows"], counting["pos_label"]) == ('a"b', ["5m", "1h"], 1)
    assert (counting["scores"], repr(counting["labels"])) == ("any", "[0, 1.5, 'c']")
    assert (alerts["rules"], alerts["log"]) == (["max_gap(recall, x) > 1", "lag > 1"], False)
    assert printed(cli, "-", "--counting-labels", "[0, 1]")["counting"]["labels"] == [0, 1]


REFUSED = [
    ((), 2, "Expected FILE"),
    (("none.jsonl",), 1, "none.jsonl: No such file"),
    (("events.csv",), 2, "a monitor reads JSON Lines: 'stream-metrics run' counts it"),
    (("events.jsonl.gz",), 2, "decompress it to 'stream-metrics monitor -'"),
    (("events.jsonl", "--join-ttl", "soon"), 2, "Expected `ttl` in [join] to be a length of time"),
    (("events.jsonl", "--counting-labels", "[" * 5000), 2, "is no JSON list"),
    (("events.jsonl", "--counting-pos-label", "[" * 5000, "--counting-scores", "5"), 2, "False, True, 'any'"),
    (("events.jsonl", "--serve-port", "x"), 2, "expected a whole number, but got 'x'"),
    (("events.jsonl", "--serve-host", "0.0.0.0"), 2, "token"),
    (("events.jsonl", "--source-kind", "kafka"), 2, "but got both"),
    (("events.jsonl", "--source-options", "x"), 2, "expected KEY=VALUE"),
    (("events.jsonl", "--config", "none.toml"), 1, ": none.toml: No such file"),
    (("events.jsonl", "--serve-socket", "none/page"), 1, ": Expected to serve on `socket` 'none/page', but got"),
    (("events.jsonl", "--store-path", ""), 2, "Expected `path` in [store] to name a file"),
    (("events.jsonl", "--config", "events.jsonl"), 2, "events.jsonl: no TOML"),
    (("events.jsonl", "--alerts-webhook", "ftp://hunter2"), 2, "Expected `webhook` from --alerts-webhook-file"),
    (("events.jsonl", "--serve-token", "hunter2"), 2, "Expected `token` from --serve-token-file"),
    (("events.jsonl", "--serve-token-file", "events.jsonl/x"), 2, "Expected `token_file` in [serve] to name a file"),
    (("events.jsonl", "--serve-token", "${NO_SUCH}"), 2, "the environment variable 'NO_SUCH'"),
    (("--source-options", "sasl.password=hunter2"), 2, "'sasl.password' as sasl.password_file=FILE"),
    (("events.jsonl", "--stay", "--once"), 2, "one of them"),
    (("--source-kind", "memory"), 2, "Expected `kind`"),
]


def test_what_is_refused(cli, folder) -> None:
    """Wrong arguments are one line and exit status 2, bad files one line and 1, and no state file is left."""
    for arguments, status, message in REFUSED:
        said = refusal("monitor", *arguments, status=status)
        assert (message in said, "hunter2" in said) == (True, False), said
        assert os.listdir(folder) == ["events.jsonl"]
    rule = cli("monitor", "events.jsonl", "--alerts-rules", "accuracy < much")  # with a caret below what is not read
    assert (rule.status, rule.err.splitlines()[1:]) == (2, ["  accuracy < much", "             ^"])


def test_files_of_run_are_read(cli, folder) -> None:
    """Records with y_true and y_pred need neither id nor time, and give the numbers of ``run``; so do events in it."""
    scored = [{"y_true": "ab"[at % 2], "y_pred": "a", "scores": {"a": 0.75, "b": 0.25}} for at in range(40)]
    for records, suffix in ((scored, ()), (EVENTS, ("--counting-scores", "true"))):
        (folder / "run.jsonl").write_bytes(as_json_lines(records))
        result, expected = cli("monitor", "run.jsonl", "--format", "json", *suffix), run_json("run", "run.jsonl")
        view = json.loads(result.out)
        total = view["by_window"]["total"]

        assert (result.status, result.err, any(view["records"]["rejected"].values())) == (0, "", False)
        assert (total["n"], total["metrics"]["accuracy"]) == (expected["n"], expected["metrics"]["accuracy"])


def test_a_file_that_is_read_once_needs_no_port(cli, folder) -> None:
    """There is a page of input without an end, or if a flag asks for it; else no port is bound."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        (folder / "m.toml").write_text(f"[serve]\nport = {port}\n")
        pages = {
            ("events.jsonl",): False,
            ("-",): True,
            ("events.jsonl", "--serve-port", port): True,
            ("events.jsonl", "--serve-port", port, "--no-page"): False,
            ("events.jsonl", "--once"): False,
        }
        for at, (arguments, page) in enumerate(pages.items()):
            event = (json.dumps(EVENTS[0]) + "\n").encode()
            result = cli("monitor", *arguments, "--config", "m.toml", "--store-path", f"s{at}", stdin=event)
            assert (result.status, port in result.err) == (int(page), page), arguments


def test_a_file_without_events_is_another_than_was_meant(cli, folder) -> None:
    """All that is refused is said with the last reason, and is no success; an empty file is one."""
    (folder / "table.log").write_text("id,truth\n1,a\n")
    (folder / "empty").touch()

    refused, empty = (cli("monitor", name, "--no-page") for name in ("table.log", "empty"))

    assert (refused.status, empty.status, empty.err) == (1, 0, "")
    assert "none of the 2 records of the source holds one; the last is refused for its 'decode'" in refused.err
    assert "rejected 2 for decode" in refused.out


def test_pipes(folder) -> None:
    """What is piped in is counted and leaves no file; an alert that cannot be said on stderr stops nothing."""
    with start_command("monitor", "-", "--no-page", "--format", "json", text=True) as running:
        out, err = running.communicate((folder / "events.jsonl").read_text(), timeout=60)
    assert (running.returncode, err, json.loads(out)["by_window"]["total"]["n"]) == (0, "", 100)
    assert os.listdir(folder) == ["events.jsonl"]

    reading, writing = os.pipe()
    os.close(reading)
    order = ("monitor", "events.jsonl", "--once", "--alerts-rules", "lag < 9")
    with start_command(*order, stderr=writing, text=True) as running:
        os.close(writing)
        out, _ = running.communicate(timeout=60)
    assert (running.returncode, "100 samples" in out, "firing for" in out) == (0, True, True)


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
    assert (problem["level"], "nothing.jsonl" in problem["message"]) == ("error", True)
    assert (reported.status, refused.status, quiet.err) == (0, 1, "")


def test_what_others_log_is_said_with_its_reason(cli) -> None:
    """An exception is a text in its line; libraries log there what is important; the handler is gone afterwards."""
    log, library = logging.getLogger("stream_metrics.monitor"), logging.getLogger("library")
    alerts = logging.getLogger("stream_metrics.monitor.alerts")
    before = log.level, log.propagate, list(log.handlers), list(logging.getLogger().handlers)

    def more(_: logging.LogRecord) -> bool:
        alerts.removeFilter(more)
        try:
            raise ValueError("out of range")
        except ValueError:
            log.exception("no view can be made")
        library.warning("of %s", "a library")
        library.info("not said")
        return True

    alerts.addFilter(more)
    result = cli("monitor", "events.jsonl", "--no-page", "--alerts-rules", "accuracy < 0.9")

    lines = [line.partition(" ")[2] for line in result.err.splitlines()]
    assert lines[:2] == ["ERROR no view can be made: ValueError('out of range')", "WARNING of a library"]
    assert lines[2:] == ["WARNING firing: accuracy < 0.9 (now 0.5)"]
    assert (log.level, log.propagate, list(log.handlers), list(logging.getLogger().handlers)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_real_process_serves_and_is_stopped(folder, number: int) -> None:
    """It serves the view until Ctrl-C or SIGHUP, writes a last checkpoint, reports if asked to, ends with status 0."""
    more = ("--format", "table") if number == signal.SIGINT else ()
    with start_command("monitor", "events.jsonl", "--follow", "--serve-port", 0, *more, text=True) as running:
        try:
            url = running.stderr.readline().split()[-1]
            with urllib.request.urlopen(f"{url}readyz", timeout=60) as answer:
                assert answer.status == 200

            def samples() -> int:
                with urllib.request.urlopen(f"{url}api/snapshot", timeout=60) as answer:
                    return int(json.load(answer)["by_window"]["total"]["n"])

            until(lambda: samples() == 100)
            running.send_signal(number)
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()

    assert (running.returncode, err) == (0, "")
    assert ("100 samples, 2 classes" in out, bool(out)) == (bool(more), bool(more))
    assert "monitor.sqlite" in os.listdir(folder)


def test_a_file_that_was_not_read_to_its_end_was_interrupted(folder) -> None:
    """Its status is 130, and what was read until then is reported; --once makes an end of a file that is followed."""
    (folder / "many.jsonl").write_text((json.dumps(EVENTS[0] | {"id": 1}) + "\n") * 1_000_000)
    for flags in (("--no-page",), ("--once", "--follow")):
        order = ("monitor", "many.jsonl", *flags, "--alerts-rules", "n < 2000000", "--format", "json")
        with start_command(*order, text=True) as running:
            assert "firing" in running.stderr.readline()  # while it reads
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)

        assert running.returncode == 130
        assert json.loads(out)["records"]["read"] < 1_000_000


WITHOUT = """
import json, sys
for name in ("starlette", "uvicorn", "prometheus_client", "confluent_kafka"):
    sys.modules[name] = None
from stream_metrics.cli.main import main
for arguments in json.loads(sys.argv[1]):
    status = main(arguments)
    for stream in (sys.stdout, sys.stderr):
        print(status, end="\\f", file=stream, flush=True)
"""
PAGE = r'.*needs Starlette and uvicorn: pip install "stream-metrics\[monitor\]".*\n'
KAFKA = ("--source-kind", "kafka", "--source-predictions", "p")


def test_without_the_extras(folder) -> None:
    """What is counted is printed without the page; one line says what page, Kafka and collector need."""
    cases = [
        (("monitor", "events.jsonl"), 0, True, "0"),
        (("monitor", "events.jsonl", "--serve-port", "0"), 0, True, PAGE + "0"),
        (("monitor", "events.jsonl", "--stay"), 2, False, PAGE + "2"),
        (("collect", "--store", "agg.sqlite"), 2, False, PAGE + "2"),
        (("monitor", "--no-page", *KAFKA), 2, False, r'.*pip install "stream-metrics\[kafka\]"\n2'),
    ]
    order = [sys.executable, "-c", WITHOUT, json.dumps([arguments for arguments, *_ in cases])]
    done = subprocess.run(order, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    printed, said = (each.split("\f")[:-1] for each in (done.stdout, done.stderr))
    for (arguments, status, counts, message), out, err in zip(cases, printed, said, strict=True):
        assert (out.endswith(f"{status}"), "joined" in out, len(out) > 1) == (True, counts, counts), arguments
        assert re.fullmatch(message, err), arguments
