"""The content of a report, without its layout: scores, baselines, the weakest classes, the largest confusions.

**Values read from scores** have certified bounds. A bound is rounded outwards, so that it stays one, to as many
decimals as tell it from the other. A stream in which two classes occur and one of them is `pos_label` asks a single
question, so its headline is the values of that class; with more classes it is means over them.

**Baselines** are metrics of the matrix that a guesser without a model is expected to fill (same true classes): it
names the most frequent class always, every class equally often, or every class as often as it is true. Accuracy has
rows of its own in the catalogue; the averages over the classes follow from the per-class rows; in all three matrices
the prediction is independent of the truth, so MCC and kappa are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_metrics.catalog.spec import SQUARE_LIMIT
from stream_metrics.catalog.table import CATALOG, LABEL_VALUED
from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.classes import asked_class
from stream_metrics.report import headlines
from stream_metrics.report.intervals import DOUBT, bounds, doubts, shows_intervals, value_bounds
from stream_metrics.report.layout import number, score, shorten, visible

if TYPE_CHECKING:
    from stream_metrics.evaluation.evaluation import Estimate
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.ranking.protocol import Certified
    from stream_metrics.snapshots.snapshot import Snapshot

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


BASELINES = ("most frequent", "uniform", "stratified")
CONFUSIONS = 15
LEAST_SAMPLES = 30  # for baselines: with fewer, what a guesser reaches is as much chance as the model
ACCURACIES = dict(
    zip(BASELINES, ("no_information_rate", "baseline_uniform_accuracy", "baseline_stratified_accuracy"), strict=True)
)
EQUAL_TO_ACCURACY = {"accuracy", "micro_precision", "micro_recall", "micro_f1"}
CAUTIONS = {
    "nir_p_value": "nir_p_value is no valid test: it takes the estimated rate as known and rejects too often. "
    "majority_p_value tests the same question and keeps its level",
}
ZERO_BY_CHANCE = {"matthews_corrcoef", "cohen_kappa"}


class Score(NamedTuple):
    """A whole-matrix value and those of `BASELINES` (None where not known)."""

    key: str
    title: str
    value: float
    undefined: bool
    baselines: tuple[float | None, ...]


class Confusion(NamedTuple):
    """One cell off the diagonal: the positions of its two labels and its weight."""

    true: int
    predicted: int
    weight: float


def sizes(snapshot: Snapshot, separator: str = " ") -> str:
    """Return one line: samples, classes, abstentions, weight and samples with scores if they differ from all."""
    count = len(snapshot.labels)
    parts = [quantity(snapshot.n, "sample", separator)]
    if snapshot.evaluation.states.keys() & {"counts", "ranks"}:
        parts.append(quantity(count, "class", separator))
    if scored(snapshot) not in (None, snapshot.n):
        parts.append(f"{number(scored(snapshot) or 0, separator)} with scores")
    if snapshot.abstained:
        share = snapshot.abstained / (snapshot.n + snapshot.abstained)
        parts.append(f"{number(snapshot.abstained, separator)} abstained ({share:.1%}, left out below)")
    if snapshot.weight != snapshot.n:
        parts.append(f"weight {number(snapshot.weight, separator)} (figures are weighted)")
    return ", ".join(parts)


def baseline_labels(snapshot: Snapshot, names: Sequence[str]) -> dict[str, str]:
    """Return the answer of each of `BASELINES`."""
    majority = shorten(names[snapshot.labels.index(snapshot["majority_class"])], 24)
    return dict(
        zip(BASELINES, (f'always "{majority}"', "every class alike", "classes as often as they are true"), strict=True)
    )


def matrix_place(snapshot: Snapshot) -> str:
    """Return how to read a matrix that is too large for a report."""
    size = number(len(snapshot.labels))
    what = "its cells" if len(snapshot.labels) > SQUARE_LIMIT else "it"
    return f"The {size} x {size} matrix does not fit here: JSON has {what}"


def scores(snapshot: Snapshot) -> list[Score]:
    """Return the headline scores, or every chosen number if the snapshot was taken with keys of its own."""
    rows = []
    for key in headlines.REPORT if is_default(snapshot) else snapshot:
        row = CATALOG[key]
        counted = "counts" in snapshot.evaluation.states and row.state == "counts" and row.kind == "whole"
        if counted and key not in LABEL_VALUED:
            value, undefined = snapshot.evaluation.value_and_undefined(key)
            few = snapshot.n < LEAST_SAMPLES
            baselines = tuple(None if few else _baseline(snapshot, key, strategy) for strategy in BASELINES)
            with_options = key in snapshot.evaluation.options
            title = snapshot.evaluation.title(key) if with_options else headlines.LINES.get(key, row.title)
            rows.append(Score(key, title, value, undefined is True, baselines))
    return rows


def value_text(row: Score, separator: str = " ") -> str:
    """Return the value as text: a score with four decimals, an amount with its thousands grouped.

    It ends in `*` if it is undefined, else in `!` if a guesser reaches as much.
    """
    beaten = any(baseline is not None and not row.value > baseline for baseline in row.baselines)
    mark = "!" if beaten and not row.undefined else ""
    if CATALOG[row.key].high == math.inf and not math.isnan(row.value):
        return number(row.value, separator) + "*" * row.undefined + mark
    return score(row.value, row.undefined, digits=4) + mark


def significance(snapshot: Snapshot, names: Sequence[str]) -> str:
    """Return the p-value of accuracy against always guessing the most frequent class; empty with chosen keys.

    That of McNemar's test: the binomial test takes the estimated share of that class as known and rejects too often.
    """
    if not is_default(snapshot) or snapshot.n < LEAST_SAMPLES:
        return ""
    against = f"Accuracy against {baseline_labels(snapshot, names)[BASELINES[0]]}"
    obstacle = snapshot.evaluation.obstacle("majority_p_value")
    if obstacle is not None:
        return f"{against}: no p-value, which {obstacle.reason}"
    return f"{against}: p {_p_value(snapshot['majority_p_value'])} (McNemar)"


def omissions(snapshot: Snapshot) -> list[str]:
    """Return a note for each chosen key that cannot be computed, or is easily misread; none without chosen keys."""
    if is_default(snapshot):
        return []
    left = [f"Left out: {CATALOG[key].title} {reason}" for key, reason in snapshot.omitted.items()]
    return left + [caution for key, caution in CAUTIONS.items() if key in snapshot]


def _p_value(value: float) -> str:
    return f"= {value:.2g}" if value >= 1e-99 else "< 1e-99"


def _baseline(snapshot: Snapshot, key: str, strategy: str) -> float | None:
    if key in ZERO_BY_CHANCE:
        return 0.0
    if key in EQUAL_TO_ACCURACY:
        return float(snapshot.evaluation.value_and_undefined(ACCURACIES[strategy])[0])
    average, _, rate = key.partition("_")
    support = snapshot.evaluation.value_and_undefined("support")[0]
    if key == "balanced_accuracy":
        average, rate = "balanced", "recall"
    source = f"baseline_{strategy.replace(' ', '_')}_{rate}"
    if average not in {"balanced", "macro", "weighted"} or source not in CATALOG:
        return None
    weights = {"balanced": support > 0, "macro": np.ones(len(support)), "weighted": support}[average]
    return float(np.average(snapshot.evaluation.value_and_undefined(source)[0], weights=weights))


def per_class_keys(snapshot: Snapshot) -> list[str]:
    """Return the per-class keys to show: the usual ones, or the chosen ones."""
    if not is_default(snapshot):
        return list(snapshot.per_class)
    return [*(headlines.PER_CLASS if "counts" in snapshot.evaluation.states else ()), *rated_per_class(snapshot)]


def class_values(snapshot: Snapshot, key: str, shown: Sequence[int]) -> list[tuple[float | None, bool]]:
    """Return the values of a per-class key at positions of `row_labels`, None where it has none, and if it is 0/0."""
    undefined = undefined_labels(snapshot, key)
    labels = row_labels(snapshot)
    if CATALOG[key].state == "counts":
        values = snapshot.evaluation.value_and_undefined(key)[0][list(shown)].tolist()
        return [(value, labels[at] in undefined) for at, value in zip(shown, values, strict=True)]
    table = snapshot.per_class[key]
    return [(table.get(labels[at]), labels[at] in undefined) for at in shown]


def class_bounds(snapshot: Snapshot, key: str, shown: Sequence[int]) -> list[Interval | None]:
    """Return the intervals of a per-class key at positions of `row_labels`, None where there is none."""
    bounds = snapshot.displayed_interval(key)
    if not isinstance(bounds, dict):
        return [None] * len(shown)
    labels = row_labels(snapshot)
    taken = [bounds.get(labels[at]) for at in shown]
    return [None if one is None or math.isnan(one.low) else one for one in taken]


def weakest(snapshot: Snapshot) -> str:
    """Return the key whose lowest values single out classes where not all can be shown."""
    return "f1" if "counts" in snapshot.evaluation.states else "roc_auc"


def undefined_labels(snapshot: Snapshot, key: str) -> set[Label]:
    """Return the labels whose value of a per-class key is 0/0."""
    return set(snapshot.evaluation.value_and_undefined(key)[1] or ())


def classes_shown(snapshot: Snapshot, limit: int) -> list[int]:
    """Return the positions of all `row_labels`, in order; of more than `limit` those with the lowest `weakest` value.

    The worst comes first, of classes with equal F1 the more frequent; a class without any sample comes last.
    """
    count = len(row_labels(snapshot))
    if count <= limit:
        return list(range(count))
    if "counts" not in snapshot.evaluation.states:
        lowest = np.argsort(snapshot.evaluation.value_and_undefined("roc_auc")[0], kind="stable")
        return [int(position) for position in lowest[:limit]]
    keys = "f1", "support", "predicted_count"
    f1, support, predicted = (snapshot.evaluation.value_and_undefined(key)[0] for key in keys)
    order = np.lexsort((np.arange(count), -support, f1, support + predicted == 0))
    return [int(position) for position in order[:limit]]


def confusions(snapshot: Snapshot, limit: int) -> tuple[list[Confusion], int]:
    """Return the `limit` largest cells off the diagonal, largest first, and how many there are in all."""
    rows, columns, values = (np.asarray(part) for part in snapshot.evaluation.views["counts"].cells())
    wrong = rows != columns
    rows, columns, values = rows[wrong], columns[wrong], values[wrong]
    largest = np.lexsort((columns, rows, -values))[:limit]
    pairs = [
        Confusion(int(row), int(column), value)
        for row, column, value in zip(rows[largest], columns[largest], values[largest].tolist(), strict=True)
    ]
    return pairs, len(values)
