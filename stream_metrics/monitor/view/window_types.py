"""What is shown of a window: its metrics, classes, matrix, curves and groups, and what they are compared with."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import Struct

__all__ = [
    "Bounds",
    "ClassRow",
    "Curve",
    "Curves",
    "DelayQuantiles",
    "Ends",
    "GAP_SAMPLES",
    "GroupGap",
    "GroupRow",
    "Groups",
    "IntervalMeaning",
    "LabelCoverage",
    "Matrix",
    "Number",
    "Reference",
    "WindowComparison",
    "WindowView",
]

GAP_SAMPLES = 30  # of a group, from which it is compared with others
Number: TypeAlias = int | float
Bounds: TypeAlias = tuple[float, float]  # low and high


class WindowComparison(Struct):
    """The difference of a metric of a window from an earlier value: of the window one length ago, or of the reference.

    `difference` is the value now less the earlier `value`; it lies between `low` and `high`, None where one of the two
    values has no interval. `verdict` is "better" or "worse" where 0 is outside of them, else None. `reason` says why
    nothing can be said. `at` is the time of the earlier value, of events; `covers` is how many seconds before it that
    value covers, where it is not the reference: those of the window, or more where stored counts are coarser.
    """

    against: str
    at: float
    value: Number
    difference: float
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    reason: str = ""
    covers: float | None = None


class Ends(Struct):
    """The interval that certainly contains what the raw scores would give."""

    low: float | None
    high: float | None


class IntervalMeaning(Struct):
    """The confidence level, whether intervals hold for one look ("fixed") or all ("anytime"), and what they assume."""

    level: float = 0.95
    valid: str = "fixed"
    assumption: str = ""


class ClassRow(Struct):
    """One class: counts of the true and the predicted label and of both, ratios, and their intervals by metric."""

    label: str
    support: Number
    predicted: Number
    true_positives: Number
    precision: float | None
    recall: float | None
    f1: float | None
    roc_auc: float | None
    intervals: dict[str, Bounds] = {}
    label_bounds: dict[str, Bounds] = {}


class Matrix(Struct):
    """The confusion matrix of the classes with the most samples, rows true; how many classes were left out."""

    labels: list[str] = []
    counts: list[list[Number]] = []
    omitted: int = 0


class Curve(Struct, omit_defaults=True):
    """Points of a curve; `w` is the weight of each, of reliability curves only."""

    label: str
    x: list[float]
    y: list[float]
    w: list[float] | None = None


class Curves(Struct):
    """ROC and precision-recall curves by class, and how well the largest score of a sample is calibrated."""

    roc: list[Curve] = []
    pr: list[Curve] = []
    reliability: list[Curve] = []


class GroupRow(Struct):
    """One group: the number of samples, and the headline metrics; macro means are over the classes it truly has.

    `classes_absent` is how many classes were only predicted there. `intervals` are those of the metrics, by key, and
    `interval_notes` say why others have none, or why they are not to be trusted.
    """

    group: str
    n: int
    metrics: dict[str, Number | None]
    intervals: dict[str, Bounds] = {}
    interval_notes: dict[str, str] = {}
    classes_absent: int = 0


class GroupGap(Struct):
    """The largest difference between two groups of 30 samples or more, and which groups these are.

    `interval` is that of the difference of these two; it allows for the choice of them. `note` says why there is none,
    why it is not to be trusted, or that a mean is over different classes in the two groups.
    """

    size: float
    lowest: str
    highest: str
    interval: Bounds | None = None
    note: str = ""


class Groups(Struct):
    """Groups, the worst first; gaps by metric; the number of samples of groups beyond the limit."""

    rows: list[GroupRow] = []
    gaps: dict[str, GroupGap] = {}
    folded: int = 0


class LabelCoverage(Struct):
    """Predictions that are old enough to have a label, how many of them have one, and the ratio."""

    ratio: float | None = None
    labelled: int = 0
    due: int = 0


class DelayQuantiles(Struct):
    """Within how many seconds half, 90 % and 99 % of the labels came."""

    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class WindowView(Struct, kw_only=True):
    """One window, or the total since the start.

    `n`, `abstained` and `late` are numbers of samples: all, those without a prediction, and those that came too late
    for the window; `classes_folded` counts those with a class that is not counted apart. `weight` is the sum of
    weights, and `correct` that of right predictions. By key of the metric: `metrics` has values, `estimates` what
    certainly contains those computed from sketches, `intervals` confidence intervals, `interval_notes` why some are
    not to be trusted, `label_bounds` the least and largest value that any missing labels can give,
    `label_bounds_missing` why there are none, `better` the direction ("higher", "lower" or None), and `range` the
    least and the largest possible value. `comparisons` compare the metrics of the headline with earlier values.
    `warnings` are sentences about data that look wrong; `mismatch` is the one that says that true labels and
    predictions seem to be written differently, or empty.
    """

    n: int = 0
    weight: Number | None = 0
    correct: Number = 0
    abstained: int = 0
    late: int = 0
    classes_folded: Number = 0
    metrics: dict[str, Number | None] = {}
    estimates: dict[str, Ends] = {}
    intervals: dict[str, Bounds | None] = {}
    interval_notes: dict[str, str] = {}
    interval: IntervalMeaning = msgspec.field(default_factory=IntervalMeaning)
    label_bounds: dict[str, Bounds] = {}
    label_bounds_missing: dict[str, str] = {}
    better: dict[str, str | None] = {}
    range: dict[str, tuple[Number | None, Number | None]] = {}
    comparisons: dict[str, list[WindowComparison]] = {}
    warnings: list[str] = []
    mismatch: str = ""
    classes: list[ClassRow] = []
    classes_omitted: int = 0
    matrix: Matrix = msgspec.field(default_factory=Matrix)
    curves: Curves = msgspec.field(default_factory=Curves)
    groups: Groups = msgspec.field(default_factory=Groups)
    coverage: LabelCoverage = msgspec.field(default_factory=LabelCoverage)
    delay: DelayQuantiles = msgspec.field(default_factory=DelayQuantiles)


class Reference(Struct):
    """A period that windows are compared with: the window `window` as it was at the time `at`.

    `start` is where that window began, `n` its number of samples; `metrics` and `intervals` are those of the headline.
    """

    window: str
    start: float
    at: float
    n: int = 0
    metrics: dict[str, Number | None] = {}
    intervals: dict[str, Bounds | None] = {}
