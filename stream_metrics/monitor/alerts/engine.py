"""Evaluates alert rules: on a small view of the values that they name, to which are broken and what has changed.

The view of a page has intervals, tables, matrices and curves, whose cost grows with classes and groups. Rules compare a
few numbers, and must not wait for the rest. The view of a page omits rare classes; this one has any that a rule names.

A rule goes from ok to pending to firing to ok. Time is the monitor's clock, and only time between two evaluations
counts, so that neither a restart nor a value that is not known makes a rule older than it was seen to be. A rule whose
value is not known is shown as unknown, with the reason, unless it fires: then it goes on firing. States are kept with
the checkpoint: a rule that fires goes on firing after a restart, without being told again. A rule that the
configuration no longer has is forgotten. Rules that are there by default are shown while they are broken only.

A rule about changes fires with every alarm that a partition has raised since it was seen last, or since it was loaded
if it was never seen, and while a change holds there; so no alarm is missed, however late the look. It ends when no
change holds. If no partition is at hand, nothing is known, and nothing changes.

Of the alerts that fired, those that still do and the newest 100 are stored, with how long they fired.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from msgspec import structs

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.evaluation.warnings import matrix_mismatch
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.alerts.rules import Changed, Rule
from stream_metrics.monitor.view.types import Alert, ClassRow, DriftRow, Firing, View, WindowView
from stream_metrics.monitor.view.window_reading import Reading, names_of, value
from stream_metrics.monitor.view.window_view import counted_view, group_rows, snapshot_of
from stream_metrics.snapshots.snapshot import Snapshot

COUNTS = {"support": "support", "predicted": "predicted_count"}


class Needs(NamedTuple):
    """What rules name, by window: metrics, values of classes, metrics of groups; and whether labels are compared."""

    metrics: Mapping[str, Sequence[str]] = {}
    classes: Mapping[str, Sequence[tuple[str, str]]] = {}  # the name of a value, and that of a class
    groups: Mapping[str, Sequence[str]] = {}
    mismatch: bool = False


def rule_view(readings: Mapping[str, Reading], operation: View, needs: Needs, now: float) -> View:
    """Return `operation` with what rules need of the windows, whose states are not copied."""
    parts = {name: _window(reading, name, needs) for name, reading in readings.items()}
    return structs.replace(operation, now=now, windows=list(readings), by_window=parts)


def _window(reading: Reading, name: str, needs: Needs) -> WindowView:
    snapshot = snapshot_of(reading.state)
    part = counted_view(snapshot, reading.covered, reading.late)
    part.metrics = {key: value(snapshot, key) for key in needs.metrics.get(name, ())}
    part.classes = _classes(snapshot, needs.classes.get(name, ()))
    if keys := needs.groups.get(name, ()):
        part.groups.rows = group_rows(reading.groups, keys)
    if needs.mismatch:
        part.mismatch = matrix_mismatch(snapshot.evaluation) or ""
    return part


def _classes(snapshot: Snapshot, wanted: Iterable[tuple[str, str]]) -> list[ClassRow]:
    """Return a row for each class that is named and was seen, with its samples and the values that are named."""
    labels = dict(zip(names_of(snapshot.labels), snapshot.labels, strict=True)) if wanted else {}
    rows: dict[str, ClassRow] = {}
    for key, name in wanted:
        if name in labels:
            if name not in rows:
                support, predicted = (_value(snapshot, row, labels[name]) or 0 for row in COUNTS.values())
                rows[name] = ClassRow(name, support, predicted, 0, None, None, None, None)
            if key not in COUNTS:
                setattr(rows[name], key, _value(snapshot, key, labels[name]))
    return list(rows.values())


def _value(snapshot: Snapshot, key: str, label: Label) -> float | None:
    if CATALOG[key].state == "ranks" and not snapshot.scored:
        return None
    return json_number(number_of(snapshot.evaluation, key, label))


OK, PENDING, FIRING, UNKNOWN = "ok", "pending", "firing", "unknown"
T = TypeVar("T")
STATES = (OK, PENDING, FIRING)


class Change(NamedTuple):
    """A rule that has begun to fire, or ended: its new state, when, and the value then.

    `id` stays the same when the same change is sent again; `since` is when it began to fire.
    """

    id: str
    title: str
    rule: str
    state: str
    at: float
    since: float
    value: float


@dataclass
class _Alert:
    """The state of one rule; `elapsed` is for how many seconds a change of the state has been due."""

    state: str = OK
    since: float | None = None
    elapsed: float = 0.0
    value: float | None = None
    counting: bool = False  # whether the value before was one that counts towards `elapsed`
    told: dict[str, int] = field(default_factory=dict)  # alarms of changes that were seen, by partition
    note: str | None = None  # why the value is not known, or how a rule about changes stands

    @property
    def shown(self) -> str:
        """The state as a view shows it."""
        return UNKNOWN if self.value is None and self.state != FIRING else self.state


def _by_window(pairs: Iterable[tuple[str | None, T]]) -> dict[str, list[T]]:
    """Return what rules name by window."""
    wanted: dict[str, list[T]] = {}
    for window, what in pairs:
        if window is not None and what not in wanted.setdefault(window, []):
            wanted[window].append(what)
    return wanted


class Engine:
    """Evaluates rules over views, one after another; `title` is that of the model. For one thread at a time.

    `defaults` are rules beside those that a configuration names.
    """

    def __init__(
        self, rules: Sequence[Rule | Changed], title: str = "", defaults: Sequence[Rule | Changed] = ()
    ) -> None:
        named = {rule.text for rule in rules}
        defaults = [rule for rule in defaults if rule.text not in named]
        self.rules, self.title = (*rules, *defaults), title
        self._defaults = {rule.text for rule in defaults}
        self._alerts = {rule.text: _Alert() for rule in self.rules}
        self._last: float | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that views must have."""
        rules = (rule for rule in self.rules if isinstance(rule, Rule))
        return tuple(dict.fromkeys(rule.value.metric for rule in rules if rule.value.metric is not None))

    @property
    def needs(self) -> Needs:
        """What views must have for the rules, in all windows that these name."""
        values = [rule.value for rule in self.rules if isinstance(rule, Rule)]
        return Needs(
            _by_window((each.window, each.metric) for each in values if each.metric and not each.gap),
            _by_window((each.window, (each.name, each.label)) for each in values if each.label is not None),
            _by_window((each.window, each.metric) for each in values if each.metric and each.gap),
            any(each.name == "mismatched_labels" for each in values),
        )

    @property
    def firing(self) -> set[str]:
        """The rules that fire."""
        return {rule for rule, alert in self._alerts.items() if alert.state == FIRING}

    def evaluate(self, view: View, now: float) -> list[Change]:
        """Return which rules have begun to fire or ended."""
        elapsed = 0.0 if self._last is None else max(now - self._last, 0.0)
        self._last = now
        changes = []
        for rule in self.rules:
            alert = self._alerts[rule.text]
            if isinstance(rule, Rule):
                value = rule.read(view)
                alert.note = rule.why_unknown(view) if value is None else None
                change = self._step(rule, alert, value, now, elapsed)
            else:
                change = self._look(rule, alert, view.changes, now)
            if change is not None:
                changes.append(change)
        return changes

    def _step(self, rule: Rule, alert: _Alert, value: float | None, now: float, elapsed: float) -> Change | None:
        alert.value = value
        if value is None:
            alert.counting = False
            return None
        broken = rule.broken.true_of(value)
        if alert.state == FIRING:
            return self._firing(rule, alert, broken, now, elapsed)
        if not broken:
            if alert.state == PENDING:
                alert.state, alert.since = OK, now
            alert.counting = False
            return None
        if alert.state == OK:
            alert.state, alert.since, alert.elapsed = PENDING, now, 0.0
        elif alert.counting:
            alert.elapsed += elapsed
        alert.counting = True
        if alert.elapsed < rule.hold:
            return None
        return self._changed(rule, alert, FIRING, now, now)

    def _firing(self, rule: Rule, alert: _Alert, broken: bool, now: float, elapsed: float) -> Change | None:
        """Let an alert end that has been well for long enough, or has come back far enough."""
        assert alert.value is not None
        well = not broken if rule.until is None else rule.until.true_of(alert.value)
        if not well:
            alert.elapsed, alert.counting = 0.0, False
            return None
        if alert.counting:
            alert.elapsed += elapsed
        alert.counting = True
        if rule.until is None and alert.elapsed < rule.hold:
            return None
        return self._changed(rule, alert, OK, now, now if alert.since is None else alert.since)

    def _look(self, rule: Changed, alert: _Alert, changes: Sequence[DriftRow], now: float) -> Change | None:
        """Let an alert fire with an alarm that was not seen yet, and end when no change holds."""
        change = next((row for row in changes if row.rule == rule.text), None)
        alert.value, alert.note = (None, "not known yet") if change is None else (change.evidence, change.note)
        if change is None:
            return None
        alarms = {str(row.partition): row.alarms for row in change.partitions}
        before = {str(row.partition): row.before for row in change.partitions}
        fires = change.holds or any(number > alert.told.get(at, before[at]) for at, number in alarms.items())
        alert.told = alarms
        if fires:
            alert.value = float(rule.arl)
        if fires == (alert.state == FIRING):
            return None
        if fires:
            return self._changed(rule, alert, FIRING, now, now)
        alert.value = alert.value or 0.0
        return self._changed(rule, alert, OK, now, now if alert.since is None else alert.since)

    def _changed(self, rule: Rule | Changed, alert: _Alert, state: str, now: float, began: float) -> Change:
        assert alert.value is not None
        alert.state, alert.since, alert.elapsed, alert.counting = state, now, 0.0, False
        text = "\n".join((self.title, rule.text, state, repr(now)))
        name = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        return Change(name, self.title, rule.text, state, now, began, alert.value)

    def shown(self) -> list[Alert]:
        """Return the alerts as a view shows them."""
        return [
            Alert(rule, alert.shown, alert.since, alert.value, alert.note)
            for rule, alert in self._alerts.items()
            if rule not in self._defaults or alert.state != OK
        ]

    def state(self) -> dict[str, list[object]]:
        """Return what a checkpoint has to keep, as plain data."""
        return {
            rule: [alert.state, alert.since, alert.elapsed, *([alert.told] if alert.told else [])]
            for rule, alert in self._alerts.items()
        }

    def restore(self, data: Any) -> None:
        """Take over what `state` returned, for the rules that are still there; ValueError if it is no such data."""
        try:
            for rule, (state, since, elapsed, *told) in data.items():
                if state not in STATES:
                    raise ValueError(f"the state {state!r}")
                if rule in self._alerts:
                    since = None if since is None else float(since)
                    self._alerts[rule] = _Alert(state, since, float(elapsed), told=dict(*told))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(f"Expected alerts as `state` returns them, but got others: {error}") from None


