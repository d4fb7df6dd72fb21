"""Parts of snapshots: reports and JSON; estimates and curves of scores; intervals for the population.

Methods import what computes intervals, because most programs never ask for one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, overload

from stream_metrics.catalog.table import ALIASES, CATALOG
from stream_metrics.errors import UnknownKeyError, no_attribute
from stream_metrics.evaluation.evaluation import Estimate, Evaluation
from stream_metrics.formulas.protocol import Counts
from stream_metrics.labels.json_names import json_data
from stream_metrics.ranking import curves
from stream_metrics.ranking.areas import delong_se
from stream_metrics.ranking.calibration import Reliability, reliability_curve
from stream_metrics.ranking.classes import classes, only_column

if TYPE_CHECKING:
    from stream_metrics.catalog.keys import ClassKey, NumberKey, ScoreClassKey
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.report.document import Element, Medium

class Rendered:
    """A snapshot with `to_dict` and `_document`, what its report says."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error

        def __getattr__(self, name: str) -> NoReturn:
            if name in CATALOG or name in ALIASES:
                text = f"{type(self).__name__!r} has no attribute {name!r}; metrics are read by key: [{name!r}]"
                raise AttributeError(text, name=name, obj=self)
            no_attribute(self, name)

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same counters and show the same of them."""
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self.__reduce__()[1] == other.__reduce__()[1]

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def _document(self, medium: Medium) -> list[Element]:
        """Return the elements of the report."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python types."""
        raise NotImplementedError

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict()` as JSON text; nan becomes null.

        Parameters
        ----------
        indent : int, optional
            Spaces by which nested values are indented; one line by default.

        Returns
        -------
        str
            JSON.
        """
        data = self.to_dict()
        try:
            return json.dumps(data, indent=indent, allow_nan=False)
        except ValueError:
            return json.dumps(json_data(data), indent=indent, allow_nan=False)

    def report(self, width: int | None = None) -> str:
        """Return the report as text.

        Parameters
        ----------
        width : int, optional
            Columns, at least 40; the width of the terminal by default.

        Returns
        -------
        str
            The report.
        """
        from stream_metrics.report.document import text

        return text(self._document, width)

    def __str__(self) -> str:
        """Return the text report at the width of the terminal."""
        return self.report()

    def _repr_html_(self) -> str:
        """Return the report as HTML for notebooks."""
        from stream_metrics.report.document import html

        return html(self._document)


class ScoreReadings:
    """The part of a snapshot that is read from scores.

    Where a `label` is left out, it is the `pos_label` of the states, if that was chosen or the classes are 0 and 1.
    `KeyError` asks for a label, or names a class that has neither scores nor samples; `LookupError` says if no scores
    are kept at all.
    """

    __slots__ = ()
    evaluation: Evaluation

    def estimate(self, key: str, *labels: Label, label: Label | None = None, **options: Any) -> Estimate:
        """Return the value of a metric with the interval that the sketch certifies.

        Parameters
        ----------
        key : str
            Key of the metric.
        *labels : Label
            The class of a per-class metric, or both classes of a metric of pairs.
        label : Label, optional
            The class of a per-class metric, by name.
        **options : object
            Options of the formula, such as max_fpr=0.2; by default those of the metric.

        Returns
        -------
        Estimate
            The value, its interval and its kind.
        """
        return self.evaluation.estimate(key, *labels, *([] if label is None else [label]), **options)

    def roc_curve(self, label: Label | None = None) -> curves.ROCCurve:
        """Return the ROC curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out if `pos_label` was chosen, or the classes are 0 and 1.

        Returns
        -------
        ROCCurve
            Points from the highest threshold down: `fpr, tpr, thresholds = snapshot.roc_curve()`; `exact` tells
            which points are exact.
        """
        return curves.roc_curve(self.evaluation.column(label))

    def pr_curve(self, label: Label | None = None) -> curves.PRCurve:
        """Return the precision-recall curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out if `pos_label` was chosen, or the classes are 0 and 1.

        Returns
        -------
        PRCurve
            Points from the highest threshold down: `precision, recall, thresholds = snapshot.pr_curve()`; `exact`
            tells which points are exact.
        """
        return curves.pr_curve(self.evaluation.column(label))

    def det_curve(self, label: Label | None = None) -> curves.DETCurve:
        """Return the detection error trade-off curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out if `pos_label` was chosen, or the classes are 0 and 1.

        Returns
        -------
        DETCurve
            Points from the highest threshold down: `fpr, fnr, thresholds = snapshot.det_curve()`; `exact` tells
            which points are exact.
        """
        return curves.det_curve(self.evaluation.column(label))

    def best_threshold(self, label: Label | None = None, metric: str | Callable[..., Any] = "youden") -> curves.Best:
        """Return the threshold at which a metric of a class against the rest is best.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out if `pos_label` was chosen, or the classes are 0 and 1.
        metric : str or callable, default "youden"
            "youden", "f1", "accuracy", "balanced_accuracy", "mcc", or a function of arrays (tp, fn, fp, tn).

        Returns
        -------
        Best
            Threshold, value, and a bound on what any other threshold could reach. The threshold is inf where it is best
            that no score counts as the class.
        """
        if metric == "youden" and isinstance(label, str) and label in curves.METRICS:  # a metric where a class belongs
            known = classes(self.evaluation.view("ranks", "roc_auc"))
            if label not in known:
                expected = f"to be a class, and a metric to be given by name: metric={label!r}"
                raise UnknownKeyError(argument="label", expected=expected, got=label)
        return curves.best_threshold(self.evaluation.column(label), metric)

    def reliability_curve(
        self, label: Label | None = None, *, bins: int = 15, strategy: str = "uniform"
    ) -> Reliability:
        """Return mean score and share of the class in bins of scores.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where `roc_curve` allows that; of more than two classes the curve is then
            that of the largest score and the share of right predictions, where the set keeps them.
        bins : int, default 15
            Number of bins.
        strategy : {"uniform", "quantile"}, default "uniform"
            Whether bins have the same width or hold the same number of samples.

        Returns
        -------
        Reliability
            Mean score, share and weight of each bin.
        """
        from stream_metrics.report.content import single_class

        snapshot: Any = self
        if label is None and "confidence" in self.evaluation.views and single_class(snapshot) is None:
            view = self.evaluation.view("confidence", "reliability_curve")
            return reliability_curve(only_column(view), bins=bins, strategy=strategy)
        return reliability_curve(self.evaluation.column(label), bins=bins, strategy=strategy)

    def delong_se(self, label: Label | None = None) -> float:
        """Return the standard error of the ROC AUC of a class as an estimate for the population.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out if `pos_label` was chosen, or the classes are 0 and 1.

        Returns
        -------
        float
            The standard error.
        """
        return delong_se(self.evaluation.column(label))


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
