"""The report as HTML for notebooks: one fragment without scripts, styled inside, for light and dark pages alike.

A notebook tells its output area neither its theme nor its background, so nothing here sets a text colour or an opaque
background: text inherits, lines are translucent grey, and the heat of a cell is a translucent colour of middle
luminance, on which black text on a white page and white text on a dark page both stay legible. Correct cells are
blue, errors orange, a pair that colour-blind readers can tell apart; the figures say the same without colour.
Sanitisers that drop `<style>` leave plain tables with the heat in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from stream_metrics.labels.json_names import label_names
from stream_metrics.report.content import CONFUSIONS, confusions, matrix_place, omissions, sizes
from stream_metrics.report.intervals import interval_notes
from stream_metrics.report.layout import fit_names, numbers, visible
from stream_metrics.report.matrix import percent
from stream_metrics.report.score_section import row_labels
from stream_metrics.report.sections import confusion_columns, confusion_names, confusion_title, sections
from stream_metrics.report.table import MARKS, Column, Table

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["html"]

CLASSES = 50
MATRIX_CLASSES = 30
NAME = 40  # characters of a label in a row, then in a column; a longer one is in full in the tooltip
COLUMN_NAME = 16
UPRIGHT = 6  # longer column names than this stand upright
THIN = "\u202f"  # narrow no-break space between thousands
FIGURE_SPACE = "\u2007"  # as wide as a digit
CORRECT, WRONG = "0,114,178", "213,94,0"  # blue and vermilion of Okabe & Ito (2008)
WEAKEST, STRONGEST = 0.08, 0.8

STYLE = """
.sm-report{font-size:13px;line-height:1.35;overflow-x:auto}
.sm-report table{border-collapse:collapse;border:0;margin:.9em 0 .2em;font-size:inherit;color:inherit}
.sm-report tr{background:none!important}
.sm-report th,.sm-report td{border:0;padding:.2em .6em;text-align:right;white-space:nowrap;
 font-variant-numeric:tabular-nums;color:inherit}
.sm-report thead th{font-weight:600;vertical-align:bottom;border-bottom:1px solid rgba(128,128,128,.6)}
.sm-report tbody th{font-weight:400}
.sm-report th:first-child{text-align:left}
.sm-report p{margin:.1em 0;font-size:12px;opacity:.8}
.sm-report .sm-title{margin:1em 0 .1em;font-size:13px;font-weight:600;opacity:1}
.sm-report .sm-title+table{margin-top:.2em}
.sm-report .sm-mark{position:absolute}
.sm-report .sm-zero{opacity:.4}
.sm-report .sm-matrix td{text-align:center;min-width:2em;border:1px solid rgba(128,128,128,.3)}
.sm-report .sm-matrix .sm-sum{border:0;text-align:right;opacity:.8}
.sm-report .sm-matrix thead th{text-align:center}
.sm-report .sm-up span{display:inline-block;writing-mode:vertical-rl;transform:rotate(180deg)}
"""


def html(snapshot: Snapshot) -> str:
    """Return the report as one HTML element."""
    names = [visible(name) for name in label_names(row_labels(snapshot))]
    parts = [f'<div class="sm-report"><style>{STYLE}</style>', _title(sizes(snapshot, THIN))]
    counted = "counts" in snapshot.evaluation.states
    if snapshot.weight:
        parts.append(_notes([*omissions(snapshot), *interval_notes(snapshot)]))
        parts += [_table(table) + _notes(notes) for table, notes in sections(snapshot, names, CLASSES, THIN)]
        if counted:
            parts.append(_matrix(snapshot, names))
    else:
        parts.append(_notes(["Nothing counted yet." if counted else "Nothing scored yet."]))
    return "".join([*parts, "</div>"])


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
        body.append(f'<tr>{_head(text, names[at])}{"".join(cells)}<td class="sm-sum">{totals[at]}</td></tr>')
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
    title = _title("Confusion matrix: rows true, columns predicted")
    return f'{title}<table class="sm-matrix">{head}<tbody>{"".join(body)}</tbody></table>{_notes([note])}'


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
        return _notes(["No confusions: every prediction is right.", matrix_place(snapshot)])
    columns = confusion_columns(snapshot, pairs, THIN, "%")
    short = confusion_names(names, pairs, NAME)
    heads = [
        _head(t, names[pair.true]) + _head(p, names[pair.predicted]) for pair, (t, p) in zip(pairs, short, strict=True)
    ]
    title = _title(confusion_title(pairs, count, THIN))
    return title + _rows(["True", "Predicted"], heads, columns) + _notes([matrix_place(snapshot)])


def _title(text: str) -> str:
    return f'<p class="sm-title">{escape(text)}</p>'


def _notes(notes: Iterable[str]) -> str:
    return "".join(f"<p>{escape(note)}</p>" for note in notes if note)


def _head(text: str, full: str) -> str:
    tip = f' title="{escape(full)}"' if full != text else ""
    return f'<th style="text-align:left"{tip}>{escape(text)}</th>'


def _cell(text: str) -> str:
    """Return a cell of figures; a mark at its end stands outside, so that the digits stay below each other."""
    figure = escape(text.rstrip(MARKS))
    mark = text[len(text.rstrip(MARKS)) :]
    return f'<td>{figure}<span class="sm-mark">{mark}</span></td>' if mark else f"<td>{figure}</td>"


def _table(table: Table) -> str:
    if not table.names:
        return ""
    labels = table.positions is not None  # of any length, unlike titles
    names = fit_names(table.names, NAME, table.positions) if labels else table.names
    heads = [_head(text, full) for text, full in zip(names, table.names, strict=True)]
    return (_title(table.title) if table.title else "") + _rows([table.heading], heads, table.columns)


def _rows(headings: Sequence[str], heads: Sequence[str], columns: Sequence[Column]) -> str:
    """Return a table of rows with the cells `heads` in front."""
    titles = "".join(f"<th>{escape(text)}</th>" for text in (*headings, *(column.heading for column in columns)))
    body = "".join(
        f"<tr>{head}{''.join(map(_cell, cells))}</tr>"
        for head, *cells in zip(heads, *(column.texts(FIGURE_SPACE) for column in columns), strict=True)
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
