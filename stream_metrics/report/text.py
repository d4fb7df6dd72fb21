"""The text report: what a person wants to see of a snapshot, at any terminal width from 40 columns.

In order: one line of sizes; the scores beside the baselines; the classes; the confusion matrix with rows true, or,
where that does not fit, the most frequent confusions. Nothing depends on colour: marks in the cells say what stands
out. Whatever is left out is said, with the way to get it.
"""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.labels.json_names import label_names
from stream_metrics.report.content import (
    BASELINES,
    CONFUSIONS,
    NOT_ABOVE,
    UNDEFINED,
    baseline_labels,
    class_values,
    classes_shown,
    confusions,
    matrix_place,
    omissions,
    per_class_keys,
    scores,
    significance,
    sizes,
    value_text,
    weakest,
)
from stream_metrics.report.headlines import column_title, short_title
from stream_metrics.report.intervals import (
    bracketed,
    class_bounds,
    heading,
    interval_notes,
    value_bounds,
    with_interval,
)
from stream_metrics.report.layout import (
    GAP,
    Column,
    aligned,
    display_width,
    fit_names,
    number,
    numbers,
    pad,
    score,
    shorten,
    table,
    visible,
    wrap,
)
from stream_metrics.report.matrix import matrix_lines, percent
from stream_metrics.report.score_section import (
    CERTIFIED,
    columns,
    doubts,
    rated,
    rated_heading,
    rated_notes,
    row_labels,
)

if TYPE_CHECKING:
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["report"]

NARROWEST = 40
WIDEST = 140  # without a width of its own; longer lines are hard to read
CLASSES = 25
ARROW = " -> "
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


def report(snapshot: Snapshot, width: int | None = None) -> str:
    """Return the report as text of at most `width` columns, 40 or more; by default those of the terminal, up to 140."""
    if width is None:
        width = min(shutil.get_terminal_size().columns, WIDEST)
    width = max(width, NARROWEST)
    names = [visible(name) for name in label_names(row_labels(snapshot))]
    blocks = [wrap(sizes(snapshot), width)]
    if snapshot.weight:
        blocks += [wrap(note, width, "  ") for note in omissions(snapshot)]
        blocks += [wrap(note, width) for note in interval_notes(snapshot)]
        blocks += [_scores(snapshot, names, width), _rated(snapshot, width), _classes(snapshot, names, width)]
        if "counts" in snapshot.evaluation.states:
            blocks.append(_matrix(snapshot, names, width))
    elif "counts" not in snapshot.evaluation.states:
        blocks.append(["Nothing scored yet."])
    else:
        blocks.append(
            wrap(shorten(f"Nothing counted yet. Classes: {', '.join(names) or 'none'}", 3 * width), width, "  ")
        )
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _scores(snapshot: Snapshot, names: list[str], width: int) -> list[str]:
    rows = scores(snapshot)
    if not rows:
        return []
    columns = [Column("model", "model", aligned([value_text(row) for row in rows]))]
    bounds = [value_bounds(snapshot, row.key) for row in rows]
    if heading(snapshot):
        columns.append(Column(heading(snapshot), "interval", bracketed(bounds)))
    if any(row.baselines[0] is not None for row in rows):
        for position, strategy in enumerate(BASELINES):
            cells = aligned([_baseline_cell(row.value, row.baselines[position]) for row in rows])
            columns.append(Column(strategy, strategy.split(" ")[-1], cells, drop=position + 1))
    lines, dropped = table("Score", [row.title for row in rows], columns, width, least=20)
    notes = doubts(bounds)
    if len(columns) > 1:
        said = [f"{name} = {guess}" for name, guess in baseline_labels(snapshot, names).items() if name not in dropped]
        notes += [f"Guessing without a model: {'; '.join(said)}"] if said else []
        notes += [line for line in [significance(snapshot, names)] if line]
    if any("!" in text for text in lines):
        notes.append(NOT_ABOVE)
    if any(row.undefined for row in rows):
        notes.append(UNDEFINED)
    return lines + [line for note in notes for line in wrap(note, width, "  ")]


