"""The text report of a snapshot, for any terminal width from 40 columns.

In order: one line of sizes; the scores beside the baselines; the classes; the confusion matrix with rows true, or,
where that does not fit, the most frequent confusions. Nothing depends on colour: marks in the cells say what stands
out. Whatever is left out is said, with the way to get it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stream_metrics.labels.json_names import label_names
from stream_metrics.report.content import CONFUSIONS, confusions, matrix_place, omissions, sizes
from stream_metrics.report.intervals import interval_notes
from stream_metrics.report.layout import display_width, pad, shorten, visible, wrap
from stream_metrics.report.matrix import matrix_lines
from stream_metrics.report.score_section import row_labels
from stream_metrics.report.sections import confusion_columns, confusion_names, confusion_title, sections
from stream_metrics.report.table import GAP, Table, block

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["fitting_width", "report", "warning_lines"]

NARROWEST = 40
WIDEST = 140  # without a width of its own; longer lines are hard to read
CLASSES = 25
ARROW = " -> "


def fitting_width(width: int | None) -> int:
    """Return the width of a report: at least 40 columns, by default those of the terminal, up to 140."""
    return max(min(shutil.get_terminal_size().columns, WIDEST) if width is None else width, NARROWEST)


def warning_lines(sentences: Sequence[str], width: int) -> list[str]:
    """Return the warnings of a snapshot as text."""
    return [line for text in sentences for line in wrap(f"Warning: {visible(text)}.", width, "  ")]


def report(snapshot: Snapshot, width: int | None = None) -> str:
    """Return the report as text of at most `width` columns, 40 or more; by default those of the terminal, up to 140."""
    width = fitting_width(width)
    names = [visible(name) for name in label_names(row_labels(snapshot))]
    blocks = [wrap(sizes(snapshot), width), warning_lines(snapshot.warnings, width)]
    if snapshot.weight:
        blocks += [wrap(note, width, "  ") for note in omissions(snapshot)]
        blocks += [wrap(note, width) for note in interval_notes(snapshot)]
        tables = sections(snapshot, names, CLASSES, width=width)
        blocks += [block(table, notes, width) for table, notes in tables]
        if "counts" in snapshot.evaluation.states:
            blocks.append(matrix_lines(snapshot, names, width) or _confusions(snapshot, names, width))
    elif "counts" not in snapshot.evaluation.states:
        blocks.append(["Nothing scored yet."])
    else:
        blocks.append(
            wrap(shorten(f"Nothing counted yet. Classes: {', '.join(names) or 'none'}", 3 * width), width, "  ")
        )
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _confusions(snapshot: Snapshot, names: list[str], width: int) -> list[str]:
    cells, count = confusions(snapshot, CONFUSIONS)
    rest = matrix_place(snapshot)
    if not cells:
        return [*wrap("No confusions: every prediction is right.", width), *wrap(rest, width, "  ")]
    columns = confusion_columns(snapshot, cells)
    half = (width - sum(len(GAP) + column.width() for column in columns) - len(ARROW)) // 2
    pairs = confusion_names(names, cells, half)
    first = max(display_width(true) for true, _ in pairs)
    rows = [pad(true, first) + ARROW + predicted for true, predicted in pairs]
    heading = pad("True", first) + " " * len(ARROW) + "Predicted"
    table = Table(heading, rows, columns, confusion_title(cells, count))
    return block(table.fit(width), [rest], width)
