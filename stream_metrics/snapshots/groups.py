"""The metrics of every group at one moment, and how the groups compare.

As in `intervals`, methods import what computes intervals, because most programs never ask for one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_metrics.catalog.table import find
from stream_metrics.errors import OptionError, UnknownKeyError
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.inputs.arguments import real
from stream_metrics.labels import canonical
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.classes import asked_class
from stream_metrics.snapshots.readings import Rendered
from stream_metrics.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.report.data import Rows
    from stream_metrics.report.document import Element, Medium


class Gap(NamedTuple):
    """The largest difference between groups in one value: how large, and the groups with the lowest and the highest."""

    size: float
    lowest: Any
    highest: Any


class GroupSnapshot(Rendered, Mapping["Label", Snapshot]):
    """A mapping from group to its snapshot, in the order of the groups.

    Comparisons are between groups that are kept apart. They leave out groups whose value is 0/0 or that have fewer than
    `least` samples.

    Parameters
    ----------
    groups : mapping from Label to Snapshot
        The groups that are kept apart.
    overall : Snapshot or None
        All samples; None if the states of groups cannot be merged.
    other : Snapshot or None
        The groups that are not kept apart; None if there are none.
    other_name : str, default "other"
        Name of these groups in reports.

    Notes
    -----
    The worst of many groups is partly the unluckiest one: of 20 equal groups, its own interval of 95 % holds the truth
    in 58 % of samples. `intervals`, `gap_interval` and `with_intervals` therefore hold for all groups together, and
    with that for those picked by `worst` or `gap`. Each metric is by itself.

    Examples
    --------
    >>> from stream_metrics import Accuracy, ByGroup
    >>> groups = ByGroup(Accuracy())
    >>> groups.update_many([1] * 4, [1, 0, 1, 1], group=["x", "x", "y", "y"])
    >>> snapshot = groups.snapshot()
    >>> snapshot["x"]["accuracy"], snapshot.overall["accuracy"], snapshot.worst("accuracy", 1)
    (0.5, 0.75, [('x', 0.5)])
    """

    __slots__ = ("_groups", "interval_level", "notes", "other", "other_name", "overall")

    def __init__(
        self,
        groups: Mapping[Label, Snapshot],
        overall: Snapshot | None,
        other: Snapshot | None,
        other_name: str = "other",
    ) -> None:
        """Take over the snapshots."""
        self._groups = dict(groups)
        self.overall: Snapshot | Any = overall  # nearly always there, so that type checkers let it be read
        self.other, self.other_name = other, other_name
        self.notes: tuple[str, ...] = ()  # warnings from outside
        self.interval_level: float | None = None  # with which the intervals shown hold for all groups together

    def __getitem__(self, group: Label) -> Snapshot:
        """Return the snapshot of a group; KeyError if it is not kept apart."""
        group = canonical(group, "group")
        if group not in self._groups:
            raise UnknownKeyError(argument="group", expected=f"to be one of {list(self._groups)!r:.80}", got=group)
        return self._groups[group]

    def _ipython_key_completions_(self) -> list[Label]:
        """Return what notebooks complete in `snapshot[...]`."""
        return list(self)

    def __contains__(self, group: object) -> bool:
        """Tell whether a group is kept apart."""
        return group in self._groups

    def __iter__(self) -> Iterator[Label]:
        """Yield the groups that are kept apart."""
        return iter(self._groups)

    def __len__(self) -> int:
        """The number of groups that are kept apart."""
        return len(self._groups)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the snapshots."""
        return _restore, (self._groups, self.overall, self.other, self.other_name, self.interval_level, self.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about data that look wrong: of all samples, or of groups where these do not merge."""
        if self.overall is not None:
            return (*self.notes, *self.overall.warnings)
        each = (f"Group {group!r:.40}: {text}" for group, view in self._groups.items() for text in view.warnings)
        return (*self.notes, *each)

    def with_warning(self, sentence: str) -> GroupSnapshot:
        """Return these groups with one more sentence in their `warnings`.

        Parameters
        ----------
        sentence : str
            What is to be known about the data, and not to be seen in the counters.

        Returns
        -------
        GroupSnapshot
            A new snapshot.
        """
        snapshot = copy(self)
        snapshot.notes = (*self.notes, sentence)
        return snapshot

    def with_intervals(self, level: float = 0.95, valid: str = "fixed", *, t_opt: float | None = None) -> GroupSnapshot:
        """Return these groups with intervals beside their values.

        Parameters
        ----------
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        valid : {"fixed", "anytime"}, default "fixed"
            "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
        t_opt : float, optional
            Number of samples near which an interval for all looks is tightest; to be chosen before the first look.

        Returns
        -------
        GroupSnapshot
            Groups whose report, HTML and plots show intervals.

        Notes
        -----
        Intervals of the groups hold all together, as `intervals` says. Those of all samples and of folded groups have
        `level` by themselves.
        """
        each = self._level_of_each(level, 1)
        groups = {group: view.with_intervals(each, valid, t_opt=t_opt) for group, view in self._with_metrics().items()}
        rest = (self.overall, self.other)
        overall, other = (None if view is None else view.with_intervals(level, valid, t_opt=t_opt) for view in rest)
        return _restore(groups, overall, other, self.other_name, level, self.notes)

    def _with_metrics(self) -> Mapping[Label, Snapshot]:
        """Return the snapshots of the groups; OptionError if they have no metrics, as those of detectors."""
        if all(hasattr(view, "evaluation") for view in self._groups.values()):
            return self._groups
        raise OptionError(argument="groups", expected="to have metrics", but="got groups of change detectors")

    def _compared(self, least: int) -> int:
        """Return how many groups have enough samples to be compared."""
        return sum(view.n >= max(least, 1) for view in self._groups.values())

    def _level_of_each(self, level: float, least: int, paired: bool = False) -> float:
        """Return the level of the interval of each group with which those of all hold, or of all pairs of groups."""
        from stream_metrics.inference.intervals.folds import check_interval_options
        from stream_metrics.inference.selection import level_of_each

        level = check_interval_options(level, "fixed", None)[0]
        groups = self._compared(least)
        return level_of_each(level, groups * (groups - 1) // 2 if paired else groups)

    @property
    def folded(self) -> int:
        """The number of samples of groups that are not kept apart."""
        return 0 if self.other is None else self.other.n

    def values_of(self, key: str, label: Label | None = None, *, least: int = 1, **options: Any) -> dict[Label, float]:
        """Return one value of every group that has it.

        Parameters
        ----------
        key : str
            Key of the metric.
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        dict of Label to float
            Values by group, in the order of the groups.

        Raises
        ------
        KeyError
            If there is no such key, or no group can compute it.
        ValueError
            If no group can compute it; the message says why.
        """
        values, groups = {}, self._with_metrics()
        refused = {group: problem for group, view in groups.items() if (problem := view.evaluation.obstacle(key))}
        if refused and len(refused) == len(groups):
            raise next(iter(refused.values())).error
        for group, view in groups.items():
            if group not in refused and view.n >= least:
                value = number_of(view.evaluation, key, label, **options)
                if not math.isnan(value):
                    values[group] = value
        return values

    def worst(
        self, key: str, n: int | None = None, *, label: Label | None = None, least: int = 1, **options: Any
    ) -> list[tuple[Label, float]]:
        """Return groups with their values, worst first.

        Parameters
        ----------
        key : str
            Key of the metric.
        n : int, optional
            Largest number of groups; all by default.
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        list of (Label, float)
            Groups and values. Equal values are in the order of the groups.

        Raises
        ------
        ValueError
            If the metric has no better direction.
        """
        row = find(key)
        if row.direction is None:
            raise ValueError(f"Expected a metric of which more, or less, is better, but got {key!r}")
        values = self.values_of(key, label, least=least, **options)
        ranked = sorted(values.items(), key=lambda item: item[1] if row.direction == "higher" else -item[1])
        return ranked if n is None else ranked[:n]

    def gap(self, key: str, *, label: Label | None = None, least: int = 1, **options: Any) -> Gap:
        """Return the largest difference between two groups.

        Parameters
        ----------
        key : str
            Key of the metric.
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        Gap
            Its size, and the groups with the lowest and the highest value; nan and None without two groups.
        """
        values = self.values_of(key, label, least=least, **options)
        if len(values) < 2:
            return Gap(math.nan, None, None)
        lowest, highest = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        return Gap(values[highest] - values[lowest], lowest, highest)

    def max_gap(self, key: str, *, label: Label | None = None, least: int = 1, **options: Any) -> float:
        """Return the size of the largest difference between two groups.

        Parameters
        ----------
        key : str
            Key of the metric.
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        float
            The size; nan if there are no two groups with a value.
        """
        return self.gap(key, label=label, least=least, **options).size

    def intervals(
        self,
        key: str,
        level: float = 0.95,
        *,
        label: Label | None = None,
        least: int = 1,
        valid: str = "fixed",
        t_opt: float | None = None,
        **options: Any,
    ) -> dict[Label, Interval]:
        """Return an interval for every group that has the value; they hold all together.

        They hold for the worst group, for the best, or for any other that the data suggest. Each has the level 1 - (1 -
        level) / m, with m the number of groups with `least` samples.

        Parameters
        ----------
        key : str
            Key of the metric.
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        valid : {"fixed", "anytime"}, default "fixed"
            "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
        t_opt : float, optional
            Number of samples near which an interval for all looks is tightest; to be chosen before the first look.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        dict of Label to Interval
            The worst group first if the metric has a better direction, else in the order of the groups.

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
        return self._intervals(key, self._level_of_each(level, least), label, least, (valid, t_opt), options)

    def _intervals(
        self,
        key: str,
        each: float,
        label: Label | None,
        least: int,
        looks: tuple[str, float | None],
        options: dict[str, Any],
    ) -> dict[Label, Interval]:
        """Return the interval of each group at the level that each has; `looks` are `valid` and `t_opt`."""
        from stream_metrics.inference.intervals.resampling import enough_draws

        row, (valid, t_opt) = find(key), looks
        values = self.values_of(key, label, least=least, **options)
        ranked = values if row.direction is None else dict(self.worst(key, label=label, least=least, **options))
        intervals: dict[Label, Interval] = {}
        for group in ranked:
            view = self._groups[group]
            of = asked_class(view.evaluation.view("ranks", key)) if label is None and row.kind == "per_class" else label
            draws = enough_draws(each)
            one: Any = view.interval(key, each, label=of, valid=valid, t_opt=t_opt, draws=draws, **options)
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
        **options: Any,
    ) -> Interval:
        """Return an interval of the largest difference between groups of the population.

        Parameters
        ----------
        key : str
            Key of the metric.
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.
        valid : {"fixed", "anytime"}, default "fixed"
            "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
        t_opt : float, optional
            Number of samples near which an interval for all looks is tightest; to be chosen before the first look.
        **options : object
            Options of the formula, such as beta=2; by default those of the metric.

        Returns
        -------
        Interval
            `max_gap` and its interval; nan without two groups.

        Notes
        -----
        For one look, the differences of all pairs have intervals that hold together, each from the intervals of the two
        groups (MOVER; for two groups and a rate, Newcombe's). For all looks, and for more than 500 groups, it follows
        from `intervals`: at most from the lowest end of all to the highest, at least the largest distance between two
        intervals. `low` above 0 says that some groups differ. The value itself is above 0 for equal groups, too: the
        more so the more and the smaller they are.

        References
        ----------
        R. G. Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine
        17, 1998.
        """
        from stream_metrics.inference.selection import MOST_PAIRED, range_of

        paired = valid == "fixed" and self._compared(least) <= MOST_PAIRED
        each = self._level_of_each(level, least, paired)
        return range_of(self._intervals(key, each, label, least, (valid, t_opt), options), level, valid, paired)

    def below(
        self, key: str, target: float, *, fdr: float = 0.05, label: Label | None = None, least: int = 1
    ) -> dict[Label, float]:
        """Return the groups of which it is evident that their rate is below a target.

        Of the groups returned, a share of at most `fdr` is expected to be there wrongly, at any number of looks and
        however the groups depend on each other. Samples are taken as independent.

        Parameters
        ----------
        key : str
            The rate: "accuracy", or with a class as `label` "recall", "precision", "specificity" or another share of
            samples.
        target : float
            What the rate of every group should reach, in (0, 1). It must not be chosen from the same samples.
        fdr : float, default 0.05
            The false discovery rate, in (0, 1).
        label : Label, optional
            The class of a per-class metric.
        least : int, default 1
            Smallest number of samples of a group that is compared.

        Returns
        -------
        dict of Label to float
            The e-value of each group, the largest first.

        Raises
        ------
        ValueError
            If the metric is no share of samples, or a number is out of range.

        References
        ----------
        .. [1] Wang and Ramdas 2022. R. Wang and A. Ramdas, False discovery rate control with e-values. JRSS B 84(3),
           822-852.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> groups = sm.ByGroup(sm.Accuracy())
        >>> groups.update_many([1] * 300, [1, 1, 0] * 100, group=["x", "y", "z"] * 100)
        >>> list(groups.snapshot().below("accuracy", 0.9))
        ['z']
        """
        from stream_metrics.inference.intervals.gradients import RATES
        from stream_metrics.inference.selection import e_benjamini_hochberg, e_value_below

        if key != "accuracy" and key not in RATES:
            raise ValueError(f"Expected `key` to be a share of samples, such as accuracy or recall, but got {key!r}")
        target, fdr = real(target, "target"), real(fdr, "fdr")
        if not (0 < target < 1 and 0 < fdr < 1):
            raise ValueError(f"Expected `target` and `fdr` to be between 0 and 1, but got {target!r} and {fdr!r}")
        evidence = {}
        for group in self.values_of(key, label, least=least):
            one: Any = self._groups[group].interval(key, label=label)
            evidence[group] = e_value_below(round(one.value * one.n), one.n, target)
        return e_benjamini_hochberg(evidence, fdr)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types.

        Returns
        -------
        dict
            Values by group. Groups appear under their JSON names.
        """
        names = label_names(list(self._groups))
        return {
            "overall": None if self.overall is None else self.overall.to_dict(),
            "groups": {name: view.to_dict() for name, view in zip(names, self._groups.values(), strict=True)},
            "other": None if self.other is None else self.other.to_dict(),
            "warnings": list(self.warnings),
        }

    def to_frame(self, rows: Rows = "metrics") -> pandas.DataFrame:
        """Return the values as a pandas table, the worst group first, as in the report.

        Parameters
        ----------
        rows : {"metrics", "classes"}, default "metrics"
            What the table has of each group: its size and the metrics that are one number, in one row; or a row for
            each class, with a column for each per-class key.

        Returns
        -------
        pandas.DataFrame
            Groups and metrics, or (group, label) and per-class keys. A value that is 0/0 is nan for metrics, so that
            means over groups leave it out.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If `rows` is something else.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> groups = sm.evaluate([1, 0, 1, 0], [1, 0, 0, 0], group=["x", "x", "y", "y"])
        >>> groups.to_frame()["accuracy"].to_dict()
        {'y': 0.5, 'x': 1.0}
        """
        from stream_metrics.report.data import group_frame

        return group_frame(self, rows)

    def plot(self) -> Figure:
        """Draw the headline metrics of the groups with intervals that hold all together, the worst group on top.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig(path)` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        See Also
        --------
        stream_metrics.plots.groups : The same for other metrics.
        """
        from stream_metrics.plots.groups import groups

        return groups(self)

    def _document(self, medium: Medium) -> list[Element]:
        from stream_metrics.report.groups import document

        return document(self, medium)

    def __repr__(self) -> str:
        """Return one line: size and number of groups."""
        n = sum(view.n for view in self._groups.values()) + self.folded
        return f"<GroupSnapshot n={n}, groups={len(self)}>"


def _restore(groups: Any, overall: Any, other: Any, name: str, level: Any, notes: Any = ()) -> GroupSnapshot:
    snapshot = GroupSnapshot(groups, overall, other, name)
    snapshot.interval_level, snapshot.notes = level, notes
    return snapshot
