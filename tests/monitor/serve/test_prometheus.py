"""The metrics for Prometheus: the numbers of the view, a bounded number of series, names that do not collide."""

from __future__ import annotations

import copy
import math
import re
import shutil
import subprocess
from typing import Any

import pytest
from support.page_views import ANIMALS, empty_view, hostile_view, make_view, typed

from stream_metrics.catalog.table import CATALOG
from stream_metrics.monitor.config import Serve
from stream_metrics.monitor.serve.metric_names import metric_name
from stream_metrics.monitor.serve.prometheus import Exporter, text

LINE = re.compile(r'stream_metrics_(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)')
HOSTILE = ['a"b', "back\\slash", "new\nline", "", "__other__", "\ud800", r"\ud800", "{}", "\x00", "\N{GRINNING FACE}"]


def read(written: str) -> dict[tuple[str, ...], float]:
    """Samples by name and label values, as `text` wrote them; a series that is there twice is an error."""
    found: dict[tuple[str, ...], float] = {}
    for line in written.splitlines():
        if not line.startswith("#"):
            name, labels, value = LINE.fullmatch(line).groups()
            values = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels))
            del values["model"]
            window = [values.pop("window")] if "window" in values else []
            key = name, *window, *values.values()
            assert key not in found
            found[key] = float(value)
    return found


