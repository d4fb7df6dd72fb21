"""The output of commands: a snapshot as report or JSON, of the metrics and with the intervals that were asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from stream_metrics.catalog.table import CATALOG
from stream_metrics.cli import options
from stream_metrics.cli.configuration import innermost
from stream_metrics.cli.csv_output import csv_text, snapshot_rows
from stream_metrics.cli.errors import UsageError
from stream_metrics.containers.keyed import FORGETTING, walk_inner
from stream_metrics.evaluation.evaluation import States
from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import Accumulator

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
