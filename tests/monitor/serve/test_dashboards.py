"""The dashboard and the rules that are exported: their structure, and every query in a real Prometheus."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run_command, until
from support.page_server import PageServer
from support.page_views import HEADLINE, hostile_view, make_view

VARIABLES = {"model": ".*", "instance": ".*", "window": ".*", "class": ".*", "group": ".*", "__rate_interval": "5s"}
SCRAPE = """
global: {{scrape_interval: 200ms, evaluation_interval: 200ms}}
rule_files: [{rules}]
scrape_configs:
  - job_name: model
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
    authorization: {{credentials: secret}}
"""


def program(name: str) -> str:
    """Return the path of a program; the test is skipped where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"the test needs {name}, of Debian's package prometheus")
    return path


def exported(folder: Path, title: str = "animals") -> tuple[dict[str, Any], Path]:
    """Return the dashboard, and the path of the rules."""
    (folder / "monitor.toml").write_text(
        f'[counting]\ntitle = "{title}"\nscores = true\nwindows = ["1h", "1d"]\n'
        f"metrics = {json.dumps([*HEADLINE, 'log_loss'])}\n"
    )
    result = run_command("monitor", "--config", folder / "monitor.toml", "--export-dashboards", folder / "new")
    board, provisioning, rules = map(Path, result.out.split())
    assert [path.relative_to(folder / "new").as_posix() for path in (board, provisioning, rules)] == [
        "grafana/dashboards/stream-metrics.json",
        "grafana/provisioning/dashboards/stream-metrics.yaml",
        "prometheus/stream-metrics.rules.yaml",
    ]
    assert str(board.parent) in provisioning.read_text()
    return json.loads(board.read_text()), rules


def test_structure_of_the_dashboard(tmp_path: Path) -> None:
    """Ids are unique, panels do not overlap, variables are defined, no data source is fixed, and models differ."""
    board, _ = exported(tmp_path)
    panels, variables = board["panels"], [variable["name"] for variable in board["templating"]["list"]]
    places = [panel["gridPos"] for panel in panels]
    cells = [
        cell
        for at in places
        for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"]))
    ]

    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(board))) - {"__rate_interval", "__all"} == set(variables)
    targets = [target for panel in panels for target in panel["targets"]]
    assert {each["datasource"]["uid"] for each in (*panels, *targets)} == {"${datasource}"}
    assert [panel["title"] for panel in panels][:2] == ["Accuracy", "Balanced accuracy"]
    assert exported(tmp_path)[0]["uid"] == board["uid"] != exported(tmp_path, "plants")[0]["uid"]


def test_promtool_takes_the_rules(tmp_path: Path) -> None:
    """Prometheus's own checker takes the file of rules."""
    order = [program("promtool"), "check", "rules", exported(tmp_path)[1]]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "SUCCESS: " in done.stdout


class Prometheus:
    """A real Prometheus that scrapes a server."""

    def __init__(self, folder: Path, rules: Path, port: int) -> None:
        (folder / "prometheus.yml").write_text(SCRAPE.format(rules=rules, port=port))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        arguments = {
            "config.file": folder / "prometheus.yml",
            "storage.tsdb.path": folder / "data",
            "web.listen-address": self.url.removeprefix("http://"),
            "log.level": "error",
        }
        command = [program("prometheus"), *(f"--{name}={value}" for name, value in arguments.items())]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path: str, **parameters: str) -> Any:
        """Ask its interface; None while it does not answer."""
        with contextlib.suppress(ConnectionError, urllib.error.URLError, TimeoutError):
            query = urllib.parse.urlencode(parameters)
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=10) as answer:
                return json.load(answer)["data"]
        return None

    def wait(self, path: str, condition: Callable[[Any], Any], **parameters: str) -> Any:
        """Ask until the answer is as it should be."""
        return until(lambda: (data := self.ask(path, **parameters)) is not None and condition(data) and data)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


def queries(board: dict[str, Any]) -> list[str]:
    """Return every query of the dashboard, its variables filled in, and the names that variables are made of."""
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for variable in board["templating"]["list"][1:]:
        expressions.append(re.sub(r"label_values\((.+), \w+\)", r"\1", variable["query"]["query"]))
    return [re.sub(r"\$(\w+)", lambda match: VARIABLES[match[1]], expression) for expression in expressions]


def test_every_query_in_a_real_prometheus(tmp_path: Path) -> None:
    """Prometheus scrapes hostile names, every panel has data, series are recorded, and the monitor's alert fires."""
    (board, rules), steps = exported(tmp_path), itertools.count(1)
    with contextlib.ExitStack() as stack:
        view = hostile_view(['a"\\\n', "", "\ud800"])
        server = stack.enter_context(contextlib.closing(PageServer(view, token="secret")))
        prometheus = stack.enter_context(contextlib.closing(Prometheus(tmp_path, rules, server.port)))
        prometheus.wait("query", lambda data: data["result"], query='up{job="model"} == 1')

        def arrived(data: Any) -> bool:
            server.publish(make_view(4, 3, drift=1.0, step=next(steps)))
            return any(float(series["value"][1]) >= 0 for series in data["result"])

        recorded = re.findall(r'record: "?([^\s"]+)', rules.read_text())
        rates = ["sum(rate(stream_metrics_labels_joined_total[5s])) > 0"]
        for query in (*rates, "sum(rate(stream_metrics_records_rejected_total[5s])) >= 0", *recorded):
            prometheus.wait("query", arrived, query=query)
        empty = [query for query in queries(board) if not prometheus.ask("query", query=query)["result"]]
        fires = prometheus.wait("alerts", lambda data: any(alert["state"] == "firing" for alert in data["alerts"]))
        every = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    assert recorded
    assert empty == []
    assert {rule["health"] for rule in every} == {"ok"}
    assert "balanced_accuracy[1h] < 0.8 for 5m" in [alert["labels"].get("rule") for alert in fires["alerts"]]
