"""Write the states of wire format 1 that every later release must read: one file a state, and what each holds.

    python tests/golden/write_golden.py NAME...

writes the named states, all that have no file yet if none is named, and refuses to change a file: bytes that were
released stay as they are. To write again what was never released, delete its files first:

    rm tests/golden/ranks_v1_*.bin && python tests/golden/write_golden.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from inspect import signature
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np

import stream_metrics as sm
from stream_metrics import ChangeDetector, Comparison, RankSketch
from stream_metrics.labels.pos_label import as_counted_before

HERE = Path(__file__).parent
MANIFEST = HERE / "states_v1.json"


def counted(state: Any, *samples: tuple[Any, ...]) -> Any:
    """Return the state after the samples."""
    for sample in samples:
        state.update(*sample)
    return state


def batch(state: Any, *columns: Any, **named: Any) -> Any:
    """Return the state after a batch."""
    state.update_many(*columns, **named)
    return state


def scored(state: Any, n: int, classes: list[Any] | None = None, w: Any = None) -> Any:
    """Return the state after a batch of n multiples of 1/100003, some of them 0, a column for each class."""
    k = 1 if classes is None else len(classes)
    table = np.arange(n * k).reshape(n, k) * 7919 % 100003 / 100003 * (np.arange(n * k).reshape(n, k) % 11 > 0)
    truth = np.arange(n) * 31 % 101 % max(2, k)
    labels = truth == 1 if classes is None else [classes[i] for i in truth]
    return batch(state, labels, table.ravel() if classes is None else table, w, classes=classes)


def timed(state: Any, *, t: bool = False, group: bool = False) -> Any:
    """Return a state after a few samples, ten seconds and one group apart."""
    for i in range(10):
        context = {"t": 1_700_000_000 + 10 * i} if t else {}
        state.update("ab"[i % 2], "ab"[i % 3 % 2], 1 + i / 4, **context, **({"group": f"g{i % 5}"} if group else {}))
    return state


def judged(state: Comparison, samples: list[tuple[Any, ...]]) -> Comparison:
    """Return a comparison after the samples, each with its number as unit but for the last two."""
    for number, sample in enumerate(samples):
        state.update(*sample, unit=None if number > len(samples) - 3 else number)
    return state


def corrected(state: sm.MetricSet) -> sm.MetricSet:
    """Return a set of which every fifth sample was removed."""
    samples = [("ab"[i % 3 % 2], {"a": i / 40, "b": 1 - i / 40}, 1 + i % 4 / 4) for i in range(40)]
    counted(state, *samples)
    for sample in samples[::5]:
        state.remove(*sample)
    return state


def emptied() -> sm.ByGroup:
    """Return groups some of which are folded, and one that has lost its only sample."""
    groups: sm.ByGroup = batch(sm.ByGroup(sm.ConfusionMatrix(), 2), ["a"] * 5, list("ababa"), group=list(range(5)))
    first = groups.groups[0]
    groups._revert("a", "ab"[int(first) % 2], 1, group=first)
    return groups


def workers() -> sm.Aggregate:
    """Return an aggregate of two workers and one that was dropped."""
    total = sm.Aggregate()
    for sequence, name in enumerate(["b", ("host", 7), "gone"]):
        total.put(name, counted(sm.MetricSet(["accuracy"]), *[("x", "x")] * sequence, ("x", "y")), sequence, -sequence)
    total.drop("gone")
    return total


def retired() -> sm.Aggregate:
    """Return an aggregate of a worker, one that was retired, and two more that were retired and forgotten."""
    total = sm.Aggregate()
    for epoch, name in enumerate(["gone", "forgotten", "retired", "live"]):
        total.put(name, counted(sm.MetricSet(["accuracy"]), ("x", "x"), *[("x", "y")] * epoch), epoch, epoch)
        if epoch == 2:
            total.retire("gone")
            total.retire("forgotten")
            total.compact()
            total.retire("retired")
    return total


def units(state: Any) -> Any:
    """Count samples of units of every kind of label, some of weight 2."""
    for i in range(20):
        predicted = i / 20 if getattr(state, "scores", False) else i % 2 == 0
        state.update(i % 3 == 0, predicted, 1 + i % 2, unit=LABELS[i % len(LABELS)])
    return state


LABELS = [False, 1, 2.5, -(2**63), 2**64 - 1, 2**70, -(2**70), "a", "é", "", "\ud800", b"a", b"", (), (1, "x", (b"y",))]

# Weights of scores were rounded to multiples of 2^-20 then, and a single score of exactly 0.5 was not positive.
EARLIER = (
    "comparison_v1_scores", "ranks_v1_fractions", "set_v1_scored",
    # Samples whose weight is not 1 were not counted then.
    "confusion_v1_fractions", "confusion_v1_large", "confusion_v1_other", "fading_v1_count", "fading_v1_time",
    "groups_v1_folded", "groups_v1_timed", "set_v1_default", "set_v1_fine", "timed_v1_set",
    # Losses had no squares then.
    "comparison_v1_ties", "losses_v1_fractions", "losses_v1_mappings", "losses_v1_single",
    # Brier losses of binary samples were not counted apart then.
    "set_v1_counts_more", "set_v1_fine_squares", "set_v1_removed",
)  # fmt: skip

STATES: dict[str, Callable[[], Any]] = {
    "confusion_v1_empty": sm.ConfusionMatrix,
    "confusion_v1_plain": lambda: counted(sm.ConfusionMatrix(), ("cat", "dog"), ("cat", "cat"), ("dog", None)),
    # Where all labels pass, as they did once: now 2.5 is a label only if it is named.
    "confusion_v1_every_label": lambda: as_counted_before(
        counted, sm.ConfusionMatrix(), *((x, y) for x in LABELS for y in LABELS[::4])
    ),
    "confusion_v1_fractions_weighted": lambda: counted(
        sm.ConfusionMatrix(), (1, 2, 0.1), (True, 1.0, 2.0**-64), (2.0, 2, 1e15)
    ),
    "confusion_v1_large_weighted": lambda: counted(
        sm.ConfusionMatrix(), ("a", "a", 2**62), ("a", "b", 2**53 + 1), ("b", "b", 0)
    ),
    "confusion_v1_fixed": lambda: counted(sm.ConfusionMatrix(labels=["b", "a", 1.0]), ("a", True), ("b", {})),
    "confusion_v1_other_weighted": lambda: counted(
        sm.ConfusionMatrix(labels=["a"], other="rest"), ("a", "z"), ("y", "a", 0.5)
    ),
    "confusion_v1_sparse": lambda: batch(sm.ConfusionMatrix(), range(1500), [7 * i % 1500 for i in range(1500)]),
    "metric_v1_mcc": lambda: counted(sm.MCC(), ("a", "b"), ("a", "a"), ("b", "b")),
    "metric_v1_fbeta": lambda: counted(sm.FBeta(2.0, pos_label="a", zero_division=1.0), ("a", "b"), ("a", "a")),
    "metric_v1_weights": lambda: counted(
        sm.WeightedBalancedAccuracy({"b": 3, "a": 0.5}, labels=["a", "b"], zero_division=float("nan")), ("a", "a")
    ),
    "set_v1_default_weighted": lambda: counted(sm.MetricSet(), (1, 1), (1, 0), (0, 0, 3)),
    "ranks_v1_empty": RankSketch,
    "ranks_v1_every_label": lambda: counted(
        RankSketch(),
        *((x, {y: 2.0 ** (i - 7) * (-1) ** j for j, y in enumerate(LABELS[::4])}) for i, x in enumerate(LABELS)),
        *(("a", {"a": 0.0, "never": -0.0, True: x}) for x in (1.7e308, -1.7e308, 5e-324)),
        *[(1.0, 0.25, 2**62), ("é", None)],
    ),
    "ranks_v1_coarse": lambda: scored(RankSketch(64, 32), 3000),
    "ranks_v1_fine": lambda: scored(RankSketch(16, 8, "x", pairs=False), 500, ["x", 2], np.arange(500) * 0.37),
    "ranks_v1_rounded": lambda: scored(RankSketch(64, 8), 50, None, 1 / np.arange(1, 51) ** 8),
    "ranks_v1_ten_classes": lambda: scored(RankSketch(32, 4), 400, [f"class {i}" for i in range(10)]),
    "ranks_v1_one_vs_rest": lambda: counted(scored(RankSketch(8, 2, pairs=False), 90, ["a", "b"]), ("c", {"c": 0.5})),
    "losses_v1_empty": sm.ProbabilityLosses,
    "losses_v1_single_squares": lambda: counted(
        sm.ProbabilityLosses("yes"), *((y, p) for y in ("yes", "no") for p in (0.0, 0.25, 0.5, 1.0)), ("no", None)
    ),
    "losses_v1_mappings_squares": lambda: counted(
        sm.ProbabilityLosses(), *((x, dict.fromkeys(LABELS[: i + 1], 2.0**-i)) for i, x in enumerate(LABELS)), ("z", {})
    ),
    "losses_v1_fractions_squares": lambda: counted(
        sm.ProbabilityLosses(classes=["b", 1, (2, "c")]),
        *((y, [0.5, 0.125, 0.375 * w], w) for y in ("b", 1.0, "none") for w in (0.1, 2.0**-64, 1.0)),
    ),
    "set_v1_fine_binary": lambda: counted(
        sm.MetricSet(["accuracy", "roc_auc", "log_loss"], pos_label="a", labels=["a", "b"]),
        *[("a", {"a": 0.75, "b": 0.25}), ("b", 0.5, 0.1), ("b", "a"), ("a", None)],
    ),
    "set_v1_counts_more_binary": lambda: counted(
        sm.MetricSet(["roc_auc", "log_loss"]), ("a", {"a": 0.75, "b": 0.25}), ("b", {"a": 0.5, "b": 0.5})
    ).reconfigured(metrics=["accuracy"]),
    "rolling_v1_labels": lambda: timed(sm.Rolling(sm.MetricSet(["accuracy"]), 3)),
    "rolling_v1_scores": lambda: counted(sm.Rolling(sm.ROCAUC(), 3), *((i % 2, i / 8) for i in range(6))),
    "timed_v1_set_weighted": lambda: timed(sm.TimeWindow(sm.MetricSet(["accuracy"]), "1m", 6, "10s"), t=True),
    "fading_v1_time_weighted": lambda: timed(sm.Fading(sm.MetricSet(["accuracy"]), "20s"), t=True),
    "fading_v1_count_weighted": lambda: timed(sm.Fading(sm.MetricSet(["accuracy"]), 2)),
    "groups_v1_folded_weighted": lambda: timed(sm.ByGroup(sm.MetricSet(["accuracy"]), 3), group=True),
    "groups_v1_timed_weighted": lambda: timed(
        sm.ByGroup(sm.TimeWindow(sm.MetricSet(["accuracy"]), "1m", 6)), t=True, group=True
    ),
    "aggregate_v1_workers": workers,
    "aggregate_v1_retired": retired,
    "comparison_v1_empty": Comparison,
    "comparison_v1_labels": lambda: counted(
        Comparison("old", "new", labels=["a", "b", 1.0]),
        *[("a", "a", "b"), ("b", True, "b", 2), (1, None, "a"), ("a", {}, {})],
    ),
    "comparison_v1_open": lambda: as_counted_before(
        judged, Comparison(folds=5), [(x, y, LABELS[0]) for x in LABELS for y in LABELS[::5]]
    ),
    "comparison_v1_fractions": lambda: counted(
        Comparison(), ("a", "a", "b", 0.1), ("b", "a", "b", 2.0**-64), ("a", 1, 1, 2**62)
    ),
    "comparison_v1_ties_squares": lambda: judged(
        Comparison(scores=True, folds=3),
        [(i % 3 == 0, i / 40, {True: (i * 7 % 40) / 40, False: 0.5}) for i in range(40)],
    ),
    "detector_v1_given": lambda: batch(ChangeDetector(0.1, arl=50), [0, 1, 0.25, 0, 1, 1, 1, 1, 1, 1, 0, 0.5]),
    "detector_v1_learning": lambda: batch(ChangeDetector(reference=8, direction="both", learn="bound"), [0.5, 0, 1]),
    "detector_v1_learned": lambda: batch(
        ChangeDetector(reference=4, method="cusum", arl=20, restart="same", bets=(2, 4), learn="bound"),
        [0, 1, 0, 0.5, 1, 1, 1, 0, 1],
    ),
    "detector_v1_running": lambda: batch(
        ChangeDetector(reference=8, arl=50, learn="running"), [0, 1] + [0] * 12 + [0.5, 1, 1, 1, 1]
    ),
    "detector_v1_block": lambda: batch(ChangeDetector(0.2, arl=30, block=3), [0, 1, 0, 0.25, 1, 1, 1, 0]),
    "detector_v1_recall": lambda: counted(
        ChangeDetector(0.25, of=("recall", "é"), direction="down", restart="stop"), ("é", "é"), ("é", "x"), ("x", None)
    ),
    "set_v1_removed_binary": lambda: corrected(sm.MetricSet(scores=True, buckets=4, sample=3, pairs=False)),
    "groups_v1_emptied": emptied,
    "set_v1_units": lambda: units(sm.MetricSet()),
    "set_v1_scored_units": lambda: units(sm.MetricSet(scores=True)),
    "metric_v1_units": lambda: units(sm.MCC()),
    "rolling_v1_units": lambda: units(sm.Rolling(sm.MetricSet(), 7)),
    "multilabel_v1_labels": lambda: counted(
        sm.MultiLabel(["macro_f1", "f1"]), *[({"a", 7}, {"a"}), ([(1, "x")], {7: True, "a": False}, 0.5), ([], None)]
    ),
    "multilabel_v1_scores": lambda: counted(
        sm.MultiLabel(labels=["b", 1.0], scores=True), (["b"], {"b": 0.75, 1: 0.25}), ([1], [0.5, 0.5]), ([], {})
    ),
    "set_v1_chosen": lambda: counted(sm.MetricSet(["accuracy", "recall"], labels=[0, 1], other=9), (1, 5)),
}


OPTIONS: dict[type, tuple[str, ...]] = {  # of those that are not the parameters of a class
    RankSketch: ("buckets", "sample", "pos_label", "pairs"),
    sm.ProbabilityLosses: ("pos_label", "classes"),
    Comparison: ("a", "b", "scores", "pos_label", "folds"),
    ChangeDetector: ("p0", "reference", "direction", "arl", "method", "bets", "restart", "of"),
    sm.Aggregate: (),
}


def contents(state: Any) -> dict[str, Any]:
    """Return the values that a state shows, as plain data; the reader of the wire format compares the rest."""
    options = OPTIONS.get(type(state), tuple(signature(type(state)).parameters) if hasattr(state, "state") else ())
    configuration = {name: repr(getattr(state, name)) for name in options}
    return {"type": type(state).__name__, "configuration": configuration, **shown(state)}


def shown(state: Any) -> dict[str, Any]:
    """Return the workers of an aggregate, the snapshot of a container or a detector, or counts."""
    if isinstance(state, sm.Aggregate):
        workers = {repr(name): list(worker[:3]) for name, worker in state.workers().items()}
        return {"workers": workers, "total": contents(state.total())}
    if isinstance(state, ChangeDetector):
        return state.snapshot().to_dict()
    if isinstance(state, sm.MultiLabel):
        return state.snapshot().to_dict()
    if hasattr(state, "inner"):
        text = json.dumps(state.snapshot().to_dict(), default=str).replace("NaN", "null")
        return {"n": state.n, "snapshot": json.loads(text, object_hook=without_warnings)}
    if isinstance(state, Comparison):
        cells = [None if column is None else column.tolist() for column in state.cells()]
        more = {"cells": cells} if state.n < 50 else {}
        kinds = [state.keyed, state.weighted, *state.abstentions]
        return {"n": state.n, "labels": repr(state.labels), "numbers": kinds, **more}
    numbers = {"n": state.n, "abstained": state.abstained}
    if isinstance(state, RankSketch):
        return {**numbers, "labels": repr(state.labels), "weight": str(state.weight)}
    return numbers if isinstance(state, sm.ProbabilityLosses) else counts(getattr(state, "state", state))


def counts(cells: sm.ConfusionMatrix) -> dict[str, Any]:
    """Return what a matrix holds."""
    rows, columns, values = (column.tolist() for column in cells.cells())
    return {
        "labels": repr(cells.labels) if cells.k < 100 else f"{cells.k} labels",
        **{name: repr(getattr(cells, name)) for name in ("fixed_labels", "other")},
        **{name: getattr(cells, name) for name in ("n", "abstained")},
        "total": str(cells.total),
        "cells": [rows, columns, values] if cells.k < 100 else sum(map(mul, rows, columns)),
        **({"weighted": cells.weighted} if cells.weighted else {}),
    }


def without_warnings(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a snapshot without its warnings, which are sentences about the counts."""
    return {key: part for key, part in data.items() if key != "warnings"}


def main(names: list[str]) -> None:
    """Write the states named, or all that are missing, and enter them in the manifest."""
    manifest = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}
    for name in names or [name for name in STATES if not (HERE / f"{name}.bin").exists()]:
        path = HERE / f"{name}.bin"
        if path.exists():
            sys.exit(f"{path.name} exists: released bytes are never rewritten")
        state = STATES[name]()
        path.write_bytes(state.to_bytes())
        manifest[name] = contents(sm.from_bytes(path.read_bytes()))
    MANIFEST.write_text(json.dumps(dict(sorted(manifest.items())), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
