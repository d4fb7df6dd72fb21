"""The output of commands: a snapshot as report or JSON, and the running values of ``run --every``."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.cli import options
from stream_metrics.cli.containers import innermost, is_timed
from stream_metrics.cli.errors import UsageError
from stream_metrics.containers.inner import walk_inner
from stream_metrics.containers.moments import text_of
from stream_metrics.evaluation.evaluation import States
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.labels.json_names import json_data, label_names
from stream_metrics.report.headlines import RUNNING, RUNNING_WITH_SCORES
from stream_metrics.report.layout import number
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator

__all__ = [
    "Ends",
    "Point",
    "RunningValues",
    "add_intervals",
    "check_intervals",
    "print_snapshot",
    "view",
    "with_intervals",
]

Where: TypeAlias = int | str  # in a stream: a number of records, or a time
Values: TypeAlias = dict[str, object]  # a number or a label, by key
Ends: TypeAlias = dict[str, tuple[float, float]]  # low and high, by key
Head: TypeAlias = dict[str, Where]  # before the values
Point: TypeAlias = tuple[Where, Values]

NEEDED = {
    "counts": "labels, but the state keeps scores only",
    "ranks": "scores, but the state keeps none: run --scores",
    "confidence": "probabilities of all classes, but the state keeps none: run --scores without --margins",
    "losses": "probabilities, but the state keeps none: run --scores without --margins",
}  # by the kind of state that is missing


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add --intervals and --anytime."""
    parser.add_argument(
        "--intervals",
        nargs="?",
        const=0.95,
        type=options.level,
        metavar="LEVEL",
        help="print intervals beside the values, of this level (default: 0.95)",
    )
    parser.add_argument("--anytime", action="store_true", help="intervals that stay valid however often one looks")


def check_intervals(state: Accumulator, arguments: argparse.Namespace) -> None:
    """Refuse --anytime where it has no meaning."""
    if arguments.anytime and arguments.intervals is None:
        raise UsageError("--anytime changes --intervals, which is missing")
    if arguments.anytime and _slides(state):
        raise UsageError("--anytime needs a stream from its start; in a window, each interval is valid for one look")


def _slides(state: Accumulator) -> bool:
    """Tell whether a state forgets, so that its values are not of a stream from its start."""
    return any(isinstance(inner, sm.Rolling | sm.TimeWindow | sm.Fading) for inner in walk_inner(state))


def with_intervals(taken: Snapshot | GroupSnapshot, arguments: argparse.Namespace) -> Snapshot | GroupSnapshot:
    """Return a snapshot with the intervals that were asked for."""
    if arguments.intervals is None:
        return taken
    try:
        return taken.with_intervals(arguments.intervals, "anytime" if arguments.anytime else "fixed")
    except ValueError as error:
        raise UsageError(str(error)) from None


def view(state: Accumulator, keys: Sequence[str] | None) -> Snapshot | GroupSnapshot:
    """Return a snapshot of ``state`` that contains ``keys`` only, or all that it has by default."""
    taken: Snapshot | GroupSnapshot = state.snapshot()
    if keys is None:
        return taken
    states = _states(state)
    missing = [key for key in keys if CATALOG[key].state not in states]
    if missing:
        raise UsageError(f"--metrics names {missing[0]}, which needs {NEEDED[CATALOG[missing[0]].state]}")
    if not isinstance(taken, GroupSnapshot):
        return _narrowed(taken, keys)
    groups = {group: _narrowed(snapshot, keys) for group, snapshot in taken.items()}
    overall, other = (None if one is None else _narrowed(one, keys) for one in (taken.overall, taken.other))
    return GroupSnapshot(groups, overall, other, taken.other_name)


def _narrowed(snapshot: Snapshot, keys: Sequence[str]) -> Snapshot:
    return snapshot.with_keys(keys)


def _states(state: Accumulator) -> States:
    """Return the states inside an accumulator, by the metrics that read them."""
    states: States = innermost(state).snapshot().evaluation.states
    return states


def print_snapshot(
    snapshot: Snapshot | GroupSnapshot, form: str, extra: Mapping[str, object] | None = None, indent: int | None = 2
) -> None:
    """Print a snapshot; ``extra`` entries appear in JSON only."""
    if form == "table":
        print(snapshot)
    else:
        compared = _compared(snapshot) if isinstance(snapshot, GroupSnapshot) else {}
        print(json.dumps({**json.loads(snapshot.to_json()), **compared, **(extra or {})}, indent=indent))


