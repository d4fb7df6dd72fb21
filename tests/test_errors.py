"""Errors say what they are about in fields, and their text is made from these."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.errors import OptionError

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
    "matrix": lambda: refused(sm.ConfusionMatrix.from_matrix, [[1, 0], [0, -3]]),
    "probability": lambda: refused(sm.ProbabilityLosses().update_many, *PROBABILITIES, classes=["a", "b"]),
    "mapping": lambda: refused(sm.ProbabilityLosses().update_many, ["a", "b"], [{"a": 1}, {"a": 2}]),
    "score": lambda: refused(sm.RankSketch().update_many, [0, 1], [0.5, np.inf]),
    "rows": lambda: refused(sm.RankSketch().update_many, [0, 1], [0.5]),
    "window": lambda: refused(sm.Rolling, sm.Accuracy(), 0),
    "panes": lambda: refused(sm.TimeWindow, sm.Accuracy(), "5m", 0),
    "period": lambda: refused(sm.TimeWindow, sm.Accuracy(), "5m", 7),
}
EXPECTED = {
    "label": (sm.LabelError, "y_true", 1, None),
    "fixed": (sm.LabelError, "y_pred", 1, "z"),
    "weight": (sm.WeightError, "w", 1, -2.5),
    "matrix": (sm.WeightError, "matrix", None, -3),
    "probability": (sm.ScoreError, "scores", 1, 1.5),
    "mapping": (sm.ScoreError, "scores", 1, 2.0),
    "score": (sm.ScoreError, "scores", 1, np.inf),
    "rows": (sm.ScoreError, "scores", None, 1),
    "window": (OptionError, "window", None, 0),
    "panes": (OptionError, "panes", None, 0),
    "period": (OptionError, "period", None, "5m"),
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