MOST = 100


class Firings:
    """The stretches of time in which rules fired, the newest first."""

    def __init__(self) -> None:
        self.rows: list[Firing] = []

    def note(self, changes: Iterable[Change]) -> None:
        """Take note of rules that began to fire or ended."""
        for change in changes:
            if change.state == FIRING:
                rows = [Firing(change.rule, change.since, None, change.value), *self.rows]
                self.rows = rows[:MOST] + [row for row in rows[MOST:] if row.ended is None]
            else:
                self._end({change.rule}, change.at)

    def end_all_but(self, firing: Collection[str], at: float) -> None:
        """End what fires by the history but not by the rules, since a rule was removed from the configuration."""
        self._end({row.rule for row in self.rows}.difference(firing), at)

    def _end(self, rules: Collection[str], at: float) -> None:
        self.rows = [
            structs.replace(row, ended=at) if row.ended is None and row.rule in rules else row for row in self.rows
        ]

    def to_data(self) -> list[list[object]]:
        """Return everything as plain data, for the checkpoint."""
        return [[row.rule, row.began, row.ended, row.value] for row in self.rows]

    def restore(self, data: Any) -> None:
        """Take over what `to_data` returned; ValueError if it is no such data."""
        try:
            self.rows = [
                Firing(str(rule), float(began), None if ended is None else float(ended), float(value))
                for rule, began, ended, value in data
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected firings as `to_data` returns them, but got others: {error}") from None
