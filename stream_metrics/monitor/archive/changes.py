"""Stored counts for a configuration that has changed since: new windows are built from stored panes.

A pane of a window is the sum of the stored panes that lie within it. A longer stored pane that spans two cannot be
used, and the window is complete from its end on. Windows of the same length and number of panes stay as they are. If
the field of groups has changed, groups start empty; stored panes keep those of the earlier field.
"""

from __future__ import annotations

from collections.abc import Mapping

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.archive.writing import COUNTS, StoredPanes, complete_from, merged_bytes
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.wire import decoded, encoded

FIRST = -(2**62)  # before every pane
WINDOWS = 3  # the place of the windows in the part "about"
Parts = dict[str, bytes]


def adapted(
    empty: PartCounts, parts: Mapping[str, bytes], panes: StoredPanes, part: int, groups: str, newest: int | None
) -> tuple[Parts, dict[str, int]]:
    """Return stored parts as counts configured like `empty` read them, and from when new windows are complete.

    `groups` is the name of the panes of groups, `newest` the time of the newest event. Times are nanoseconds since
    1970, by the name of the window.
    """
    parts, since = dict(parts), dict[str, int]()
    *values, seen, coverages = decoded(parts["about"])
    about = panes.archived(part)
    latest = max((t for t in seen if t is not None), default=None)
    stored = [tuple(window) for window in values[WINDOWS]]
    wanted = [(window.period, window.panes) for window in empty.windows.values()]
    if stored == wanted:
        return parts, since
    times = dict(zip(stored, seen, strict=True))
    covered = dict(zip(stored, coverages[1:], strict=True))
    old_parts, parts = parts, {name: data for name, data in parts.items() if "/" not in name}
    new_coverages = [coverages[0]]
    for name, window in zip(empty.windows, wanted, strict=True):
        if window in times:
            parts |= _renamed(old_parts, window[0], name)
            new_coverages.append(covered[window])
        else:
            new_parts, complete = _window_of_panes(empty, name, (latest, newest), panes, part, groups, about)
            parts |= new_parts
            new_coverages.append(empty.coverage[name].content())
            if complete is not None:
                since[name] = complete
    values[WINDOWS] = [list(window) for window in wanted]
    parts["about"] = encoded([*values, [times.get(window, latest) for window in wanted], new_coverages])
    return parts, since


def without_groups(empty: PartCounts, parts: Mapping[str, bytes]) -> Parts:
    """Return stored parts without the counts of groups; `empty` is configured like they are."""
    others = {name: data for name, data in parts.items() if not name.startswith(("groups/", "by_group/"))}
    return {**others, "groups": empty.total_groups.to_bytes()}


def _renamed(parts: Mapping[str, bytes], period: str, name: str) -> Parts:
    """Return the panes of a window by the name that it has now; it may have been written as 60m and be 1h now."""
    renamed = {}
    for key, data in parts.items():
        kind, _, rest = key.partition("/")
        window, _, number = rest.rpartition("/")
        if window and parse_duration(window, "windows") == parse_duration(period, "windows"):
            renamed[f"{kind}/{name}/{number}"] = data
    return renamed


def _window_of_panes(
    empty: PartCounts,
    name: str,
    times: tuple[int | None, int | None],
    panes: StoredPanes,
    part: int,
    groups: str,
    about: bytes | None,
) -> tuple[Parts, int | None]:
    """Return the panes of a new window, and from when it is complete; None if all of it is.

    `times` are the latest time, None while there were too few events to tell, and that of the newest event.
    """
    told, newest = times
    latest = newest if told is None else told
    if latest is None:
        return {}, None
    window = empty.windows[name]
    low = FIRST if told is None else (told // window.length - window.panes + 1) * window.length
    stored = [] if about is None else panes.panes(part, low, 2**62)
    complete = max(low, latest if about is None else complete_from(about, COUNTS) or low)
    bodies: dict[str, list[bytes]] = {}
    for pane in stored:
        kind = {COUNTS: "window", groups: "by_group"}.get(pane.name)
        number = pane.start // window.length
        if kind is None:
            continue
        if pane.start < low or pane.start + pane.length > (number + 1) * window.length:
            complete = max(complete, min(pane.start + pane.length, latest))
        else:
            bodies.setdefault(f"{kind}/{name}/{number}", []).append(pane.body)
    merged = {key: merged_bytes(some) for key, some in bodies.items()}
    blank = window.inner.to_bytes(), empty.groups[name].inner.to_bytes()  # a correction may have emptied a pane
    return {key: data for key, data in merged.items() if data not in blank}, complete if complete > low else None
