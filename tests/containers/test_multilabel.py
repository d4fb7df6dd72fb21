"""Several labels a sample: equal to scikit-learn and river, the same for every form of input, and refused otherwise."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import all_refused, refused

import stream_metrics as sm

KEYS = ("precision", "recall", "f1", "jaccard")
FILMS = [{"art", "film"}, {"film"}, set[str](), {"music"}]
PREDICTED: list[Any] = [{"film"}, {"film", "music"}, set[str](), None]


def tables(n: int, k: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return the truth of some labels, their scores, and weights."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, k)) < 0.3).astype(np.int64)
    return truth, np.round(np.clip(0.5 * truth + 0.6 * rng.random((n, k)), 0, 1), 3), rng.integers(0, 9, n) / 4


@pytest.mark.quick
def test_labels_are_counted_as_scikit_learn_does() -> None:
    """All averages and 0/0 as in its functions, with and without weights, for one sample and for many."""
    sk = pytest.importorskip("sklearn.metrics")
    with every_case() as case, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, k, zero in [(1, 2, 0.0), (2, 3, 1.0), (60, 5, 0.0), (60, 5, 1.0), (300, 7, float("nan"))]:
            truth, scores, weights = tables(n, k, n)
            predicted = (scores >= 0.5).astype(int)
            for w in (None, weights + 0.25):
                with case((n, k, zero, w is None)):
                    tags = sm.MultiLabel(labels=range(k), zero_division=zero)
                    tags.update_many(truth, scores, w)
                    s = tags.snapshot()
                    expected: dict[str, Any] = {"hamming_loss": sk.hamming_loss(truth, predicted, sample_weight=w)}
                    expected["subset_accuracy"] = sk.accuracy_score(truth, predicted, sample_weight=w)
                    for key in KEYS if zero == zero else KEYS[:3]:
                        function = partial(getattr(sk, f"{key}_score"), truth, predicted, sample_weight=w)
                        for average in ("micro", "macro", "weighted", "samples"):
                            if average != "weighted" or truth.any():  # whose weights are all 0 otherwise
                                expected[f"{average}_{key}"] = function(average=average, zero_division=zero)
                        of_labels = function(average=None, zero_division=zero)
                        assert list(s[key].values()) == pytest.approx(of_labels, abs=1e-12, nan_ok=True), key
                    for key, value in expected.items():
                        assert s[key] == pytest.approx(value, abs=1e-12, nan_ok=True), key


def test_scores_are_counted_as_scikit_learn_does() -> None:
    """Areas, average precision and losses of each label, and their means; one by one as in a batch."""
    sk = pytest.importorskip("sklearn.metrics")
    truth, scores, w = tables(200, 4)
    tags, single = (sm.MultiLabel(labels=[*"abcd"], scores=True) for _ in range(2))
    tags.update_many(truth, scores, w)
    for row, of_label, weight in zip(truth, scores, w, strict=True):
        single.update(row, dict(zip("dcba", of_label[::-1], strict=True)), weight)
    s = tags.snapshot()

    assert single.to_bytes() == tags.to_bytes()
    for key, name in (("roc_auc", "roc_auc_score"), ("average_precision", "average_precision_score")):
        function = partial(getattr(sk, name), truth, scores, sample_weight=w)
        assert list(s[key].values()) == pytest.approx(function(average=None))
        for average in ("micro", "macro", "weighted"):
            assert s[f"{average}_{key}"] == pytest.approx(function(average=average))
    losses = [sk.log_loss(truth[:, at], scores[:, at].clip(1e-9), sample_weight=w) for at in range(4)]
    assert list(s["log_loss"].values()) == pytest.approx(losses, rel=1e-6)


def test_streams_of_river_are_counted_as_river_does() -> None:
    """Its mappings from label to bool, one at a time."""
    river = pytest.importorskip("river.metrics")
    truth, scores, _ = tables(80, 4)
    rows = [[dict(enumerate(row)) for row in table.astype(bool).tolist()] for table in (truth, scores >= 0.5)]
    theirs = {
        "subset_accuracy": river.multioutput.ExactMatch(),
        "macro_f1": river.multioutput.MacroAverage(river.F1()),
        "micro_jaccard": river.multioutput.MicroAverage(river.Jaccard()),
    }
    tags = sm.MultiLabel()
    for sample in zip(*rows, strict=True):
        for metric in (tags, *theirs.values()):
            metric.update(*sample)
    assert {key: tags.snapshot()[key] for key in theirs} == pytest.approx({k: m.get() for k, m in theirs.items()})


@pytest.mark.quick
def test_every_form_of_the_labels_of_a_sample_is_counted_alike() -> None:
    """Sets, lists, mappings, rows and tables of 0 and 1 or of scores, data frames with columns in any order."""
    names, n = ["art", "film", "music"], len(FILMS) - 1
    rows = [[{name: name in row for name in names} for row in column[:n]] for column in (FILMS, PREDICTED)]
    truth, predicted = (np.array([list(row.values()) for row in column]) for column in rows)
    expected = sm.MultiLabel()
    expected.update_many(FILMS[:n], PREDICTED[:n])
    data = expected.to_bytes()
    forms: dict[str, tuple[Any, Any]] = {
        "lists and mappings": ([*map(list, FILMS[:n])], [{name: x / 2 for name, x in row.items()} for row in rows[1]]),
        "a table and sets": (truth.astype(int), PREDICTED[:n]),
    }
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frames = [pandas.DataFrame(table, columns=names) for table in (truth, predicted)]
    forms |= {"frames": (frames[0], frames[1][names[::-1]].astype(int)), "a frame and an array": (frames[0], predicted)}
    forms |= {"rows of a frame": ([row for _, row in frames[0].iterrows()], [row for _, row in frames[1].iterrows()])}
    with every_case() as case:
        for name, (y_true, y_pred) in forms.items():
            with case(name):
                tags = sm.MultiLabel()
                tags.update_many(y_true, y_pred, classes=None if "frame" in name else names)
                assert tags.to_bytes() == data
    expected.update({"music"}, None)
    assert (expected.n, expected.abstained, expected.labels) == (n, 1, ("art", "film", "music"))
    assert sm.Aggregate().put("worker", expected.to_bytes(), 1).value == "accepted"


def test_thousands_of_labels_are_counted_one_by_one_as_in_a_batch() -> None:
    """Where the matrix of labels becomes a hash; weights with fractions; what is taken back leaves no trace."""
    rng = np.random.default_rng(1)
    draw = [[{*rng.integers(0, 3000, rng.integers(0, 6)).tolist()} for _ in range(900)] for _ in range(2)]
    w = rng.integers(0, 9, 900) / 3
    tags, batch = sm.MultiLabel(), sm.MultiLabel()
    rows = list(zip(*draw, w, strict=True))
    for row in rows:
        tags.update(*row)
    batch.update_many(*draw, w)
    assert tags.to_bytes() == batch.to_bytes() == sm.from_bytes(tags.to_bytes()).to_bytes()
    for row in rows:
        tags.revert(*row)
    assert tags == sm.MultiLabel()


def test_what_is_not_understood_is_refused_and_changes_nothing() -> None:
    """Text for labels, a label twice, other labels or scores than there are, missing truth, too large weights."""
    tags, scored = sm.MultiLabel(labels=["a", "b"]), sm.MultiLabel(labels=["a", "b"], scores=True)
    tags.update({"a"}, {"b"}, 2**61)
    before = tags.to_bytes(), scored.to_bytes()
    error: Any = refused(lambda: tags.update_many([{"a"}, {"a"}], [{"b"}, {"c"}]), sm.LabelError)
    assert (error.argument, error.position) == ("y_pred", 1)
    one, many, make = tags.update, tags.update_many, sm.MultiLabel
    label, score, weight = sm.LabelError, sm.ScoreError, sm.WeightError
    all_refused([
        (partial(one, "a", {"a"}), label, "y_true"), (partial(one, None, {"a"}), label, "y_true"),
        (partial(one, ["a", "a"], []), label, "distinct"), (partial(one, {()}, []), label, "()"),
        (partial(one, {"a"}, {"c"}), label, "c"), (partial(one, {"a": 2}, []), label, "y_true"),
        (partial(one, {"a"}, {"a": np.nan}), score, "y_pred"), (partial(one, {"a"}), TypeError, "needs a prediction"),
        (partial(one, {"a"}, scores={"a": 0.5}), score, "scores=True"), (partial(one, {"a"}, {"a"}, 2**63), weight, ""),
        (partial(tags.merge, tags), weight, ""), (partial(many, np.eye(2), np.eye(3)), label, "y_pred"),
        (partial(many, np.eye(2), []), label, "y_pred"), (partial(many, np.eye(2) / 2, np.eye(2)), label, "y_true"),
        *((partial(each, [{"a"}], [{"a"}], sample_weight=[1]), TypeError, "`w`") for each in (one, many, tags.revert)),
        (partial(tags.revert, {"b"}, {"b"}), weight, ""), (partial(tags.merge, scored), sm.MergeError, "scores"),
        (partial(tags.merge, make()), sm.MergeError, "labels"), (partial(sm.ByGroup, tags), ValueError, "one label"),
        (partial(scored.update, {"a"}, {"a": 0.5}), score, "scores"), (partial(one, [1], []), label, "arrays"),
        (partial(scored.update, {"a"}, {"a": 0.5, "b": 2}), score, ""),
        (partial(scored.update, {"a"}, {"a": 0.5, "b": 0.5, "c": 0}), label, "scores"),
        (partial(scored.update_many, np.eye(2), np.eye(2), classes=["a", "c"]), label, "scores"),
        (partial(make, scores=True), label, "labels"), (partial(make, ["f2"]), KeyError, "f2"),
        (partial(make, ["samples_mcc"]), KeyError, "samples_"), (partial(make, "f1"), ValueError, "metrics"),
        (lambda: tags.snapshot()["macro_f1", "a"], KeyError, "macro_f1"),
        (lambda: tags.snapshot()["f1", "z"], KeyError, "z"), (partial(sm.evaluate, FILMS, FILMS), label, "MultiLabel"),
    ])  # fmt: skip
    assert (tags.to_bytes(), scored.to_bytes()) == before


def test_a_snapshot_has_what_was_chosen_and_intervals_of_labels() -> None:
    """Chosen keys in their order, values of labels as dicts, what has no value as omitted, the worst label."""
    tags = sm.MultiLabel(["f1_macro", "mcc", "samples_recall"])
    tags.update_many(FILMS, PREDICTED)
    s = tags.snapshot()

    assert list(s) == ["macro_f1", "matthews_corrcoef", "samples_recall"]
    assert (s["f1", "art"], s["mcc"]) == (0, dict(s)["matthews_corrcoef"])
    assert (s.by_label.worst("f1", 1, label=True), s.undefined[0]) == ([("art", 0.0)], ("matthews_corrcoef", "art"))
    assert s.by_label.intervals("recall", label=True)["film"].value == 1
    tags = sm.MultiLabel(labels=range(99))
    tags.update({1}, {1}, 2**60)
    assert "2**63" in tags.snapshot().omitted["micro_f1"]
