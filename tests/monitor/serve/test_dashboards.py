"""The dashboard and the rules that are exported: their structure, and every query in a real Prometheus."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.page_server import PageServer
from support.page_views import HEADLINE, empty_view, hostile_view, make_view, plain

from stream_metrics.monitor.config import Config, Counting, Join, Store
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.dashboards import dashboard, export
from stream_metrics.monitor.serve.rules import RECORDED, alerts_of
from stream_metrics.monitor.store import Store as FileStore

CONFIG = Config(counting=Counting(title="animals", scores=True, windows=("1h", "1d"), metrics=(*HEADLINE, "log_loss")))
ALERTS = alerts_of(CONFIG)
VARIABLES = {"model": ".*", "instance": ".*", "window": ".*", "class": ".*", "group": ".*", "__rate_interval": "5s"}
SCRAPE = """
global: {{scrape_interval: 200ms, evaluation_interval: 200ms}}
rule_files: [{rules}]
scrape_configs:
  - job_name: model
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
    authorization: {{credentials: secret}}
"""


def found(name: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"the test needs {name}, of Debian's package prometheus")
    return path


def test_export_writes_files(tmp_path):
    """All files are written, into folders that are made, and provisioning points to the dashboards."""
    paths = export(tmp_path / "new", CONFIG)

    board, provisioning, rules = paths
    assert [path.relative_to(tmp_path / "new").as_posix() for path in paths] == [
        "grafana/dashboards/stream-metrics.json",
        "grafana/provisioning/dashboards/stream-metrics.yaml",
        "prometheus/stream-metrics.rules.yaml",
    ]
    assert json.loads(board.read_text()) == dashboard(CONFIG)
    assert json.dumps(str(board.parent)) in provisioning.read_text()
    assert rules.read_text().count("- alert: ") == len(ALERTS)


def test_structure_of_the_dashboard():
    """Ids are unique, panels do not overlap, variables are defined, and no data source is fixed."""
    board = dashboard(CONFIG)
    panels, variables = board["panels"], [variable["name"] for variable in board["templating"]["list"]]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))

    assert board["schemaVersion"] == 39
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert used - {"__rate_interval", "__all"} == set(variables)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert all(target["datasource"]["uid"] == "${datasource}" for panel in panels for target in panel["targets"])
    assert [panel["title"] for panel in panels][:2] == ["Accuracy", "Balanced accuracy"]
    assert panels[0]["fieldConfig"]["defaults"] == {
        "unit": "percentunit",
        "min": 0,
        "max": 1,
        "custom": {"lineWidth": 2},
    }


TYPED = """
import type {{ Dashboard }} from "{raw}/dashboard/x/types.gen";
import type {{ FieldConfig, Options }} from "{raw}/composable/timeseries/panelcfg/x/types.gen";
type Plain<T> = T extends string ? `${{T}}` : T extends object ? {{ [K in keyof T]: Plain<T[K]> }} : T;
const board: Plain<Dashboard> = {board};
const options: Plain<Options>[] = {options};
const custom: Plain<FieldConfig>[] = {custom};
"""


def type_errors(folder: Path, board: dict[str, Any]) -> list[str]:
    """What the compiler finds wrong in a dashboard, by the types that Grafana publishes of its schema."""
    schema = Path(__file__).parents[3] / "build" / "grafana" / "node_modules"
    if not schema.exists():
        pytest.skip("needs Grafana's schema: npm install --prefix build/grafana @grafana/schema@13 typescript@5")
    panels = board["panels"]
    parts = {
        "raw": schema / "@grafana/schema/dist/types/raw",
        "board": json.dumps(board),
        "options": json.dumps([panel["options"] for panel in panels]),
        "custom": json.dumps([panel["fieldConfig"]["defaults"]["custom"] for panel in panels]),
    }
    (folder / "board.ts").write_text(TYPED.format(**parts))
    modules = ["--moduleResolution", "bundler", "--module", "esnext", "--target", "es2022"]
    flags = ["--noEmit", "--strict", "--skipLibCheck", *modules]
    order = [schema / ".bin" / "tsc", *flags, folder / "board.ts"]
    done = subprocess.run(order, capture_output=True, text=True, timeout=120, check=False)
    return [line for line in done.stdout.splitlines() if "error" in line]


def test_the_dashboard_has_the_types_of_grafanas_schema(tmp_path):
    """Every field of the dashboard, its variables and its panels is one of the schema; a wrong one is detected."""
    wrong = dashboard(CONFIG)
    wrong["panels"][0]["gridPos"]["h"] = "8"
    wrong["panels"][1]["options"]["legend"]["placement"] = "below"
    wrong["templating"]["list"][1]["multiple"] = True

    assert type_errors(tmp_path, dashboard(CONFIG)) == []
    assert len(type_errors(tmp_path, wrong)) == 3


def test_two_models_have_two_dashboards():
    """The uid follows from the title, so that models do not replace each other."""
    one, other = (dashboard(Config(counting=Counting(title=title)))["uid"] for title in ("a", "b"))

    assert one != other
    assert dashboard(Config(counting=Counting(title="a")))["uid"] == one


def test_promtool_takes_the_rules(tmp_path):
    """Prometheus's own checker takes the file of rules."""
    promtool = found("promtool")
    rules = export(tmp_path, CONFIG)[-1]

    done = subprocess.run([promtool, "check", "rules", rules], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert f"SUCCESS: {len(ALERTS) + len(RECORDED)} rules found" in done.stdout


def fired(folder: Path, config: Config, series: dict[str, str], at: str, alerts: list[str], every: str = "5m") -> str:
    """What Prometheus's own tests of rules find wrong: series in steps of 5 minutes, alerts as `name{labels}`."""
    promtool, rules = found("promtool"), export(folder, config)[-1]
    expected = [
        {
            "eval_time": at,
            "alertname": rule.name,
            "exp_alerts": [
                {
                    "exp_labels": {"severity": rule.severity, **dict(re.findall(r'(\w+)="([^"]*)"', alert))},
                    "exp_annotations": {},
                }
                for alert in alerts
                if alert.partition("{")[0] == rule.name
            ],
        }
        for rule in alerts_of(config)
    ]
    text = re.sub(r"annotations: .*", "annotations: {}", rules.read_text())
    rules.write_text(text)
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    tests = [{"interval": "5m", "input_series": inputs, "alert_rule_test": expected}]
    path = folder / "test.json"
    path.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": every, "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def test_a_monitor_that_is_gone_or_down_is_told_of_each(tmp_path):
    """Of two models of one job, one is gone, and of one the second worker is down; the others go on."""
    info = 'stream_metrics_monitor_info{{job="j",instance="{}",model="{}",title="{}"}}'
    series = {
        info.format("1", "a", "a"): "1+0x120",
        info.format("2", "a", "a"): "1+0x40 stale",
        info.format("3", "b", "b"): "1+0x40 stale",
        'up{job="j",instance="1"}': "1+0x120",
        'up{job="j",instance="2"}': "1+0x40 0+0x79",
        'up{job="other",instance="9"}': "0+0x120",
    }
    gone, down = 'ModelMonitorGone{job="j",model="b"}', 'ModelMonitorDown{job="j",instance="2"}'

    assert fired(tmp_path, CONFIG, series, "8h", [gone, down]) == ""
    assert "ModelMonitorDown" in fired(tmp_path, CONFIG, series, "8h", [gone])


def test_labels_that_take_days_are_not_missing(tmp_path):
    """Without `due` coverage is compared with that of a week ago: low as ever is right, half of it is an alarm."""
    coverage = 'stream_metrics_label_coverage_ratio{{job="j",instance="1",model="{}",window="1d"}}'
    series = {
        'stream_metrics_monitor_info{job="j",instance="1",model="a"}': "1+0x2400",
        coverage.format("slow"): "0.02+0x2400",
        coverage.format("none"): "0+0x2400",
        coverage.format("stopped"): "0.9+0x2100 0.3+0x299",
    }
    due = Config(counting=CONFIG.counting, join=Join(due="2d"))
    missing = [f'ModelLabelsMissing{{job="j",instance="1",model="{model}",window="1d"}}' for model in series_of(series)]

    assert fired(tmp_path, CONFIG, series, "195h", missing[2:], "30m") == ""
    assert fired(tmp_path, due, series, "195h", missing, "30m") == ""


def series_of(series: dict[str, str]) -> list[str]:
    """The models of series of coverage."""
    return [name.partition('model="')[2].partition('"')[0] for name in series if "coverage" in name]


class Prometheus:
    """A real Prometheus that scrapes a server."""

    def __init__(self, folder: Path, port: int) -> None:
        program = found("prometheus")
        rules = export(folder, CONFIG)[-1]
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
        with (folder / "log").open("wb") as log:
            command = [program, *(f"--{name}={value}" for name, value in arguments.items())]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path: str, **parameters: str) -> Any:
        """Ask its interface; None while it does not answer."""
        with contextlib.suppress(ConnectionError, urllib.error.URLError, TimeoutError):
            query = urllib.parse.urlencode(parameters)
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=10) as answer:
                return json.load(answer)["data"]
        return None

    def wait(self, path: str, condition: Any, **parameters: str) -> Any:
        """Ask until what comes is as it should be."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            data = self.ask(path, **parameters)
            if data is not None and condition(data):
                return data
            time.sleep(0.05)
        raise AssertionError(f"{path} {parameters}: {data}")

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def scraped(tmp_path: Path) -> Iterator[tuple[Prometheus, PageServer]]:
    """A server with a token, and a Prometheus that reads it."""
    with contextlib.ExitStack() as stack:
        view = hostile_view(['a"\\\n', "", "\ud800"])
        server = stack.enter_context(contextlib.closing(PageServer(view, token="secret")))
        yield stack.enter_context(contextlib.closing(Prometheus(tmp_path, server.port))), server


def values_of(result: Any) -> list[float]:
    """The values of what came that have one, of which none is negative."""
    numbers = [float(series["value"][1]) for series in result]
    return [number for number in numbers if number >= 0]


def queries() -> Iterator[str]:
    """Every query of the dashboard, its variables filled in, and the names that variables are made of."""
    board = dashboard(CONFIG)
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for variable in board["templating"]["list"][1:]:
        expressions.append(re.sub(r"label_values\((.+), \w+\)", r"\1", variable["query"]["query"]))
    for expression in expressions:
        yield re.sub(r"\$(\w+)", lambda match: VARIABLES[match[1]], expression)


def test_every_query_in_a_real_prometheus(scraped):
    """Prometheus scrapes hostile names, every panel has data, series are recorded, and the monitor's alert fires."""
    prometheus, server = scraped
    prometheus.wait("query", lambda data: data["result"], query='up{job="model"} == 1')
    steps = itertools.count(1)

    def arrived(data: Any) -> bool:
        server.publish(make_view(4, 3, drift=1.0, step=next(steps)))
        return bool(values_of(data["result"]))

    prometheus.wait("query", arrived, query="sum(rate(stream_metrics_records_rejected_total[5s])) >= 0")
    prometheus.wait("query", arrived, query="sum(rate(stream_metrics_labels_joined_total[5s])) > 0")
    recorded = [prometheus.wait("query", arrived, query=rule.name)["result"] for rule in RECORDED]
    empty = [query for query in queries() if not prometheus.ask("query", query=query)["result"]]
    names = prometheus.ask("label/__name__/values")
    wanted = {name for alert in ALERTS for name in re.findall(r"[\w:]*stream_metrics_[\w:]+", alert.expression)}
    fires = prometheus.wait("alerts", lambda data: any(alert["state"] == "firing" for alert in data["alerts"]))
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    assert empty == []
    assert wanted - set(names) == set()
    assert all(value <= 1 for result in recorded[:3] for value in values_of(result))
    assert {rule["health"] for rule in rules} == {"ok"}
    assert "balanced_accuracy[1h] < 0.8 for 5m" in [alert["labels"].get("rule") for alert in fires["alerts"]]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[tuple[Prometheus, PageServer]]:
    """A server that has counted nothing, and a Prometheus that reads it."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(contextlib.closing(PageServer(empty_view(), token="secret")))
        yield stack.enter_context(contextlib.closing(Prometheus(tmp_path, server.port))), server


def test_corrections_and_restarts_in_a_real_prometheus(empty, tmp_path):
    """1,000 right, 600 of them corrected, a crash and a restart: accuracy is 0.4, and no counter was reset."""
    prometheus, server = empty
    config = Config(counting=Counting(windows=()), store=Store(every_seconds=1e6, every_events=10**6))
    right = [{"id": at, "time": at, "y_pred": "a", "y_true": "a"} for at in range(1000)]
    events = [*right, *({"id": at, "time": at, "y_true": "b"} for at in range(600))]
    values = [json.dumps(event).encode() for event in events]
    read = "max_over_time(stream_metrics_records_read_total[1m]) == {}"

    def monitor(until: int, checkpoint: bool) -> None:
        """Read up to a record in a process of its own, have that scraped, and end."""
        store = FileStore(str(tmp_path / "state"))
        watched = Monitor(config, store, lambda: 2000.0)
        at = watched.assign([0]).get(("t", 0), 0)
        watched.step([Record("t", 0, i, i + 1, None, None, values[i]) for i in range(at, until)])
        if checkpoint:
            watched.checkpoint()
        server.publish(plain(watched.view()))
        watched.close() if checkpoint else store.close()

    monitor(1000, True)
    prometheus.wait("query", lambda data: data["result"], query=read.format(1000))
    monitor(1300, False)
    prometheus.wait("query", lambda data: data["result"], query='stream_metrics_class_support{class="a"} == 700')
    monitor(1100, True)
    prometheus.wait("query", lambda data: data["result"], query=read.format(1100))
    monitor(1600, True)
    prometheus.wait("query", lambda data: data["result"], query=read.format(1600))
    prometheus.wait("query", lambda data: data["result"], query='stream_metrics_accuracy_ratio{window="total"} == 0.4')
    ratio = 'sum(stream_metrics_class_true_positives{window="total"}) / sum(stream_metrics_class_support)'
    names = prometheus.ask("label/__name__/values")
    counting = [name for name in names if re.fullmatch("stream_metrics_.*_(total|bucket|sum|count)", name)]
    resets = [name for name in counting if prometheus.ask("query", query=f"resets({name}[1m]) > 0")["result"]]

    assert values_of(prometheus.ask("query", query=ratio)["result"]) == [0.4]
    assert len(counting) > 10
    assert resets == []
