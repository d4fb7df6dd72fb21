"""Batches of many groups: each group counts its rows as if they had come one at a time, or the batch is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.state_checks import check_refused, with_batch

import stream_metrics as sm

ROWS, GROUPS = 300, 7
ABC, DIGITS, MANY = ["a", "b", "c"], [2, 0, 1], [f"class {i}" for i in range(80)]
Make = Callable[[], Any]


class Case(NamedTuple):
    """States of groups, the truths of their samples, and the classes of tables of scores; () for single scores."""

    make: Make
    truths: list[Any]
    classes: list[Any] | None = None  # None: samples are labels
    sparse: bool = False
    kind: type = np.float64

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return columns of random samples; most scores are 0 in a sparse table."""
        truth = [self.truths[at] for at in rng.integers(0, len(self.truths), ROWS)]
        if self.classes is None:
            predicted = [self.truths[at] for at in rng.integers(0, len(self.truths), ROWS)]
            return {"y_true": truth, "y_pred": [None if rng.random() < 0.1 else label for label in predicted]}
        if not self.classes:
            return {"y_true": truth, "scores": rng.random(ROWS).round(3).astype(self.kind)}
        scores = rng.dirichlet(np.full(len(self.classes), 0.05 if self.sparse else 1.0), ROWS)
        scores = np.where(scores < (0.01 if self.sparse else 0), 0.0, scores.round(3)).astype(self.kind)
        return {"y_true": truth, "scores": scores, "classes": self.classes}


CASES: dict[str, Case] = {
    "labels": Case(sm.MetricSet, ["a", 1, True, 2.0, ("t", 1)]),
    "fixed labels": Case(lambda: sm.ConfusionMatrix(ABC, other="c"), [*ABC, "d"]),
    "set": Case(lambda: sm.MetricSet(scores=True), ABC, ABC),
    "set of other truths": Case(lambda: sm.MetricSet(scores=True), [*ABC, "d"], ABC),
    "set of fixed labels": Case(lambda: sm.MetricSet(labels=DIGITS, scores=True), DIGITS, DIGITS, kind=np.float32),
    "set of any scores": Case(lambda: sm.MetricSet(scores="any", buckets=8, sample=4), DIGITS, DIGITS),
    "set of many classes": Case(lambda: sm.MetricSet(scores=True, buckets=16), MANY, MANY, sparse=True),
    "set of few metrics": Case(lambda: sm.MetricSet(["accuracy", "roc_auc_ovr", "log_loss"], scores=True), ABC, ABC),
    "set of single scores": Case(lambda: sm.MetricSet(scores=True), [True, False, 1, 0], []),
    "set of float32": Case(lambda: sm.MetricSet(scores=True, buckets=4, sample=2), [1, 0], [], kind=np.float32),
    "set that needs seen labels": Case(lambda: sm.MetricSet(scores=True, pos_label="a"), ["a", "b"], []),
    "text that names numbers": Case(lambda: sm.MetricSet(scores=True), DIGITS, ["2", "0", "1"]),
    "area": Case(lambda: sm.ROCAUC(pos_label="a"), ABC, []),
    "area of pairs": Case(sm.HandTillAUC, ABC, ABC, sparse=True),
    "losses": Case(sm.LogLoss, [*ABC, "d"], ABC),
    "losses of singles": Case(lambda: sm.ProbabilityLosses(pos_label=1), [1, 0, True], []),
    "sketch": Case(lambda: sm.RankSketch(buckets=8, sample=4), ABC, ABC),
    "sketch without pairs": Case(lambda: sm.RankSketch(pairs=False, pos_label="x"), MANY[:5], MANY[:5], sparse=True),
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
    for name, case in CASES.items():
        rng = np.random.default_rng(7)
        batch, single = sm.ByGroup(case.make()), sm.ByGroup(case.make())
        for group in range(GROUPS if "seen" in name else 0):
            for groups in (batch, single):
                groups.update("b", scores=0.9, group=group)
        for _ in range(2):
            columns = case.draw(rng) | {"w": WEIGHTS[weights](rng), "group": rng.integers(0, GROUPS, ROWS).tolist()}
            batch.update_many(**columns)
            one_by_one(single, columns)
        if batch.to_bytes() != single.to_bytes():
            different.append(name)
    assert different == []


REFUSED: list[tuple[Any, ...]] = [
    *(("set", "scores", x, sm.ScoreError) for x in (float("nan"), 1.5)), ("losses", "scores", -0.5, sm.ScoreError),
    ("set of fixed labels", "y_true", 7, sm.LabelError), ("area", "y_true", float("nan"), sm.LabelError),
    ("set", "w", -1.0, sm.WeightError), ("labels", "y_pred", float("inf"), sm.LabelError),
]  # fmt: skip


def test_one_bad_row_refuses_the_batch() -> None:
    """Nothing is counted in any group, and the error names column and row of the batch."""
    for name, column, value, error in REFUSED:
        rng = np.random.default_rng(3)
        columns = CASES[name].draw(rng) | {"w": rng.random(ROWS), "group": rng.integers(0, GROUPS, ROWS)}
        groups = with_batch(sm.ByGroup(CASES[name].make()), **columns)
        columns[column] = [*columns[column]] if isinstance(columns[column], list) else columns[column].copy()
        columns[column][ROWS - 2] = value
        check_refused(groups, "update_many", [(columns, error, column, ROWS - 2)])
    full, half = sm.ByGroup(sm.MetricSet(scores=True)), np.full((4, 2), 0.5)  # one group has a sum of 2**63
    batch = {"y_true": list("abab"), "scores": half, "classes": ["a", "b"], "w": np.array([2**62, 1, 2**61, 2**62])}
    check_refused(full, "update_many", [(batch | {"group": [0, 1, 1, 0]}, sm.WeightError)])
