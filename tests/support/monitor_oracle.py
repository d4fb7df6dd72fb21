"""The join in plain Python: one event after another, with one list of all pending and remembered entries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.config import Join
from stream_metrics.monitor.counts.counting import Columns, Pair
from stream_metrics.monitor.counts.delays import BOUNDS
from stream_metrics.monitor.events.records import MISSING, Checked, Rejected
from stream_metrics.monitor.join.outcomes import JoinCounters

__all__ = ["FakeCounts", "Oracle", "refuses", "undoes"]


def refuses(pair: Pair) -> bool:
    """Whether the counts of a test refuse a pair."""
    return bool(pair.weight == 3)


def undoes(old: Pair) -> bool:
    """Whether the counts of a test can take a pair back."""
    return bool(old.prediction != "b")


class FakeCounts:
    """Remembers the pairs that it was given, as a multiset."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.predicted: list[float] = []
        self.driven = False
        self.time: int | None = None

    def add_columns(self, columns: Columns) -> list[Rejected]:
        """Take pairs, and return those that are refused."""
        return self.add(list(map(Pair._make, zip(*columns, strict=True))))

    def add(self, pairs: Any) -> list[Rejected]:
        """Take pairs, and return those that are refused."""
        self.pairs += [pair for pair in pairs if not refuses(pair)]
        return [Rejected(*pair.origin, "weight", "three") for pair in pairs if refuses(pair)]

    def correct(self, old: Pair, new: Pair) -> bool:
        """Replace a pair."""
        if not undoes(old):
            return False
        at = next(at for at, pair in enumerate(self.pairs) if pair[:7] == old[:7])
        self.pairs[at] = new
        return True

    def move(self, seen: int) -> None:
        """Note the time."""
        self.time = seen

    def predictions(self, times: Any) -> None:
        """Note times of predictions."""
        self.predicted += times

    def content(self) -> list[Any]:
        """Return what was counted, in an order that does not depend on that of the pairs."""
        return [sorted(map(repr, self.pairs)), sorted(self.predicted)]


@dataclass
class Entry:
    """Something that waits (prediction, label) or is remembered (joined, expired, refused)."""

    kind: str
    key: Any
    steps: tuple[float, float]  # the event time reached when it came, in steps of `ttl` and of `keep_joined`
    pair: Pair