def exported(exporter: Exporter, view: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """Samples of a view, after those before."""
    exporter.note(typed(view))
    return read(exporter.text(typed(view)))


def test_numbers_are_those_of_the_view():
    """Counts of classes are those of the total's matrix, ratios those of their window, the rest as the view has it."""
    view = make_view(4, 3)
    total, hour = view["by_window"]["total"], view["by_window"]["1h"]
    counts = total["matrix"]["counts"]

    found = read(text(typed(view), Serve()))

    for at, row in enumerate(total["classes"]):
        assert found["class_true_positives", "total", row["label"]] == counts[at][at]
        wrong = sum(line[at] for line in counts) - counts[at][at]
        assert found["class_false_positives", "total", row["label"]] == wrong
        assert found["class_support", "total", row["label"]] == sum(counts[at])
    for row in hour["classes"]:
        assert found["class_support", "1h", row["label"]] == row["support"]
    assert found["accuracy_ratio", "1h"] == hour["metrics"]["accuracy"]
    assert found["mcc", "1h"] == hour["metrics"]["matthews_corrcoef"]
    assert found["log_loss", "1h"] == hour["metrics"]["log_loss"]
    assert math.isnan(found["fowlkes_mallows_ratio", "1h"])
    assert found["label_coverage_ratio", "1h"] == hour["coverage"]["ratio"]
    row = hour["groups"]["rows"][0]
    assert found["group_balanced_accuracy_ratio", "1h", row["group"]] == row["metrics"]["balanced_accuracy"]
    assert found["labels_joined_total",] == view["join"]["joined"]
    assert found["records_rejected_total", "decode"] == 41
    assert found["pending_predictions",] == 18_250
    assert found["consumer_lag_records",] == 240
    assert found["last_event_timestamp_seconds",] == view["event_time"]
    assert [value for key, value in found.items() if key[0] == "alert_firing"] == [0, 0, 0]


def test_delays_are_a_histogram():
    """Buckets are cumulative, the last is the count, and bounds are those of the view."""
    view = make_view(2, 0)

    found = read(text(typed(view), Serve()))
    buckets = [(key[1], value) for key, value in found.items() if key[0] == "label_delay_seconds_bucket"]

    assert buckets[:3] == [("1", 0), ("3", 410), ("10", 3_310)]
    assert buckets[-1] == ("+Inf", sum(view["delays"]["counts"]))
    assert found["label_delay_seconds_count",] == buckets[-1][1]
    assert found["label_delay_seconds_sum",] == view["delays"]["sum"]


def test_what_is_unknown_is_left_out_or_nan():
    """A monitor that counted nothing has counters of 0, ratios that are NaN, and no lag."""
    found = read(text(typed(empty_view()), Serve()))

    assert math.isnan(found["accuracy_ratio", "1h"])
    assert found["labels_joined_total",] == 0
    assert ("consumer_lag_records",) not in found


def test_counts_fall_when_labels_are_corrected():
    """Counts of classes and groups are those of the view, whatever they were before."""
    exporter, view = Exporter(Serve()), make_view(3, 2)
    corrected = copy.deepcopy(view)
    row, group = corrected["by_window"]["total"]["classes"][0], corrected["by_window"]["total"]["groups"]["rows"][0]
    for counted, key in ((row, "support"), (row, "predicted"), (row, "true_positives"), (group, "n")):
        counted[key] -= 10

    before, after = exported(exporter, view), exported(exporter, corrected)

    fell = {key: before[key] - value for key, value in after.items() if before[key] > value}
    assert fell == {
        ("class_support", "total", row["label"]): 10,
        ("class_true_positives", "total", row["label"]): 10,
        ("group_support", "total", group["group"]): 10,
    }
    assert not any(key[0].endswith("_total") for key in fell)


def test_classes_are_bounded_and_stay():
    """The first classes keep their series whatever comes; the others are one, and all together are the total."""
    exporter = Exporter(Serve(max_classes=4))
    first, later = make_view(4, 0), make_view(300, 0, labels=["new", *(f"class {i}" for i in range(145)), *ANIMALS[:4]])
    kept = [row["label"] for row in first["by_window"]["total"]["classes"]]
    total = later["by_window"]["total"]

    exported(exporter, first)
    found = exported(exporter, later)

    supports = {key[2]: value for key, value in found.items() if key[0] == "class_support"}
    fresh = read(text(typed(later), Serve(max_classes=4)))
    assert set(supports) == {*kept, "__other__"}
    assert sum(value for key, value in fresh.items() if key[:2] == ("class_support", "total")) == total["n"]
    right = sum(value for key, value in fresh.items() if key[:2] == ("class_true_positives", "total"))
    assert right == pytest.approx(total["metrics"]["accuracy"] * total["n"], abs=0.51)


def test_groups_are_bounded():
    """Groups beyond the bound, and those that the monitor folded, are one in counts, and have no ratios."""
    view = make_view(2, 100)
    total = view["by_window"]["total"]["groups"]

    found = read(text(typed(view), Serve(max_groups=5)))
    supports = [value for key, value in found.items() if key[:2] == ("group_support", "total")]

    assert len(supports) == 6
    assert sum(supports) == sum(row["n"] for row in total["rows"]) + total["folded"]
    assert len([key for key in found if key[0] == "group_accuracy_ratio"]) == 5 * len(view["windows"])


def test_the_matrix_is_exported_only_if_asked_for():
    """The whole matrix is there on request, up to 10 classes and one for the rest."""
    small, large = make_view(3, 0), make_view(40, 0)
    cells, folded = (
        {
            key: value
            for key, value in read(text(typed(view), Serve(matrix=True))).items()
            if key[:2] == ("labelled_predictions", "total")
        }
        for view in (small, large)
    )

    assert not any(key[0] == "labelled_predictions" for key in read(text(typed(small), Serve())))
    assert list(cells.values()) == [count for row in small["by_window"]["total"]["matrix"]["counts"] for count in row]
    assert cells["labelled_predictions", "total", "cat", "dog"] == small["by_window"]["total"]["matrix"]["counts"][0][2]
    assert len(folded) == 121
    assert sum(folded.values()) == large["by_window"]["total"]["n"]


def test_hostile_names_are_escaped_and_never_twice():
    """Quotes, backslashes and ends of lines are escaped; names that would be written alike share the rest."""
    view = hostile_view(HOSTILE)

    found = read(text(typed(view), Serve(matrix=True)))
    labels = {key[2] for key in found if key[0] == "class_support"}

    assert len(labels) == len(HOSTILE) - 1
    assert {r"a\"b", r"back\\slash", r"new\nline", "", "__other__", r"\\ud800"} <= labels
    support = sum(value for key, value in found.items() if key[:2] == ("class_support", "total"))
    assert support == view["by_window"]["total"]["n"]


def test_intervals_are_gauges_beside_their_metric():
    """The ends of a confidence interval are called like the metric, with `_low` and `_high`."""
    view = make_view(2, 0)
    view["by_window"]["1h"]["intervals"] = {"accuracy": [0.9, 0.95], "matthews_corrcoef": None}

    found = read(text(typed(view), Serve()))

    assert (found["accuracy_ratio_low", "1h"], found["accuracy_ratio_high", "1h"]) == (0.9, 0.95)
    assert math.isnan(found["mcc_low", "1h"])
    assert ("accuracy_ratio_low", "total") not in found


def test_bounds_of_missing_labels_are_gauges_beside_their_metric():
    """What missing labels leave open is called like the metric, with `_least` and `_most`."""
    view = make_view(2, 0)
    view["by_window"]["1h"]["label_bounds"] = {"accuracy": [0.8, 0.97]}

    found = read(text(typed(view), Serve()))

    assert (found["accuracy_ratio_least", "1h"], found["accuracy_ratio_most", "1h"]) == (0.8, 0.97)
    assert ("accuracy_ratio_least", "total") not in found


def test_no_two_metrics_are_called_alike():
    """The name of a metric follows from its key and range, and tells metrics apart."""
    names = {key: metric_name(key, (row.low, row.high)) for key, row in CATALOG.items()}

    assert len(set(names.values())) == len(names)
    assert names["accuracy"] == "accuracy_ratio"
    assert names["cohen_kappa"] == "cohen_kappa"


def test_promtool_finds_nothing():
    """Prometheus's own checker takes all that can be exported, every metric of the catalog included."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("the check of the text needs promtool, of Debian's package prometheus")
    view = make_view(12, 60)
    for part in view["by_window"].values():
        part["metrics"] = dict.fromkeys(CATALOG, 0.5)
        part["range"] = {key: [row.low, row.high if math.isfinite(row.high) else None] for key, row in CATALOG.items()}
        part["intervals"] = {key: [0.4, 0.6] for key in CATALOG}
        part["label_bounds"] = {key: [0.3, 0.7] for key in CATALOG}

    for each in (view, hostile_view(HOSTILE), empty_view()):
        written = text(typed(each), Serve(matrix=True)).encode()
        done = subprocess.run(
            [promtool, "check", "metrics"], input=written, capture_output=True, timeout=60, check=False
        )

        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
