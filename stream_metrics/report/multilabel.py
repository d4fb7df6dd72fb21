"""The report of samples with several labels: sizes, averages, and the values of the labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import label_names
from stream_metrics.report.document import Element, Medium, Notes, Section, Title, Warnings
from stream_metrics.report.headlines import column_title, short_title
from stream_metrics.report.layout import numbers, score, visible
from stream_metrics.report.table import ReportColumn, Table

if TYPE_CHECKING:
    from stream_metrics.snapshots.multilabel import MultiLabelSnapshot


OWN = ("subset_accuracy", "hamming_loss")
KINDS = ("micro", "macro", "weighted", "samples")
MOST = 50  # labels in a report


def document(snapshot: MultiLabelSnapshot, medium: Medium) -> list[Element]:
    """Return the report of samples with several labels: sizes, averages, and the values of the labels."""
    counts = {"sample": snapshot.n, "label": len(snapshot.labels), "abstention": snapshot.abstained}
    sizes = [quantity(n, noun, medium.separator) for noun, n in counts.items() if n or noun != "abstention"]
    elements: list[Element] = [Title(", ".join(sizes)), Warnings(snapshot.warnings)]
    for table in map(medium.fit, (_averages(snapshot), _labels(snapshot, medium.separator))):
        elements.append(Section(table, [*table.marks(), *table.width_note()]))
    left = len(snapshot.labels) - MOST
    return [*elements, Notes([f"The labels with the lowest F1; JSON has the other {left}"] if left > 0 else [])]


def _averages(snapshot: MultiLabelSnapshot) -> Table:
    """Return a table of the averages, a column for each kind of average."""
    averages: dict[str, dict[str, str]] = {}
    for key, value in snapshot.items():
        if not isinstance(value, dict):
            kind, _, metric = key.partition("_") if key not in OWN else ("samples", "", key)
            title = CATALOG[metric].title if metric in CATALOG else metric.capitalize().replace("_", " ")
            averages.setdefault(title, {})[kind] = score(value, math.isnan(snapshot._number(key)))
    kinds = [kind for kind in KINDS if any(kind in cells for cells in averages.values())]
    columns = [ReportColumn(kind, kind, [cells.get(kind, "") for cells in averages.values()]) for kind in kinds]
    return Table("Average", list(averages), columns)


def _labels(snapshot: MultiLabelSnapshot, separator: str) -> Table:
    """Return a table of the labels; of many, those with the lowest F1."""
    names = dict(zip(snapshot.labels, map(visible, label_names(snapshot.labels)), strict=True))
    shown = list(names) if len(names) <= MOST else sorted(names, key=snapshot["f1"].__getitem__)[:MOST]
    columns = []
    for drop, key in enumerate(snapshot._label_keys()):
        values, lost = snapshot[key], snapshot._number(key)
        if CATALOG[key].state == "counts" and CATALOG[key].high > 1:
            cells = numbers([values[label] for label in shown], separator)
        else:
            cells = [score(values[label], math.isnan(lost[label])) for label in shown]
        columns.append(ReportColumn(column_title(key), short_title(key), cells, drop=drop))
    return Table("Label", [names[label] for label in shown], columns, positions=range(len(shown)))
