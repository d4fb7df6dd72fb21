"""Metrics for Prometheus: numbers of the view, bounded series, distinct names; dashboards and rules ask for these."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.inner_views import CATALOG
from support.page_clients import get
from support.page_server import PageServer
from support.page_views import ANIMALS, empty_view, hostile_view, make_view

LINE = re.compile(r'stream_metrics_(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')
DEPLOY = Path(__file__).parents[3] / "docs" / "deploy"
HOSTILE = ['a"b', "back\\slash", "new\nline", "", "__other__", "\ud800", r"\ud800", "{}", "\x00", "\N{GRINNING FACE}"]


class Exports:
    """Servers, one for each set of options, that are given one view after another."""

    def __init__(self) -> None:
        self.servers: dict[str, PageServer] = {}

    def text(self, view: dict[str, Any], **options: Any) -> str:
        """Return what a server with these options exports of a view."""
        server = self.servers.get(repr(options)) or PageServer(view, **options)
        self.servers[repr(options)] = server
        server.publish(view)
        return get(server, "/metrics")[1].decode()

    def __call__(self, view: dict[str, Any], **options: Any) -> dict[tuple[str, ...], float]:
        """Return samples by name and label values; a series that is there twice is an error."""
        samples: dict[tuple[str, ...], float] = {}
        for line in self.text(view, **options).splitlines():
            if not line.startswith("#"):
                name, labels, value = LINE.fullmatch(line).groups()  # type: ignore[union-attr]
                values = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
                del values["model"]
                window = [values.pop("window")] if "window" in values else []
                key = name, *window, *values.values()
                assert key not in samples
                samples[key] = float(value)
        return samples


@pytest.fixture
def exported() -> Iterator[Exports]:
    """Read what servers export, and close them in the end."""
    exports = Exports()
    yield exports
    for server in exports.servers.values():
        server.close()


def test_numbers_are_those_of_the_view(exported: Exports) -> None:
    """Counts of classes are those of the total's matrix, ratios those of their window, the rest as the view has it.

    A monitor that counted nothing has counters of 0, ratios that are NaN, and no lag.
    """
    view = make_view(4, 3)
    total, hour = view["by_window"]["total"], view["by_window"]["1h"]
    hour["intervals"] = {"accuracy": [0.9, 0.95], "matthews_corrcoef": None}
    hour["label_bounds"] = {"accuracy": [0.8, 0.97]}
    samples, counts, group = exported(view), total["matrix"]["counts"], hour["groups"]["rows"][0]

    for at, row in enumerate(total["classes"]):
        assert samples["class_true_positives", "total", row["label"]] == counts[at][at]
        wrong = sum(line[at] for line in counts) - counts[at][at]
        assert samples["class_false_positives", "total", row["label"]] == wrong
        assert samples["class_support", "total", row["label"]] == sum(counts[at])
        assert samples["class_support", "1h", row["label"]] == hour["classes"][at]["support"]
    expected = {
        ("accuracy_ratio", "1h"): hour["metrics"]["accuracy"],
        ("accuracy_ratio_low", "1h"): 0.9,
        ("accuracy_ratio_high", "1h"): 0.95,
        ("accuracy_ratio_least", "1h"): 0.8,
        ("accuracy_ratio_most", "1h"): 0.97,
        ("mcc", "1h"): hour["metrics"]["matthews_corrcoef"],
        ("log_loss", "1h"): hour["metrics"]["log_loss"],
        ("label_coverage_ratio", "1h"): hour["coverage"]["ratio"],
        ("group_balanced_accuracy_ratio", "1h", group["group"]): group["metrics"]["balanced_accuracy"],
        ("labels_joined_total",): view["join"]["joined"],
        ("records_rejected_total", "decode"): 41,
        ("pending_predictions",): 18_250,
        ("consumer_lag_records",): 240,
        ("last_event_timestamp_seconds",): view["event_time"],
    }
    assert {key: samples.get(key) for key in expected} == expected
    assert math.isnan(samples["fowlkes_mallows_ratio", "1h"])
    assert math.isnan(samples["mcc_low", "1h"])
    assert not {("accuracy_ratio_low", "total"), ("accuracy_ratio_least", "total")} & set(samples)
    assert [value for key, value in samples.items() if key[0] == "alert_firing"] == [0, 0, 0]
    buckets = [(key[1], value) for key, value in samples.items() if key[0] == "label_delay_seconds_bucket"]
    assert buckets[:3] == [("1", 0), ("3", 410), ("10", 3_310)]
    assert buckets[-1] == ("+Inf", sum(view["delays"]["counts"]))
    assert samples["label_delay_seconds_count",] == buckets[-1][1]
    assert samples["label_delay_seconds_sum",] == view["delays"]["sum"]

    empty = exported(empty_view())
    assert math.isnan(empty["accuracy_ratio", "1h"])
    assert empty["labels_joined_total",] == 0
    assert ("consumer_lag_records",) not in empty


def test_classes_are_bounded_and_stay(exported: Exports) -> None:
    """The first classes keep their series whatever comes; the others are one, and all together are the total."""
    first, later = make_view(4, 0), make_view(300, 0, labels=["new", *(f"class {i}" for i in range(145)), *ANIMALS[:4]])
    names = {row["label"] for row in first["by_window"]["total"]["classes"]}
    total = later["by_window"]["total"]
    fresh = exported(later, max_classes=4)
    exported(first, max_classes=4, max_groups=20)
    samples = exported(later, max_classes=4, max_groups=20)

    assert {key[2] for key in samples if key[0] == "class_support"} == {*names, "__other__"}
    assert sum(value for key, value in fresh.items() if key[:2] == ("class_support", "total")) == total["n"]
    right = sum(value for key, value in fresh.items() if key[:2] == ("class_true_positives", "total"))
    assert right == pytest.approx(total["metrics"]["accuracy"] * total["n"], abs=0.51)


def test_groups_are_bounded(exported: Exports) -> None:
    """Groups beyond the bound, and those that the monitor folded, are one in counts, and have no ratios."""
    view = make_view(2, 100)
    total, samples = view["by_window"]["total"]["groups"], exported(view, max_groups=5)
    supports = [value for key, value in samples.items() if key[:2] == ("group_support", "total")]

    assert len(supports) == 6
    assert sum(supports) == sum(row["n"] for row in total["rows"]) + total["folded"]
    assert len([key for key in samples if key[0] == "group_accuracy_ratio"]) == 5 * len(view["windows"])


def test_the_matrix_is_exported_only_if_asked_for(exported: Exports) -> None:
    """The whole matrix is there on request, up to 10 classes and one for the rest."""
    small, large = make_view(3, 0), make_view(40, 0)
    cells, folded = (
        {
            key: n
            for key, n in exported(view, matrix=True, max_groups=at).items()
            if key[:2] == ("labelled_predictions", "total")
        }
        for at, view in enumerate((small, large), 20)
    )
    counts = small["by_window"]["total"]["matrix"]["counts"]

    assert not any(key[0] == "labelled_predictions" for key in exported(small))
    assert list(cells.values()) == [count for row in counts for count in row]
    assert cells["labelled_predictions", "total", "cat", "dog"] == counts[0][2]
    assert len(folded) == 121
    assert sum(folded.values()) == large["by_window"]["total"]["n"]


def test_hostile_names_are_escaped_and_never_twice(exported: Exports) -> None:
    """Quotes, backslashes and ends of lines are escaped; names that would be written alike share the rest."""
    view = hostile_view(HOSTILE)
    samples = exported(view, matrix=True)
    labels = {key[2] for key in samples if key[0] == "class_support"}

    assert len(labels) == len(HOSTILE) - 1
    assert {r"a\"b", r"back\\slash", r"new\nline", "", "__other__", r"\\ud800"} <= labels
    support = sum(value for key, value in samples.items() if key[:2] == ("class_support", "total"))
    assert support == view["by_window"]["total"]["n"]


def test_every_metric_has_a_name_of_its_own(exported: Exports) -> None:
    """All that can be exported has distinct series, and Prometheus's own checker, where it is installed, takes it."""
    view = make_view(12, 60)
    for part in view["by_window"].values():
        part["metrics"] = dict.fromkeys(CATALOG, 0.5)
        part["range"] = {key: [row.low, row.high if math.isfinite(row.high) else None] for key, row in CATALOG.items()}
        part["intervals"] = {key: [0.4, 0.6] for key in CATALOG}
        part["label_bounds"] = {key: [0.3, 0.7] for key in CATALOG}
    values = [key for key, value in exported(view).items() if value == 0.5 and key[1:] == ("1h",)]

    assert len(values) == len(CATALOG)
    assert {("accuracy_ratio", "1h"), ("cohen_kappa", "1h")} <= set(values)
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("the check of the text needs promtool, of Debian's package prometheus")
    for each in (view, hostile_view(HOSTILE), empty_view()):
        order, text = [promtool, "check", "metrics"], exported.text(each, matrix=True).encode()
        done = subprocess.run(order, input=text, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_promtool_takes_the_rules() -> None:
    """Prometheus's own checker takes the file of rules."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("the check of the rules needs promtool, of Debian's package prometheus")
    order = [promtool, "check", "rules", DEPLOY / "stream-metrics.rules.yaml"]
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert "SUCCESS: " in done.stdout


def test_dashboard_and_rules_ask_for_what_is_exported() -> None:
    """Panels, variables and rules ask for nothing but what a monitor exports or a rule records."""
    board = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    rules = (DEPLOY / "stream-metrics.rules.yaml").read_text()
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [variable["query"]["query"] for variable in board["templating"]["list"][1:]]
    recorded = re.findall(r'record: "?([^\s"]+)', rules)
    expressions += re.findall(r"expr: .+", rules)
    with contextlib.closing(PageServer(make_view(4, 3))) as server:
        series = set(re.findall(r"^stream_metrics_\w+", get(server, "/metrics")[1].decode(), re.MULTILINE))
    asked = set(re.findall(r"[\w:]*stream_metrics_[\w:]+", "\n".join(expressions)))

    assert len(recorded) > 3
    assert asked - series <= set(recorded)
    assert all("stream_metrics_" in text for text in expressions)
