"""Labels, predictions and keys of scores in any spelling, from two topics, through the whole monitor."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_events import counted, offline, records

from stream_metrics.monitor import Config, Monitor, config, open_store

FORMS: dict[str, Callable[[bool], Any]] = {
    "int": int,
    "bool": bool,
    "float": float,
    "digit": lambda y: str(int(y)),
    "truth": lambda y: str(y).lower(),
    "word": lambda y: "fraud" if y else "ok",
}
NUMBERS = {"int", "bool", "float"}
RNG = random.Random(4)
SAMPLES = [(0.4, False), *((x, RNG.random() < x) for x in (round(RNG.random(), 3) for _ in range(60)))]
RIGHT = sum((x >= 0.5) == y for x, y in SAMPLES) / len(SAMPLES)
OWN, REST = [x for x, y in SAMPLES if y], [x for x, y in SAMPLES if not y]
AREA = sum((a > b) + (a == b) / 2 for a in OWN for b in REST) / (len(OWN) * len(REST))


def run(events: Sequence[dict[str, Any]], step: int = 50, **counting: Any) -> Any:
    """Return the total of a monitor after events, so many in a step, all of which are counted."""
    told = Config(counting=config.CountingTable(windows=("1h",), **counting))
    view = offline(records(list(events)), told, step).view()
    assert (view.by_window["total"].n, view.records.rejected) == (len(events) / 2, {})
    return view.by_window["total"]


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


def test_text_keys_name_the_labels_beside_them() -> None:
    """For any types of truth, prediction and keys of scores, each sample is counted, and right if it is."""
    failures = []
    for truth, prediction, keys in itertools.product(FORMS, [None, *FORMS], [None, *FORMS]):
        same = prediction is None or prediction == truth or {prediction, truth} <= NUMBERS
        named = keys is None or keys == truth or (truth in NUMBERS and keys in NUMBERS | {"digit", "truth"})
        if not same or not named or prediction is keys is None:
            continue
        for scores in (False, True) if keys is not None else (False,):
            window = run(events(truth, prediction, keys), scores=scores)
            area = window.metrics["roc_auc_ovr"] if scores else AREA
            if window.metrics["accuracy"] != RIGHT or window.warnings or area != pytest.approx(AREA, abs=1e-12):
                failures.append((truth, prediction, keys, scores, window.metrics, window.warnings))
    assert not failures


def test_labels_of_two_spellings_are_counted_apart_with_a_warning() -> None:
    """Labels and predictions that have nothing in common are counted as they are, and never without a word."""
    failures = []
    for truth, prediction in itertools.product(FORMS, FORMS):
        if truth != prediction and not {truth, prediction} <= NUMBERS:
            window = run(events(truth, prediction, None))
            warned = "no class in common" in window.mismatch and window.mismatch in window.warnings
            if window.metrics["accuracy"] != 0.0 or not warned:
                failures.append((truth, prediction, window.metrics, window.warnings))
    assert not failures


@pytest.mark.quick
def test_one_producer_of_several_that_writes_texts_is_reported() -> None:
    """Where some labels are numbers and some the same as text, classes are in common, and counts still wrong."""
    rows = events("int", "int", None)
    for row in rows[-8:]:
        if "prediction" in row:
            row["prediction"] = str(row["prediction"])
    window = run(rows)

    assert 0 < window.metrics["accuracy"] < RIGHT
    assert window.mismatch.startswith("Classes are counted apart as numbers and as texts: 0 and '0'")
    assert run(events("int", "int", None)).mismatch == ""


@pytest.mark.parametrize("predicted", [True, False])
def test_single_scores_beside_texts_are_not_refused_by_their_outcome(predicted: bool) -> None:
    """With `pos_label` alone the other class is the one that was seen: what is refused would bias all that is left."""
    rows = events("word", "word" if predicted else None, "single")
    named = run(rows, scores=True, pos_label="fraud", labels=("ok", "fraud")).metrics
    for step in (1, 7, 200):
        metrics = run(rows, step, scores=True, pos_label="fraud").metrics
        assert metrics["accuracy"] == RIGHT
        for name in ("roc_auc_ovr", "log_loss", "brier_score", "accuracy"):
            assert metrics.get(name) == named.get(name)


SINGLE = Config(counting=config.CountingTable(scores=True, pos_label="a", windows=("4s",), panes=4))
ROWS = st.tuples(st.sampled_from(["a", "b", "b", "c"]), st.sampled_from([0.2, 0.8]), st.sampled_from(["a", "b", None]))


@given(st.lists(ROWS, max_size=12), st.integers(0, 12))
def test_the_class_opposite_to_a_single_score_does_not_depend_on_batches(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], split: int
) -> None:
    """It is learned row by row, and after a restart from the labels that were counted."""
    path = str(tmp_path_factory.mktemp("m") / "state")
    stream = records(
        [
            {"id": at, "time": 1.7e9 + at, "truth": truth, "scores": score} | ({"prediction": said} if said else {})
            for at, (truth, score, said) in enumerate(rows)
        ]
    )
    for part in (stream[:split], stream[split:]):
        with closing(Monitor(SINGLE, open_store(path), lambda: 2e9)) as monitor:
            monitor.assign([0])
            monitor.step(part)
            result = counted(monitor)

    alone = Monitor(SINGLE, clock=lambda: 2e9)
    alone.assign([0])
    for record in stream:
        alone.step([record])
    assert result == counted(alone)


@pytest.mark.quick
def test_a_single_score_is_corrected_in_a_pane_of_one_class() -> None:
    """The other class is known from all that was counted, not from the pane alone."""
    rows = [
        {"id": at, "time": 1.7e9 + at, "group": "g", "scores": 0.1 + at / 100, "truth": truth}
        for at, truth in enumerate("baaab")
    ]
    corrected = offline(records([*rows, {"id": 2, "time": 1.7e9 + 4, "truth": "b"}]), SINGLE)
    expected = offline(records([{**row, "truth": "b"} if row["id"] == 2 else row for row in rows]), SINGLE)

    assert corrected.stats().counters.corrections == 1
    for name, window in expected.view().by_window.items():
        other = corrected.view().by_window[name]
        assert (other.n, other.metrics, other.matrix, other.groups) == (
            window.n, window.metrics, window.matrix, window.groups
        )  # fmt: skip
