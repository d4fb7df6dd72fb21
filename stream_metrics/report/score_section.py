"""The scores in a report: headline values with certified bounds, and the usual values of each class.

A bound is rounded outwards, so that it stays one, to as many decimals as tell it from the other. A stream in
which two classes occur and one of them is `pos_label` asks a single question, so its headline is the values of that
class; with more classes it is means over them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.classes import asked_class
from stream_metrics.report.intervals import DOUBT, bounds, doubts, shows_intervals, value_bounds
from stream_metrics.report.layout import score, shorten, visible

if TYPE_CHECKING:
    from stream_metrics.evaluation.evaluation import Estimate
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.ranking.protocol import Certified
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = [
    "CERTIFIED",
    "RATED_PER_CLASS",
    "Rated",
    "emphasized",
    "is_default",
    "rated",
    "rated_heading",
    "rated_notes",
    "rated_per_class",
    "row_labels",
    "scored",
    "single_class",
]

CERTIFIED = "Certified: the full list of scores gives a value between these bounds for certain"
NO_PROBABILITIES = "Calibration errors left out: a score lies outside [0, 1]"
RATED_PER_CLASS = ("roc_auc", "average_precision", "expected_calibration_error")
BINARY = dict(zip(RATED_PER_CLASS, ("ROC AUC", "Average precision", "Calibration error"), strict=True))
LEAST, MOST = 4, 7  # decimals of a headline value
NARROW = 1e-6  # an interval narrower than this is shown as a point


class Rated(NamedTuple):
    """A headline value read from scores: its estimate, and its texts; no bounds where it is exact."""

    title: str
    value: str
    low: str
    high: str


def is_default(snapshot: Snapshot) -> bool:
    """Tell whether the snapshot was taken without keys of its own."""
    return snapshot.chosen_keys == snapshot.default_keys()


def scored(snapshot: Snapshot) -> int | None:
    """Return the number of samples with scores; None if the snapshot has no state for scores."""
    counts = [int(state.n) for name, state in snapshot.evaluation.states.items() if name != "counts"]
    return max(counts) if counts else None


def row_labels(snapshot: Snapshot) -> tuple[Label, ...]:
    """Return the classes that a report has a row for: those of the matrix, else those whose scores are rated."""
    if "counts" in snapshot.evaluation.states or "ranks" not in snapshot.evaluation.states:
        return snapshot.labels
    return snapshot.evaluation.labels_of(CATALOG["roc_auc"])


def single_class(snapshot: Snapshot) -> Label | None:
    """Return the class that is asked for where at most two occur and it is one of them, else None."""
    view = snapshot.evaluation.views.get("ranks")
    asked = None if view is None else asked_class(view)
    if view is None or len(view.labels) > 2 or asked not in view.labels:
        return None
    label: Label = next(label for label in view.labels if label == asked)
    return label


def rated_heading(snapshot: Snapshot, separator: str = " ") -> str:
    """Return the heading of the headline values, with the number of samples if it is not that of all."""
    count = scored(snapshot)
    return "Scores" if count in (None, snapshot.n) else f"Scores of {quantity(count or 0, 'sample', separator)}"


def rated(snapshot: Snapshot) -> list[Rated]:
    """Return the headline values read from scores, or all chosen ones; none before the first score."""
    return [_rated(snapshot, *entry) for entry in _entries(snapshot)]


def _rated(snapshot: Snapshot, title: str, key: str, labels: tuple[Label, ...]) -> Rated:
    """Return a headline value with the interval that the snapshot shows for it, or else its certified bounds."""
    estimate = snapshot.estimate(key, *labels)
    ends = value_bounds(snapshot, key, *labels) if shows_intervals(snapshot) else estimate
    if ends is None or not ends.high - ends.low >= NARROW:
        return Rated(title, score(estimate.value, estimate.kind == "undefined", LEAST), "", "")
    digits = _decimals(ends.low, ends.high, LEAST)
    low, high = bounds(ends.low, ends.high, digits)
    return Rated(title, score(estimate.value, digits=digits), low, high + DOUBT * bool(getattr(ends, "note", "")))


def rated_notes(snapshot: Snapshot) -> list[str]:
    """Return footnotes for the score section."""
    return _doubts(snapshot) + _missing(snapshot)


def _doubts(snapshot: Snapshot) -> list[str]:
    """Return why the intervals of the headline values are not to be trusted."""
    if not shows_intervals(snapshot):
        return []
    return doubts(value_bounds(snapshot, key, *labels) for _, key, labels in _entries(snapshot))


def _missing(snapshot: Snapshot) -> list[str]:
    count = scored(snapshot)
    if count == 0 and snapshot.n:
        return ["No sample came with scores yet."]
    return [NO_PROBABILITIES] if count and is_default(snapshot) and not _calibrated(snapshot) else []


def rated_per_class(snapshot: Snapshot) -> list[str]:
    """Return the usual per-class keys that are read from scores, as far as this snapshot has values for them."""
    if "ranks" not in snapshot.evaluation.states or not scored(snapshot):
        return []
    return list(RATED_PER_CLASS if _calibrated(snapshot) else RATED_PER_CLASS[:2])


def _calibrated(snapshot: Snapshot) -> bool:
    """Tell whether the scores can be probabilities: the calibration error of a class is defined."""
    if "ranks" not in snapshot.evaluation.states:
        return True
    return not all(map(math.isnan, (e.value for e in _certified(snapshot, "expected_calibration_error"))))


def _certified(snapshot: Snapshot, key: str) -> list[Certified]:
    snapshot.evaluation.value_and_undefined(key)
    estimates: list[Certified] = snapshot.evaluation.estimates(key)
    return estimates


def _entries(snapshot: Snapshot) -> Iterator[tuple[str, str, tuple[Label, ...]]]:
    """Yield title, key and labels of the values to show."""
    if not scored(snapshot):
        return
    if not is_default(snapshot):
        for key in snapshot:
            if CATALOG[key].state != "counts" and CATALOG[key].kind == "whole":
                yield _title(snapshot, key), key, ()
        return
    if "ranks" in snapshot.evaluation.states:
        yield from _areas(snapshot)
    if "losses" in snapshot.evaluation.states:
        for key in ("log_loss", "brier_score"):
            yield _title(snapshot, key), key, ()
    if "confidence" in snapshot.evaluation.states and _calibrated(snapshot):
        yield _title(snapshot, "expected_calibration_error_top"), "expected_calibration_error_top", ()
    if "losses" in snapshot.evaluation.states and len(snapshot.labels) != 2 and single_class(snapshot) is None:
        yield _title(snapshot, "top_k_accuracy"), "top_k_accuracy", ()


def _areas(snapshot: Snapshot) -> Iterator[tuple[str, str, tuple[Label, ...]]]:
    """Yield the areas, and a calibration error if there is none of the prediction."""
    asked = single_class(snapshot)
    calibrated = "confidence" not in snapshot.evaluation.states and _calibrated(snapshot)
    if asked is not None:
        name = shorten(visible(label_names([asked])[0]), 24)
        for key, title in BINARY.items():
            if key != "expected_calibration_error" or calibrated:
                yield f'{title} of "{name}"', key, (asked,)
        return
    keys = ["roc_auc_ovo"] * snapshot.evaluation.states["ranks"].paired + ["roc_auc_ovr", "average_precision_ovr"]
    for key in keys + ["expected_calibration_error_ovr"] * calibrated:
        yield _title(snapshot, key), key, ()


def _title(snapshot: Snapshot, key: str) -> str:
    if key == "top_k_accuracy":
        return f"Accuracy of the {snapshot.evaluation.options.get(key, {}).get('k', 2)} largest"
    return snapshot.evaluation.title(key)


def _decimals(low: float, high: float, least: int) -> int:
    """Return the decimals that show two digits of the width of an interval."""
    return min(max(1 - math.floor(math.log10(high - low)), least), MOST)


def emphasized(estimate: Estimate | Interval) -> str:
    """Return a value in the decimals that its bounds share, at most 4; with its bounds where they share less than 3."""
    if math.isnan(estimate.value):
        return "undefined"
    for digits in (4, 3):
        if f"{estimate.low:.{digits}f}" == f"{estimate.high:.{digits}f}":
            return score(estimate.value, digits=digits)
    digits = _decimals(estimate.low, estimate.high, 3) - 1
    low, high = bounds(estimate.low, estimate.high, digits)
    return f"{score(estimate.value, digits=digits)} [{low}, {high}]"
