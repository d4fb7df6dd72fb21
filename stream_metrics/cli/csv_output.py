"""Results as CSV: a row for each value, with its group and class, and the ends of its interval if there are any.

Columns are the same for every snapshot of a kind, so that files can be joined. Nan and what is no value are empty.
Matrices are in JSON only.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stream_metrics.labels.json_names import label_names
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

HEADER = ("metric", "class", "value")
ENDS = ("low", "high")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV without the last line break."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().removesuffix("\n")


def _cell(value: object) -> object:
    return "" if isinstance(value, float) and math.isnan(value) else value


def snapshot_rows(taken: Snapshot | GroupSnapshot) -> Iterator[Sequence[object]]:
    """Yield the header and a row for each value; of groups, with the name of the group, which is empty for all."""
    if isinstance(taken, Snapshot):
        yield HEADER + ENDS * (taken.interval_display is not None)
        yield from _values(taken)
        return
    views = [*zip(label_names(list(taken)), taken.values(), strict=True), (taken.other_name, taken.other)]
    views.append(("", taken.overall))
    some = [(name, view) for name, view in views if view is not None]
    yield ("group", *HEADER, *ENDS * any(view.interval_display is not None for _, view in some))
    for name, view in some:
        for row in _values(view):
            yield name, *row


def _values(snapshot: Snapshot) -> Iterator[Sequence[object]]:
    data = snapshot.to_dict()
    intervals = data.get("intervals", {"metrics": {}, "per_class": {}})
    shown = snapshot.interval_display is not None
    for count in ("n", "weight", "abstained"):
        yield count, "", data[count], *_ends(None, shown)
    for key, value in data["metrics"].items():
        yield key, "", value, *_ends(intervals["metrics"].get(key), shown)
    for key, by_class in data["per_class"].items():
        for name, value in by_class.items():
            yield key, name, value, *_ends(intervals["per_class"].get(key, {}).get(name), shown)


def _ends(interval: dict[str, Any] | None, shown: bool) -> tuple[object, ...]:
    if not shown:
        return ()
    return ("", "") if interval is None else (interval["low"], interval["high"])