@dataclass
class Oracle:
    """Joins events by the rules of ``stream_metrics.monitor.join.joining``."""

    config: Join
    counts: FakeCounts = field(default_factory=FakeCounts)
    counters: JoinCounters = field(default_factory=JoinCounters)
    delays: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    entries: list[Entry] = field(default_factory=list)
    watermark: float = float("-inf")
    last: list[float] = field(default_factory=list)
    ids: dict[Any, tuple[str, Any]] = field(default_factory=dict)  # of entries that are gone: kind and truth

    def __post_init__(self) -> None:
        self.grains = [parse_duration(text, "") / 1e9 / 64 for text in (self.config.ttl, self.config.keep_joined)]

    def steps(self) -> tuple[float, float]:
        """Return the time in steps of `ttl` and of `keep_joined`."""
        return self.watermark // self.grains[0], self.watermark // self.grains[1]

    def vote(self, time: float) -> float:
        """Return the time that a quarter of the last events have reached, if there are eight or all that may be."""
        self.last = [*self.last, time][-self.config.votes :]
        if len(self.last) < min(8, self.config.votes):
            return self.watermark
        return max(self.watermark, sorted(self.last, reverse=True)[len(self.last) // 4])

    def of_kinds(self, *kinds: str) -> list[Entry]:
        """Return the entries of some kinds, the oldest first."""
        return [entry for entry in self.entries if entry.kind in kinds]

    def find(self, key: Any) -> Entry | None:
        """Return the entry of an id."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def put(self, kind: str, key: Any, pair: Pair) -> None:
        """Have a new entry, the newest; if there are too many of its sort, the oldest go."""
        steps = self.steps()
        self.entries.append(Entry(kind, key, steps, pair))
        for kinds, most in ((("P", "L"), self.config.max_pending), (("J", "X", "R"), self.config.max_joined)):
            there = self.of_kinds(*kinds)
            if len(there) > most:
                for entry in there[: max(len(there) - most, most // 64)]:
                    self.counters.expired_early += entry.kind == "P"
                    self.counters.forgotten += most > 0 and entry.kind in "JXR"
                    self.drop(entry)

    def drop(self, entry: Entry) -> None:
        """Let an entry go."""
        self.entries.remove(entry)
        if entry.kind == "P":
            self.counters.predictions_expired += 1
            self.counters.pending -= 1
            self.put("X", entry.key, entry.pair)
        elif entry.kind in "JXR" and self.config.keep_ids != "0s":
            self.ids[entry.key] = entry.kind, entry.pair.truth
        elif entry.kind == "L":
            self.counters.labels_expired += 1
            self.counters.labels_waiting -= 1

    def feed(self, event: Checked, origin: Any) -> None:
        """Take one event."""
        before, self.watermark = self.watermark, self.vote(event.time)
        if self.watermark > before:
            if before == float("-inf"):
                for entry in self.entries:
                    entry.steps = self.steps()
            for which, kinds in enumerate((("P", "L"), ("J", "X", "R"))):
                now = int(self.watermark // self.grains[which])
                for entry in self.of_kinds(*kinds):
                    if entry.steps[which] < now - 64:
                        self.drop(entry)
        said = event.prediction is not MISSING, event.truth is not MISSING
        self.counters.predictions += said[0]
        self.counters.labels += said[1]
        if said == (True, True) and self.find(event.id) is None and event.id not in self.ids:
            self.counts.predicted.append(event.time)
            self.join(event.id, Pair(event.truth, *event[3:7], event.time, event.time, origin, event.classes))
            return
        if said[0]:
            self.predict(event, origin)
        if said[1]:
            self.label(event, origin)

    def predict(self, event: Checked, origin: Any) -> None:
        """Take a prediction."""
        entry = self.find(event.id)
        pair = Pair(None, *event[3:7], event.time, 0.0, origin, event.classes)
        if entry is None and event.id not in self.ids:
            self.counts.predicted.append(event.time)
            self.counters.pending += 1
            self.put("P", event.id, pair)
        elif entry is not None and entry.kind == "L":
            self.counts.predicted.append(event.time)
            self.entries.remove(entry)
            self.counters.labels_waiting -= 1
            self.join(event.id, self.both(pair, entry.pair, origin))
        else:
            self.counters.predictions_duplicate += 1

    @staticmethod
    def both(prediction: Pair, label: Pair, origin: Any) -> Pair:
        """Return a prediction with a label."""
        weight = label.weight if prediction.weight is None else prediction.weight
        group = label.group if prediction.group is None else prediction.group
        return prediction._replace(
            truth=label.truth, labelled_at=label.labelled_at, weight=weight, group=group, origin=origin
        )

    def join(self, key: Any, pair: Pair) -> None:
        """Count a pair."""
        pair = pair._replace(weight=1 if pair.weight is None else pair.weight)
        bad = bool(self.counts.add([pair]))
        if bad:
            self.counters.refused += 1
        else:
            self.counters.joined += 1
            delay = max(pair.labelled_at - pair.predicted_at, 0)
            self.delays[sum(bound < delay for bound in BOUNDS)] += 1
        self.put("R" if bad else "J", key, pair)

    def label(self, event: Checked, origin: Any) -> None:
        """Take a label."""
        counters, entry = self.counters, self.find(event.id)
        pair = Pair(event.truth, None, None, event.weight, event.group, 0.0, event.time, origin)
        if entry is None and event.id in self.ids:
            kind, truth = self.ids[event.id]
            counters.labels_late += kind == "X"
            counters.labels_duplicate += kind == "R" or (kind == "J" and truth == event.truth)
            counters.corrections_refused += kind == "J" and truth != event.truth
        elif entry is None:
            counters.labels_waiting += 1
            self.put("L", event.id, pair)
        elif entry.kind == "P":
            self.entries.remove(entry)
            counters.pending -= 1
            self.join(event.id, self.both(entry.pair, pair, origin))
        elif entry.kind == "X":
            counters.labels_late += 1
        elif entry.kind == "R" or event.time < entry.pair.labelled_at or event.truth == entry.pair.truth:
            counters.labels_duplicate += 1
        elif entry.kind == "L":
            counters.corrections += 1
            self.entries.remove(entry)
            self.put("L", event.id, pair)
        else:
            new = entry.pair._replace(truth=event.truth, labelled_at=event.time, origin=origin)
            if self.counts.correct(entry.pair, new):
                counters.corrections += 1
                self.entries.remove(entry)
                self.put("J", event.id, new)
            else:
                counters.corrections_refused += 1
