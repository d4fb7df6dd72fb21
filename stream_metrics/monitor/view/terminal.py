"""A view in the terminal: headline with trends, alerts, classes, matrix, groups, and the state of the process.

From 120 columns on, classes and groups stand beside the matrix; below, one after another, as far as lines reach: the
headline, alerts and facts always, then classes, groups, and the matrix of up to 12 classes. Classes are those with the
lowest recall, since those are what to look at; the heading says so if there are more. Needs rich.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stream_metrics.monitor.view.summary import (
    DOUBTS,
    duration,
    facts,
    figure,
    ranged,
    short_window,
    standing,
    worst_state,
)
from stream_metrics.monitor.view.types import View, WindowView
from stream_metrics.report.headlines import inline_title
from stream_metrics.report.layout import fit_names, number, visible

__all__ = ["Screen", "render", "sparkline"]

WIDE = 120
BARS = "▁▂▃▄▅▆▇█"
FLAT = 0.02  # a trend that spans less is drawn as if it spanned this: noise should not look like a landslide
MOST_CELLS = 12
NAME = 16
WORDS = {
    "firing": "ALERT",
    "away": "BLIND",
    "unassigned": "WAITING",
    "silent": "NO DATA",
    "pending": "PENDING",
    "unknown": "UNKNOWN",
    "behind": "CATCHING UP",
    "waiting": "WAITING",
    "ok": "WELL",
    "live": "LIVE",
    **{doubt: doubt.upper() for doubt in DOUBTS},
}
COLOURS = {
    "firing": "bold white on red",
    "away": "bold white on red",
    "unassigned": "bold black on yellow",
    "silent": "bold white on magenta",
    "pending": "bold black on yellow",
    "unknown": "black on yellow",
    "behind": "black on yellow",
    "ok": "green",
    **dict.fromkeys(DOUBTS, "bold black on yellow"),
}
Part = Callable[[int], RenderableType | None]  # drawn in at most so many lines; None if there are too few
CLASS = {"support": "samples", "precision": "precision", "recall": "recall", "f1": "F1"}


class Screen:
    """Shows one view after another in the whole terminal; `lines` are shown below, and go on changing."""

    def __init__(self, lines: Sequence[str] = (), console: Console | None = None) -> None:
        self._console = console or Console()
        self._lines = lines
        self._live = Live(console=self._console, screen=True, auto_refresh=False, redirect_stdout=False)

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, view: View) -> None:
        """Draw a view."""
        if self._live.is_started:
            size = self._console.size
            self._live.update(render(view, size.width, size.height, tuple(self._lines)), refresh=True)


def render(view: View, width: int, height: int, lines: Sequence[str] = ()) -> RenderableType:
    """Return what shows a view in so many columns and lines."""
    name = short_window(view)
    part = view.by_window[name]
    top = [_title(view), _headline(view, width), *_alerts(view)]
    log_lines = [Text(visible(line), style="dim", no_wrap=True, overflow="ellipsis") for line in lines]
    bottom = [Text(), _facts(view), *log_lines]
    left = height - sum(_height(each, width) for each in (*top, *bottom))
    classes, groups, matrix = _classes(part, name), _groups(view, part, name), _matrix(part)
    if width < WIDE:
        return Group(*top, *_stacked(left, (classes, groups, matrix)), *bottom)
    side = Table.grid(expand=True, padding=(0, 2, 0, 0))
    side.add_column(ratio=1)
    side.add_column(ratio=1)
    side.add_row(Group(*_stacked(left, (classes,))), Group(*_stacked(left, (matrix, groups))))
    return Group(*top, side, *bottom)


def _stacked(left: int, parts: Iterable[Part]) -> list[RenderableType]:
    """Return the parts that fit below each other, the first ones first; each has a blank line above."""
    drawn = []
    for part in parts:
        block = part(left)
        if block is not None:
            drawn.append(block)
            left -= _height(block, 400)
    return drawn


def _height(drawn: RenderableType, width: int) -> int:
    if isinstance(drawn, Table):
        return len(drawn.rows) + (2 if drawn.title else 0) + (2 if drawn.show_header else 0)
    return max(math.ceil(drawn.cell_len / width), 1) if isinstance(drawn, Text) and not drawn.no_wrap else 1


def _title(view: View) -> Text:
    worst = worst_state(view)
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f" {WORDS[worst]} ", COLOURS.get(worst, "bold white on blue"))
    line.append(f" {visible(view.title)}", "bold")
    rate = view.records.per_second
    line.append(f"  {number(view.records.read)} records", "dim")
    line.append("" if rate is None else f", {number(round(rate))}/s", "dim")
    line.append(f"  {time.strftime('%H:%M:%S', time.localtime(view.now))}", "dim")
    return line


def _table(title: str, *headings: str, least: int = 0) -> Table:
    shape: dict[str, Any] = {"box": box.SIMPLE_HEAD, "pad_edge": False, "show_edge": False, "min_width": len(title)}
    table = Table(title=Text(f"\n{title}" if title else "", "bold"), title_justify="left", title_style="bold", **shape)
    for at, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if at else "left", no_wrap=True, header_style="dim")
    table.columns[0].min_width = least
    return table


def _headline(view: View, width: int) -> Table:
    keys = view.headline
    spark = max(min((width - 20) // max(len(keys), 1) - 9, 24), 0)
    table = _table("", "window", "samples", *map(inline_title, keys))
    table.title = ""
    for window in view.windows:
        part, lines = view.by_window[window], view.history.get(window, {})
        cells = []
        for key in keys:
            cell = Text(figure(part.metrics.get(key)), "bold")
            if spark > 3:
                cell = Text.assemble((sparkline(lines.get(key, ()), spark) + " ", "cyan"), cell)
            cells.append(cell)
        table.add_row(window, number(part.n), *cells)
    return table


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return the last values as bars in `width` columns, several to a bar if there are more; blanks where is none."""
    if not values:
        return " " * width
    step = max(len(values) / width, 1.0)
    pieces = [values[int(at * step) : max(int((at + 1) * step), int(at * step) + 1)] for at in range(width)]
    means = [_mean([value for value in piece if value is not None]) for piece in pieces]
    known = [mean for mean in means if mean is not None]
    if not known:
        return " " * width
    low, high = min(known), max(known)
    span = max(high - low, FLAT)
    low = (low + high - span) / 2
    marks = (" " if mean is None else BARS[min(int((mean - low) / span * len(BARS)), 7)] for mean in means)
    return "".join(marks).rstrip().rjust(width)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _alerts(view: View) -> list[Text]:
    """Return a line for each alert that is not well, and one for all others."""
    lines = []
    for alert in view.alerts:
        if alert.state != "ok":
            line = Text(no_wrap=True, overflow="ellipsis")
            line.append(f" {alert.state} ", COLOURS.get(alert.state, ""))
            since = "" if alert.since is None else f"  for {duration(max(view.now - alert.since, 0))}"
            line.append(f" {visible(alert.rule)}  {standing(alert)}{since}")
            lines.append(line)
    well = len(view.alerts) - len(lines)
    if well:
        lines.append(Text(f"{well} of {len(view.alerts)} alert rules well", "green", no_wrap=True))
    return lines


