"""The join in plain Python: one event after another, with one list of all pending and remembered entries."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import stream_metrics as sm
from stream_metrics import StreamMetricsError

Event = dict[str, Any]
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
SKETCH: dict[str, Any] = {"buckets": 256, "sample": 128, "pairs": False}


def seconds(text: str) -> float:
    """Return a length of time with one unit in seconds."""
    return float(text[:-1]) * SECONDS[text[-1]]


def add(state: sm.MetricSet, pair: Event) -> None:
    """Count a pair as a user of the library would."""
    truth, said, w, scores = pair["truth"], pair.get("prediction"), pair.get("weight"), pair.get("scores")
    w = 1 if w is None else w
    if state.scores is False and said is None and scores is not None:
        state.update(truth, scores, w)
    elif scores is None or state.scores is False:
        state.state.update(truth, said, w)  # also an abstention
    else:
        state.update(truth, said, w, scores=scores)


def recount(pairs: Iterable[Event], scores: bool = True) -> sm.MetricSet:
    """Return the counts of pairs."""
    state = sm.MetricSet(**SKETCH, scores=scores)
    for pair in pairs:
        add(state, pair)
    return state


def countable(pair: Event, scores: bool = True) -> bool:
    """Return whether a pair can be counted."""
    try:
        recount([pair], scores)
    except StreamMetricsError:
        return False
    return True


@dataclass
class Entry:
    """Something that waits (prediction, label) or is remembered (joined, expired, refused)."""

    kind: str
    key: Any
    steps: tuple[float, float]  # the event time reached when it came, in steps of `ttl` and of `keep_joined`
    pair: Event

    @property
    def labelled(self) -> float:
        """The time of its label."""
        return float(self.pair.get("labelled", self.pair["time"]))


@dataclass
class Oracle:
    """Joins events by the rules of the documentation; `join` is the table of the configuration, with all its keys."""

    join: dict[str, Any]
    bounds: tuple[float, ...]
    pairs: list[Event] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # the sum of all delays
    delays: Counter[int] = field(default_factory=Counter)
    entries: list[Entry] = field(default_factory=list)
    watermark: float = float("-inf")
    last: list[float] = field(default_factory=list)
    ids: dict[Any, tuple[str, Any]] = field(default_factory=dict)  # of entries that are gone: kind and truth

    def __post_init__(self) -> None:
        self.grains = [seconds(self.join[name]) / 64 for name in ("ttl", "keep_joined")]

    def steps(self) -> tuple[float, float]:
        """Return the time in steps of `ttl` and of `keep_joined`."""
        return self.watermark // self.grains[0], self.watermark // self.grains[1]

    def vote(self, time: float) -> float:
        """Return the time that a quarter of the last events have reached, if there are eight or all that may be."""
        self.last = [*self.last, time][-self.join["votes"] :]
        if len(self.last) < min(8, self.join["votes"]):
            return self.watermark
        return max(self.watermark, sorted(self.last, reverse=True)[len(self.last) // 4])

    def of_kinds(self, kinds: str) -> list[Entry]:
        """Return the entries of some kinds, the oldest first."""
        return [entry for entry in self.entries if entry.kind in kinds]

    def find(self, key: Any) -> Entry | None:
        """Return the entry of an id."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def put(self, kind: str, key: Any, pair: Event) -> None:
        """Have a new entry, the newest; if there are too many of its sort, the oldest go."""
        self.entries.append(Entry(kind, key, self.steps(), pair))
        for kinds, most in (("PL", self.join["max_pending"]), ("JXR", self.join["max_joined"])):
            there = self.of_kinds(kinds)
            if len(there) > most:
                for entry in there[: max(len(there) - most, most // 64)]:
                    self.counters["expired_early"] += entry.kind == "P"
                    self.counters["forgotten"] += most > 0 and entry.kind in "JXR"
                    self.drop(entry)

    def drop(self, entry: Entry) -> None:
        """Let an entry go."""
        self.entries.remove(entry)
        if entry.kind == "P":
            self.counters["predictions_expired"] += 1
            self.counters["pending"] -= 1
            self.put("X", entry.key, entry.pair)
        elif entry.kind == "L":
            self.counters["labels_expired"] += 1
            self.counters["labels_waiting"] -= 1
        elif self.join["keep_ids"] != "0s":
            self.ids[entry.key] = entry.kind, entry.pair.get("truth")

    def feed(self, event: Event) -> None:
        """Take one event."""
        before, self.watermark = self.watermark, self.vote(event["time"])
        if self.watermark > before:
            if before == float("-inf"):
                for entry in self.entries:
                    entry.steps = self.steps()
            for which, kinds in enumerate(("PL", "JXR")):
                now = int(self.watermark // self.grains[which])
                for entry in self.of_kinds(kinds):
                    if entry.steps[which] < now - 64:
                        self.drop(entry)
        predicts, labels, key = "prediction" in event or "scores" in event, "truth" in event, event["id"]
        self.counters["predictions"] += predicts
        self.counters["labels"] += labels
        if predicts and labels and self.find(key) is None and key not in self.ids:
            self.pair(key, event, event)
        else:
            if predicts:
                self.predict(key, {name: value for name, value in event.items() if name != "truth"})
            if labels:
                self.label(key, event)

    def predict(self, key: Any, event: Event) -> None:
        """Take a prediction."""
        entry = self.find(key)
        if entry is None and key not in self.ids:
            self.counters["pending"] += 1
            self.put("P", key, event)
        elif entry is not None and entry.kind == "L":
            self.entries.remove(entry)
            self.counters["labels_waiting"] -= 1
            self.pair(key, event, entry.pair)
        else:
            self.counters["predictions_duplicate"] += 1

    def pair(self, key: Any, prediction: Event, label: Event) -> None:
        """Count a prediction with its label, whose weight and group stand in for those that it has not."""
        both = {**label, **{name: value for name, value in prediction.items() if value is not None}}
        shared = {name: both.get(name) for name in ("weight", "group")}
        pair = {**prediction, **shared, "truth": label["truth"], "labelled": label["time"]}
        if countable(pair):
            self.pairs.append(pair)
            self.counters["joined"] += 1
            self.seconds += max(pair["labelled"] - pair["time"], 0)
            self.delays[bisect_left(self.bounds, max(pair["labelled"] - pair["time"], 0))] += 1
            self.put("J", key, pair)
        else:
            self.counters["refused"] += 1
            self.put("R", key, pair)

    def label(self, key: Any, event: Event) -> None:
        """Take a label."""
        counters, entry, truth = self.counters, self.find(key), event["truth"]
        if entry is None and key in self.ids:
            kind, before = self.ids[key]
            counters["labels_late"] += kind == "X"
            counters["labels_duplicate"] += kind == "R" or (kind == "J" and before == truth)
            counters["corrections_refused"] += kind == "J" and before != truth
        elif entry is None:
            counters["labels_waiting"] += 1
            self.put("L", key, event)
        elif entry.kind == "P":
            self.entries.remove(entry)
            counters["pending"] -= 1
            self.pair(key, entry.pair, event)
        elif entry.kind == "X":
            counters["labels_late"] += 1
        elif entry.kind == "R" or truth == entry.pair["truth"] or event["time"] < entry.labelled:
            counters["labels_duplicate"] += 1
        elif entry.kind == "L":
            counters["corrections"] += 1
            self.entries.remove(entry)
            self.put("L", key, event)
        else:
            new = {**entry.pair, "truth": truth, "labelled": event["time"]}
            if not countable(new):
                counters["labels_refused"] += 1
                return
            self.pairs[next(at for at, pair in enumerate(self.pairs) if pair is entry.pair)] = new
            counters["corrections"] += 1
            self.entries.remove(entry)
            self.put("J", key, new)
