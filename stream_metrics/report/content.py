"""The content of a report, without its layout: scores and baselines, the weakest classes, the largest confusions.

The baselines are metrics of the matrix that a guesser without a model is expected to fill (same true classes): it
names the most frequent class always, every class equally often, or every class as often as it is true. Accuracy has
rows of its own in the catalogue; the averages over the classes follow from the per-class rows; in all three matrices
the prediction is independent of the truth, so MCC and kappa are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_metrics.catalog.obstacles import SQUARE_LIMIT
from stream_metrics.catalog.table import CATALOG, LABEL_VALUED
from stream_metrics.errors import quantity
from stream_metrics.report import headlines
from stream_metrics.report.layout import number, score, shorten
from stream_metrics.report.score_section import is_default, rated_per_class, row_labels, scored

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = [
    "BASELINES",
    "CONFUSIONS",
    "Confusion",
    "Score",
    "baseline_labels",
    "class_bounds",
    "class_values",
    "classes_shown",
    "confusions",
    "matrix_place",
    "omissions",
    "per_class_keys",
    "scores",
    "significance",
    "sizes",
    "undefined_labels",
    "value_text",
    "weakest",
]

BASELINES = ("most frequent", "uniform", "stratified")
CONFUSIONS = 15
LEAST = 30  # samples for baselines: with fewer, what a guesser reaches is as much a matter of chance as the model
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
            few = snapshot.n < LEAST
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
    if not is_default(snapshot) or snapshot.n < LEAST:
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
