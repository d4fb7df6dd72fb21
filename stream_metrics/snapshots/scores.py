"""The part of a snapshot that reads scores: estimates with their certified intervals, and curves as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_metrics.errors import UnknownKeyError
from stream_metrics.evaluation.evaluation import Estimate, Evaluation
from stream_metrics.ranking import curves
from stream_metrics.ranking.areas import delong_se
from stream_metrics.ranking.calibration import Reliability, reliability_curve
from stream_metrics.ranking.classes import classes, only_column

if TYPE_CHECKING:
    from stream_metrics.labels import Label


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
