"""The metrics of every group at one moment, and how the groups compare."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_metrics.catalog.table import find
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.inference.intervals.batched_formulas import RATES
from stream_metrics.inference.intervals.conditions import checked
from stream_metrics.inference.intervals.resampling import enough_draws
from stream_metrics.inference.selection import e_benjamini_hochberg, e_value_below, level_of_each, range_of
from stream_metrics.inputs.options import real
from stream_metrics.labels import canonical
from stream_metrics.labels.json_names import json_data, label_names
from stream_metrics.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label

__all__ = ["Gap", "GroupSnapshot"]


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

    Notes
    -----
    The worst of many groups is partly the unluckiest one: of 20 equal groups, its own interval of 95 % holds the truth
    in 58 % of samples. `intervals`, `gap_interval` and `with_intervals` therefore hold for all groups together, and
    with that for those picked by `worst` or `gap`. Each metric is by itself.
    """

    __slots__ = ("_groups", "_level", "other", "other_name", "overall")

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
        self._level: float | None = None  # with which the intervals shown hold for all groups together

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
        """Return these groups with intervals beside their values; see `Snapshot.with_intervals`.

        Those of the groups hold all together with `level`, as `intervals` says, so each has a higher one. Those of all
        samples and of folded groups have `level` by themselves.
        """
        each = self._level_of_each(level, 1)
        groups = {group: view.with_intervals(each, valid, t_opt=t_opt) for group, view in self._groups.items()}
        rest = (self.overall, self.other)
        overall, other = (None if view is None else view.with_intervals(level, valid, t_opt=t_opt) for view in rest)
        shown = GroupSnapshot(groups, overall, other, self.other_name)
        shown._level = level
        return shown

    def _level_of_each(self, level: float, least: int) -> float:
        level = checked(level, "fixed", None)[0]
        return level_of_each(level, sum(view.n >= max(least, 1) for view in self._groups.values()))

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
            value = math.nan if group in refused or view.n < least else number_of(view, key, label)
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

    def intervals(
        self,
        key: str,
        level: float = 0.95,
        *,
        label: Label | None = None,
        least: int = 1,
        valid: str = "fixed",
        t_opt: float | None = None,
    ) -> dict[Label, Interval]:
        """Return an interval of one value for every group that has it, which hold all together with `level`.

        So they hold for the worst group, for the best, or for whichever else the data made one pick. Each has the
        level 1 - (1 - level) / m, m being the number of groups with `least` samples.

        Parameters
        ----------
        key, label, least
            The value, as for `worst`.
        level
            How probable it is that every interval holds the value of its group.
        valid, t_opt
            As for `Snapshot.interval`: with "anytime" they hold together for all looks.

        Returns
        -------
        dict
            From group to `Interval`, the worst group first if the metric has a better direction, else in the order of
            report.

        Raises
        ------
        ValueError
            If the metric has no interval, or a sample had a weight other than 1.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> groups = sm.ByGroup(sm.Accuracy())
        >>> groups.update_many([1] * 60, [1] * 50 + [0] * 10, group=["x", "y", "z"] * 20)
        >>> intervals = groups.snapshot().intervals("accuracy")
        >>> {group: (round(one.low, 2), round(one.high, 2)) for group, one in intervals.items()}
        {'z': (0.51, 0.96), 'x': (0.57, 0.98), 'y': (0.57, 0.98)}
        """
        row, each = find(key), self._level_of_each(level, least)
        values = self.values_of(key, label, least=least)
        ranked = values if row.better is None else dict(self.worst(key, label=label, least=least))
        intervals: dict[Label, Interval] = {}
        for group in ranked:
            view = self._groups[group]
            of = view._view("ranks", key).pos_label if label is None and row.kind == "per_class" else label
            one: Any = view.interval(key, each, label=of, valid=valid, t_opt=t_opt, draws=enough_draws(each))
            intervals[group] = one
        return intervals

    def gap_interval(
        self,
        key: str,
        level: float = 0.95,
        *,
        label: Label | None = None,
        least: int = 1,
        valid: str = "fixed",
        t_opt: float | None = None,
    ) -> Interval:
        """Return `max_gap` with an interval that holds the largest difference between groups of the population.

        It follows from `intervals`, whose arguments it takes: at most from the lowest end of all to the highest, at
        least the largest distance between two intervals. `low` above 0 says that some groups differ. The value itself
        is above 0 for equal groups, too: the more so the more and the smaller they are. Nan without two groups.
        """
        return range_of(self.intervals(key, level, label=label, least=least, valid=valid, t_opt=t_opt), level, valid)

    def below(
        self, key: str, target: float, *, fdr: float = 0.05, label: Label | None = None, least: int = 1
    ) -> dict[Label, float]:
        """Return the groups of which it is evident that their rate is below a target, with their e-values.

        Of the groups returned, a share of at most `fdr` is expected to be there wrongly, whenever one looks and however
        the groups depend on each other (e-BH; Wang and Ramdas 2022). Samples are taken as independent.

        Parameters
        ----------
        key, label, least
            The rate, as for `worst`: "accuracy", or with a class as `label` "recall", "precision", "specificity" or
            another share of samples.
        target
            What the rate of every group should reach, between 0 and 1. It must not be chosen from the same samples.
        fdr
            The false discovery rate, between 0 and 1.

        Returns
        -------
        dict
            From group to e-value, the largest first.

        Raises
        ------
        ValueError
            If the metric is no share of samples, or a number is out of range.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> groups = sm.ByGroup(sm.Accuracy())
        >>> groups.update_many([1] * 300, [1, 1, 0] * 100, group=["x", "y", "z"] * 100)
        >>> list(groups.snapshot().below("accuracy", 0.9))
        ['z']
        """
        if key != "accuracy" and key not in RATES:
            raise ValueError(f"Expected `key` to be a share of samples, such as accuracy or recall, but got {key!r}")
        target, fdr = real(target, "target"), real(fdr, "fdr")
        if not (0 < target < 1 and 0 < fdr < 1):
            raise ValueError(f"Expected `target` and `fdr` to be between 0 and 1, but got {target!r} and {fdr!r}")
        evidence = {}
        for group in self.values_of(key, label, least=least):
            one: Any = self._groups[group].interval(key, method="wilson", label=label)
            evidence[group] = e_value_below(round(one.value * one.n), one.n, target)
        return e_benjamini_hochberg(evidence, fdr)

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
        return json.dumps(json_data(self.to_dict()), indent=indent, allow_nan=False)

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
