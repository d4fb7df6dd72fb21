"""The report of groups: sizes, the groups from the worst, and where they differ most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.classes import asked_class
from stream_metrics.report.document import Element, Medium, Notes, Section, Title, Warnings
from stream_metrics.report.headlines import GROUPS, short_title
from stream_metrics.report.intervals import group_bounds, interval_notes, value_bounds
from stream_metrics.report.layout import number, numbers, score, shorten, visible
from stream_metrics.report.table import ReportColumn, Table

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot


MOST_GROUPS = 25
MOST = 6


def document(groups: GroupSnapshot, medium: Medium) -> list[Element]:
    """Return the report of groups: sizes, the groups from the worst, and the largest differences."""
    separator, most = medium.separator, MOST_GROUPS if medium.width else 2 * MOST_GROUPS
    elements: list[Element] = [Title(_sizes(groups, separator)), Warnings(groups.warnings), Notes(_together(groups))]
    if not len(groups):
        return elements
    names = dict(zip(groups, map(visible, label_names(list(groups))), strict=True))
    if not isinstance(next(iter(groups.values())), Mapping):  # detectors, which have no metrics
        table = medium.fit(_detectors(groups, names, most, separator))
        return [*elements, Section(table, _left_out(len(groups) - most, separator))]
    keys = group_keys(groups)
    table, notes = _table(groups, names, keys, most, separator)
    table = medium.fit(table.calm())
    gaps = _gaps(groups, names, keys, max(10, medium.width // 5) if medium.width else 30)
    return [*elements, Section(table, [*table.doubts(), *notes, *table.width_note()]), Section(medium.fit(gaps))]


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


def _sizes(groups: GroupSnapshot, separator: str) -> str:
    n, count = sum(view.n for view in groups.values()) + groups.folded, len(groups)
    text = f"{quantity(n, 'sample', separator)} in {quantity(count, 'group', separator)}"
    if groups.other is not None:
        text += f", {number(groups.folded, separator)} of them in groups folded into {visible(groups.other_name)}"
    return text


def is_one_number(view: Snapshot, key: str) -> bool:
    """Tell whether a key has one number: that of the whole, or of the class that scores are about."""
    ranks = view.evaluation.views.get("ranks")
    return CATALOG[key].kind == "whole" or ranks is None or asked_class(ranks) is not None


def group_keys(groups: GroupSnapshot) -> list[str]:
    """Return the keys to show: the usual ones that some group has a value of, or else the first chosen ones."""
    views = list(groups.values())
    known = [key for key in GROUPS if any(key in view.chosen_keys for view in views)]
    known = [key for key in known if all(is_one_number(view, key) for view in views)]
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


def ranked_groups(groups: GroupSnapshot) -> list[Label]:
    """Return the groups from the worst in the first metric of the report; those without a value last."""
    keys = group_keys(groups) if len(groups) else []
    ranked = [group for group, _ in groups.worst(keys[0])] if keys else []
    seen = set(ranked)
    return ranked + [group for group in groups if group not in seen]


def _table(
    groups: GroupSnapshot, names: dict[Label, str], keys: list[str], most: int, separator: str
) -> tuple[Table, list[str]]:
    """Return the groups from the worst, and footnotes."""
    ranked = ranked_groups(groups)
    shown = ranked[:most]
    rows: list[tuple[str, Snapshot]] = [(names[group], groups[group]) for group in shown]
    if groups.other is not None:
        rows.append((f"({visible(groups.other_name)})", groups.other))
    if groups.overall is not None:
        rows.append(("(all)", groups.overall))
    columns = [ReportColumn("samples", "n", numbers([view.n for _, view in rows], separator))]
    for position, key in enumerate(keys):
        cells, bounds = [_cell(view, key) for _, view in rows], [_bounds(view, key) for _, view in rows]
        columns.append(ReportColumn(_title(groups, key), short_title(key), cells, drop=position, intervals=bounds))
    table = Table("Group", [name for name, _ in rows], columns, positions=range(len(rows)))
    notes = [f"Groups in order of {_in_sentence(_title(groups, keys[0]))}, worst first"] if keys else []
    notes += _left_out(len(ranked) - len(shown), separator)
    if any(cell == "-" for column in columns for cell in column.cells):
        notes.append("-: 0/0, left out of comparisons")
        read = [(name, view.evaluation) for name, view in rows]
        refused = [(name, obstacle) for name, values in read for key in keys if (obstacle := values.obstacle(key))]
        notes += [f"-: {name}: {CATALOG[obstacle.key].title} {obstacle.reason}" for name, obstacle in refused]
    return table, notes


def _left_out(left: int, separator: str) -> list[str]:
    return [f"{quantity(left, 'group', separator)} left out: JSON has all of them"] if left > 0 else []


def _detectors(groups: GroupSnapshot, names: dict[Label, str], most: int, separator: str) -> Table:
    """Return the groups with the most alarms, and the most evidence of a change now, first."""
    views: list[tuple[Label, Any]] = sorted(groups.items(), key=lambda item: (-item[1].alarms, -item[1].evidence))
    columns = [
        ReportColumn("samples", "n", numbers([view.n for _, view in views[:most]], separator)),
        ReportColumn("alarms", "alarms", numbers([view.alarms for _, view in views[:most]], separator)),
        ReportColumn("evidence", "evidence", [_evidence(view) for _, view in views[:most]]),
    ]
    return Table("Group", [names[group] for group, _ in views[:most]], columns)


def _evidence(view: Any) -> str:
    return "learning" if view.learning else f"{view.evidence:.4g} of {view.arl:g}"


def _title(groups: GroupSnapshot, key: str) -> str:
    """Return the title of a metric with its options, which are the same in all groups."""
    return next((view.evaluation.title(key) for view in groups.values()), CATALOG[key].title)


def _in_sentence(text: str) -> str:
    """Return the title of a metric inside a sentence: "macro F1", but "ROC AUC"."""
    return text[0].lower() + text[1:] if text[1:2].islower() else text


def _cell(view: Snapshot, key: str) -> str:
    value = math.nan if view.evaluation.obstacle(key) else number_of(view.evaluation, key)
    return "-" if math.isnan(value) else score(value, digits=3)


def _bounds(view: Snapshot, key: str) -> Interval | None:
    """Return the interval of a value of one group as it is shown, None if there is none."""
    if CATALOG[key].kind == "whole":
        return value_bounds(view, key)
    asked = asked_class(view.evaluation.view("ranks", key))
    return None if asked is None else value_bounds(view, key, asked)


def _gaps(groups: GroupSnapshot, names: dict[Label, str], keys: list[str], most: int) -> Table:
    """Return the largest difference between groups in each metric, and between which groups it is."""
    gaps = {key: gap for key in keys if (gap := groups.gap(key)).lowest is not None}
    ends = [
        [f"{shorten(names[gap[end]], most)} {score(_at(groups, gap[end], key))}" for key, gap in gaps.items()]
        for end in (1, 2)
    ]
    bounds = [_gap_bounds(groups, key) for key in gaps]
    columns = [
        ReportColumn("gap", "gap", [score(gap.size) for gap in gaps.values()], intervals=bounds),
        ReportColumn("lowest", "lowest", ends[0], drop=1),
        ReportColumn("highest", "highest", ends[1], drop=2),
    ]
    return Table("Largest difference", [_title(groups, key) for key in gaps], columns)


def _gap_bounds(groups: GroupSnapshot, key: str) -> Interval | None:
    """Return the interval of the largest difference as it is shown, None if there is none."""
    if groups.interval_level is None:
        return None
    shown = [_bounds(groups[group], key) for group in groups.values_of(key)]
    if not shown or shown[0] is None or None in shown:
        return None
    return groups.gap_interval(key, groups.interval_level, valid=shown[0].valid)


def _at(groups: GroupSnapshot, group: Label, key: str) -> float:
    return groups.values_of(key)[group]
