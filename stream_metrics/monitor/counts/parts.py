"""Counts as bytes, in parts: a checkpoint every second writes the few that have changed.

    name                 content
    about                the configuration, the latest time of each window, coverage
    total, groups        the states of all time
    window/NAME/PANE     a pane of a window, PANE being its number since 1970
    by_group/NAME/PANE   a pane of the groups of a window
    classes              the classes that are counted apart, if some are not

Earlier versions wrote `groups/NAME/PANE`, with at most 12 panes to a window. Such a pane is read into the pane in which
it begins. So until the last of them has left the window, groups lack up to a twelfth of it, as in those versions.

All parts together, format 1, are

    offset  size  content
    0       4     b"SMMC"
    4       1     format version, 1
    5       4     CRC-32 of everything after it, little-endian
    9       rest  msgpack: the parts by name, in order of name
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import DecodeError
from stream_metrics.labels import Label, canonical
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.panes import AnyPanes, State
from stream_metrics.wire import decoded, encoded

if TYPE_CHECKING:
    from stream_metrics.monitor.counts.counting import PartCounts

__all__ = ["config_fingerprint", "load_parts", "stored_classes", "written"]

EARLIER_PANES = 12


def config_fingerprint(counts: PartCounts) -> dict[str, object]:
    """Return the options that change how pairs are counted, by name."""
    config = counts.config
    return {
        "scores": counts.total.scores,
        "pos_label": counts.total.pos_label,
        "labels": None if not config.labels else [canonical(label) for label in config.labels],
        "windows": [[window.period, window.panes] for window in counts.windows.values()],
        "clock": config.clock,
        "max_groups": config.max_groups,
        "sketch": [counts.total.buckets, counts.total.sample] if counts.total.scored is not None else None,
    }


def written(counts: PartCounts) -> dict[str, bytes]:
    """Return counts as bytes by part."""
    seen = [window.seen for window in counts.windows.values()]
    about = [*config_fingerprint(counts).values(), seen, [coverage.content() for coverage in counts.coverage.values()]]
    parts = {"about": encoded(about), "total": counts.total.to_bytes(), "groups": counts.total_groups.to_bytes()}
    if (classes := counts.classes.content()) is not None:
        parts["classes"] = encoded(classes)
    for name in counts.windows:
        for kind, holder in _holders(counts, name):
            parts |= {f"{kind}/{name}/{number}": data for number, data in holder.written().items()}
    return parts


def _holders(counts: PartCounts, name: str) -> list[tuple[str, AnyPanes]]:
    """Return the panes of a window, with the word that the names of their parts start with."""
    return [("window", counts.windows[name]), ("by_group", counts.groups[name])]


def _earlier_groups(counts: PartCounts, name: str, seen: int | None, parts: Mapping[str, bytes]) -> dict[int, bytes]:
    """Return the panes of groups that an earlier version wrote, by their current numbers."""
    window, earlier = counts.windows[name], _panes(parts, f"groups/{name}/")
    length = window.length * window.panes // window.fewer(EARLIER_PANES)
    gone = None if seen is None else seen // window.length - window.panes
    panes = {number * length // window.length: data for number, data in earlier.items()}
    return {number: data for number, data in panes.items() if gone is None or number > gone}


def load_parts(counts: PartCounts, parts: Mapping[str, bytes]) -> None:
    """Load serialized parts into empty counts; DecodeError says what is damaged, or configured otherwise."""
    try:
        *values, seen, coverages = decoded(parts["about"])
        _check_fingerprint(config_fingerprint(counts), values)
        counts.total = _same(MetricSet.from_bytes(parts["total"]), counts.total)
        counts.total_groups = _same(ByGroup.from_bytes(parts["groups"]), counts.total_groups)
        for coverage, content in zip(counts.coverage.values(), coverages, strict=True):
            coverage.fill(content)
        counts.classes.fill(*_counted_classes(counts.total, parts))
        known = 3 + ("classes" in parts)
        for name, time in zip(counts.windows, seen, strict=True):
            earlier = _earlier_groups(counts, name, time, parts)
            known += len(_panes(parts, f"groups/{name}/"))
            for kind, holder in _holders(counts, name):
                panes = _panes(parts, f"{kind}/{name}/")
                holder.fill(time, panes if kind == "window" else earlier | panes)
                known += len(panes)
        if known < len(parts):
            raise DecodeError(f"Expected the parts of these windows, but got {sorted(parts)[:20]}")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"Expected the parts of counts, but: {error!r}") from error


def _counted_classes(total: MetricSet, parts: Mapping[str, bytes]) -> tuple[Any, Sequence[Label]]:
    """Return the content of the part "classes", None without one, and the classes of the total."""
    content = decoded(parts["classes"]) if "classes" in parts else None
    return content, (*total.state.labels, *(() if total.scored is None else total.scored.ranks.labels))


def stored_classes(parts: Mapping[str, bytes]) -> tuple[Sequence[Label], bool]:
    """Return the classes that stored counts have apart, from their parts "total" and "classes", and if they folded any.

    DecodeError if the parts are damaged.
    """
    content, counted = _counted_classes(MetricSet.from_bytes(parts["total"]), parts)
    return counted if content is None else content, content is not None


def _check_fingerprint(mine: Mapping[str, object], theirs: Sequence[object]) -> None:
    for (name, value), other in zip(mine.items(), theirs, strict=True):
        if encoded(value) != encoded(other):
            raise DecodeError(
                f"Expected counts with {name}={value!r}, but the state was counted with {other!r}: "
                f"give this value, or start with a new state and keep this one, which 'stream-metrics monitor backup' "
                f"copies and 'stream-metrics query' reads"
            )


def _same(state: State, empty: State) -> State:
    twin = state.copy()
    twin.reset()
    if twin != empty:
        raise DecodeError(f"Expected a state configured as {empty!r}, but got {state!r}")
    return state


def _panes(parts: Mapping[str, bytes], prefix: str) -> dict[int, bytes]:
    return {int(name[len(prefix) :]): data for name, data in parts.items() if name.startswith(prefix)}
