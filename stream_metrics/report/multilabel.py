"""The report of samples with several labels: sizes, averages, and the values of the labels."""

from __future__ import annotations

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

__all__ = ["document"]

OWN = ("subset_accuracy", "hamming_loss")
MOST = 50  # labels in a report


def document(snapshot: MultiLabelSnapshot, medium: Medium) -> list[Element]:
    """Return the report of samples with several labels: sizes, averages, and the values of the labels."""
    tables = map(medium.fit, _tables(snapshot, medium.separator))
    return [
        Title(_sizes(snapshot, medium.separator)),
        Warnings(snapshot.warnings),
        *(Section(table, [*table.marks(), *table.width_note()]) for table in tables),
        Notes(_left_out(snapshot)),
    ]


def _sizes(snapshot: MultiLabelSnapshot, separator: str) -> str:
    text = f"{quantity(snapshot.n, 'sample', separator)}, {quantity(len(snapshot.labels), 'label', separator)}"
    return text + (f", {quantity(snapshot.abstained, 'abstention', separator)}" if snapshot.abstained else "")


def _tables(snapshot: MultiLabelSnapshot, separator: str) -> list[Table]:
    """Return a table of the averages, a column for each kind of average, and one of the labels."""
    own: dict[str, dict[str, str]] = {}
    for key, value in snapshot.items():
        if not isinstance(value, dict):
            kind, _, metric = key.partition("_") if key not in OWN else ("samples", "", key)
            title = CATALOG[metric].title if metric in CATALOG else metric.capitalize().replace("_", " ")
            own.setdefault(title, {})[kind] = score(value, snapshot._value(key)[1])
    kinds = [kind for kind in ("micro", "macro", "weighted", "samples") if any(kind in cells for cells in own.values())]
    columns = [ReportColumn(kind, kind, [cells.get(kind, "") for cells in own.values()]) for kind in kinds]
    averages = Table("Average", list(own), columns)
    names, rows = dict(zip(snapshot.labels, map(visible, label_names(snapshot.labels)), strict=True)), []
    labels = list(names) if len(names) <= MOST else sorted(names, key=snapshot["f1"].__getitem__)[:MOST]
    for drop, key in enumerate(snapshot._label_keys()):
        values, lost = snapshot._value(key)
        if CATALOG[key].state == "counts" and CATALOG[key].high > 1:
            cells = numbers([values[label] for label in labels], separator)
        else:
            cells = [score(values[label], label in lost) for label in labels]
        rows.append(ReportColumn(column_title(key), short_title(key), cells, drop=drop))
    return [averages, Table("Label", [names[label] for label in labels], rows, positions=range(len(labels)))]


def _left_out(snapshot: MultiLabelSnapshot) -> list[str]:
    left = len(snapshot.labels) - MOST
    return [f"The labels with the lowest F1; JSON has the other {left}"] if left > 0 else []
