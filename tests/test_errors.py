"""Errors say what they are about in fields, and their text is made from these."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.errors import OptionError, UnknownKeyError

PROBABILITIES = ["a", "b"], np.array([[0.5, 0.5], [1.5, 0.5]])


def refused(call: Any, *arguments: Any, **named: Any) -> sm.StreamMetricsError:
    """Return the error that a call raises."""
    with pytest.raises(sm.StreamMetricsError) as caught:
        call(*arguments, **named)
    return caught.value


def fields(error: sm.StreamMetricsError) -> tuple[Any, ...]:
    return type(error), error.argument, error.position, error.expected, error.got


ERRORS = {
    "label": lambda: refused(sm.ConfusionMatrix().update_many, ["a", None], ["a", "b"]),
    "fixed": lambda: refused(sm.ConfusionMatrix(["a"]).update_many, ["a", "a"], ["a", "z"]),
    "weight": lambda: refused(sm.ConfusionMatrix().update_many, [0, 1], [0, 1], [1, -2.5]),
    "counts": lambda: refused(sm.ConfusionMatrix.from_counts, [0, 1], [0, 1], [2, 1.5]),
    "matrix": lambda: refused(sm.ConfusionMatrix.from_matrix, [[1, 0], [0, -3]]),
    "probability": lambda: refused(sm.ProbabilityLosses().update_many, *PROBABILITIES, classes=["a", "b"]),
    "mapping": lambda: refused(sm.ProbabilityLosses().update_many, ["a", "b"], [{"a": 1}, {"a": 2}]),
    "score": lambda: refused(sm.RankSketch().update_many, [0, 1], [0.5, np.inf]),
    "rows": lambda: refused(sm.RankSketch().update_many, [0, 1], [0.5]),
    "window": lambda: refused(sm.Rolling, sm.Accuracy(), 0),
    "panes": lambda: refused(sm.TimeWindow, sm.Accuracy(), "5m", 0),
    "period": lambda: refused(sm.TimeWindow, sm.Accuracy(), "5m", 7),
    "time": lambda: refused(sm.TimeWindow(sm.Accuracy(), "5m").update_many, [1, 1], [1, 1], t=[0, 1e30]),
}
EXPECTED = {
    "label": (sm.LabelError, "y_true", 1, None),
    "fixed": (sm.LabelError, "y_pred", 1, "z"),
    "weight": (sm.WeightError, "w", 1, -2.5),
    "counts": (sm.WeightError, "n", 1, 1.5),
    "matrix": (sm.WeightError, "matrix", None, -3),
    "probability": (sm.ScoreError, "scores", 1, 1.5),
    "mapping": (sm.ScoreError, "scores", 1, 2.0),
    "score": (sm.ScoreError, "scores", 1, np.inf),
    "rows": (sm.ScoreError, "scores", None, 1),
    "window": (OptionError, "window", None, 0),
    "panes": (OptionError, "panes", None, 0),
    "period": (OptionError, "period", None, "5m"),
    "time": (sm.TimeError, "t", 1, 1e30),
}


@pytest.mark.parametrize("name", ERRORS)
def test_fields_say_what_was_refused(name: str) -> None:
    """The type, the argument, the row and the value can be read without the text, which names all of them."""
    error = ERRORS[name]()
    assert (type(error), error.argument, error.position, error.got) == EXPECTED[name]
    assert str(error).startswith("Expected ")
    assert f"{error.argument}`" in str(error) or "score" in str(error)
    assert error.expected in str(error)
    if error.position is not None:
        assert f" at position {error.position}" in str(error)


@pytest.mark.parametrize("name", ERRORS)
def test_pickles_and_copies_are_the_same_error(name: str) -> None:
    """Workers send errors as bytes: type, fields and text stay."""
    error = ERRORS[name]()
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert fields(again) == fields(error)
        assert str(again) == str(error)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_can_be_about_another_row(name: str) -> None:
    """The text names the new position, once, where it named the old one."""
    error = ERRORS[name]()
    moved = error.with_position(77)
    assert (moved.position, moved.got, moved.argument) == (77, error.got, error.argument)
    assert str(moved).count(" at position 77") == 1
    if error.position is not None:
        assert str(moved).replace("position 77", f"position {error.position}") == str(error)


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_can_name_where_the_rows_are(name: str) -> None:
    """A file or a partition is in the text beside the position, and stays through bytes; the rule has neither."""
    error = ERRORS[name]()
    placed = error.with_position(77, "part-1.parquet")
    assert (placed.place, placed.position, placed.argument) == ("part-1.parquet", 77, error.argument)
    assert " at position 77 of part-1.parquet" in str(placed)
    assert " in part-1.parquet" in str(error.with_position(None, "part-1.parquet"))
    assert str(pickle.loads(pickle.dumps(placed))) == str(placed)
    assert placed.rule == error.rule
    assert error.expected in error.rule
    assert "position" not in error.rule


@pytest.mark.parametrize("name", ["window", "panes", "period"])
def test_an_option_can_have_another_name(name: str) -> None:
    """A command line names its own option, and nothing else of the text changes."""
    error = ERRORS[name]()
    assert isinstance(error, ValueError)
    renamed = error.with_subject(f"--{name}")
    assert fields(renamed) == fields(error)
    assert str(renamed) == str(error).replace(f"`{name}`", f"--{name}")


def test_a_message_of_its_own_takes_a_position_at_its_end() -> None:
    """Errors of other makers have no fields but the position."""
    error = sm.LabelError("Expected a label, but got none")
    assert fields(error) == (sm.LabelError, None, None, None, None)
    assert str(error.with_position(3)) == "Expected a label, but got none at position 3"
    assert str(error.with_position(3).with_position(4)) == "Expected a label, but got none at position 4"
    assert str(sm.MergeError()) == ""


def test_errors_keep_no_data_alive() -> None:
    """What is no number, text or bytes is described, not kept."""
    error = refused(sm.ConfusionMatrix().update, ["a"], "a")
    assert error.got is None
    assert "['a'] (list)" in str(error)
    assert type(sm.LabelError(argument="x", expected="to be a label", got=np.zeros(3)).got) is str


@pytest.mark.parametrize(
    ("look_up", "message"),
    [
        (lambda: sm.ConfusionMatrix().snapshot()["nope"], "Expected the key of a metric, but got 'nope'"),
        (lambda: sm.ConfusionMatrix().snapshot().value("roc_auc"), "Expected a key that can be read here"),
        (lambda: counted_groups().snapshot()["nope"], "Expected `group` to be one of ['x'], but got 'nope'"),
        (lambda: counted_groups().state("nope"), "Expected `group` to be one of ['x'], but got 'nope'"),
        (lambda: counted_groups().snapshot()["x"].value("recall", label="z"), "Expected `label` to be one of"),
        (lambda: sm.Aggregate().drop("nope"), "Expected the name of a worker, but got 'nope'"),
    ],
)
def test_a_missing_key_is_named_without_quotes_around_the_message(look_up: Callable[[], object], message: str) -> None:
    """A KeyError shows its text in quotes; ours are sentences, of one class."""
    with pytest.raises(KeyError) as caught:
        look_up()
    assert isinstance(caught.value, UnknownKeyError)
    assert str(caught.value).startswith(message)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def counted_groups() -> sm.ByGroup:
    """Return a group "x" with a sample."""
    groups = sm.ByGroup(sm.Accuracy())
    groups.update("a", "a", group="x")
    return groups


@pytest.mark.parametrize(
    ("module", "package", "hint"),
    [
        ("stream_metrics.testing", "hypothesis", "pip install hypothesis"),
        *(
            (f"stream_metrics.integrations.{name}", package, f'pip install "stream-metrics[{name.partition("_")[0]}]"')
            for name, package in [
                ("river", "river"), ("torch", "torch"), ("dask", "dask"), ("ray", "ray"), ("beam", "apache_beam"),
                ("spark", "pyspark"), ("spark_streaming", "pyspark"), ("spark_sql", "pyspark"),
            ]
        ),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_its_command(module: str, package: str, hint: str) -> None:
    """What needs another package says how to install it, wherever imported."""
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("ImportError: Expected ")
    assert hint in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("first", "second", "argument", "message"),
    [
        (sm.MetricSet(), sm.MetricSet(scores=True), "scores", "`scores` .* one keeps scores, the other labels only"),
        (sm.MetricSet(scores=True), sm.MetricSet(), "scores", "`scores` .* one keeps scores, the other labels only"),
        (sm.MetricSet(scores=True), sm.MetricSet(scores="any"), "scores", "True in one and 'any' in the other"),
        (
            sm.MetricSet(scores=True, buckets=64, threshold=0.4), sm.MetricSet(scores=True), "threshold",
            "`threshold` and `buckets` .* got `threshold` 0.4 in one and 0.5 in the other, `buckets` 64 in one",
        ),
        (
            sm.MetricSet(["roc_auc"]), sm.MetricSet(["log_loss"], pairs=False), "pairs",
            r"True in one and False in the other, where \['ranks'\] and \['ranks', 'losses'\] are",
        ),
        (sm.Recall(), sm.Recall(pos_label="b"), "pos_label", "0/1 and False/True, in one and any labels in the other"),
        (
            sm.RankSketch(8), sm.RankSketch(9, 7, "a"), "buckets",
            r"`sample` 512 in one and 7 in .*, `pos_label` True in one .*; reconfigured\(buckets=..., sample=...\) ",
        ),
        (
            sm.ConfusionMatrix(["a"], "z"), sm.ConfusionMatrix(["b"]), "labels",
            r"`labels` and `other` .* `other` 'z' in one and nothing .*; reconfigured\(labels=..., other=...\) returns",
        ),
        (sm.RankSketch(), sm.RankSketch(pairs=False), "pairs", r"True in one and False .*; reconfigured\(pairs=...\)"),
        (sm.ROCAUC(), sm.ROCAUC(buckets=10), "buckets", "1024 in one and 10 in the other"),
        (sm.Accuracy(labels=[1, 2]), sm.Accuracy(), "labels", r"\(1, 2\) in one and nothing in the other"),
        (sm.ProbabilityLosses(1), sm.ProbabilityLosses(0), "pos_label", "1 in one and 0 in the other"),
        (sm.Comparison("a", "b"), sm.Comparison("a", "c"), "b", "'b' in one and 'c' in the other"),
        (sm.TimeWindow(sm.MCC(), "1h"), sm.TimeWindow(sm.MCC(), "2h"), "period", "'1h' in one and '2h' in the other"),
        (sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.MetricSet(scores=True)), "scores", "the other labels only"),
        (
            sm.Fading(sm.ROCAUC(sample=9), 3), sm.Fading(sm.ROCAUC(), 3), "sample",
            r"9 in one and 512 in the other; reconfigured\(sample=...\) returns",
        ),
    ],
)  # fmt: skip
def test_a_merge_names_the_options_that_differ(first: Any, second: Any, argument: str, message: str) -> None:
    """The same words everywhere, also inside containers and by the workers of an aggregate."""
    total = sm.Aggregate()
    total.put("first", first, 1)
    for merged in (
        lambda: first.merge(second),
        lambda: first + second,
        lambda: sm.merge([first, second]),
        lambda: total.put("second", second, 1),
    ):
        error = refused(merged)
        assert isinstance(error, sm.MergeError)
        assert error.argument == argument
        assert re.search(message, str(error))
