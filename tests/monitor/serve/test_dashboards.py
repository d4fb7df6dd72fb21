"""The dashboard and the rules that are exported: their structure, and that all they ask for is exported."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run_command
from support.page_clients import get
from support.page_server import PageServer
from support.page_views import HEADLINE, make_view


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
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("the check of the rules needs promtool, of Debian's package prometheus")
    order = [promtool, "check", "rules", exported(tmp_path)[1]]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "SUCCESS: " in done.stdout


def test_every_series_is_exported(tmp_path: Path) -> None:
    """Panels, variables and rules ask for nothing but what a monitor exports or a rule records."""
    board, rules = exported(tmp_path)
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [variable["query"]["query"] for variable in board["templating"]["list"][1:]]
    recorded = re.findall(r'record: "?([^\s"]+)', rules.read_text())
    expressions += re.findall(r"expr: .+", rules.read_text())
    with contextlib.closing(PageServer(make_view(4, 3))) as server:
        series = set(re.findall(r"^stream_metrics_\w+", get(server, "/metrics")[1].decode(), re.MULTILINE))
    asked = set(re.findall(r"[\w:]*stream_metrics_[\w:]+", "\n".join(expressions)))

    assert len(recorded) > 3
    assert asked - series <= set(recorded)
    assert all("stream_metrics_" in text for text in expressions)
