"""What a view says, as plain text: the report at the end of a run."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from stream_metrics.monitor.view.types import Alert, GroupRow, View, WindowView
from stream_metrics.report.headlines import inline_title
from stream_metrics.report.intervals import DOUBT, bounds
from stream_metrics.report.layout import number, shorten, visible, wrap
from stream_metrics.report.table import ReportColumn, Table

NONE = "\u2013"
MOST_GROUPS = 10
BEHIND = 60.0  # seconds of events, from which records that wait are a backlog, as on the page
SPANS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _figure(value: float | None, digits: int = 3) -> str:
    """Return a number as it is shown, a dash where there is none."""
    if value is None:
        return NONE
    return number(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _ranged(row: GroupRow, key: str) -> str:
    """Return a metric of a group with its interval, marked where that is not to be trusted."""
    ends = row.intervals.get(key)
    if ends is None:
        return _figure(row.metrics.get(key))
    low, high = bounds(*ends, 2)
    return f"{_figure(row.metrics.get(key))} [{low}, {high}]{DOUBT * (key in row.interval_notes)}"


def _duration(seconds: float | None) -> str:
    """Return a length of time in the unit that suits it."""
    if seconds is None:
        return NONE
    for size, unit in SPANS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1000:.3g} ms" if seconds else "0 s"


def _short_window(view: View) -> str:
    """Return the first window that has samples, else the total."""
    names = [name for name in view.windows if name != "total" and view.by_window[name].n]
    return names[0] if names else "total"


def facts(view: View) -> list[tuple[str, str]]:
    """Return what the metrics do not say: coverage, delay, the join, records, lag, what went wrong."""
    name = _short_window(view)
    part, records = view.by_window[name], view.records
    coverage, delay = part.coverage, part.delay
    reasons = ", ".join(f"{number(count)} for {visible(reason)}" for reason, count in records.rejected.items())
    joined = {key: getattr(view.join, key) for key in JOIN}
    labelled = f"{_share(coverage.ratio)} of {number(coverage.due)} predictions have theirs"
    delays = f"{_duration(delay.p50)} median, {_duration(delay.p90)} p90, {_duration(delay.p99)} p99"
    lines = [
        (f"labels ({name})", labelled if coverage.due else "none is due yet"),
        *_open(part, view.headline),
        ("delay", "no label yet" if delay.p50 is None else delays),
        ("join", ", ".join(f"{number(n)} {JOIN[key]}" for key, n in joined.items() if n or key in ALWAYS)),
        ("records", f"{number(records.read)} read, {f'rejected {reasons}' if reasons else 'none rejected'}"),
    ]
    if part.classes_folded:
        lines.append(("classes", f"{_figure(part.classes_folded)} samples are of further classes, counted as one"))
    if view.source.state == "unassigned":
        lines.append(("waiting", f"for partitions: {visible(view.source.problem or '')}"))
    elif view.source.problem is not None:
        lines.append(("blind", f"the source cannot be read: {visible(view.source.problem)}"))
    elif view.source.state == "silent":
        lines.append(("no data", f"no event for {_duration(view.source.silence)}"))
    if view.lag.records:
        age = f"; the newest event is {_duration(view.lag.seconds)} old" if _is_behind(view) else ""
        lines.append(("lag", f"{number(view.lag.records)} records still to be read{age}"))
    if view.checkpoint.error:
        lines.append(("not saved", visible(view.checkpoint.error)))
    if view.undelivered:
        first = view.undelivered[0]
        lines.append(("not told", f"{number(len(view.undelivered))} alerts; {first.sink}: {visible(first.problem)}"))
    lines += [("unreadable", visible(what)) for what in view.unreadable]
    return lines + [("incomplete", visible(what)) for what in view.incomplete]


def _is_behind(view: View) -> bool:
    return (view.lag.records or 0) > 0 and (view.lag.seconds or 0.0) >= BEHIND


ALWAYS = ("joined", "pending")
JOIN = {
    "joined": "joined",
    "pending": "pending",
    "predictions_expired": "never labelled",
    "predictions_duplicate": "predictions twice",
    "labels_unmatched": "labels without prediction",
    "labels_late": "labels too late",
    "labels_duplicate": "labels twice",
    "corrections": "corrected",
    "corrections_refused": "not corrected",
    "expired_early": "given up early, since too many waited",
    "forgotten": "ids forgotten, since there were too many",
}


def _open(part: WindowView, keys: Sequence[str]) -> list[tuple[str, str]]:
    """Return a line that says between what the headline lies whatever the missing labels are; none if none is."""
    bounds = part.label_bounds
    ranges = {inline_title(key): map(_figure, bounds[key]) for key in keys if key in bounds}
    texts = [f"{title} {low} to {high}" for title, (low, high) in ranges.items()]
    return [("any labels", ", ".join(texts))] if texts else []


def _share(ratio: float | None) -> str:
    return NONE if ratio is None else f"{100 * ratio:.1f} %"


def summary(view: View, width: int | None = None) -> str:
    """Return the windows with the headline, the worst groups, the facts and the alerts."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    rows = [view.by_window[name] for name in view.windows]
    lines = _table("window", view.windows, rows, view.headline, width)
    name = _short_window(view)
    groups = view.by_window[name].groups.rows
    if groups:
        worst = groups[:MOST_GROUPS]
        names = [visible(row.group) for row in worst]
        lines += ["", *_table(f"group ({name})", names, worst, view.headline, width)]
        if len(groups) > MOST_GROUPS:
            lines.append(f"and {len(groups) - MOST_GROUPS} groups that do better")
    entries = [*facts(view), *(("alert", _alert(alert, view.now)) for alert in view.alerts)]
    across = max(len(word) for word, _ in entries) + 2
    lines.append("")
    for word, text in entries:
        lines += wrap(f"{word:<{across}}".replace(" ", "\u00a0") + text, width, " " * across)
    return "\n".join(line.replace("\u00a0", " ") for line in lines)


def _table(
    heading: str, names: Sequence[str], rows: Sequence[WindowView | GroupRow], keys: Sequence[str], width: int
) -> list[str]:
    columns = [ReportColumn("samples", "n", [number(row.n) for row in rows])]
    for at, key in enumerate(keys):
        cells = [
            _ranged(row, key) if isinstance(row, GroupRow) and not at else _figure(row.metrics.get(key)) for row in rows
        ]
        columns.append(ReportColumn(inline_title(key), inline_title(key), cells, at))
    return Table(heading, names, columns).fit(width).lines()


def _alert(alert: Alert, now: float) -> str:
    long = "" if alert.since is None or alert.state == "ok" else f" for {_duration(max(now - alert.since, 0))}"
    return f"{alert.state}{long}: {shorten(visible(alert.rule), 200)} ({_standing(alert)})"


def _standing(alert: Alert) -> str:
    """Return how an alert stands: its value, or the note that says more."""
    return visible(alert.note) if alert.note else f"now {_figure(alert.value)}"
