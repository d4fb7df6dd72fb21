"""The metrics of every group at one moment, and how the groups compare."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_metrics.catalog import find
from stream_metrics.jsonable import label_names, without_nan
from stream_metrics.labels import canonical
from stream_metrics.snapshot import Snapshot

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["Gap", "GroupSnapshot", "value_of"]


class Gap(NamedTuple):
    """The largest difference between groups in one value: how large, and the groups with the lowest and the highest."""

    size: float
    lowest: Any
    highest: Any


class GroupSnapshot(Mapping[Any, Snapshot]):
    """A mapping from group to its snapshot, in the order of report.

    `overall` is the snapshot of all samples, None if the states of groups cannot be merged; `other` that of the groups
    that are not kept apart, None if there are none. Comparisons are between groups that are kept apart, and leave out
    those whose value is 0/0 or that have fewer than `least` samples.
    """

    __slots__ = ("_groups", "other", "other_name", "overall")

    def __init__(
        self,
        groups: Mapping[Label, Snapshot],
        overall: Snapshot | None,
        other: Snapshot | None,
        other_name: str = "other",
    ) -> None:
        """Take over the snapshots."""
        self._groups = dict(groups)
        self.overall, self.other, self.other_name = overall, other, other_name

    def __getitem__(self, group: Label) -> Snapshot:
        """Return the snapshot of a group; KeyError if it is not kept apart."""
        return self._groups[canonical(group, "group")]

    def __contains__(self, group: object) -> bool:
        """Tell whether a group is kept apart."""
        return group in self._groups

    def __iter__(self) -> Iterator[Label]:
        """Yield the groups that are kept apart."""
        return iter(self._groups)

    def __len__(self) -> int:
        """The number of groups that are kept apart."""
        return len(self._groups)

    def with_intervals(self, level: float = 0.95, valid: str = "fixed", *, t_opt: float | None = None) -> GroupSnapshot:
        """Return these groups with intervals beside their values; see `Snapshot.with_intervals`."""

        def shown(view: Snapshot) -> Snapshot:
            return view.with_intervals(level, valid, t_opt=t_opt)

        groups = {group: shown(view) for group, view in self._groups.items()}
        overall, other = (None if view is None else shown(view) for view in (self.overall, self.other))
        return GroupSnapshot(groups, overall, other, self.other_name)

    @property
    def folded(self) -> int:
        """The number of samples of groups that are not kept apart."""
        return 0 if self.other is None else self.other.n

    def values_of(self, key: str, label: Label | None = None, *, least: int = 1) -> dict[Label, float]:
        """Return one value of every group that has it; a per-class key takes the class as `label`.

        A group that cannot compute it has no value; `ValueError` or `KeyError` says why if no group can.
        """
        found = {}
        refused = {group: problem for group, view in self._groups.items() if (problem := view._obstacle(key))}
        if refused and len(refused) == len(self._groups):
            raise next(iter(refused.values())).error
        for group, view in self._groups.items():
            value = math.nan if group in refused or view.n < least else value_of(view, key, label)
            if not math.isnan(value):
                found[group] = value
        return found

    def worst(
        self, key: str, n: int | None = None, *, label: Label | None = None, least: int = 1
    ) -> list[tuple[Label, float]]:
        """Return groups with their values, worst first, at most `n` of them.

        Which is worse is the metric's own direction; `ValueError` if it has none. Equal values are in the order of
        report.
        """
        row = find(key)
        if row.better is None:
            raise ValueError(f"Expected a metric of which more, or less, is better, but got {key!r}")
        found = self.values_of(key, label, least=least)
        ranked = sorted(found.items(), key=lambda item: item[1] if row.better == "higher" else -item[1])
        return ranked if n is None else ranked[:n]

    def gap(self, key: str, *, label: Label | None = None, least: int = 1) -> Gap:
        """Return the largest difference between two groups, and which these are; nan and None without two groups."""
        found = self.values_of(key, label, least=least)
        if len(found) < 2:
            return Gap(math.nan, None, None)
        lowest, highest = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        return Gap(found[highest] - found[lowest], lowest, highest)

    def max_gap(self, key: str, *, label: Label | None = None, least: int = 1) -> float:
        """Return the largest difference between two groups; nan if there are no two groups with a value."""
        return self.gap(key, label=label, least=least).size

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types; groups appear under their JSON names (see `jsonable`)."""
        names = label_names(list(self._groups))
        return {
            "overall": None if self.overall is None else self.overall.to_dict(),
            "groups": {name: view.to_dict() for name, view in zip(names, self._groups.values(), strict=True)},
            "other": None if self.other is None else self.other.to_dict(),
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict()` as JSON text; nan becomes null."""
        return json.dumps(without_nan(self.to_dict()), indent=indent, allow_nan=False)

    def report(self, width: int | None = None) -> str:
        """Return the text report at `width` columns (at least 40); without it, at the width of the terminal."""
        from stream_metrics.report.groups import report

        return report(self, width)

    def __str__(self) -> str:
        """Return the text report at the width of the terminal."""
        return self.report()

    def __repr__(self) -> str:
        n = sum(view.n for view in self._groups.values()) + self.folded
        return f"<GroupSnapshot n={n}, groups={len(self)}>"


def value_of(snapshot: Snapshot, key: str, label: Label | None = None) -> float:
    """Return a value of one group; nan if it is 0/0, or the group has no such class."""
    row = find(key)
    if row.kind == "matrix":
        raise KeyError(f"Expected a key with one value, but {key!r} is a matrix")
    if row.kind == "whole":
        if label is not None:
            raise KeyError(f"Expected no label for {key!r}, which is one value, but got {label!r}")
        value, undefined = snapshot._entry(key)
        return math.nan if undefined or not isinstance(value, int | float) else float(value)
    if label is None:
        if row.reads != "ranks":
            raise KeyError(f"Expected `label` to be the class for the per-class key {key!r}, but got none")
        label = snapshot._view("ranks", key).pos_label
    found = canonical(label, "label")
    table = snapshot._table(key)
    undefined = snapshot._entry(key)[1]
    return math.nan if found not in table or found in undefined else float(table[found])
