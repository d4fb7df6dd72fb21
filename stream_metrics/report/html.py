"""The report as HTML for notebooks: one fragment without scripts, styled inside, for light and dark pages alike.

Correct cells are blue, errors orange, a pair that colour-blind readers can tell apart; the figures say the same without
colour.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from stream_metrics.labels.json_names import label_names
from stream_metrics.report.content import CONFUSIONS, confusions, matrix_place, omissions, sizes
from stream_metrics.report.intervals import interval_notes
from stream_metrics.report.layout import fit_names, numbers, visible
from stream_metrics.report.markup import (
    NAME,
    THIN,
    fragment,
    head_html,
    notes_html,
    rows_html,
    table_html,
    title_html,
    warnings_html,
)
from stream_metrics.report.matrix import percent
from stream_metrics.report.score_section import row_labels
from stream_metrics.report.sections import confusion_columns, confusion_names, confusion_title, sections

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["html"]

CLASSES = 50
MATRIX_CLASSES = 30
COLUMN_NAME = 16  # characters of a label above a column
UPRIGHT = 6  # longer column names than this stand upright
CORRECT, WRONG = "0,114,178", "213,94,0"  # blue and vermilion of Okabe & Ito (2008)
WEAKEST, STRONGEST = 0.08, 0.8


def html(snapshot: Snapshot) -> str:
    """Return the report as one HTML element."""
    names = [visible(name) for name in label_names(row_labels(snapshot))]
    parts = [title_html(sizes(snapshot, THIN)), warnings_html(snapshot.warnings)]
    counted = "counts" in snapshot.evaluation.states
    if snapshot.weight:
        parts.append(notes_html([*omissions(snapshot), *interval_notes(snapshot)]))
        parts += [table_html(table) + notes_html(notes) for table, notes in sections(snapshot, names, CLASSES, THIN)]
        if counted:
            parts.append(_matrix(snapshot, names))
    else:
        parts.append(notes_html(["Nothing counted yet." if counted else "Nothing scored yet."]))
    return fragment(parts)


def _matrix(snapshot: Snapshot, names: list[str]) -> str:
    if len(names) > MATRIX_CLASSES:
        return _confusions(snapshot, names)
    matrix = snapshot.confusion_matrix
    count = len(names)
    texts = numbers([*matrix.ravel().tolist(), *matrix.sum(axis=1).tolist(), *matrix.sum(axis=0).tolist()], THIN)
    totals, bottom = texts[count * count :][:count], texts[count * count + count :]
    short = fit_names(names, NAME)
    body = []
    for at, (row, text) in enumerate(zip(matrix.tolist(), short, strict=True)):
        heat = [_heat(value, sum(row), column == at) for column, value in enumerate(row)]
        cells = [
            f'<td{colour} title="{escape(f"true {names[at]}, predicted {names[column]}: {share}")}">{value}</td>'
            for column, ((colour, share), value) in enumerate(zip(heat, texts[at * count :][:count], strict=True))
        ]
        body.append(f'<tr>{head_html(text, names[at])}{"".join(cells)}<td class="sm-sum">{totals[at]}</td></tr>')
    sums = "".join(f'<td class="sm-sum" style="text-align:center">{text}</td>' for text in bottom)
    body.append(f"<tr><th>total</th>{sums}</tr>")
    columns = fit_names(names, COLUMN_NAME)
    up = ' class="sm-up"' if max(map(len, columns)) > UPRIGHT else ""
    heads = "".join(
        f'<th{up} title="{escape(name)}"><span>{escape(text)}</span></th>'
        for name, text in zip(names, columns, strict=True)
    )
    head = f"<thead><tr><th>true \\ predicted</th>{heads}<th>total</th></tr></thead>"
    note = "Colour: share of the row on a square-root scale; blue correct, orange wrong"
    title = title_html("Confusion matrix: rows true, columns predicted")
    return f'{title}<table class="sm-matrix">{head}<tbody>{"".join(body)}</tbody></table>{notes_html([note])}'


def _heat(value: float, total: float, correct: bool) -> tuple[str, str]:
    """Return the attributes of a cell for its colour, and its share of the row in words."""
    if not value:
        return ' class="sm-zero"', "none"
    strength = WEAKEST + (STRONGEST - WEAKEST) * math.sqrt(value / total)
    colour = f"rgba({CORRECT if correct else WRONG},{strength:.2f})"
    return f' style="background:{colour}"', f"{percent(value, total)}% of the row"


def _confusions(snapshot: Snapshot, names: list[str]) -> str:
    pairs, count = confusions(snapshot, CONFUSIONS)
    if not pairs:
        return notes_html(["No confusions: every prediction is right.", matrix_place(snapshot)])
    columns = confusion_columns(snapshot, pairs, THIN, "%")
    short = confusion_names(names, pairs, NAME)
    heads = [
        head_html(t, names[pair.true]) + head_html(p, names[pair.predicted])
        for pair, (t, p) in zip(pairs, short, strict=True)
    ]
    title = title_html(confusion_title(pairs, count, THIN))
    return title + rows_html(["True", "Predicted"], heads, columns) + notes_html([matrix_place(snapshot)])
