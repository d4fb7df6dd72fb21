"""The report of a snapshot: its tables with their footnotes. `separator` stands between thousands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import label_names
from stream_metrics.report.content import (
    BASELINES,
    CERTIFIED,
    Rated,
    baseline_labels,
    class_bounds,
    class_values,
    classes_shown,
    omissions,
    per_class_keys,
    rated,
    rated_heading,
    rated_notes,
    row_labels,
    scores,
    significance,
    sizes,
    value_text,
    weakest,
)
from stream_metrics.report.document import Element, Medium, Notes, Section, Title, Warnings
from stream_metrics.report.headlines import column_title, short_title
from stream_metrics.report.intervals import DOUBT, heading, interval_notes, value_bounds
from stream_metrics.report.layout import number, numbers, score, shorten, visible
from stream_metrics.report.matrix import MatrixElement
from stream_metrics.report.table import ReportColumn, Table

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot


CLASSES, TEXT_CLASSES = 50, 25  # rows of HTML, and of text

DROPPED_FIRST = {
    "expected_calibration_error": 12,
    "average_precision": 11,
    "roc_auc": 10,
    "ova_matthews_corrcoef": 9,
    "specificity": 8,
    "predicted_count": 7,
    "support": 6,
    "precision": 5,
    "f1": 0,
}


def document(snapshot: Snapshot, medium: Medium) -> list[Element]:
    """Return the report of a snapshot: sizes, scores beside baselines, classes, the matrix or the main confusions."""
    names = [visible(name) for name in label_names(row_labels(snapshot))]
    separator, counted = medium.separator, "counts" in snapshot.evaluation.states
    elements: list[Element] = [Title(sizes(snapshot, separator)), Warnings(snapshot.warnings)]
    if not snapshot.weight:
        nothing = "Nothing counted yet." if counted else "Nothing scored yet."
        if counted and medium.width is not None:
            nothing = shorten(f"{nothing} Classes: {', '.join(names) or 'none'}", 3 * medium.width)
        return [*elements, Notes([nothing], "  ")]
    elements += [Notes([note], "  ") for note in omissions(snapshot)]
    elements += [Notes([note]) for note in interval_notes(snapshot)]
    scores, values = medium.fit(_score_table(snapshot, separator)), medium.fit(_rated_table(snapshot, separator))
    classes = medium.fit(_class_table(snapshot, names, TEXT_CLASSES if medium.width else CLASSES, separator).calm())
    elements += [
        Section(scores, _score_notes(snapshot, names, scores)),
        Section(values, _rated_notes(snapshot, values)),
        Section(classes, _class_notes(classes, len(names), separator)),
    ]
    return [*elements, MatrixElement(snapshot, names)] if counted else elements


def _score_table(snapshot: Snapshot, separator: str) -> Table:
    """Return the headline scores beside their intervals and baselines."""
    rows = scores(snapshot)
    columns = [ReportColumn("model", "model", [value_text(row, separator) for row in rows])]
    if title := heading(snapshot):
        bounds = [value_bounds(snapshot, row.key) for row in rows]
        columns.append(ReportColumn(title, "interval", [""] * len(rows), intervals=bounds))
    if any(row.baselines[0] is not None for row in rows):
        for position, strategy in enumerate(BASELINES):
            cells = ["" if (b := row.baselines[position]) is None else score(b, digits=4) for row in rows]
            columns.append(ReportColumn(strategy, strategy.split(" ")[-1], cells, drop=position + 1))
    return Table("Score", [row.title for row in rows], columns, least=20)


def _score_notes(snapshot: Snapshot, names: Sequence[str], table: Table) -> list[str]:
    """Return the footnotes of the table of scores."""
    if not table.names:
        return []
    notes = table.doubts()
    shown = [strategy for strategy in BASELINES if strategy not in table.left_out]
    if len(table.columns) + len(table.left_out) > 1 + bool(heading(snapshot)) and shown:
        guesses = baseline_labels(snapshot, names)
        notes.append(f"Guessing without a model: {'; '.join(f'{name} = {guesses[name]}' for name in shown)}")
    return [*notes, significance(snapshot, names), *table.marks()]


def _rated_table(snapshot: Snapshot, separator: str) -> Table:
    """Return the values read from scores with their certified bounds."""
    rows = rated(snapshot)
    columns = [ReportColumn("value", "value", [row.value for row in rows], align=".")]
    if title := heading(snapshot):
        columns.append(ReportColumn(title, "interval", [_bracketed(row) for row in rows], drop=1))
    elif any(row.low for row in rows):  # one bound alone would read as an error: both are left out together
        columns.append(ReportColumn("certified low", "cert. low", [row.low for row in rows], drop=1, align="."))
        columns.append(ReportColumn("certified high", "cert. high", [row.high for row in rows], drop=1, align="."))
    return Table(rated_heading(snapshot, separator), [row.title for row in rows], columns, least=20)


def _bracketed(row: Rated) -> str:
    """Return the interval of a value read from scores."""
    high = row.high.removesuffix(DOUBT)
    return f"[{row.low}, {high}]{row.high[len(high) :]}" if row.low else ""


def _rated_notes(snapshot: Snapshot, table: Table) -> list[str]:
    """Return the footnotes of the values read from scores."""
    certified = len(table.columns) > 1 and not heading(snapshot)
    return [*table.width_note(), *[CERTIFIED] * certified, *rated_notes(snapshot), *table.marks()]


def _class_table(snapshot: Snapshot, names: Sequence[str], limit: int, separator: str) -> Table:
    """Return the values of each class, of more than `limit` classes those of the weakest ones."""
    keys = per_class_keys(snapshot)
    shown = classes_shown(snapshot, limit) if keys else []
    columns = [_class_column(snapshot, key, shown, position, separator) for position, key in enumerate(keys)]
    title = ""
    if 0 < len(shown) < len(names):
        lowest = column_title(weakest(snapshot))
        title = f"The {len(shown)} classes with the lowest {lowest}, of {number(len(names), separator)}"
    return Table("Class", [names[position] for position in shown], columns, title, positions=shown)


def _class_column(snapshot: Snapshot, key: str, shown: Sequence[int], position: int, separator: str) -> ReportColumn:
    values = class_values(snapshot, key, shown)
    drop = DROPPED_FIRST.get(key, position + 1.5)
    if CATALOG[key].high == math.inf:
        cells = numbers([value for value, _ in values if value is not None], separator)
        return ReportColumn(column_title(key), short_title(key), cells, drop)
    cells = ["" if value is None else score(value, undefined) for value, undefined in values]
    bounds = class_bounds(snapshot, key, shown)
    return ReportColumn(column_title(key), short_title(key), cells, drop, intervals=bounds)


def _class_notes(table: Table, count: int, separator: str) -> list[str]:
    """Return the footnotes of the table of `count` classes."""
    notes = table.doubts()
    if table.title:
        left = quantity(count - len(table.names), "class", separator)
        notes.append(f"{left} left out: JSON has all of them")
    return [*notes, *table.width_note(), *table.marks()]
