"""``stream-metrics demo --live``: the monitor on river's image segments, replayed in real time, with a drift.

A softmax regression learns 1,200 of the 2,310 segments in a random order and is then left alone, as a model in
production is. The others are asked again and again, 300 a second; each label follows its prediction after a delay that
is exponential, one in fifty never comes. Groups are where in the image the segment lies. In each cycle of two minutes
there are forty seconds in which red and blue are swapped in the questions, as a camera might do after an
update: its balanced accuracy falls from about 0.85 to about 0.42, and an alert fires, and ends when it is over. The
detector of changes fires first: 1.5 to 2.25 s after the swap in six cycles, the threshold over 15 s after 11 to 11.5 s.
"""

from __future__ import annotations

import heapq
import itertools
import json
import math
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_metrics.cli.errors import river, usage
from stream_metrics.cli.logs import LineHandler
from stream_metrics.cli.monitor_watch import report, watch
from stream_metrics.inputs.arguments import Y_PRED, Y_TRUE
from stream_metrics.monitor.config import AlertsTable, Config, CountingTable, JoinTable, ServeTable, StoreTable
from stream_metrics.monitor.config import SourceTable as SourceConfig
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor

if TYPE_CHECKING:
    from river.base import Classifier


CYCLE = 120.0  # seconds
DRIFT = 0.25, 0.58  # when in a cycle colours are swapped
LEARNT = 1200
RATE = 300  # predictions a second
NEVER = 0.02  # of the labels
TOPIC = "segments"
SWAPPED = {"rawred-mean": "rawblue-mean", "exred-mean": "exblue-mean"}
PLACES = ((80, "top"), (160, "middle"), (256, "bottom"))  # rows of the image that are above
Answer = tuple[dict[str, object], dict[str, object], str]  # predictions from true and from swapped colours; the label


def live(port: int, seconds: float | None, limit: int | None) -> int:
    """Run the demo until Ctrl-C, or for `seconds`."""
    answers = predictions(limit)
    with tempfile.TemporaryDirectory() as folder:
        with usage():
            config = _config(CYCLE, port, str(Path(folder) / "demo.sqlite"))
        start, end = (round(CYCLE * share) for share in DRIFT)
        print(f"Colours are swapped from second {start} to {end} of every {CYCLE:.0f}. Ctrl-C ends.", flush=True)
        print(report(watch(config, Replay(answers, CYCLE, seconds), LineHandler())))
    return 0


def _config(cycle: float, port: int, path: str) -> Config:
    """Return the configuration of the demo; windows and rules keep their place in the cycle."""
    short, hold, late = _seconds(cycle / 8), _seconds(cycle / 40), _seconds(cycle / 4)
    rules = (
        f"balanced_accuracy[{short}] < 0.7 for {hold} until > 0.75 with n >= 100",
        f"max_gap(accuracy, place)[{short}] > 0.35 for {hold} with n >= 50",
        f"coverage[{short}] < 0.9 for {hold}",
        "changed(accuracy) arl=100000 p0=0.2",
    )
    return Config(
        source=SourceConfig(kind="memory"),
        join=JoinTable(ttl=late, due=_seconds(cycle / 10), in_memory=5000),
        counting=CountingTable(title="Image segments", scores=True, windows=(short, _seconds(cycle / 2)), panes=10),
        store=StoreTable(path=path, retention=("1s for 1h", "1m for 2d", "1h")),
        serve=ServeTable(port=port),
        alerts=AlertsTable(rules=rules),
    )


def _seconds(length: float) -> str:
    return f"{length:g}s"


def predictions(limit: int | None = None) -> list[Answer]:
    """Return the predictions for at most `limit` segments that the model has not learnt.

    Raises ``UsageError`` without river.
    """
    samples = list(river("datasets").ImageSegments())
    random.Random(1).shuffle(samples)
    model = river("preprocessing").StandardScaler() | river("linear_model").SoftmaxRegression()
    for features, truth in samples[:LEARNT]:
        model.learn_one(features, truth)
    asked = samples[LEARNT:][:limit]
    return [(_answer(model, features), _answer(model, _swapped(features)), str(truth)) for features, truth in asked]


def _answer(model: Classifier, features: dict[str, float]) -> dict[str, object]:
    scores = {str(label): round(float(score), 6) for label, score in model.predict_proba_one(features).items()}
    place = next(name for below, name in PLACES if features["region-centroid-row"] < below)
    return {Y_PRED: max(scores, key=scores.__getitem__), "scores": scores, "group": place}


def _swapped(features: dict[str, float]) -> dict[str, float]:
    """Return features with red and blue swapped."""
    names = SWAPPED | {blue: red for red, blue in SWAPPED.items()}
    return {name: features[names.get(name, name)] for name in features}


class Replay:
    """A source in this process: predictions as they are asked, and each label when it is known, by the clock.

    It ends after so many `seconds`, if that is given. Every run is the same.
    """

    def __init__(self, answers: list[Answer], cycle: float, seconds: float | None = None) -> None:
        self.ended = False
        self._seconds = math.inf if seconds is None else seconds
        self._began = time.time()
        self._due: list[tuple[float, int, dict[str, Any]]] = []  # a heap of future events, by time
        self._asked = self._questions(answers, cycle)
        self._offset = 0

    def _questions(self, answers: list[Answer], cycle: float) -> Iterator[float]:
        """Add a prediction and its label, if it ever comes, to the future events; yield when it is asked."""
        chance = random.Random(2)
        for number in itertools.count():
            after = number / RATE
            well, ill, truth = chance.choice(answers)
            drifts = DRIFT[0] <= after / cycle % 1 < DRIFT[1]
            known = after + chance.expovariate(1 / (cycle / 40))
            self._add(after, 2 * number, **(ill if drifts else well))
            if chance.random() >= NEVER:
                self._add(known, 2 * number + 1, **{Y_TRUE: truth})
            yield after

    def _add(self, after: float, order: int, **fields: object) -> None:
        heapq.heappush(self._due, (after, order, {"id": order // 2, "time": self._began + after, **fields}))

    def start(self, monitor: Monitor) -> None:
        """Have the monitor assigned the one partition that there is."""
        monitor.assign([0])

    def poll(self, timeout: float) -> list[Record]:
        """Return the events up to now, after a short wait."""
        time.sleep(min(timeout, 0.02))
        now = min(time.time() - self._began, self._seconds)
        self.ended = self.ended or now == self._seconds
        while next(self._asked) <= now:
            pass
        records = []
        while self._due[0][0] <= now:
            value = json.dumps(heapq.heappop(self._due)[2]).encode()
            records.append(Record(TOPIC, 0, self._offset, self._offset + 1, None, None, value))
            self._offset += 1
        return records

    def lag(self) -> dict[tuple[str, int], int]:
        """Nothing that has happened waits."""
        return {(TOPIC, 0): 0}

    def close(self) -> None:
        """Nothing follows."""
        self.ended = True
