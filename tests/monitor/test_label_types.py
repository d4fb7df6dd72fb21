"""Labels, predictions and keys of scores in any spelling, from two topics, through the whole monitor."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING, Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.view.types import View

FORMS: dict[str, Callable[[bool], Any]] = {
    "int": int,
    "bool": bool,
    "float": float,
    "digit": lambda y: str(int(y)),
    "truth": lambda y: str(y).lower(),
    "word": lambda y: "fraud" if y else "ok",
}
NUMBERS = ("int", "bool", "float")
RNG = random.Random(4)
SAMPLES = [(0.4, False), *((x, RNG.random() < x) for x in (round(RNG.random(), 3) for _ in range(60)))]
RIGHT = sum((x >= 0.5) == y for x, y in SAMPLES) / len(SAMPLES)


def run(events: Sequence[dict[str, Any]], counting: Counting, step: int = 50) -> View:
    """Return the view of a monitor after events, so many in a step."""
    monitor = Monitor(Config(counting=counting), clock=lambda: 2e9)
    monitor.assign([0])
    records = [Record("t", 0, at, at + 1, None, None, json.dumps(event).encode()) for at, event in enumerate(events)]
    for start in range(0, len(records), step):
        monitor.step(records[start : start + step])
    return monitor.view()


def events(truth: str, prediction: str | None, keys: str | None) -> list[dict[str, Any]]:
    """Return predictions and labels in these forms; `keys` are those of scores, "single" for one number."""
    rows = []
    for at, (x, y) in enumerate(SAMPLES):
        said: dict[str, Any] = {} if prediction is None else {"prediction": FORMS[prediction](x >= 0.5)}
        if keys == "single":
            said["scores"] = x
        elif keys is not None:
            said["scores"] = {key(keys, False): 1 - x, key(keys, True): x}
        rows.append({"id": at, "time": 1.7e9 + at, **said})
        rows.append({"id": at, "time": 1.7e9 + at + 0.5, "truth": FORMS[truth](y)})
    return rows


def key(form: str, y: bool) -> str:
    """Return a label as a key of JSON."""
    label = FORMS[form](y)
    return label if isinstance(label, str) else json.dumps(label)


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize(
    ("truth", "prediction", "keys"),
    [
        (truth, prediction, keys)
        for truth, prediction, keys in itertools.product(FORMS, [None, *FORMS], [None, *FORMS])
        if (prediction is None or prediction == truth or {prediction, truth} <= {*NUMBERS})
        and (keys is None or keys == truth or (truth in NUMBERS and keys in {*NUMBERS, "digit", "truth"}))
        and (prediction is not None or keys is not None)
    ],
)
def test_text_keys_name_the_labels_beside_them(
    truth: str, prediction: str | None, keys: str | None, scores: bool
) -> None:
    """For any types, each sample is counted, and right if it is."""
    view = run(events(truth, prediction, keys), Counting(scores=scores, windows=("1h",)))
    window = view.by_window["total"]

    assert (window.n, view.records.rejected, window.warnings) == (len(SAMPLES), {}, [])
    assert window.metrics["accuracy"] == RIGHT
    if scores and keys is not None:
        own = [x for x, y in SAMPLES if y]
        rest = [x for x, y in SAMPLES if not y]
        area = sum((a > b) + (a == b) / 2 for a in own for b in rest) / (len(own) * len(rest))
        assert window.metrics["roc_auc_ovr"] == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "prediction"),
    [
        (truth, prediction)
        for truth, prediction in itertools.product(FORMS, FORMS)
        if truth != prediction and not {truth, prediction} <= {*NUMBERS}
    ],
)
def test_labels_of_two_spellings_are_said(truth: str, prediction: str) -> None:
    """Labels and predictions that have nothing in common are counted as they are, and never without a word."""
    view = run(events(truth, prediction, None), Counting(windows=("1h",)))
    window = view.by_window["total"]

    assert (window.n, window.metrics["accuracy"]) == (len(SAMPLES), 0.0)
    assert "no class in common" in window.mismatch
    assert window.mismatch in window.warnings


def test_one_producer_of_several_that_writes_texts_is_said() -> None:
    """Where some labels are numbers and some the same as text, classes are in common, and counts still wrong."""
    rows = events("int", "int", None)
    for row in rows[-8:]:
        if "prediction" in row:
            row["prediction"] = str(row["prediction"])
    window = run(rows, Counting(windows=("1h",))).by_window["total"]

    assert 0 < window.metrics["accuracy"] < RIGHT
    assert window.mismatch.startswith("Classes are counted apart as numbers and as texts: 0 and '0'")
    assert run(events("int", "int", None), Counting(windows=("1h",))).by_window["total"].mismatch == ""


@pytest.mark.parametrize("step", [1, 7, 200])
@pytest.mark.parametrize("predicted", [True, False])
def test_single_scores_beside_texts_are_not_refused_by_their_outcome(predicted: bool, step: int) -> None:
    """With `pos_label` alone the other class is the one that was seen: what is refused would bias all that is left."""
    rows = events("word", "word" if predicted else None, "single")
    view = run(rows, Counting(scores=True, windows=("1h",), pos_label="fraud"), step)
    window = view.by_window["total"]

    assert (window.n, view.records.rejected) == (len(SAMPLES), {})
    assert window.metrics["accuracy"] == RIGHT
    named = run(rows, Counting(scores=True, windows=("1h",), pos_label="fraud", labels=("ok", "fraud")))
    for name in ("roc_auc_ovr", "log_loss", "brier_score", "accuracy"):
        assert window.metrics.get(name) == named.by_window["total"].metrics.get(name)


ROWS = st.tuples(st.sampled_from(["a", "b", "b", "c"]), st.sampled_from([0.2, 0.8]), st.sampled_from(["a", "b", None]))


@given(st.lists(ROWS, max_size=12), st.integers(0, 12))
def test_what_a_single_score_stands_for_does_not_depend_on_chunks(rows: list[Any], split: int) -> None:
    """The other class is learned row by row, and after a restart from the labels that were counted."""
    config = Counting(scores=True, pos_label="a", windows=("4s",), panes=4)
    pairs = [
        Pair(truth, MISSING if said is None else said, score, 1, None, 0.0, 1.0, ("t", 0, at))
        for at, (truth, score, said) in enumerate(rows)
    ]
    alone, chunked = Counts(config), Counts(config)
    bad = [refused for pair in pairs for refused in alone.add([pair])]
    bad_too = chunked.add(pairs[:split])
    chunked = Counts.from_bytes(config, chunked.to_bytes())
    bad_too += chunked.add(pairs[split:])

    assert sorted(bad) == sorted(bad_too)
    assert alone.to_bytes() == chunked.to_bytes()


def test_a_single_score_is_corrected_in_a_pane_of_one_class() -> None:
    """The other class is known from all that was counted, not from the pane alone."""
    config = Counting(scores=True, pos_label="a", windows=("4s",), panes=4)
    pairs = [
        Pair(truth, MISSING, 0.1 + at / 100, 1, "g", 0.0, float(at), ("t", 0, at)) for at, truth in enumerate("baaab")
    ]
    counts = Counts(config)
    assert counts.add(pairs) == []
    assert counts.correct(pairs[2], pairs[2]._replace(truth="b"))
    expected = Counts(config)
    expected.add([*pairs[:2], pairs[2]._replace(truth="b"), *pairs[3:]])
    assert counts.to_bytes() == expected.to_bytes()
