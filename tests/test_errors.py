"""Errors say what they are about in fields, and their text is made from these."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import refused

import stream_metrics as sm

TABLE, LOSSES = np.array([[0.5, 0.5], [1.5, 0.5]]), sm.ProbabilityLosses().update_many
TIMES = partial(sm.TimeWindow(sm.Accuracy(), "5m").update_many, [1, 1], [1, 1])
# what is refused, and the type, argument, position and value of its error
CALLS: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "label": (lambda: sm.ConfusionMatrix().update_many(["a", None], ["a", "b"]), (sm.LabelError, "y_true", 1, None)),
    "fixed": (lambda: sm.ConfusionMatrix(["a"]).update_many(["a", "a"], ["a", "z"]), (sm.LabelError, "y_pred", 1, "z")),
    "weight": (lambda: sm.ConfusionMatrix().update_many([0, 1], [0, 1], [1, -2.5]), (sm.WeightError, "w", 1, -2.5)),
    "counts": (lambda: sm.ConfusionMatrix.from_counts([0, 1], [0, 1], [2, 1.5]), (sm.WeightError, "n", 1, 1.5)),
    "matrix": (lambda: sm.ConfusionMatrix.from_matrix([[1, 0], [0, -3]]), (sm.WeightError, "matrix", None, -3)),
    "table": (lambda: LOSSES(["a", "b"], TABLE, classes=["a", "b"]), (sm.ScoreError, "scores", 1, 1.5)),
    "mapping": (lambda: LOSSES(["a", "b"], [{"a": 1}, {"a": 2}]), (sm.ScoreError, "scores", 1, 2.0)),
    "score": (lambda: sm.RankSketch().update_many([0, 1], [0.5, np.inf]), (sm.ScoreError, "scores", 1, np.inf)),
    "rows": (lambda: sm.RankSketch().update_many([0, 1], [0.5]), (sm.ScoreError, "scores", None, 1)),
    "window": (lambda: sm.Rolling(sm.Accuracy(), 0), (sm.OptionError, "window", None, 0)),
    "panes": (lambda: sm.TimeWindow(sm.Accuracy(), "5m", 0), (sm.OptionError, "panes", None, 0)),
    "period": (lambda: sm.TimeWindow(sm.Accuracy(), "5m", 7), (sm.OptionError, "period", None, "5m")),
    "time": (lambda: TIMES(t=[0, 1e30]), (sm.TimeError, "t", 1, 1e30)),
}


def error_of(call: Callable[[], Any]) -> Any:
    """Return the error that a call raises."""
    with pytest.raises(sm.StreamMetricsError) as caught:
        call()
    return caught.value


def fields(error: Any) -> tuple[Any, ...]:
    """Return the fields of an error."""
    return type(error), error.argument, error.position, error.expected, error.got


@pytest.mark.quick
def test_fields_and_text_say_what_was_refused() -> None:
    """Type, argument, row and value; pickles and copies have them; a row, a file or a name can be another one."""
    with every_case() as case:
        for name, (call, expected) in CALLS.items():
            with case(name):
                error = error_of(call)
                text = str(error)
                assert (type(error), error.argument, error.position, error.got) == expected
                assert text.startswith("Expected ")
                assert f"{error.argument}`" in text or "score" in text
                assert error.expected in text
                assert error.position is None or f" at position {error.position}" in text
                for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                    assert (fields(again), str(again)) == (fields(error), text)

                moved, placed = error.with_position(77), error.with_position(77, "part-1.parquet")
                other = error.with_argument("other")
                assert fields(moved) == fields(placed) == (*expected[:2], 77, error.expected, error.got)
                assert fields(other) == (type(error), "other", error.position, error.expected, error.got)
                assert str(moved).count(" at position 77") == 1
                if error.position is not None:
                    assert str(moved).replace("position 77", f"position {error.position}") == text
                assert placed.place == "part-1.parquet"
                assert " at position 77 of part-1.parquet" in str(placed) == str(pickle.loads(pickle.dumps(placed)))
                assert " in part-1.parquet" in str(error.with_position(None, "part-1.parquet"))
                assert error.expected in error.rule == placed.rule
                assert "position" not in error.rule
                assert str(other) == text.replace(f"`{error.argument}`", "`other`")
                if type(error) is sm.OptionError:  # a command line names its own option
                    assert isinstance(error, ValueError)
                    renamed = error.with_subject(f"--{name}")
                    assert fields(renamed) == fields(error)
                    assert str(renamed) == text.replace(f"`{name}`", f"--{name}")


BAD: list[Any] = [np.nan, [1], {"a"}, 1j, object(), -1, 2.5, b"x", {"a": 2.0}, np.array([1, 2]), None, (1, None)]


def operations(scores: Any) -> list[tuple[Any, tuple[Any, ...], tuple[str, ...]]]:
    """Return operations, good arguments, and the names of these, of states that count labels or scores."""
    good: tuple[Any, ...] = (1, 0.5, 1) if scores else (1, 1, 1)
    names = ("y_true", "scores" if scores else "y_pred", "w")
    kinds = (sm.LogLoss, sm.RankSketch, sm.ProbabilityLosses) if scores else (sm.ConfusionMatrix, sm.Accuracy)
    states = [sm.MetricSet(scores=scores), *(kind() for kind in kinds)]
    compared = sm.Comparison(scores=scores), (1, *good[1:2] * 2, 1), ("y_true", "pred_a", "pred_b", "w")
    return [*((state, good, names) for state in states), compared]


@pytest.mark.quick
@pytest.mark.parametrize("scores", [False, True])
def test_every_error_about_an_argument_has_its_fields(scores: bool) -> None:
    """Whatever is wrong, alone or in a batch, the error names the argument, what is expected, and the row."""
    unnamed = []
    for state, good, names in operations(scores):
        for (at, name), bad, many in itertools.product(enumerate(names), BAD, (False, True)):
            given = [*good[:at], bad, *good[at + 1 :]]
            try:
                state.update_many(*([x] for x in given)) if many else state.update(*given)
            except sm.StreamMetricsError as error:
                own = error.argument in (name, "y_pred" if name == "scores" else name) and error.expected
                if not own or (many and error.position is None and error.got is None):
                    unnamed.append((type(state).__name__, name, bad, str(error)))
        for other in BAD:
            error = error_of(lambda state=state, other=other: state.merge(other))
            unnamed += [(state, other)] * (error.argument != "other" or not error.expected)
    assert not unnamed


@pytest.mark.quick
def test_a_message_of_its_own_takes_a_position_at_its_end() -> None:
    """Errors of other makers have no fields but the position; what is no number, text or bytes is described."""
    error = sm.LabelError("Expected a label, but got none")
    assert fields(error) == (sm.LabelError, None, None, None, None)
    assert str(error.with_position(3)) == "Expected a label, but got none at position 3"
    assert str(error.with_position(3).with_position(4)) == "Expected a label, but got none at position 4"
    assert str(sm.MergeError()) == ""

    described = error_of(lambda: sm.ConfusionMatrix().update(["a"], "a"))
    assert described.got is None
    assert "['a'] (list)" in str(described)
    assert type(sm.LabelError(argument="x", expected="to be a label", got=np.zeros(3)).got) is str


@pytest.mark.quick
def test_a_missing_key_is_named_without_quotes_around_the_message() -> None:
    """A KeyError shows its text in quotes; ours are sentences, of one class."""
    groups = sm.ByGroup(sm.Accuracy())
    groups.update("a", "a", group="x")
    looked_up: list[tuple[Callable[[], object], str]] = [
        (lambda: sm.ConfusionMatrix().snapshot()["nope"], "Expected the key of a metric, but got 'nope'"),
        (lambda: sm.ConfusionMatrix().snapshot().value("roc_auc"), "Expected a key that can be read here"),
        (lambda: groups.snapshot()["nope"], "Expected `group` to be one of ['x'], but got 'nope'"),
        (lambda: groups.state("nope"), "Expected `group` to be one of ['x'], but got 'nope'"),
        (lambda: groups.snapshot()["x"].value("recall", label="z"), "Expected `label` to be one of"),
        (lambda: sm.Aggregate().drop("nope"), "Expected `worker` to be the name of one, but got 'nope'"),
    ]
    for look_up, message in looked_up:
        error = refused(look_up, KeyError, message)
        assert str(error).startswith(message)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert isinstance(error, sm.StreamMetricsError)
        assert "UnknownKeyError" in {base.__name__ for base in type(error).__mro__}


MISSING = """
import importlib, sys
for line in sys.stdin:
    module, package = line.split()
    sys.modules[package] = None
    try:
        importlib.import_module(module)
    except ImportError as error:
        print(error)
    del sys.modules[package]
