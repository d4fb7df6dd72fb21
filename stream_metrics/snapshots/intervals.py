"""The part of a snapshot that says how sure its values are, as values of the population that the samples come from.

Its methods import what computes intervals, because most programs never ask for one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, Self, overload

from stream_metrics.evaluation.evaluation import Evaluation
from stream_metrics.formulas.protocol import Counts

if TYPE_CHECKING:
    from stream_metrics.catalog.keys import ClassKey, NumberKey, ScoreClassKey
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label


def of_window(taken: Any) -> Any:
    """Mark a snapshot, or those of groups, as of a sliding window: the values that it estimates move with it."""
    views = [*taken.values(), taken.overall, taken.other] if hasattr(taken, "overall") else [taken]
    for view in views:
        if hasattr(view, "evaluation"):
            view.evaluation.slides = True
    return taken


class IntervalDisplay(NamedTuple):
    """Which intervals a snapshot shows beside its values."""

    level: float
    valid: str
    t_opt: float | None


class IntervalReadings:
    """Intervals of single values. `stream_metrics.inference.intervals.methods` has the methods and their defaults."""

    __slots__ = ()
    evaluation: Evaluation
    interval_display: IntervalDisplay | None
    _intervals: dict[str, Interval | dict[Label, Interval] | None]

    @overload
    def interval(
        self, key: NumberKey | Callable[[Counts], float], level: float = ..., *, label: None = ...,
        valid: str = ..., t_opt: float | None = ..., draws: int = ..., seed: int = ..., **options: Any,
    ) -> Interval: ...  # fmt: skip
    @overload
    def interval(
        self, key: ClassKey | ScoreClassKey, level: float = ..., *, label: None = ...,
        valid: str = ..., t_opt: float | None = ..., draws: int = ..., seed: int = ..., **options: Any,
    ) -> dict[Label, Interval]: ...  # fmt: skip
    @overload
    def interval(
        self, key: str, level: float = ..., *, label: Label,
        valid: str = ..., t_opt: float | None = ..., draws: int = ..., seed: int = ..., **options: Any,
    ) -> Interval: ...  # fmt: skip
    @overload
    def interval(
        self, key: str, level: float = ..., *, label: Label | None = ...,
        valid: str = ..., t_opt: float | None = ..., draws: int = ..., seed: int = ..., **options: Any,
    ) -> Interval | dict[Label, Interval]: ...  # fmt: skip
    def interval(
        self,
        key: str | Callable[[Counts], float],
        level: float = 0.95,
        *,
        label: Label | None = None,
        valid: str = "fixed",
        t_opt: float | None = None,
        draws: int = 1000,
        seed: int = 20101,
        **options: Any,
    ) -> Interval | dict[Label, Interval]:
        """Return the interval that holds the value of the population with a stated confidence.

        Parameters
        ----------
        key : str or callable
            Key of the metric, or a function of the counts (`formulas.protocol.Counts`) that returns a float.
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        label : Label, optional
            The class of a per-class metric.
        valid : {"fixed", "anytime"}, default "fixed"
            "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
        t_opt : float, optional
            Number of samples near which an interval for all looks is tightest; to be chosen before the first look. By
            default 1,000 for asymptotic ones, and for proportions a sequence that suits any number.
        draws, seed : int, default 1000 and 20101
            Of the posterior; equal counts give equal intervals.
        **options : object
            Options of the formula, such as beta=2.

        Returns
        -------
        Interval or dict of Label to Interval
            The interval; a per-class key without `label` gives a dict.

        Raises
        ------
        KeyError
            If there is no such key.
        ValueError
            If the metric has no interval, an option is not allowed, or samples have weights other than 1.

        Notes
        -----
        Each metric has one method: "wilson", or "clopper_pearson" where hits or misses are few (proportions), "delta",
        or "posterior" where counts are few (other metrics of counts), "posterior" (functions and metrics with options),
        "delong" and "influence" (areas), "student" (losses), "noncentral" (calibration without noise), "folds" (samples
        with a unit). `Interval.method` says which.

        `valid="anytime"` gives confidence sequences: exact for proportions and losses; for others exact or the whole
        range at first, and asymptotic once the standard error rests on enough samples. For proportions at all looks a
        martingale is enough: the share may change, and the interval holds the mean of the probabilities of the samples,
        each given those before.

        Metrics whose gradient needs the whole table are refused beyond 2,048 classes, those of all pairs of classes and
        the determinant beyond 128.

        Samples with a `unit` have intervals for one look, with any weights: of every
        metric that is not biased near its lowest value, of losses and means of areas too. All samples must have a unit,
        or none. Samples without are taken as independent and of one stream from its start: an "anytime" interval is
        refused for a window that slides. `note` of the interval says why it is not to be trusted; it is empty if
        nothing speaks against it.
        """
        from stream_metrics.inference.intervals.dispatch import interval

        given = {"label": label, "valid": valid, "t_opt": t_opt, "draws": draws, "seed": seed, **options}
        return interval(self.evaluation, key, level, **given)

    def with_intervals(self, level: float = 0.95, valid: str = "fixed", *, t_opt: float | None = None) -> Self:
        """Return this snapshot with intervals beside its values.

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
        Snapshot
            A snapshot whose report, HTML, `to_dict`, `to_frame` and plots show them.
        """
        from stream_metrics.inference.intervals.folds import check_interval_options, refuse_looks

        refuse_looks(self.evaluation, valid)
        twin: Any = copy(self)  # with no intervals yet; values that were read once are read for both
        twin.interval_display = IntervalDisplay(*check_interval_options(level, valid, t_opt))
        twin.evaluation = self.evaluation
        return twin  # type: ignore[no-any-return]

    def displayed_interval(self, key: str) -> Interval | dict[Label, Interval] | None:
        """Return the interval of a key as it is shown.

        Parameters
        ----------
        key : str
            Key of the metric.

        Returns
        -------
        Interval or dict of Label to Interval or None
            None if no intervals are shown, or the metric has none.
        """
        if self.interval_display is None:
            return None
        if key not in self._intervals:
            from stream_metrics.inference.intervals.dispatch import has_interval
            from stream_metrics.inference.intervals.resampling import enough_draws

            level, valid, t_opt = self.interval_display
            shown = None
            if has_interval(self.evaluation, key, valid) and not self.interval_problem():
                shown = self.interval(key, level, valid=valid, t_opt=t_opt, draws=enough_draws(level))
            self._intervals[key] = shown
        return self._intervals[key]

    def interval_problem(self) -> str:
        """Return why no value has an interval although they are shown.

        Returns
        -------
        str
            The reason; empty if nothing speaks against them.
        """
        from stream_metrics.inference.intervals.folds import weight_problem

        return "" if self.interval_display is None else weight_problem(self.evaluation)
