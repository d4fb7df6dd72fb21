"""The text report of groups: sizes, the groups from the worst, and where they differ most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.inference.selection import range_of
from stream_metrics.labels.json_names import label_names
from stream_metrics.report.headlines import GROUPS, short_title
from stream_metrics.report.intervals import group_bounds, interval_notes, value_bounds
from stream_metrics.report.layout import number, numbers, score, shorten, visible, wrap
from stream_metrics.report.table import Column, Table, block
from stream_metrics.report.text import fitting_width

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["report"]

MOST_GROUPS = 25
MOST = 6


def report(groups: GroupSnapshot, width: int | None = None) -> str:
    """Return the report as text of at most `width` columns, 40 or more; by default those of the terminal, up to 140."""
    width = fitting_width(width)
    blocks = [wrap(_sizes(groups), width)]
    blocks.append([line for note in _together(groups) for line in wrap(note, width)])
    if len(groups):
        keys = _keys(groups)
        names = dict(zip(groups, map(visible, label_names(list(groups))), strict=True))
        blocks += [_table(groups, names, keys, width), _gaps(groups, names, keys, width)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _together(groups: GroupSnapshot) -> list[str]:
    """Return footnotes on the intervals of groups."""
    first = group_bounds(groups)
    if first is None or first.interval_display is None or groups.interval_level is None:
        return []
    notes = interval_notes(first.with_intervals(groups.interval_level, first.interval_display.valid))
    if len(groups) > 1 and not first.interval_problem():
        each = f"{100 * first.interval_display.level:.4g} %"
        notes.append(f"The intervals of all groups in a column hold together, also for the worst: each has {each}")
    return notes


def _sizes(groups: GroupSnapshot) -> str:
    n = sum(view.n for view in groups.values()) + groups.folded
    text = f"{number(n)} sample{'' if n == 1 else 's'} in {number(len(groups))} group{'' if len(groups) == 1 else 's'}"
    if groups.other is not None:
        text += f", {number(groups.folded)} of them of groups folded into {visible(groups.other_name)}"
    return text


def _keys(groups: GroupSnapshot) -> list[str]:
    """Return the keys to show: the usual ones that some group has a value of, or else the first chosen ones."""
    views = list(groups.values())
    known = [key for key in GROUPS if any(key in view.chosen_keys for view in views)]
    if not known:
        wholes = [key for key in views[0].chosen_keys if CATALOG[key].kind == "whole" and CATALOG[key].direction]
        known = [key for key in wholes if not all(view.evaluation.obstacle(key) for view in views)][:MOST]
    shown = [key for key in known if any(not math.isnan(value) for value in _column(groups, key))]
    if "roc_auc" in shown and "roc_auc_ovr" in shown:
        shown.remove("roc_auc_ovr")
    return shown[:MOST]


def _column(groups: GroupSnapshot, key: str) -> list[float]:
    by_group = groups.values_of(key)
    return [by_group.get(group, math.nan) for group in groups]


def _table(groups: GroupSnapshot, names: dict[Label, str], keys: list[str], width: int) -> list[str]:
    ranked = [group for group, _ in groups.worst(keys[0])] if keys else []
    ranked += [group for group in groups if group not in set(ranked)]
    shown = ranked[:MOST_GROUPS]
    rows: list[tuple[str, Snapshot]] = [(names[group], groups[group]) for group in shown]
    if groups.other is not None:
        rows.append((f"({visible(groups.other_name)})", groups.other))
    if groups.overall is not None:
        rows.append(("(all)", groups.overall))
    columns = [Column("samples", "n", numbers([view.n for _, view in rows]))]
    for position, key in enumerate(keys):
        cells, bounds = [_cell(view, key) for _, view in rows], [_bounds(view, key) for _, view in rows]
        columns.append(Column(_title(key), short_title(key), cells, drop=position, intervals=bounds))
    table = Table("Group", [name for name, _ in rows], columns).fit(width)
    notes = table.doubts()
    if keys:
        notes.append(f"Groups from the worst {_title(keys[0])}")
    if len(shown) < len(ranked):
        notes.append(f"{number(len(ranked) - len(shown))} groups left out: snapshot.worst({keys[0] if keys else ''!r})")
    notes += table.width_note()
    if any(cell == "-" for column in columns for cell in column.cells):
        notes.append("-: 0/0, left out of comparisons")
        read = [(name, view.evaluation) for name, view in rows]
        refused = [(name, obstacle) for name, values in read for key in keys if (obstacle := values.obstacle(key))]
        notes += [f"-: {name}: {CATALOG[obstacle.key].title} {obstacle.reason}" for name, obstacle in refused]
    return block(table, notes, width)


def _title(key: str) -> str:
    return CATALOG[key].title


def _cell(view: Snapshot, key: str) -> str:
    value = math.nan if view.evaluation.obstacle(key) else number_of(view.evaluation, key)
    return "-" if math.isnan(value) else score(value, digits=3)


def _bounds(view: Snapshot, key: str) -> Interval | None:
    """Return the interval of a value of one group as it is shown, None if there is none."""
    if CATALOG[key].kind == "whole":
        return value_bounds(view, key)
    return value_bounds(view, key, view.evaluation.view("ranks", key).pos_label)


def _gaps(groups: GroupSnapshot, names: dict[Label, str], keys: list[str], width: int) -> list[str]:
    """Lay out the largest difference between groups in each metric, and between which groups it is."""
    gaps = {key: gap for key in keys if (gap := groups.gap(key)).lowest is not None}
    if not gaps:
        return []
    most = max(10, width // 5)
    ends = [
        [f"{shorten(names[gap[end]], most)} {score(_at(groups, gap[end], key))}" for key, gap in gaps.items()]
        for end in (1, 2)
    ]
    bounds = [_gap_bounds(groups, key) for key in gaps]
    columns = [
        Column("gap", "gap", [score(gap.size) for gap in gaps.values()], intervals=bounds),
        Column("lowest", "lowest", ends[0], drop=1),
        Column("highest", "highest", ends[1], drop=2),
    ]
    return Table("Largest difference", [_title(key) for key in gaps], columns).fit(width).lines()


def _gap_bounds(groups: GroupSnapshot, key: str) -> Interval | None:
    """Return the interval of the largest difference as it is shown, None if there is none."""
    if groups.interval_level is None:
        return None
    by_group = groups.values_of(key)
    intervals = {group: bounds for group in by_group if (bounds := _bounds(groups[group], key)) is not None}
    if len(intervals) < len(by_group):
        return None
    return range_of(intervals, groups.interval_level, next(iter(intervals.values())).valid)


def _at(groups: GroupSnapshot, group: Label, key: str) -> float:
    return groups.values_of(key)[group]
