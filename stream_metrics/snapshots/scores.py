"""The part of a snapshot that reads scores: estimates with their certified intervals, and curves as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.evaluation.evaluate import compute, value_labels
from stream_metrics.labels import canonical
from stream_metrics.ranking import curves
from stream_metrics.ranking.areas import delong_se
from stream_metrics.ranking.calibration import Reliability, reliability_curve
from stream_metrics.ranking.classes import classes, columns
from stream_metrics.ranking.protocol import Certified, RankColumn

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["Estimate", "ScoreReadings"]


class Estimate(NamedTuple):
    """A value of a metric, and the interval that certainly holds what the raw data would give.

    Parameters
    ----------
    value : float or array
        The value.
    low, high : float or array
        The ends of the interval; both are the value where it is known exactly.
    se : float
        How far the value may be from that of the raw scores.
    kind : {"exact", "certified", "undefined"}
        "exact" for a function of exact counters, "certified" for one of a rank sketch, "undefined" for 0/0, when the
        value is the number that stands for it.

    Notes
    -----
    This is not about the uncertainty that comes from the data being a sample; see `Interval`.

    Examples
    --------
    >>> from stream_metrics import RankSketch
    >>> state = RankSketch()
    >>> state.update_many([1, 0, 1], [0.9, 0.2, 0.4])
    >>> state.snapshot().estimate("roc_auc")
    Estimate(value=1.0, low=1.0, high=1.0, se=0.0, kind='certified')
    """

    value: Any
    low: Any
    high: Any
    se: float
    kind: str


class ScoreReadings:
    """What a snapshot says of scores.

    Where a `label` is left out, it is the `pos_label` of the states. `KeyError` names a class that has neither scores
    nor samples; `LookupError` says if no scores are kept at all.
    """

    __slots__ = ()
    _estimates: dict[str, Any]
    _zero_division: float | None
    _view: Callable[[str, str], Any]
    _entry: Callable[[str], tuple[Any, Any]]

    def estimate(self, key: str, *labels: Label) -> Estimate:
        """Return the value of a metric with the interval that the sketch certifies.

        Parameters
        ----------
        key : str
            Key of the metric.
        *labels : Label
            The class of a per-class metric, or both classes of a metric of pairs.

        Returns
        -------
        Estimate
            The value, its interval and its kind.
        """
        row = find(key)
        if row.kind == "matrix" and (row.state != "ranks" or len(labels) != 2):
            raise KeyError(f"Expected a key with one value, but {key!r} is a matrix: snapshot[{key!r}]")
        value = self._entry(key)[0]
        found = self._estimates.get(key, value)
        lost = self._entry(key)[1]
        undefined = lost is True or (row.kind == "per_class" and bool(labels) and canonical(labels[0]) in lost)
        for at in self._places(row.key, labels):
            value, found = value[at], found[at]
        if not isinstance(found, Certified):
            value = value.item() if hasattr(value, "item") else value
            return Estimate(value, value, value, 0.0, "undefined" if undefined else "exact")
        if found.value != found.value:
            return Estimate(float(value), float(value), float(value), 0.0, "undefined")
        return Estimate(*found, "certified")

    def _places(self, key: str, labels: tuple[Label, ...]) -> list[int]:
        """Return the positions of labels in the value of a key."""
        row = CATALOG[key]
        if row.kind == "whole":
            if labels:
                raise KeyError(f"Expected no label for {key!r}, which is one value, but got {labels!r}")
            return []
        view = self._view(row.state, key)
        if not labels and row.state == "ranks":
            labels = (view.pos_label,)
        if row.kind == "per_class" and len(labels) != 1:
            raise KeyError(f"Expected one label for {key!r}, such as estimate({key!r}, 'cat'), but got {labels!r}")
        return [_position(value_labels(row, view), label) for label in labels]

    def _column(self, label: Label | None) -> RankColumn:
        view = self._view("ranks", "roc_auc")
        return columns(view)[_position(classes(view), view.pos_label if label is None else label)]

    def roc_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the ROC curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where there is one question only: a single score, or two classes.

        Returns
        -------
        Curve
            Points from the highest threshold down: x is the false positive rate, y the true positive rate; thresholds;
            whether a point is exact.
        """
        return curves.roc_curve(self._column(label))

    def pr_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the precision-recall curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where there is one question only: a single score, or two classes.

        Returns
        -------
        Curve
            Points from the highest threshold down: x is the recall, y the precision; thresholds; whether a point is
            exact.
        """
        return curves.pr_curve(self._column(label))

    def det_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the detection error trade-off curve of a class against the rest.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where there is one question only: a single score, or two classes.

        Returns
        -------
        Curve
            Points from the highest threshold down: x is the false positive rate, y the false negative rate; thresholds;
            whether a point is exact.
        """
        return curves.det_curve(self._column(label))

    def best_threshold(self, label: Label | None = None, metric: str | Callable[..., Any] = "youden") -> curves.Best:
        """Return the threshold at which a metric of a class against the rest is best.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where there is one question only: a single score, or two classes.
        metric : str or callable, default "youden"
            "youden", "f1", "accuracy", "balanced_accuracy", "mcc", or a function of arrays (tp, fn, fp, tn).

        Returns
        -------
        Best
            Threshold, value, and a bound on what any other threshold could reach.
        """
        return curves.best_threshold(self._column(label), metric)

    def reliability_curve(
        self, label: Label | None = None, *, bins: int = 15, strategy: str = "uniform"
    ) -> Reliability:
        """Return mean score and share of the class in bins of scores.

        Parameters
        ----------
        label : Label, optional
            The class. By default the largest score and the share of right predictions, where the set keeps them, else
            `pos_label`.
        bins : int, default 15
            Number of bins.
        strategy : {"uniform", "quantile"}, default "uniform"
            Whether bins have the same width or hold the same number of samples.

        Returns
        -------
        Reliability
            Mean score, share and weight of each bin.
        """
        if label is None and "confidence" in self._views:  # type: ignore[attr-defined]
            view = self._view("confidence", "reliability_curve")
            return reliability_curve(view.column(True), bins=bins, strategy=strategy)
        return reliability_curve(self._column(label), bins=bins, strategy=strategy)

    def delong_se(self, label: Label | None = None) -> float:
        """Return the standard error of the ROC AUC of a class as an estimate for the population.

        Parameters
        ----------
        label : Label, optional
            The class. It may be left out where there is one question only: a single score, or two classes.

        Returns
        -------
        float
            The standard error.
        """
        return delong_se(self._column(label))

    def _compute(self, key: str, view: Any, **options: Any) -> Any:
        return compute(CATALOG[key], view, self._zero_division, **options)


def _position(labels: tuple[Label, ...], label: Label) -> int:
    label = canonical(label, "label")
    try:
        return labels.index(label)
    except ValueError:
        shown = ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")
        raise KeyError(f"Expected `label` to be one of {shown or 'none yet'}, but got {label!r}") from None
