"""The running values of ``run --every``: a line each time, of one number for each metric."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from stream_metrics.catalog.table import CATALOG
from stream_metrics.cli.configuration import innermost, is_timed
from stream_metrics.cli.errors import UsageError, listed
from stream_metrics.cli.output import csv_text, slides, states_of, view
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inputs.times import text_of
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_data
from stream_metrics.report.headlines import RUNNING, RUNNING_WITH_SCORES, short_title
from stream_metrics.report.layout import number
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator

Where: TypeAlias = int | str  # in a stream: a number of records, or a time
Values: TypeAlias = dict[str, object]  # a number or a label, by key
Ends: TypeAlias = dict[str, tuple[float, float]]  # low and high, by key
Head: TypeAlias = dict[str, Where]  # before the values
Point: TypeAlias = tuple[Where, Values]

COLUMNS = 80  # of a line of the headline metrics
LEAST = 8  # characters of a column


def check_keys(keys: Sequence[str] | None) -> None:
    """Refuse metrics that are no single number, before anything is read."""
    for key in keys or ():
        if CATALOG[key].kind == "matrix":
            raise UsageError(f"--every prints one number of each metric, but {key} of --metrics is a matrix")


class RunningValues:
    """Prints one line of values at a time: columns under one header, JSON objects, or CSV; ``points`` has them.

    A line begins with the number of samples; in a window, with the number of records counted or the latest time. Where
    there are groups the values are of all groups together. A metric that has a value for each class prints that of
    ``label``, by default of 1 or True. --intervals adds those that hold for all lines together, in a window for each
    line alone: two lines below the values. ``bounds`` has those of ``points``, which are for --plot.
    """

    def __init__(self, arguments: argparse.Namespace, label: Label | None) -> None:
        self._keys: tuple[str, ...] | None = arguments.metrics
        self._format = {"json": self._object, "csv": self._csv}.get(arguments.format, self._lines)
        self._widths: list[int] = []  # of the columns, once the header is printed
        self._level: float | None = arguments.intervals
        self._label = label
        self._keeps = bool(arguments.plot)
        self.points: list[Point] = []
        self.bounds: list[Ends] = []

    def print(self, state: Accumulator, records: int) -> None:
        """Print the values of ``state`` now, after `records` records."""
        snapshot = view(state, self._keys)
        if isinstance(snapshot, GroupSnapshot):
            if snapshot.overall is None:
                message = "--every prints values of all groups together, but the states of these groups do not merge"
                raise UsageError(message)
            snapshot = snapshot.overall
        keys = _headline(state) if self._keys is None else snapshot.chosen_keys
        labels = {key: self._label_of(state, snapshot, key) for key in keys if CATALOG[key].kind == "per_class"}
        values = {key: _value(snapshot, key, labels) for key in keys}
        head = _head(state, snapshot, records)
        bounds = self._bounds(snapshot, labels, keys, "fixed" if slides(state) else "anytime")
        if self._keeps:
            self.points.append((next(iter(head.values())), values))
            self.bounds += [bounds] if bounds else []
        print(self._format(head, values, bounds), flush=True)

    def _label_of(self, state: Accumulator, snapshot: Snapshot, key: str) -> Label:
        """Return the class whose value is printed; UsageError if the data do not have it."""
        label: Label = getattr(innermost(state), "pos_label", True) if self._label is None else self._label
        known = snapshot.evaluation.labels_of(CATALOG[key])
        if label not in known and not set(known) <= {0, 1}:
            raise UsageError(
                f"--every prints one number of each metric, but {key} has one for each class: --pos-label says which "
                f"class, of {listed(known)}"
            )
        return label

    def _bounds(self, snapshot: Snapshot, labels: Mapping[str, Label], keys: Sequence[str], valid: str) -> Ends:
        """Return low and high of each value; nan where it has no interval, nothing where none are asked for."""
        if self._level is None:
            return {}
        shown = snapshot.with_intervals(self._level, valid)
        ends: Ends = {}
        for key in keys:
            interval = shown.displayed_interval(key)
            if isinstance(interval, dict):
                interval = interval.get(labels[key])
            ends[key] = (interval.low, interval.high) if isinstance(interval, Interval) else (math.nan, math.nan)
        return ends

    def _object(self, head: Head, values: Values, bounds: Ends) -> str:
        """Return the values as JSON."""
        return json.dumps(json_data({**head, **values, **({"intervals": bounds} if bounds else {})}))

    def _csv(self, head: Head, values: Values, bounds: Ends) -> str:
        """Return the values as a record, the first one with the header; ends of intervals follow their value."""
        record: Values = {**head}
        for key, value in values.items():
            record[key] = value
            if bounds:
                record[f"{key}_low"], record[f"{key}_high"] = bounds[key]
        header: list[list[object]] = [] if self._widths else [list(record)]
        self._widths = [LEAST]
        return csv_text([*header, list(record.values())])

    def _lines(self, head: Head, values: Values, bounds: Ends) -> str:
        """Return the line of values, the lines of their intervals, and above the first ones the header."""
        lines = [[*map(_counted, head.values()), *map(_shown, values.values())]]
        if bounds:
            names = [""] * (len(head) - 1)
            for position, name in enumerate(("low", "high")):
                lines.append([*names, name, *(_end(bounds[key][position]) for key in values)])
        if not self._widths:
            lines.insert(0, self._header(lines[0], head, values))
        return "\n".join(_line(cells, self._widths) for cells in lines)

    def _header(self, cells: Sequence[str], head: Head, values: Values) -> list[str]:
        """Return the names of the columns, short ones if the keys do not fit on a line, and set the widths."""
        for names in (list(values), [short_title(key) if key in HEADLINE else key for key in values]):
            header = [*head, *names]
            self._widths = [max(len(name), len(cell), LEAST) for name, cell in zip(header, cells, strict=True)]
            if len(_line(header, self._widths)) <= COLUMNS:
                break
        return header


HEADLINE = {*RUNNING, *RUNNING_WITH_SCORES}  # keys with a short title that is a word


def _headline(state: Accumulator) -> list[str]:
    states = states_of(state)
    keys = RUNNING_WITH_SCORES if "ranks" in states else RUNNING
    return [key for key in keys if CATALOG[key].state in states]


def _value(snapshot: Snapshot, key: str, labels: Mapping[str, Label]) -> object:
    """Return the value of a key, of a metric of each class that of its label; nan where there is none."""
    if snapshot.evaluation.obstacle(key):
        return math.nan
    if key not in labels:
        return snapshot[key]
    return snapshot.evaluation.per_class(key).get(labels[key], math.nan)


def _head(state: Accumulator, snapshot: Snapshot, records: int) -> Head:
    """Return the position in the stream and the number of samples, which are printed before the values."""
    latest = getattr(state, "latest", None) if is_timed(state) else None
    if latest is not None:
        return {"time": text_of(latest), "n": snapshot.n}
    return {"records": records, "n": snapshot.n} if state.KIND == "rolling" else {"n": snapshot.n}


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _counted(value: Where) -> str:
    """Return a time or a number; digits are grouped as long as the column has space."""
    if isinstance(value, str):
        return f"{value[:19]}Z"
    return grouped if len(grouped := number(value)) <= LEAST else str(value)


def _shown(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _end(value: float) -> str:
    """Return an end of an interval, nothing where there is none."""
    return "" if math.isnan(value) else f"{value:.4f}"