def _rated(snapshot: Snapshot, width: int) -> list[str]:
    rows, notes = rated(snapshot), rated_notes(snapshot)
    lines: list[str] = []
    if rows:
        values, *limits = [Column(name, name, cells, drop=1) for name, cells in columns(rows, " ")]
        names, always = [row.title for row in rows], Column(values.heading, values.short, values.cells)
        lines, dropped = table(rated_heading(snapshot), names, [always, *limits], width, least=20)
        if dropped:  # one bound alone would read as an error
            lines, _ = table(rated_heading(snapshot), names, [always], width, least=20)
            notes.insert(0, "Left out at this width: low, high")
        elif limits and not heading(snapshot):
            notes.insert(0, CERTIFIED)
        if any("*" in row.value for row in rows):
            notes.append(UNDEFINED)
    return lines + [line for note in notes for line in wrap(note, width, "  ")]


def _classes(snapshot: Snapshot, names: list[str], width: int) -> list[str]:
    keys = per_class_keys(snapshot)
    if not keys:
        return []
    shown = classes_shown(snapshot, CLASSES)
    columns = [_column(snapshot, key, shown, position) for position, key in enumerate(keys)]
    lines, dropped = table("Class", [names[position] for position in shown], columns, width, positions=shown)
    notes = doubts(one for key in keys for one in class_bounds(snapshot, key, shown))
    if len(shown) < len(names):
        lowest = column_title(weakest(snapshot))
        lines = [*wrap(f"The {len(shown)} classes with the lowest {lowest}, of {number(len(names))}", width), *lines]
        notes.append(
            f"{number(len(names) - len(shown))} classes left out: snapshot.per_class or snapshot.to_frame() has them"
        )
    if dropped:
        notes.append(f"Left out at this width: {', '.join(dropped)}")
    if any("*" in cell for column in columns for cell in column.cells):
        notes.append(UNDEFINED)
    return lines + [line for note in notes for line in wrap(note, width, "  ")]


def _column(snapshot: Snapshot, key: str, shown: list[int], position: int) -> Column:
    values = class_values(snapshot, key, shown)
    if CATALOG[key].high == math.inf:
        cells = numbers([value for value, _ in values if value is not None])
    else:
        cells = aligned(["" if value is None else score(value, undefined) for value, undefined in values])
        cells = with_interval(cells, class_bounds(snapshot, key, shown))
    return Column(column_title(key), short_title(key), cells, drop=DROPPED_FIRST.get(key, position + 1))


def _matrix(snapshot: Snapshot, names: list[str], width: int) -> list[str]:
    lines = matrix_lines(snapshot, names, width)
    return lines or _confusions(snapshot, names, width)


def _confusions(snapshot: Snapshot, names: list[str], width: int) -> list[str]:
    cells, count = confusions(snapshot, CONFUSIONS)
    rest = wrap(matrix_place(snapshot), width, "  ")
    if not cells:
        return [*wrap("No confusions: every prediction is right.", width), *rest]
    support = snapshot.evaluation.value_and_undefined("support")[0]
    amounts = Column("samples", "samples", numbers([item.weight for item in cells]))
    shares = Column("of true", "of true", [f"{percent(item.weight, support[item.true])} %" for item in cells])
    half = (width - amounts.width(True) - shares.width(True) - 2 * len(GAP) - len(ARROW)) // 2
    used = sorted({position for item in cells for position in item[:2]})
    short = dict(zip(used, fit_names([names[position] for position in used], half, used), strict=True))
    first = max(display_width(short[item.true]) for item in cells)
    pairs = [pad(short[item.true], first) + ARROW + short[item.predicted] for item in cells]
    lines, _ = table(pad("True", first) + " " * len(ARROW) + "Predicted", pairs, [amounts, shares], width)
    title = "All confusions" if count == len(cells) else f"The {len(cells)} most frequent of {number(count)} confusions"
    return [*wrap(title, width), *lines, *rest]


def _baseline_cell(value: float, baseline: float | None) -> str:
    """Return a baseline, marked if the score is not above it."""
    if baseline is None:
        return ""
    return score(baseline, digits=4) + ("" if value > baseline else "!")
