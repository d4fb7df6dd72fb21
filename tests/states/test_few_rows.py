"""Batches of many groups: each group counts its rows as if they had come one at a time, or the batch is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.state_checks import check_refused

import stream_metrics as sm

ROWS, GROUPS = 300, 7
Draw = Callable[[np.random.Generator], dict[str, Any]]


def table(names: list[Any], *, sparse: bool = False, kind: type = np.float64, outside: Any = None) -> Draw:
    """Return a function that draws truths and a table of scores, many of them 0 if it is sparse."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        scores = rng.dirichlet(np.full(len(names), 0.05 if sparse else 1.0), ROWS)
        scores = np.where(scores < (0.01 if sparse else 0), 0.0, scores.round(3)).astype(kind)
        truths = [*names] if outside is None else [*names, outside]
        truth = [truths[at] for at in rng.integers(0, len(truths), ROWS)]
        return {"y_true": truth, "scores": scores, "classes": names}

    return draw


def singles(truths: list[Any], kind: type = np.float64) -> Draw:
    """Return a function that draws truths and single scores."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        truth = [truths[at] for at in rng.integers(0, len(truths), ROWS)]
        return {"y_true": truth, "scores": rng.random(ROWS).round(3).astype(kind)}

    return draw


def labels(truths: list[Any]) -> Draw:
    """Return a function that draws truths and predictions."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        truth, predicted = ([truths[at] for at in side] for side in rng.integers(0, len(truths), (2, ROWS)))
        return {"y_true": truth, "y_pred": [None if rng.random() < 0.1 else label for label in predicted]}

    return draw


ABC, DIGITS, MANY = ["a", "b", "c"], [2, 0, 1], [f"class {i}" for i in range(80)]
CASES: dict[str, tuple[Callable[[], Any], Draw]] = {
    "labels": (sm.MetricSet, labels(["a", 1, True, 2.0, ("t", 1)])),
    "fixed labels": (lambda: sm.ConfusionMatrix(ABC, other="c"), labels([*ABC, "d"])),
    "set": (lambda: sm.MetricSet(scores=True), table(ABC)),
    "set of other truths": (lambda: sm.MetricSet(scores=True), table(ABC, outside="d")),
    "set of fixed labels": (lambda: sm.MetricSet(labels=DIGITS, scores=True), table(DIGITS, kind=np.float32)),
    "set of any scores": (lambda: sm.MetricSet(scores="any", buckets=8, sample=4), table(DIGITS)),
    "set of many classes": (lambda: sm.MetricSet(scores=True, buckets=16), table(MANY, sparse=True)),
    "set of few metrics": (lambda: sm.MetricSet(["accuracy", "roc_auc_ovr", "log_loss"], scores=True), table(ABC)),
    "set of single scores": (lambda: sm.MetricSet(scores=True), singles([True, False, 1, 0])),
    "set of float32": (lambda: sm.MetricSet(scores=True, buckets=4, sample=2), singles([1, 0], np.float32)),
    "set that needs seen labels": (lambda: sm.MetricSet(scores=True, pos_label="a"), singles(["a", "b"])),
    "text that names numbers": (
        lambda: sm.MetricSet(scores=True),
        lambda rng: table(DIGITS)(rng) | {"classes": ["2", "0", "1"]},
    ),
    "area": (lambda: sm.ROCAUC(pos_label="a"), singles(["a", "b", "c"])),
    "area of pairs": (sm.HandTillAUC, table(ABC, sparse=True)),
    "losses": (sm.LogLoss, table(ABC, outside="d")),
    "losses of singles": (lambda: sm.ProbabilityLosses(pos_label=1), singles([1, 0, True])),
    "sketch": (lambda: sm.RankSketch(buckets=8, sample=4), table(ABC)),
    "sketch without pairs": (lambda: sm.RankSketch(pairs=False, pos_label="x"), table(MANY[:5], sparse=True)),
}
WEIGHTS: dict[str, Callable[[np.random.Generator], Any]] = {
    "none": lambda rng: None,
    "whole": lambda rng: rng.integers(0, 4, ROWS),
    "fractions": lambda rng: rng.choice([0.0, 0.5, 1.0, 2.75, 1e-300, 1e12], ROWS),
}


def one_by_one(groups: Any, columns: dict[str, Any]) -> None:
    """Count the rows of a batch one at a time."""
    classes, scores, w = columns.get("classes"), columns.get("scores"), columns["w"]
    for row, truth in enumerate(columns["y_true"]):
        more = {"group": columns["group"][row]}
        if w is not None:
            more["w"] = w[row].item()
        if scores is None:
            more["y_pred"] = columns["y_pred"][row]
        elif classes is None:
            more["scores"] = float(scores[row])
        else:
            more["scores"] = dict(zip(classes, scores[row].astype(np.float64).tolist(), strict=True))
        groups.update(truth, **more)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_batch_of_groups_is_its_samples(weights: str) -> None:
    """To the byte, in groups that are new and in groups that have samples, for every state and form of scores."""
    different = []
    for case, (make, draw) in CASES.items():
        rng = np.random.default_rng(7)
        batch, single = sm.ByGroup(make()), sm.ByGroup(make())
        for group in range(GROUPS if "seen" in case else 0):
            for groups in (batch, single):
                groups.update("b", scores=0.9, group=group)
        for _ in range(2):
            columns = draw(rng) | {"w": WEIGHTS[weights](rng), "group": rng.integers(0, GROUPS, ROWS).tolist()}
            batch.update_many(**columns)
            one_by_one(single, columns)
        if batch.to_bytes() != single.to_bytes():
            different.append(case)
    assert different == []


REFUSED: list[tuple[Any, ...]] = [
    ("set", {"scores": float("nan")}, sm.ScoreError),
    ("set", {"scores": 1.5}, sm.ScoreError),
    ("losses", {"scores": -0.5}, sm.ScoreError),
    ("set of fixed labels", {"y_true": 7}, sm.LabelError),
    ("area", {"y_true": float("nan")}, sm.LabelError),
    ("set", {"w": -1.0}, sm.WeightError),
    ("labels", {"y_pred": float("inf")}, sm.LabelError),
]


def test_one_bad_row_refuses_the_batch() -> None:
    """Nothing is counted in any group, and the error names column and row of the batch."""
    for name, wrong, error in REFUSED:
        make, draw = CASES[name]
        rng = np.random.default_rng(3)
        groups = sm.ByGroup(make())
        columns = draw(rng) | {"w": rng.random(ROWS), "group": rng.integers(0, GROUPS, ROWS)}
        groups.update_many(**columns)
        for column, value in wrong.items():
            columns[column] = [*columns[column]] if isinstance(columns[column], list) else columns[column].copy()
            columns[column][ROWS - 2] = value
            check_refused(groups, "update_many", [(columns, error, column, ROWS - 2)])
    full, half = sm.ByGroup(sm.MetricSet(scores=True)), np.full((4, 2), 0.5)  # one group has a sum of 2**63
    batch = {"y_true": list("abab"), "scores": half, "classes": ["a", "b"], "w": np.array([2**62, 1, 2**61, 2**62])}
    check_refused(full, "update_many", [(batch | {"group": [0, 1, 1, 0]}, sm.WeightError)])
