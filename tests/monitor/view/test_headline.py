"""The headline suits how rare the classes are, and metrics of one class are shown everywhere as others are."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from stream_metrics.monitor.config import Config, Counting, Serve
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.view.headline import class_key, split_key
from stream_metrics.monitor.view.types import View

NOW = 1_700_000_000.0
USUAL = ["accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef"]


def shown(
    truths: list[Any], said: list[Any], scores: bool = False, monitor: Monitor | None = None, **counting: Any
) -> View:
    """Return the view of a monitor that counted these."""
    if monitor is None:
        config = Config(counting=Counting(windows=("1h",), scores=scores, **counting))
        monitor = Monitor(config, clock=lambda: NOW + 10_000)
        monitor.assign([0])
    records = []
    for at, (truth, label) in enumerate(zip(truths, said, strict=True)):
        soft = {"scores": {"ok": 0.9 - 0.8 * (label == "fraud"), "fraud": 0.1 + 0.8 * (label == "fraud")}}
        event = {"id": at, "time": NOW + at, "truth": truth, "prediction": label, "group": "abc"[at % 3]}
        value = json.dumps(event | (soft if scores else {})).encode()
        records.append(Record("t", 0, at, at + 1, None, None, value))
    monitor.step(records)
    return monitor.view()


def fraud(n: int = 2_000, share: float = 0.02) -> tuple[list[str], list[str]]:
    """Return labels and predictions of a model that finds two frauds of three."""
    truths = np.where(np.arange(n) % round(1 / share) == 0, "fraud", "ok")
    said = np.where(np.arange(n) % round(3 / share) == 0, "ok", truths)
    said[7] = "fraud"
    return truths.tolist(), said.tolist()


@pytest.mark.parametrize("scores", [False, True])
def test_a_rare_class_is_what_the_headline_is_about(scores: bool) -> None:
    """Recall and precision of the rare class, its average precision if scores are counted, and MCC; not accuracy."""
    view = shown(*fraud(), scores)
    part = view.by_window["1h"]

    keys = ['recall["fraud"]', 'precision["fraud"]', *(['average_precision["fraud"]'] * scores), "matthews_corrcoef"]
    assert view.headline == keys
    row = next(row for row in part.classes if row.label == "fraud")
    assert (part.metrics[keys[0]], part.metrics[keys[1]]) == (row.recall, row.precision)
    assert part.metrics[keys[0]] == pytest.approx(26 / 40)
    assert part.intervals[keys[0]] == row.intervals["recall"]
    assert (part.better[keys[0]], part.range[keys[0]]) == ("higher", (0, 1))
    assert set(view.history["1h"]) == {"t", "n", *keys}
    assert [set(group.metrics) for group in part.groups.rows] == [set(keys)] * 3
    assert set(part.groups.gaps) == {key for key in keys if not key.startswith("average")}
    lines = text(view, Serve()).splitlines()
    recall = [line for line in lines if re.match(r'stream_metrics_recall_ratio\{class="fraud",.*window="1h"', line)]
    assert len(recall) == 1
    assert float(recall[0].split()[-1]) == pytest.approx(26 / 40)


@pytest.mark.parametrize(
    ("truths", "expected"),
    [
        (["ok", "fraud"] * 100, USUAL),
        (["ok"] * 500, USUAL),
        (["ok"] * 50 + ["fraud"], USUAL),
        (["ok"] * 500 + ["fraud", "theft"], ["balanced_accuracy", "macro_precision", "macro_f1", "matthews_corrcoef"]),
        ([0] * 300 + [1], ['recall["1"]', 'precision["1"]', "matthews_corrcoef"]),
    ],
    ids=["even", "one class", "few", "many classes", "numbers"],
)
def test_the_headline_follows_prevalence(truths: list[Any], expected: list[str]) -> None:
    """Usual metrics where no class is rare, or too little was counted to say so."""
    assert shown(truths, truths).headline == expected


def test_metrics_that_are_configured_stay() -> None:
    """Whoever names metrics has these."""
    assert shown(*fraud(), metrics=("accuracy",)).headline == ["accuracy"]


def test_lines_have_the_metrics_of_the_headline_when_it_changes() -> None:
    """The last point of a line is the window as it is."""
    monitor = Monitor(Config(counting=Counting(windows=("1h",))), clock=lambda: NOW + 10_000)
    monitor.assign([0])
    early = shown(["ok", "fraud"] * 20, ["ok"] * 40, monitor=monitor)
    truths, said = fraud(4_000)
    late = shown(["ok"] * 40 + truths, ["ok"] * 40 + said, monitor=monitor)

    assert early.headline == USUAL
    assert late.headline[0] == 'recall["fraud"]'
    for view in (early, late):
        assert list(view.history["1h"]) == ["t", "n", *view.headline]
        for key in view.headline:
            assert view.history["1h"][key][-1] == pytest.approx(view.by_window["1h"].metrics[key], abs=1e-6)


@pytest.mark.parametrize("name", ["cat", 'a "quoted" [name]', "é\n", ""])
def test_keys_of_classes_are_read_back(name: str) -> None:
    """For any name of a class."""
    assert split_key(class_key("recall", name)) == ("recall", name)
    assert split_key("macro_f1") == ("macro_f1", None)
