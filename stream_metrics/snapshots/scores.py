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
    """A value with an interval: `low <= value <= high`; all three are the same where it is known exactly.

    `kind` is "exact" for a function of exact counters; "certified" for one of a rank sketch, whose interval holds the
    value that the raw scores would give, for certain, and whose `se` says how far from it the value may be; and
    "undefined" for 0/0, when the value is what stands for it. None of this knows that the data are a sample themselves.
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
        """Return the value of a key with its interval; a per-class key takes a label, one of pairs two."""
        row = find(key)
        if row.kind == "matrix" and (row.reads != "ranks" or len(labels) != 2):
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
        view = self._view(row.reads, key)
        if not labels and row.reads == "ranks":
            labels = (view.pos_label,)
        if row.kind == "per_class" and len(labels) != 1:
            raise KeyError(f"Expected one label for {key!r}, such as estimate({key!r}, 'cat'), but got {labels!r}")
        return [_position(value_labels(row, view), label) for label in labels]

    def _column(self, label: Label | None) -> RankColumn:
        view = self._view("ranks", "roc_auc")
        return columns(view)[_position(classes(view), view.pos_label if label is None else label)]

    def roc_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the ROC curve of a class against the rest: x false, y true positive rate, thresholds, exact."""
        return curves.roc_curve(self._column(label))

    def pr_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the precision-recall curve of a class: x recall, y precision, thresholds, exact."""
        return curves.pr_curve(self._column(label))

    def det_curve(self, label: Label | None = None) -> curves.Curve:
        """Return the detection error trade-off: x false positive, y false negative rate, thresholds, exact."""
        return curves.det_curve(self._column(label))

    def best_threshold(self, label: Label | None = None, metric: str | Callable[..., Any] = "youden") -> curves.Best:
        """Return the threshold at which a metric of the two-by-two table of a class is best, its value, and a bound.

        `metric`: "youden", "f1", "accuracy", "balanced_accuracy", "mcc", or a function of arrays (tp, fn, fp, tn).
        """
        return curves.best_threshold(self._column(label), metric)

    def reliability_curve(
        self, label: Label | None = None, *, bins: int = 15, strategy: str = "uniform"
    ) -> Reliability:
        """Return mean score, share of samples of the class, and weight of each bin of scores.

        Without a label: largest score and share of right predictions, where the set keeps them, else of `pos_label`.
        """
        if label is None and "confidence" in self._views:  # type: ignore[attr-defined]
            view = self._view("confidence", "reliability_curve")
            return reliability_curve(view.column(True), bins=bins, strategy=strategy)
        return reliability_curve(self._column(label), bins=bins, strategy=strategy)

    def delong_se(self, label: Label | None = None) -> float:
        """Return the standard error of the ROC area of a class as an estimate for the population; see `delong_se`."""
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
