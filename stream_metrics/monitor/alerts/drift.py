"""Drift detectors, one for each rule `changed(...)` and partition, fed with the counted pairs.

**Order.** A detector sees the outcomes of its partition in the order in which their pairs are counted, which is a
function of the records alone; so its bytes, which are in the same row of the state file as the next offsets, do not
depend on batches, restarts or kills. A refused pair is no outcome, nor is an abstention. A corrected label neither
reverts an outcome nor adds one: the first label was evidence when it came. Weights are ignored: one pair is one
outcome.

**Partitions.** Their detectors cannot be merged, and each raises its own alarm. Let M(k) be the evidence of partition k
after n(k) outcomes. Each M(k) - n(k) is a supermartingale while nothing changes, and so is their sum. When the first
M(k) reaches `arl`, their sum has as well: therefore the mean number of outcomes of all partitions together until a
false alarm is at least `arl`, for independent losses, however many partitions there are; and an alarm within n outcomes
has a probability of at most n / `arl`. The mean of the M(k) against `arl`, which is at most the largest, would alarm
later. The evidence shown is the largest.

**After an alarm** the partition learns a new level from its next `reference` outcomes, or watches on against `p0`. The
change `holds` until so many outcomes have come without another alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from stream_metrics._core.detectors.kernels import Outcome
from stream_metrics.labels.json_names import labels_shown_as
from stream_metrics.monitor.alerts.rules import Changed, rules_of
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.view.types import DetectorRow, DriftRow
from stream_metrics.report.layout import number
from stream_metrics.states.detector import ChangeDetector

if TYPE_CHECKING:
    from stream_metrics.monitor.counts.batches import CountedRows


LOSSES = 0.0, 1.0
DIRECTIONS: dict[str, Literal["up", "down", "both"]] = {"worse": "up", "better": "down", "both": "both"}  # of errors


def changed_rules(config: Config) -> list[Changed]:
    """Return the rules that ask for detectors; ``RuleError`` for one that cannot be read."""
    texts = [text for text in config.alerts.rules if text.lstrip().startswith("changed")]
    if not texts:
        return []
    return [rule for rule in rules_of(texts, config.counting) if isinstance(rule, Changed)]


class _RuleDetector:
    """The detector of one rule; `before` is how many alarms it had raised when it was loaded."""

    def __init__(self, rule: Changed) -> None:
        self.rule, self.before = rule, 0
        label = rule.value.label
        self._meant = None if label is None else labels_shown_as(label)
        self._judge = Outcome(rule.value.name, None if label is None else True)
        reference = rule.reference if rule.p0 is None else None
        direction = DIRECTIONS[rule.direction]
        self.detector = ChangeDetector(rule.p0, reference=reference, arl=rule.arl, direction=direction)

    def see(self, truths: Iterable[object], labels: Iterable[object]) -> None:
        """Watch pairs; a label of None is an abstention."""
        meant, judge, update = self._meant, self._judge, self.detector.update
        for truth, label in zip(truths, labels, strict=True):
            if label is None:
                continue
            judged = judge(truth, label) if meant is None else judge(truth in meant, label in meant)
            if judged is not None:
                update(LOSSES[judged])

    @property
    def since(self) -> int:
        """The number of outcomes since the last alarm, or since the start."""
        return self.detector.n - (self.detector.changes[-1] if self.detector.changed else 0)

    @property
    def holds(self) -> bool:
        """Whether too few outcomes have come since the last alarm to know what is normal now."""
        return self.detector.changed and self.since < self.rule.reference

    @property
    def evidence(self) -> float | None:
        """The evidence, None while the level is learned."""
        return None if self.detector.learning else self.detector.evidence

    def view(self, partition: int) -> DetectorRow:
        """Return the row that a view shows."""
        detector = self.detector
        return DetectorRow(partition, detector.n, self.since, self.evidence, detector.alarms, self.before, self.holds)


class DriftDetectors:
    """The detectors of one partition. With no rules it costs nothing and has no bytes."""

    def __init__(self, rules: Iterable[Changed]) -> None:
        self._watches = {rule.text: _RuleDetector(rule) for rule in rules}

    @property
    def watch(self) -> Callable[[Sequence[CountedRows], Container[int]], None] | None:
        """The function to call with the rows of a chunk and the places of refused ones; None without rules."""
        return self._see if self._watches else None

    def _see(self, batches: Sequence[CountedRows], refused: Container[int]) -> None:
        if len(batches) == 1 and not refused:
            truths, labels = batches[0].truths, batches[0].labels
        else:
            rows = (row for each in batches for row in zip(each.places, each.truths, each.labels, strict=True))
            accepted = sorted((row for row in rows if row[0] not in refused), key=lambda row: row[0])
            truths, labels = [row[1] for row in accepted], [row[2] for row in accepted]
        for watch in self._watches.values():
            watch.see(truths, labels)

    def content(self) -> list[list[list[str | bytes]]]:
        """Return the content of a checkpoint: nothing without rules, else one list."""
        if not self._watches:
            return []
        return [[[text, self._watches[text].detector.to_bytes()] for text in sorted(self._watches)]]

    def load(self, content: Iterable[tuple[str, bytes]] = ()) -> None:
        """Load the detectors of rules that still exist."""
        for text, data in content:
            if text in self._watches:
                watch = self._watches[text]
                watch.detector = ChangeDetector.from_bytes(data)
                watch.before = watch.detector.alarms

    def view(self, partition: int) -> list[tuple[Changed, DetectorRow]]:
        """Return each rule, and the row of its detector."""
        return [(watch.rule, watch.view(partition)) for watch in self._watches.values()]


def changes_view(partitions: Iterable[tuple[int, DriftDetectors]]) -> list[DriftRow]:
    """Return the rows of a view, one for each rule, in their order; `note` is a text that says how the rule stands."""
    rows_by_rule: dict[Changed, list[DetectorRow]] = {}
    for partition, changes in partitions:
        for rule, row in changes.view(partition):
            rows_by_rule.setdefault(rule, []).append(row)
    return [_shown(rule, rows) for rule, rows in rows_by_rule.items()]


def _shown(rule: Changed, rows: list[DetectorRow]) -> DriftRow:
    evidence = max((row.evidence for row in rows if row.evidence is not None), default=None)
    alarms, holds = sum(row.alarms for row in rows), any(row.holds for row in rows)
    return DriftRow(rule.text, rule.arl, evidence, alarms, holds, _note(rule, rows, evidence), rows)


def _note(rule: Changed, rows: list[DetectorRow], evidence: float | None) -> str:
    changed = [row for row in rows if row.holds]
    if changed:
        newest = min(changed, key=lambda row: row.since)
        where = f" in partition {newest.partition}" if len(rows) > 1 else ""
        far = f"{number(newest.since)} of {number(rule.reference)} outcomes"
        return f"changed{where}; {f'learning what is normal now: {far}' if rule.p0 is None else f'{far} since'}"
    if evidence is None:
        most = max(row.since for row in rows)
        return f"learning what is normal: {number(most)} of {number(rule.reference)} outcomes"
    learning = sum(row.evidence is None for row in rows)
    rest = f", {learning} of {len(rows)} partitions still learning" if learning else ""
    return f"evidence {number(round(evidence))} of {number(rule.arl)}{rest}"
