"""Keys of scores that are text name numbers where the truth is one: in every state and form, by the sample alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run_command
from support.input_states import LABELS, SCORED, alone, together
from support.refusals import refused

import stream_metrics as sm

Sample = tuple[Any, Any]  # truth, scores

KEYS = [("0", "1"), ("10", "9"), ("1.0", "2"), ("true", "0"), ("01", "1"), ("a", "1"), ("a", "b"), (0, 1), (0, "1"), ()]
TRUTHS = [0, 1, 2, True, 1.0, "0", "1", "a", np.int64(1), np.bool_(False)]
FIXED: dict[str, list[Any]] = {
    "fixed set": ["a", "b", 2, 0, 1, 9, "10", "0", "01"],
    "fixed matrix": [2, 0, "1", 9],
    "fixed window": [0, 1, 2, 9, 10, "a", "b", "01"],
}


def converted(truth: Any, scores: Any, name: str = "") -> Any:
    """Return scores with the keys that the rule gives them, written independently of the package."""
    spelled: dict[Any, Any] = {"0": 0, "1": 1, "10": 10, "9": 9, "1.0": 1.0, "2": 2, "true": True}
    if name in FIXED:
        own = {label: label for label in FIXED[name]}
        return {own.get(key, own.get(spelled.get(key, key), key)): score for key, score in scores.items()}
    if isinstance(truth, str) or not all(isinstance(key, str) for key in scores):
        return scores
    return {spelled.get(key, key): score for key, score in scores.items()}


STATES: dict[str, Callable[[], Any]] = {name: make for name, make in (SCORED | LABELS).items() if "area" not in name}
STATES |= {
    "fixed set": lambda: sm.MetricSet(scores=True, labels=FIXED["fixed set"]),
    "fixed matrix": lambda: sm.ConfusionMatrix(FIXED["fixed matrix"], other="rest"),
    "fixed window": lambda: sm.Rolling(sm.MetricSet(scores=True, labels=FIXED["fixed window"]), 3),
    "units": lambda: sm.MetricSet(scores=True),
    "units of labels": sm.MetricSet,
    "comparison": lambda: sm.Comparison(scores=True),
    "comparison of labels": sm.Comparison,
}


REVERTED = ("set", "matrix", "sketch", "losses")


def columns_of(name: str, samples: list[Sample]) -> dict[str, list[Any]]:
    """Return samples as the columns that a state takes."""
    truths, scores = [truth for truth, _ in samples], [row for _, row in samples]
    columns = {"y_true": truths}
    columns |= {"pred_a": scores, "pred_b": list(scores)} if name.startswith("comparison") else {"y_pred": scores}
    return columns | ({"unit": [at % 3 for at in range(len(samples))]} if name.startswith("units") else {})


def one_by_one(name: str, samples: list[Sample]) -> Any:
    """Return what samples leave one by one."""
    return alone(STATES[name], **columns_of(name, samples))


def rows() -> st.SearchStrategy[Sample]:
    """Samples of any truth and keys; scores on a grid, so that some are tied and some are 0."""
    keys = st.sampled_from(KEYS)
    scores = st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=2, max_size=2)
    return st.tuples(st.sampled_from(TRUTHS), st.builds(lambda k, s: dict(zip(k, s, strict=False)), keys, scores))


@given(st.lists(rows(), min_size=1, max_size=8), st.integers(0, 8))
def test_every_state_counts_keys_alike(samples: list[Sample], cut: int) -> None:
    """Text keys alone and in batches, in any split, give the bytes of the numbers they name, and are taken back."""
    failures = []
    for name, make in STATES.items():
        expected = one_by_one(name, [(truth, converted(truth, scores, name)) for truth, scores in samples])
        if name in REVERTED:
            state, last = sm.from_bytes(expected), samples[cut % len(samples)]
            state.update(*last)
            state.revert(*last)
            assert state.to_bytes() == expected, name
        split = together(make, len(samples), cut % len(samples), **columns_of(name, samples))
        if not one_by_one(name, samples) == split == expected:
            failures.append(name)

    assert not failures


def test_tables_and_frames() -> None:
    """A table with `classes`, a data frame, rows and a column of dicts count as the mappings of each row."""
    truths = [0, 1, 1, 0], [True, False, True, True], ["0", "1", "1", "0"], [1, "1", 0, "a"]
    names: list[list[Any]] = [["0", "1"], ["1", "0"], ["10", "9"], ["a", "1"], ["01", "1"], [0, 1]]
    table = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.5, 0.25]])
    for y_true, classes in product(truths, names):
        samples = [(t, dict(zip(classes, row, strict=True))) for t, row in zip(y_true, table.tolist(), strict=True)]
        forms: list[dict[str, Any]] = [
            {"y_pred": table, "classes": classes},
            {"y_pred": table.astype(np.float32), "classes": classes},
            {"y_pred": table.tolist(), "classes": classes},
            {"y_pred": pd.DataFrame(table, columns=classes)},
            {"y_pred": pd.Series([row for _, row in samples])},
        ]
        for name in ("set", "sketch", "losses", "rolling set", "rolling losses"):
            expected = one_by_one(name, [(truth, converted(truth, row)) for truth, row in samples])
            assert alone(STATES[name], y_true=y_true, y_pred=table.tolist(), classes=[tuple(classes)] * 4) == expected
            for form, truth in product(forms, (y_true, pd.Series(y_true, dtype=object), pd.Categorical(y_true))):
                assert together(STATES[name], 4, y_true=truth, **form) == expected, (name, form)
        with_classes = lambda classes=classes: sm.ProbabilityLosses(classes=classes)  # noqa: E731
        plain = sm.from_bytes(one_by_one("losses", samples)).numbers()
        assert sm.from_bytes(alone(with_classes, y_true=y_true, y_pred=table.tolist())).numbers() == plain
        for scores in (table, table.tolist()):
            assert sm.from_bytes(together(with_classes, 4, y_true=y_true, y_pred=scores)).numbers() == plain


def test_the_command_line(tmp_path: Path) -> None:
    """JSON Lines give the bytes of the same records in Python, in any order."""
    keys = [("0", "1"), ("10", "9"), ("1.0", "2"), ("true", "0"), ("9", "2")]
    truths = [truth for truth in TRUTHS if isinstance(truth, int | float | str)]
    samples = [(t, dict(zip(pair, s, strict=True))) for t, pair, s in product(truths, keys, [(0.25, 0.5), (0.5, 0.0)])]
    for at, order in enumerate((samples, samples[::-1], samples[1::2] + samples[::2])):
        lines = "".join(json.dumps({"y_true": truth, "scores": scores}) + "\n" for truth, scores in order)
        (tmp_path / f"{at}.jsonl").write_text(lines)
        assert (
            run_command("run", tmp_path / f"{at}.jsonl", "--scores", "scores", "--state", tmp_path / "out").status == 0
        )
        expected = alone(lambda: sm.MetricSet(scores=True), **columns_of("set", samples))
        assert sm.from_bytes((tmp_path / "out").read_bytes()).to_bytes() == expected


@pytest.mark.quick
def test_what_spells_a_number() -> None:
    """A key spells a number as JSON does, in any case; text that spells no valid label stays text."""
    numbers = {"1": 1, "-0": 0, "1.0": 1.0, "-0.0": 0.0, "1E2": 100.0, "true": True, "False": False}
    numbers |= {str(2**2048 - 1): 2**2048 - 1, "1" + " " * 639: 1}
    texts = ["01", "+1", "1.", ".5", "0x1", "1_0", "", "nan", "Infinity", "1e999", "null", "[1]", "9" * 640]
    texts += [str(2**2048), "1" + " " * 640, "[" * 600]
    for key, label in [*numbers.items(), *zip(texts, texts, strict=True)]:
        state = sm.ConfusionMatrix()
        state.update(7, {key: 0.25})
        assert [repr(shown) for shown in state.labels if shown != 7] == [repr(label)], key


@pytest.mark.quick
def test_two_keys_of_one_class_are_refused() -> None:
    """Keys that name one number raise ScoreError with the position, and nothing is counted."""
    both = {"1": 0.5, "1.0": 0.5}
    for make in (sm.MetricSet, lambda: sm.MetricSet(scores=True), sm.RankSketch, sm.ProbabilityLosses):
        state = make()
        one: Any = refused(lambda: state.update(1, both), sm.ScoreError, "one score for every class")  # noqa: B023
        many: Any = refused(lambda: state.update_many([0, 1], [{"0": 1.0}, both]), sm.ScoreError)  # noqa: B023
        assert (one.expected, one.position, many.position) == (many.expected, None, 1)
        assert state.n == 0


@pytest.mark.quick
def test_fixed_labels_name_their_own() -> None:
    """With fixed labels a key is the label that it is, else the number that it spells, else the label with its repr."""
    labels: list[Any] = ["1", 0, 2.0, b"x", (1, "a"), True]
    for key, label in [("1", "1"), ("0", 0), ("2", 2.0), ("true", True), ("b'x'", b"x"), ("(1, 'a')", (1, "a"))]:
        named, expected = sm.ConfusionMatrix(labels), sm.ConfusionMatrix(labels)
        named.update(0, {key: 0.25})
        expected.update(0, label)
        assert named == expected, key
    for key in ("3", 5):
        refused(lambda: sm.ConfusionMatrix(labels).update(0, {key: 0.25}), sm.LabelError)  # noqa: B023
    state = sm.MetricSet(scores=True, labels=[0, 1, "unknown"])
    state.update("unknown", {"0": 0.25, "1": 0.25, "unknown": 0.5})
    state.update_many([1], [{"0": 0.25, "1": 0.75}])
    assert state.snapshot()["accuracy"] == 1.0
    mixed = sm.MetricSet(scores=True, labels=["1", 1, 5])
    mixed.update(5, {"1": 0.75, 5: 0.25})
    assert mixed.snapshot()["recall", 5] == 0.0
    assert mixed.scored.ranks.labels == (5, "1")
