"""The headline suits how rare the classes are, and metrics of one class are shown everywhere as others are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.monitor_runs import Monitor, config, exported, feed, pair, read, started

USUAL = ["accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef"]
RARE = ['recall["fraud"]', 'precision["fraud"]', "matthews_corrcoef"]


def events(truths: list[Any], said: list[Any], scores: bool = False, start: int = 0) -> list[dict[str, Any]]:
    """Return pairs of three groups."""
    rows = []
    for at, (truth, label) in enumerate(zip(truths, said, strict=True), start):
        soft = {"ok": 0.9 - 0.8 * (label == "fraud"), "fraud": 0.1 + 0.8 * (label == "fraud")}
        rows.append(pair(at, truth, label, group="abc"[at % 3]) | ({"scores": soft} if scores else {}))
    return rows


def shown(truths: list[Any], said: list[Any], scores: bool = False, **counting: Any) -> Monitor:
    """Return a monitor that has counted pairs."""
    return read(events(truths, said, scores), counting={"windows": ["1h"], "scores": scores, **counting})


def fraud(n: int = 2_000, share: float = 0.02) -> tuple[list[str], list[str]]:
    """Return labels and predictions of a model that detects two frauds of three."""
    truths = np.where(np.arange(n) % round(1 / share) == 0, "fraud", "ok")
    said = np.where(np.arange(n) % round(3 / share) == 0, "ok", truths)
    said[7] = "fraud"
    return truths.tolist(), said.tolist()


@pytest.mark.parametrize("scores", [False, True])
def test_a_rare_class_is_what_the_headline_is_about(scores: bool) -> None:
    """Recall and precision of the rare class, its average precision if scores are counted, and MCC; not accuracy."""
    monitor = shown(*fraud(), scores, metrics=[])
    monitor.report_source(ended=True)
    view = monitor.view()
    part, keys = view.by_window["1h"], [*RARE[:2], *(['average_precision["fraud"]'] * scores), RARE[2]]
    row = next(row for row in part.classes if row.label == "fraud")

    assert view.headline == keys
    assert (part.metrics[keys[0]], part.metrics[keys[1]]) == (row.recall, row.precision)
    assert part.metrics[keys[0]] == pytest.approx(26 / 40)
    assert part.intervals[keys[0]] == row.intervals["recall"]
    assert (part.better[keys[0]], part.range[keys[0]]) == ("higher", (0, 1))
    assert set(view.history["1h"]) == {"t", "n", *keys}
    assert [set(group.metrics) for group in part.groups.rows] == [set(keys)] * 3
    assert set(part.groups.gaps) == {key for key in keys if not key.startswith("average")}
    name = 'stream_metrics_recall_ratio{class="fraud",window="1h"} '
    (line,) = [line for line in exported(monitor).splitlines() if line.startswith(name)]
    assert float(line.split()[-1]) == pytest.approx(26 / 40)
    assert shown(*fraud(), scores, metrics=["accuracy"]).view().headline == ["accuracy"]


def test_the_headline_follows_prevalence() -> None:
    """Usual metrics where no class is rare, or too little was counted to say so; any name of a class is quoted."""
    many = ["balanced_accuracy", "macro_precision", "macro_f1", "matthews_corrcoef"]
    cases: list[tuple[list[Any], list[str]]] = [
        (["ok", "fraud"] * 100, USUAL),
        (["ok"] * 500, USUAL),
        (["ok"] * 98 + ["fraud"], USUAL),
        (["ok"] * 99 + ["fraud"], RARE),
        (["ok"] * 95 + ["fraud"] * 5, RARE),
        (["ok"] * 94 + ["fraud"] * 6, USUAL),
        (["ok"] * 500 + ["fraud", "theft"], many),
        ([0] * 300 + [1], ['recall["1"]', 'precision["1"]', RARE[2]]),
    ]
    for name in ("cat", 'a "quoted" [name]', "é\n", ""):
        quoted = json.dumps(name, ensure_ascii=False)
        cases.append((["ok"] * 200 + [name], [f"recall[{quoted}]", f"precision[{quoted}]", RARE[2]]))
    for truths, expected in cases:
        view = shown(truths, truths).view()
        assert view.headline == expected
        assert expected in (USUAL, many) or view.by_window["total"].metrics[expected[0]] == 1


def test_lines_have_the_metrics_of_the_headline_when_it_changes() -> None:
    """The last point of a line is the window as it is."""
    monitor = started(config(counting={"windows": ["1h"]}))
    early = feed(monitor, events(["ok", "fraud"] * 20, ["ok"] * 40)).view()
    late = feed(monitor, events(*fraud(4_000), start=40), start=40).view()

    assert (early.headline, late.headline) == (USUAL, RARE)
    for view in (early, late):
        assert list(view.history["1h"]) == ["t", "n", *view.headline]
        for key in view.headline:
            assert view.history["1h"][key][-1] == pytest.approx(view.by_window["1h"].metrics[key], abs=1e-6)