def _classes(part: WindowView, name: str) -> Part:
    rows = part.classes

    def draw(left: int) -> Table | None:
        lines = left - 4
        if lines < 1 or not rows:
            return None
        shown = rows
        if len(rows) > lines:
            shown = sorted(rows, key=lambda row: math.inf if row.recall is None else row.recall)[:lines]
        few = f", {len(shown)} of {len(rows)} with the lowest recall"
        if part.classes_omitted:
            few = f", {len(shown)} with the lowest recall of the {len(rows)} most frequent"
        areas = any(row.roc_auc is not None for row in shown)
        names = _names(row.label for row in shown)
        headings = (*CLASS.values(), *(("ROC AUC",) if areas else ()))
        title = f"classes ({name}{few if len(shown) < len(rows) else ''})"
        table = _table(title, "class", *headings, least=max(name.cell_len for name in names))
        for row, label in zip(shown, names, strict=True):
            table.add_row(label, *(figure(getattr(row, key)) for key in (*CLASS, *(("roc_auc",) if areas else ()))))
        return table

    return draw


def _names(labels: Iterable[str]) -> list[Text]:
    return [Text(name) for name in fit_names([visible(label) for label in labels], NAME)]


def _groups(view: View, part: WindowView, name: str) -> Part:
    rows, keys = part.groups.rows, view.headline[:3]

    def draw(left: int) -> Table | None:
        lines = left - 4
        if lines < 1 or not rows:
            return None
        few = f", the worst of {len(rows)}" if len(rows) > lines else ", worst first"
        names = _names(row.group for row in rows[:lines])
        headings = ("group", "samples", *map(inline_title, keys))
        table = _table(f"groups ({name}{few})", *headings, least=max(name.cell_len for name in names))
        for row, label in zip(rows[:lines], names, strict=True):
            first, *others = keys
            cells = ranged(row, first), *(figure(row.metrics.get(key)) for key in others)
            table.add_row(label, number(row.n), *cells)
        return table

    return draw


def _matrix(part: WindowView) -> Part:
    labels, counts = part.matrix.labels, part.matrix.counts

    def draw(left: int) -> Table | None:
        if not labels or len(labels) > MOST_CELLS or part.matrix.omitted or left < len(labels) + 4:
            return None
        names = _names(labels)
        short = fit_names([visible(label) for label in labels], 6)
        table = _table("truth (rows) by prediction, % of the row", "", *short, least=max(map(len, names)))
        for at, (name, row) in enumerate(zip(names, counts, strict=True)):
            whole = sum(row)
            table.add_row(name, *(_cell(count / whole if whole else None, at == to) for to, count in enumerate(row)))
        return table

    return draw


def _cell(share: float | None, right: bool) -> Text:
    """Return a cell, the darker the larger its share of the row: blue for what is right, orange for what is not."""
    if share is None:
        return Text(figure(None), "dim")
    text = "·" if not share else "<1" if share < 0.01 else f"{100 * share:.0f}"
    depth = math.sqrt(share)
    blue = 20, round(40 + 60 * depth), round(60 + 150 * depth)
    orange = round(50 + 170 * depth), round(30 + 60 * depth), 20
    red, green, dark = blue if right else orange
    return Text(f" {text:>3} ", f"white on rgb({red},{green},{dark})" if share >= 0.01 else "dim")


def _facts(view: View) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    saved = view.checkpoint.age
    entries = facts(view)
    if saved is not None:
        entries.append(("saved", f"{duration(saved)} ago, in {duration(view.checkpoint.duration)}"))
    table.add_column(style="dim", width=max(len(word) for word, _ in entries))
    table.add_column()
    for word, text in entries:
        style = "bold red" if word in DOUBTS else ""
        table.add_row(Text(word), Text(text, style, no_wrap=True, overflow="ellipsis"))
    return table
