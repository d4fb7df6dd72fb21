"""`update` and `update_many` mean the same everywhere: the same names, in the same order, however they are passed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import all_refused, refused
from support.thread_stress import CASES

import stream_metrics as sm

pytestmark = pytest.mark.quick
TRUTH, LABELS, WEIGHTS = [1, 0, 1, 1], [1, 1, 0, 1], [1, 2, 1, 0.5]
SCORES = np.array([0.9, 0.2, 0.4, 0.7])
TABLE = np.column_stack([1 - SCORES, SCORES])
READS = {
    "labels": [
        "ConfusionMatrix", "MetricSet", "MacroF1", "Rolling", "TimeWindow", "Fading by count", "ByGroup",
        "ByGroup of windows", "TimeWindow of groups",
    ],
    "scores": [
        "RankSketch", "ProbabilityLosses", "ROCAUC", "CrossEntropy", "Rolling area", "Rolling of losses",
        "Fading of areas",
    ],
    "both": ["MetricSet of scores", "Rolling of scores", "TimeWindow of scores", "ByGroup of scores"],
}  # fmt: skip
# what makes each kind, what it reads, and what it needs beside samples
KINDS: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    name: (CASES[name].make, reads, {key: {"t": 0, "group": "g"}[key] for key in CASES[name].named})
    for reads, names in READS.items()
    for name in names
} | {
    "Recall": (sm.Recall, "labels", {}),
    "HandTillAUC": (sm.HandTillAUC, "scores", {}),
    "ByGroup of losses": (lambda: sm.ByGroup(sm.LogLoss()), "scores", {"group": "g"}),
}
CONSTRUCTORS = [
    (sm.F1, "average", "averages are metrics of their own"), (sm.MetricSet, "average", "averages are metrics of"),
    (sm.MetricSet, "poslabel", "did you mean `pos_label`?"), (sm.MultiLabel, "label", "did you mean `labels`?"),
    (sm.ConfusionMatrix, "num_classes", "classes are counted as"), (sm.RankSketch, "bucket", "did you mean `buckets`?"),
    (sm.ProbabilityLosses, "names", "it has `pos_label`, `classes`"), (sm.Comparison, "fold", "did you mean `folds`?"),
    (sm.ChangeDetector, "p_0", "did you mean `p0`?"), (sm.ByGroup, "max_group", "did you mean `max_groups`?"),
    (sm.TimeWindow, "length", "did you mean `period`?"), (sm.Fading, "halflife", "did you mean `half_life`?"),
    (sm.Rolling, "size", "did you mean `window`?"),
]  # fmt: skip


def test_arguments_by_position_and_by_name_are_the_same() -> None:
    """Truth, prediction and weight come first; scores may be `y_pred` or `scores`; `classes` names columns."""
    with every_case() as case:
        for name, (make, reads, more) in KINDS.items():
            with case(name):
                predicted, by_name = (LABELS, "y_pred") if reads == "labels" else (SCORES.tolist(), "scores")
                single, batch = [make() for _ in range(3)], [make() for _ in range(2)]
                for y, p, w in zip(TRUTH, predicted, WEIGHTS, strict=True):
                    single[0].update(y, p, w, **more)
                    single[1].update(y_true=y, y_pred=p, w=w, **more)
                    single[2].update(y, w=w, **{by_name: p}, **more)
                batch[0].update_many(TRUTH, predicted, WEIGHTS, **more)
                batch[1].update_many(TRUTH, w=WEIGHTS, **{by_name: predicted}, **more)
                assert single[0] == single[1] == single[2]
                assert batch[0] == batch[1]
                assert batch[0].n == single[0].n == 4
                if reads != "labels":
                    tables, rows = [make() for _ in range(2)], [make() for _ in range(2)]
                    tables[0].update_many(TRUTH, TABLE, classes=[0, 1], **more)
                    tables[1].update_many(TRUTH, scores=TABLE, classes=[0, 1], **more)
                    for y, row in zip(TRUTH, TABLE.tolist(), strict=True):
                        rows[0].update(y, row, classes=[0, 1], **more)
                        rows[1].update(y, scores=row, classes=[0, 1], **more)
                    assert tables[0] == tables[1]
                    assert rows[0] == rows[1]
                    assert tables[0].n == rows[0].n == 4


def test_arguments_that_do_not_fit_are_refused_and_change_nothing() -> None:
    """Scores for labels, scores twice, a weight by another name, a call without a prediction."""
    with every_case() as case:
        for name, (make, reads, more) in KINDS.items():
            with case(name):
                state = make()
                update, update_many = partial(state.update, 1, **more), partial(state.update_many, TRUTH, **more)
                twice = [partial(update, 1, scores=0.5), partial(update_many, LABELS, scores=SCORES)]
                if reads == "labels":
                    calls = [*twice, partial(update, scores=0.5), partial(update_many, scores=SCORES)]
                    all_refused((call, ValueError, "MetricSet(scores=True)") for call in calls)
                elif reads == "scores":
                    all_refused((call, sm.ScoreError, "") for call in twice)
                for word in ("sample_weight", "sample_weights", "weights"):
                    call = partial(state.update_many, TRUTH, LABELS, **{word: WEIGHTS})
                    text = str(refused(call, TypeError, f"'{word}'; did you mean `w`?"))
                    assert text.startswith(f"{type(state).__name__}.update_many")
                    refused(partial(state.update, 1, 1, **{word: 1}), TypeError)
                refused(partial(state.update_many, TRUTH, LABELS, nothing=1), TypeError)
                refused(update, TypeError)
                assert state == make()

                state.update(1, None, **more)
                before = state.to_bytes()
                refused(update, TypeError, "needs a prediction")
                if hasattr(state, "revert") and not name.startswith(("ByGroup", "TimeWindow", "Fading")):
                    refused(partial(state.revert, 1), TypeError, "needs a prediction")
                assert state.to_bytes() == before
                for spelled in ({"y_pred": None}, {"y_pred": {}}, {"scores": None}):
                    state.update(1, **spelled, **more)
                assert (state.n, state.abstained) == (0, 4)


def test_names_of_other_libraries_get_a_hint() -> None:
    """Arguments, methods and functions that a user knows from elsewhere; a class where scores belong, and logits."""
    metric, result = sm.MetricSet(), sm.evaluate([0, 1, 1], scores=[[2, 1.5], [0, 1], [1, 2]], classes=[0, 1])
    text = "{}() got an unexpected keyword argument '{}'; {}"
    all_refused([
        (partial(sm.evaluate, [1], [1], sample_weight=[1]), TypeError, "did you mean `w`?"),
        *((partial(kind, **{name: 3}), TypeError, text.format(kind.__name__, name, hint))
          for kind, name, hint in CONSTRUCTORS),
        (lambda: sm.roc_auc_score, AttributeError, "evaluate(y_true, scores=y_score)['roc_auc']"),
        (lambda: sm.f1_score, AttributeError, "evaluate(y_true, y_pred)['f1']"),
        (lambda: metric.save, AttributeError, "`to_bytes()`"), (lambda: result.mcc, AttributeError, "['mcc']"),
        (lambda: metric.to_pandas, AttributeError, "`snapshot().to_frame()`"),
        (lambda: sm.MultiLabel().compute, AttributeError, "; use `snapshot()`"),
        (lambda: result.best_threshold("f1"), sm.errors.UnknownKeyError, "metric='f1'"),
        (lambda: result["log_loss"], sm.errors.UnknownKeyError, "softmax"),
        (partial(sm.evaluate, [0, 1], [[0.5, 0.5], [0.1, 0.9]]), sm.LabelError, "`scores=`"),
    ])  # fmt: skip
