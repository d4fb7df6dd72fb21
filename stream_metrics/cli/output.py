"""The output of commands: a snapshot as report, JSON or CSV, of the metrics and with the intervals that were asked for.

CSV has a row for each value, with its group and class, and the ends of its interval if there are any. Columns are the
same for every snapshot of a kind, so that files can be joined. Nan and what is no value are empty. Matrices are in JSON
only.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stream_metrics.catalog.table import CATALOG
from stream_metrics.cli import options
from stream_metrics.cli.configuration import innermost
from stream_metrics.cli.errors import UsageError
from stream_metrics.containers.keyed import FORGETTING, walk_inner
from stream_metrics.evaluation.evaluation import States
from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator

HEADER = ("metric", "class", "value")
ENDS = ("low", "high")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV without the last line break."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().removesuffix("\n")


def _cell(value: object) -> object:
    return "" if isinstance(value, float) and math.isnan(value) else value


def snapshot_rows(taken: Snapshot | GroupSnapshot) -> Iterator[Sequence[object]]:
    """Yield the header and a row for each value; of groups, with the name of the group, which is empty for all."""
    if isinstance(taken, Snapshot):
        yield HEADER + ENDS * (taken.interval_display is not None)
        yield from _values(taken)
        return
    views = [*zip(label_names(list(taken)), taken.values(), strict=True), (taken.other_name, taken.other)]
    views.append(("", taken.overall))
    some = [(name, view) for name, view in views if view is not None]
    yield ("group", *HEADER, *ENDS * any(view.interval_display is not None for _, view in some))
    for name, view in some:
        for row in _values(view):
            yield name, *row


def _values(snapshot: Snapshot) -> Iterator[Sequence[object]]:
    data = snapshot.to_dict()
    intervals = data.get("intervals", {"metrics": {}, "per_class": {}})
    shown = snapshot.interval_display is not None
    for count in ("n", "weight", "abstained"):
        yield count, "", data[count], *_ends(None, shown)
    for key, value in data["metrics"].items():
        yield key, "", value, *_ends(intervals["metrics"].get(key), shown)
    for key, by_class in data["per_class"].items():
        for name, value in by_class.items():
            yield key, name, value, *_ends(intervals["per_class"].get(key, {}).get(name), shown)


def _ends(interval: dict[str, Any] | None, shown: bool) -> tuple[object, ...]:
    if not shown:
        return ()
    return ("", "") if interval is None else (interval["low"], interval["high"])


NEEDED = {
    "counts": "labels, but the state keeps scores only",
    "ranks": "scores, but the state keeps none: run --scores",
    "confidence": "probabilities of all classes, but the state keeps none: run --scores without --margins",
    "losses": "probabilities, but the state keeps none: run --scores without --margins",
}  # by the kind of state that is missing


def check_intervals(state: Accumulator, arguments: argparse.Namespace) -> None:
    """Refuse --anytime where it has no meaning."""
    options.given(arguments)
    if arguments.anytime and slides(state):
        raise UsageError("--anytime needs a stream from its start; in a window, each interval is valid for one look")


def slides(state: Accumulator) -> bool:
    """Tell whether a state forgets, so that its values are not of a stream from its start."""
    return any(inner.KIND in FORGETTING for inner in walk_inner(state))


def with_intervals(taken: Snapshot | GroupSnapshot, arguments: argparse.Namespace) -> Snapshot | GroupSnapshot:
    """Return a snapshot with the intervals that were asked for."""
    if arguments.intervals is None:
        return taken
    try:
        return taken.with_intervals(arguments.intervals, "anytime" if arguments.anytime else "fixed")
    except ValueError as error:
        raise UsageError(str(error)) from None


def view(state: Accumulator, keys: Sequence[str] | None, lacks: str = "") -> Snapshot | GroupSnapshot:
    """Return a snapshot of ``state`` that contains ``keys`` only, or all that it has by default.

    ``lacks`` says why there are no scores, where another command than ``run`` decides that.
    """
    taken: Snapshot | GroupSnapshot = state.snapshot()
    if keys is None:
        return taken
    states = states_of(state)
    missing = [key for key in keys if CATALOG[key].state not in states]
    if missing:
        needed = f"scores, but {lacks}" if lacks else NEEDED[CATALOG[missing[0]].state]
        raise UsageError(f"--metrics names {missing[0]}, which needs {needed}")
    if not isinstance(taken, GroupSnapshot):
        return taken.with_keys(keys)
    groups = {group: snapshot.with_keys(keys) for group, snapshot in taken.items()}
    overall, other = (None if one is None else one.with_keys(keys) for one in (taken.overall, taken.other))
    return GroupSnapshot(groups, overall, other, taken.other_name)


def states_of(state: Accumulator) -> States:
    """Return the states inside an accumulator, by the metrics that read them."""
    states: States = innermost(state).snapshot().evaluation.states
    return states


def print_snapshot(
    snapshot: Snapshot | GroupSnapshot, form: str, extra: Mapping[str, object] | None = None, indent: int | None = 2
) -> None:
    """Print a snapshot; ``extra`` entries appear in JSON only."""
    if form == "table":
        print(snapshot)
    elif form == "csv":
        print(csv_text(snapshot_rows(snapshot)))
    else:
        compared = _compared(snapshot) if isinstance(snapshot, GroupSnapshot) else {}
        print(json.dumps({**json.loads(snapshot.to_json()), **compared, **(extra or {})}, indent=indent))


def _compared(groups: GroupSnapshot) -> dict[str, object]:
    """Return, for each metric of which more or less is better, the groups from the worst and the largest gap."""
    names = dict(zip(groups, label_names(list(groups)), strict=True))
    first = next(iter(groups.values()), None)
    rated = [CATALOG[key] for key in first or () if CATALOG[key].direction is not None]
    keys = [row.key for row in rated if row.kind == "whole" or row.state == "ranks"]  # those that are one number
    gaps = {key: groups.gap(key) for key in keys}
    return {
        "worst_first": {key: [names[group] for group, _ in groups.worst(key)] for key in keys},
        "gaps": {
            key: {"size": gap.size, "lowest": names[gap.lowest], "highest": names[gap.highest]}
            for key, gap in gaps.items()
            if gap.lowest is not None
        },
    }