def _compared(groups: GroupSnapshot) -> dict[str, object]:
    """Return, for each metric of which more or less is better, the groups from the worst and the largest gap."""
    names = dict(zip(groups, label_names(list(groups)), strict=True))
    first = next(iter(groups.values()), None)
    keys = [key for key in first or () if CATALOG[key].direction is not None]
    gaps = {key: groups.gap(key) for key in keys}
    return {
        "worst_first": {key: [names[group] for group, _ in groups.worst(key)] for key in keys},
        "gaps": {
            key: {"size": gap.size, "lowest": names[gap.lowest], "highest": names[gap.highest]}
            for key, gap in gaps.items()
            if gap.lowest is not None
        },
    }


class RunningValues:
    """Prints one line of values at a time: columns under one header, or one JSON object a line; ``points`` has them.

    A line begins with the number of samples; in a window, with the number of records counted or the latest time. Where
    there are groups the values are of all groups together. ``level`` adds intervals that hold for all lines together,
    in a window for each line alone; ``bounds`` has those of ``points``.
    """

    def __init__(self, keys: Sequence[str] | None, form: str, keep: bool = False, level: float | None = None) -> None:
        self._keys = keys
        self._json = form == "json"
        self._started = False
        self._level = level
        self.points: list[Point] | None = [] if keep else None
        self.bounds: list[Ends] | None = [] if keep and level is not None else None

    def print(self, state: Accumulator, records: int) -> None:
        """Print the values of ``state`` now, after `records` records."""
        snapshot = _together(view(state, self._keys))
        keys = self._headline(state) if self._keys is None else snapshot.chosen_keys
        wholes = [key for key in keys if CATALOG[key].kind == "whole"]  # also of a value that cannot be computed
        values = {key: math.nan if snapshot.evaluation.obstacle(key) else snapshot[key] for key in wholes}
        if not values:
            raise UsageError("--every prints metrics of the whole matrix, but --metrics names none")
        head = _head(state, snapshot, records)
        bounds = self._bounds(snapshot, values, "fixed" if _slides(state) else "anytime")
        if self.points is not None:
            self.points.append((next(iter(head.values())), values))
        if self.bounds is not None:
            self.bounds.append(bounds)
        print(self._line(head, values, bounds), flush=True)

    def _bounds(self, snapshot: Snapshot, values: Values, valid: str) -> Ends:
        """Return low and high of each value; nan where it has no interval, nothing where none are asked for."""
        if self._level is None:
            return {}
        shown = snapshot.with_intervals(self._level, valid)
        intervals = {key: shown.displayed_interval(key) for key in values}
        nothing = math.nan, math.nan
        return {key: (one.low, one.high) if isinstance(one, Interval) else nothing for key, one in intervals.items()}

    def _line(self, head: Head, values: Values, bounds: Ends) -> str:
        """Return the line to print, the first one with its header."""
        if self._json:
            ends = {"intervals": bounds} if bounds else {}
            return json.dumps(json_data({**head, **values, **ends}))
        more = 17 * bool(bounds)
        cells = [(name, text := _counted(value), max(len(text), 12)) for name, value in head.items()]
        cells += [(k, _shown(value) + _ends(bounds.get(k)), _width(k) + more) for k, value in values.items()]
        line = "  ".join(f"{text:>{width}}" for _, text, width in cells)
        if not self._started:
            line = "  ".join(f"{name:>{width}}" for name, _, width in cells) + "\n" + line
        self._started = True
        return line

    def _headline(self, state: Accumulator) -> list[str]:
        states = _states(state)
        keys = RUNNING_WITH_SCORES if "ranks" in states else RUNNING
        return [key for key in keys if CATALOG[key].state in states]


def _together(taken: Snapshot | GroupSnapshot) -> Snapshot:
    """Return the snapshot of all groups together."""
    if not isinstance(taken, GroupSnapshot):
        return taken
    if taken.overall is None:
        raise UsageError("--every prints values of all groups together, but the states of these groups do not merge")
    return taken.overall


def _head(state: Accumulator, snapshot: Snapshot, records: int) -> Head:
    """Return the position in the stream and the number of samples, which are printed before the values."""
    latest = getattr(state, "latest", None) if is_timed(state) else None
    if latest is not None:
        return {"time": text_of(latest), "n": snapshot.n}
    return {"records": records, "n": snapshot.n} if isinstance(state, sm.Rolling) else {"n": snapshot.n}


def _counted(value: Where) -> str:
    return f"{value[:19]}Z" if isinstance(value, str) else number(value)


def _width(key: str) -> int:
    return max(len(key), 8)


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _ends(bounds: tuple[float, float] | None) -> str:
    if bounds is None or math.isnan(bounds[0]):
        return "" if bounds is None else " " * 17
    return f" [{bounds[0]:.4f}, {bounds[1]:.4f}]"