"""


def test_a_missing_package_is_named_with_its_command() -> None:
    """What needs another package says how to install it, wherever imported."""
    packages = {name: name for name in ("river", "torch", "dask", "ray")} | {"beam": "apache_beam"}
    packages |= dict.fromkeys(("spark", "spark_streaming", "spark_sql"), "pyspark")
    hints = ["pip install hypothesis"]
    hints += [f'pip install "stream-metrics[{name.partition("_")[0]}]"' for name in packages]
    lines = ["stream_metrics.testing hypothesis"]
    lines += [f"stream_metrics.integrations.{name} {package}" for name, package in packages.items()]
    messages = subprocess.check_output([sys.executable, "-c", MISSING], input="\n".join(lines), text=True).splitlines()

    for message, hint in zip(messages, hints, strict=True):
        assert message.startswith("Expected ")
        assert hint in message


@pytest.mark.quick
def test_a_merge_names_the_options_that_differ() -> None:
    """The same words everywhere, also inside containers and by the workers of an aggregate."""
    merges: list[tuple[Any, Any, str, list[str]]] = [
        (sm.MetricSet(scores=True), sm.MetricSet(scores="any"), "scores", ["True in one and 'any' in the other"]),
        (
            sm.MetricSet(scores=True, buckets=64, threshold=0.4), sm.MetricSet(scores=True), "threshold",
            ["`threshold` and `buckets` ", "got `threshold` 0.4 in one and 0.5 in the other, `buckets` 64 in one"],
        ),
        (sm.Recall(), sm.Recall(pos_label="b"), "pos_label", ["only 0/1 and False/True in one and any labels in "]),
        (
            sm.RankSketch(8), sm.RankSketch(9, 7, "a"), "buckets",
            ["`sample` 512 in one and 7 in ", "`pos_label` True in one ", "; reconfigured(buckets=..., sample=...) "],
        ),
        (
            sm.ConfusionMatrix(["a"], "z"), sm.ConfusionMatrix(["b"]), "labels",
            ["`labels` and `other` ", "`other` 'z' in one and nothing ", "; reconfigured(labels=..., other=...) "],
        ),
        (sm.RankSketch(), sm.RankSketch(pairs=False), "pairs", ["True in one and False ", "; reconfigured(pairs=...)"]),
        (sm.ROCAUC(), sm.ROCAUC(buckets=10), "buckets", ["1024 in one and 10 in the other"]),
        (sm.Accuracy(labels=[1, 2]), sm.Accuracy(), "labels", ["(1, 2) in one and nothing in the other"]),
        (sm.ProbabilityLosses(1), sm.ProbabilityLosses(0), "pos_label", ["1 in one and 0 in the other"]),
        (sm.Comparison("a", "b"), sm.Comparison("a", "c"), "b", ["'b' in one and 'c' in the other"]),
        (sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.MetricSet(scores=True)), "scores", ["the other labels only"]),
        (
            sm.Fading(sm.ROCAUC(sample=9), 3), sm.Fading(sm.ROCAUC(), 3), "sample",
            ["9 in one and 512 in the other; reconfigured(sample=...) returns"],
        ),
    ]  # fmt: skip
    with every_case() as case:
        for first, second, argument, parts in merges:
            total = sm.Aggregate()
            total.put("first", first, 1)
            ways = [partial(first.merge, second), partial(first.__add__, second), partial(sm.merge, [first, second])]
            for merge in (*ways, partial(total.put, "second", second, 1)):
                with case((first, second, merge)):
                    error = error_of(merge)
                    assert (type(error), error.argument) == (sm.MergeError, argument)
                    assert not [part for part in parts if part not in str(error)], error
