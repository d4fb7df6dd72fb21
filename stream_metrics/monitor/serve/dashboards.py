"""A dashboard for Grafana and rules for Prometheus, written for one configuration.

    directory/grafana/dashboards/stream-metrics.json
    directory/grafana/provisioning/dashboards/stream-metrics.yaml
    directory/prometheus/stream-metrics.rules.yaml

The dashboard names no data source, so it goes into any Grafana: by provisioning, or by hand. Its structure is that of
Grafana's published schema and its queries run in Prometheus; import into Grafana itself has not been tried.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stream_metrics.catalog.table import find
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.serve.metric_names import PREFIX, metric_name
from stream_metrics.monitor.serve.rules import rules_file
from stream_metrics.report.headlines import MONITOR

__all__ = ["dashboard", "export"]

SCHEMA = 39
WIDTH, HEIGHT, COLUMNS = 8, 8, 24  # of a panel, and of the grid
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OF_MODEL = 'model=~"$model"'
ONE = f'{OF_MODEL},instance=~"$instance"'
CLASS = 'class=~"$class"'
IN_WINDOW = f'{ONE},window=~"$window"'


class Panel(NamedTuple):
    """A chart: queries with their legends."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    low: float | None = 0
    high: float | None = None
    about: str = ""


def export(directory: str | os.PathLike[str], config: Config) -> list[Path]:
    """Write all files, folders included, and return their paths; ``OSError`` if that cannot be done."""
    root = Path(directory)
    boards = root / "grafana" / "dashboards"
    texts = {
        boards / "stream-metrics.json": json.dumps(dashboard(config), indent=2) + "\n",
        root / "grafana" / "provisioning" / "dashboards" / "stream-metrics.yaml": _provisioning(boards),
        root / "prometheus" / "stream-metrics.rules.yaml": rules_file(config),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def dashboard(config: Config) -> dict[str, object]:
    """Return the dashboard as Grafana's JSON model."""
    title = config.counting.title
    panels = [*_quality(config), *_labels(), *_operation()]
    return {
        "uid": "stream-metrics-" + hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
        "title": f"Model: {title}",
        "tags": ["stream-metrics"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": _variables(config)},
        "annotations": {"list": []},
        "panels": [_panel(at, panel) for at, panel in enumerate(panels)],
    }


def _variables(config: Config) -> list[dict[str, object]]:
    source: dict[str, object] = {"name": "datasource", "label": "Data source", "type": "datasource"}
    window, title = (*config.counting.windows, "total")[0], config.counting.title
    return [
        source | {"query": "prometheus"},
        _variable("model", "monitor_info", "Model", "") | {"current": {"text": [title], "value": [title]}},
        _variable("instance", "monitor_info", "Monitor"),
        _variable("window", "window_predictions", "Window") | {"current": {"text": [window], "value": [window]}},
        _variable("class", "class_support", "Class"),
        _variable("group", "group_support", "Group"),
    ]


def _variable(name: str, metric: str, label: str, where: str = OF_MODEL) -> dict[str, object]:
    query = f"label_values({PREFIX}{metric}{{{where}}}, {name})"
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


def _quality(config: Config) -> Iterator[Panel]:
    """Yield how good the model is."""
    for key in config.counting.metrics or MONITOR:
        row = find(key)
        name = metric_name(key, (row.low, row.high))
        expression, legend = f"{PREFIX}{name}{{{IN_WINDOW}}}", "{{window}} {{instance}}"
        yield _bounded(row.title, ((expression, legend),), row.low, row.high)
    names = ("class_true_positives", "class_false_positives", "class_support")
    right, wrong, support = (f"sum by (window) ({PREFIX}{name}{{{IN_WINDOW}}})" for name in names)
    of_class = [f"sum by (class, window) ({PREFIX}{name}{{{IN_WINDOW},{CLASS}}})" for name in names]
    each, workers = "{{class}} {{window}}", "Of all workers together, from exact counts."
    yield _bounded("Accuracy of all workers", ((f"{right} / {support}", "{{window}}"),), about=workers)
    recall, precision = f"{of_class[0]} / {of_class[2]}", f"{of_class[0]} / ({of_class[0]} + {of_class[1]})"
    yield _bounded("Recall by class", ((recall, each),), about=workers)
    yield _bounded("Precision by class", ((precision, each),), about=workers)
    yield Panel("Labelled predictions by class", ((of_class[2], each),))
    yield Panel("Wrong predictions", ((wrong, "wrong {{window}}"), (right, "right {{window}}")))
    first = find((config.counting.metrics or MONITOR)[0])
    name = metric_name(first.key, (first.low, first.high))
    worst = "bottomk" if first.direction != "lower" else "topk"
    expression = f'{worst}(10, {PREFIX}group_{name}{{{IN_WINDOW},group=~"$group"}})'
    yield _bounded(f"{first.title}, worst groups", ((expression, "{{group}} {{window}}"),), first.low, first.high)


def _labels() -> Iterator[Panel]:
    """Yield how labels come."""
    coverage = f"{PREFIX}label_coverage_ratio{{{IN_WINDOW}}}"
    yield _bounded("Label coverage", ((coverage, "{{window}} {{instance}}"),))
    delays = f"sum by (le) ({_rate('label_delay_seconds', suffix='bucket')})"
    shares = tuple((f"histogram_quantile({share}, {delays})", f"{share:.0%}") for share in (0.5, 0.9, 0.99))
    yield Panel("Label delay", shares, "s")
    yield Panel("Predictions that wait", ((f"{PREFIX}pending_predictions{{{ONE}}}", "{{instance}}"),))
    names = ("labels_joined", "labels_late", "labels_duplicate", "predictions_expired", "corrections")
    queries = tuple((f"sum({_rate(name)})", name.replace("_", " ")) for name in names)
    yield Panel("What became of labels and predictions", queries, "ops")


def _operation() -> Iterator[Panel]:
    """Yield how the monitor does."""
    rejected = f"sum by (reason) ({_rate('records_rejected')})"
    yield Panel("Records", ((f"sum({_rate('records_read')})", "read"), (rejected, "rejected: {{reason}}")), "ops")
    yield Panel("Lag", ((f"{PREFIX}consumer_lag_records{{{ONE}}}", "{{instance}}"),))
    age = f"time() - {PREFIX}last_event_timestamp_seconds{{{ONE}}}"
    yield Panel("Age of the newest event", ((age, "{{instance}}"),), "s", None)
    checkpoint = tuple((f"{PREFIX}checkpoint_{name}_seconds{{{ONE}}}", name) for name in ("age", "duration"))
    yield Panel("Checkpoint", checkpoint, "s")
    yield Panel("Size of a checkpoint", ((f"{PREFIX}checkpoint_size_bytes{{{ONE}}}", "{{instance}}"),), "bytes")
    yield Panel("Alerts of the monitor that fire", ((f"{PREFIX}alert_firing{{{ONE}}}", "{{rule}}"),), "short", 0, 1)


def _rate(name: str, suffix: str = "total") -> str:
    return f"rate({PREFIX}{name}_{suffix}{{{ONE}}}[$__rate_interval])"


def _bounded(
    title: str,
    queries: tuple[tuple[str, str], ...],
    low: float = 0,
    high: float = 1,
    about: str = "",
) -> Panel:
    """Return a panel whose axis is the range of its values; only shares of a whole are per cent."""
    lowest, highest = (end if math.isfinite(end) else None for end in (low, high))
    return Panel(title, queries, "percentunit" if (low, high) == (0, 1) else "none", lowest, highest, about)


def _panel(at: int, panel: Panel) -> dict[str, object]:
    across = COLUMNS // WIDTH
    defaults = {"unit": panel.unit, "min": panel.low, "max": panel.high, "custom": {"lineWidth": 2}}
    return {
        "id": at + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": at % across * WIDTH, "y": at // across * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {
            "defaults": {name: value for name, value in defaults.items() if value is not None},
            "overrides": [],
        },
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "none"},
        },
        "targets": [
            {"refId": chr(65 + place), "datasource": SOURCE, "expr": expression, "legendFormat": legend}
            for place, (expression, legend) in enumerate(panel.queries)
        ],
    }


def _provisioning(folder: Path) -> str:
    path = json.dumps(str(folder.resolve()))
    return (
        "apiVersion: 1\n"
        "providers:\n"
        "  - name: stream-metrics\n"
        "    type: file\n"
        "    options:\n"
        f"      path: {path}\n"
        "      foldersFromFilesStructure: false\n"
    )
