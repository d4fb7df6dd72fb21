"""Keys of scores that are text name numbers where the truth is one: in every state and form, by the sample alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pair_streams import HARD, SOFT, fed, pair, placed

import stream_metrics as sm
from stream_metrics.cli.main import main
from stream_metrics.labels.class_names import OPEN, ClassNames, number_named
from stream_metrics.monitor.config import Counting, Fields, Join
from stream_metrics.monitor.counts.counting import Counts
from stream_metrics.monitor.events.decoding import Decoder
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.join.joining import Joiner

Sample = tuple[Any, Any]  # truth, scores

KEYS = [("0", "1"), ("10", "9"), ("1.0", "2"), ("true", "0"), ("01", "1"), ("a", "1"), ("a", "b"), (0, 1), (0, "1"), ()]
TRUTHS = [0, 1, 2, True, 1.0, "0", "1", "a", np.int64(1), np.bool_(False)]
MAKERS: dict[str, Callable[[], Any]] = {
    "matrix": sm.ConfusionMatrix,
    "set of labels": sm.MetricSet,
    "set": lambda: sm.MetricSet(scores=True),
    "set of any scores": lambda: sm.MetricSet(scores="any"),
    "fixed set": lambda: sm.MetricSet(scores=True, labels=["a", "b", 2, 0, 1, 9, "10", "0", "01"]),
    "fixed matrix": lambda: sm.ConfusionMatrix([2, 0, "1", 9], other="rest"),
    "fixed window": lambda: sm.Rolling(sm.MetricSet(scores=True, labels=[0, 1, 2, 9, 10, "a", "b", "01"]), 3),
    "sketch": sm.RankSketch,
    "losses": sm.ProbabilityLosses,
    "metric": sm.LogLoss,
    "rolling": lambda: sm.Rolling(sm.MetricSet(scores=True), 3),
    "rolling labels": lambda: sm.Rolling(sm.MetricSet(), 3),
    "rolling losses": lambda: sm.Rolling(sm.ProbabilityLosses(), 3),
    "window": lambda: sm.TimeWindow(sm.MetricSet(scores=True), 60),
    "window of labels": lambda: sm.TimeWindow(sm.MacroF1(), 60),
    "fading": lambda: sm.Fading(sm.MetricSet(scores=True), 4),
    "fading labels": lambda: sm.Fading(sm.MetricSet(), 4),
    "groups": lambda: sm.ByGroup(sm.MetricSet(scores=True)),
    "groups of labels": lambda: sm.ByGroup(sm.MetricSet()),
    "groups of windows": lambda: sm.ByGroup(sm.Rolling(sm.MetricSet(scores=True), 3)),
    "folds": lambda: sm.MetricSet(scores=True),
    "folds of labels": lambda: sm.MetricSet(),
    "comparison": lambda: sm.Comparison(scores=True),
    "comparison of labels": lambda: sm.Comparison(),
}


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


def beside(name: str, at: Any) -> dict[str, Any]:
    """Return the arguments that a state needs beside a sample, or beside a batch of positions."""
    several = isinstance(at, list)
    if name.startswith("window"):
        return {"t": [float(i) for i in at] if several else float(at)}
    if name.startswith("groups"):
        return {"group": [i % 2 for i in at] if several else at % 2}
    if name.startswith("folds"):
        return {"unit": [i % 3 for i in at] if several else at % 3}
    return {}


def one_by_one(name: str, samples: list[Sample]) -> Any:
    """Return the bytes of a state that was fed sample by sample, or the type of its error."""
    state = MAKERS[name]()
    try:
        for at, (truth, scores) in enumerate(samples):
            twice = (scores, scores) if name.startswith("comparison") else (scores,)
            state.update(truth, *twice, **beside(name, at))
    except sm.StreamMetricsError as error:
        return type(error)
    return state.to_bytes()


def in_batches(name: str, samples: list[Sample], cut: int) -> Any:
    """Return the bytes of a state that was fed two batches, or the type of its error."""
    state = MAKERS[name]()
    try:
        for part in (range(cut), range(cut, len(samples))):
            truth, scores = [samples[at][0] for at in part], [samples[at][1] for at in part]
            twice = (scores, list(scores)) if name.startswith("comparison") else (scores,)
            state.update_many(truth, *twice, **beside(name, list(part)))
    except sm.StreamMetricsError as error:
        return type(error)
    return state.to_bytes()


def rows(choice: Sequence[Any] = KEYS) -> st.SearchStrategy[Sample]:
    """Samples of any truth and keys; scores on a grid, so that some are tied and some are 0."""
    keys = st.sampled_from(choice)
    scores = st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=2, max_size=2)
    return st.tuples(st.sampled_from(TRUTHS), st.builds(lambda k, s: dict(zip(k, s, strict=False)), keys, scores))


@pytest.mark.parametrize("name", MAKERS)
@given(st.lists(rows(), min_size=1, max_size=8), st.integers(0, 8))
def test_every_state_counts_keys_alike(name: str, samples: list[Sample], cut: int) -> None:
    """Text keys alone and in batches, in any split, give the bytes of the numbers that they name."""
    expected = one_by_one(name, [(truth, converted(truth, scores, name)) for truth, scores in samples])

    assert one_by_one(name, samples) == expected
    in_two = in_batches(name, samples, min(cut, len(samples)))
    assert in_two == expected or (isinstance(in_two, type) and isinstance(expected, type))


@given(st.lists(rows(), min_size=1, max_size=8), st.randoms())
def test_order_and_merges_do_not_matter(samples: list[Sample], random: Any) -> None:
    """Shards in any order merge to the bytes of the whole: no truth decides for the samples after it."""
    states = []
    for truth, scores in samples:
        state = sm.MetricSet(scores=True)
        state.update(truth, scores)
        states.append(state)
    random.shuffle(states)

    assert sm.merge(states).to_bytes() == one_by_one("set", samples)


@given(st.lists(rows(), min_size=1, max_size=6), rows())
def test_revert_takes_back_what_update_counted(samples: list[Sample], last: Sample) -> None:
    """An update with text keys can be undone with the same arguments."""
    for make in (sm.MetricSet, lambda: sm.MetricSet(scores=True), sm.RankSketch, sm.ProbabilityLosses):
        state = make()
        for truth, scores in samples:
            state.update(truth, scores)
        before = state.to_bytes()
        state.update(*last)
        state.revert(*last)
        assert state.to_bytes() == before


@pytest.mark.parametrize("truths", [[0, 1, 1, 0], [True, False, True, True], ["0", "1", "1", "0"], [1, "1", 0, "a"]])
@pytest.mark.parametrize("names", [["0", "1"], ["1", "0"], ["10", "9"], ["a", "1"], ["01", "1"], [0, 1]])
def test_tables_and_frames(truths: list[Any], names: list[Any]) -> None:
    """A table with `classes`, a data frame, a list of rows and a column of dicts count as the mappings of each row."""
    table = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.5, 0.25]])
    mappings = [dict(zip(names, row, strict=True)) for row in table.tolist()]
    forms: dict[str, dict[str, Any]] = {
        "table": {"scores": table, "classes": names},
        "float32": {"scores": table.astype(np.float32), "classes": names},
        "rows": {"scores": table.tolist(), "classes": names},
        "frame": {"scores": pd.DataFrame(table, columns=names)},
        "objects": {"scores": pd.Series(mappings)},
    }
    for name in ("set", "sketch", "losses", "metric", "rolling", "fading"):
        expected = one_by_one(name, [(t, converted(t, m)) for t, m in zip(truths, mappings, strict=True)])
        for form, arguments in forms.items():
            for truth in (truths, pd.Series(truths, dtype=object), pd.Categorical(truths)):
                state = MAKERS[name]()
                state.update_many(truth, **arguments)
                assert state.to_bytes() == expected, (name, form)
    single = MAKERS["set"]()
    for truth, row in zip(truths, table.tolist(), strict=True):
        single.update(truth, scores=row, classes=tuple(names))
    assert single.to_bytes() == one_by_one("set", list(zip(truths, mappings, strict=True)))
    configured = [sm.ProbabilityLosses(classes=names) for _ in range(3)]
    configured[0].update_many(truths, table)
    configured[1].update_many(truths, table.tolist())
    for truth, row in zip(truths, table.tolist(), strict=True):
        configured[2].update(truth, row)
    plain = sm.ProbabilityLosses.from_bytes(one_by_one("losses", list(zip(truths, mappings, strict=True))))
    assert [state.numbers() for state in configured] == [plain.numbers()] * 3


def test_arrow_maps_and_structs() -> None:
    """Maps and structs of Arrow, whose keys are always text."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    truths = [0, 1, 1, 0]
    mappings = [{"0": 0.75, "1": 0.25}, {"0": 0.25, "1": 0.75}, {"0": 0.0, "1": 1.0}, {"0": 1.0, "1": 0.0}]
    expected = one_by_one("set", [(t, converted(t, m)) for t, m in zip(truths, mappings, strict=True)])
    for kind in (pa.map_(pa.string(), pa.float64()), pa.struct([("0", pa.float64()), ("1", pa.float64())])):
        scores = pa.array([list(m.items()) for m in mappings] if pa.types.is_map(kind) else mappings, kind)
        for truth in (truths, pa.array(truths), pa.array(truths).dictionary_encode()):
            state = sm.MetricSet(scores=True)
            state.update_many(truth, scores=scores)
            assert state.to_bytes() == expected
    assert sm.MetricSet.from_bytes(expected).snapshot()["accuracy"] == 1.0


JSON_KEYS = [("0", "1"), ("10", "9"), ("1.0", "2"), ("true", "0"), ("9", "2")]
JSON_ROW = rows(JSON_KEYS).filter(lambda row: type(row[0]) in (int, bool, float, str))
JSON_ROWS = st.lists(JSON_ROW, min_size=1, max_size=8)



@given(JSON_ROWS)
def test_the_command_line(tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]) -> None:
    """JSON Lines give the bytes of the same records in Python."""
    folder = tmp_path_factory.mktemp("run")
    lines = "".join(json.dumps({"y_true": t, "scores": s}) + "\n" for t, s in samples)
    (folder / "in.jsonl").write_text(lines)

    status = main(["run", str(folder / "in.jsonl"), "--scores", "scores", "--state", str(folder / "out")])

    assert status == 0
    assert sm.from_bytes((folder / "out").read_bytes()).to_bytes() == one_by_one("set", samples)


@pytest.mark.parametrize("config", [SOFT, HARD], ids=["scores", "labels"])
@given(st.lists(rows(), min_size=1, max_size=8), st.integers(0, 8))
def test_pairs_of_the_monitor(config: Counting, samples: list[Sample], cut: int) -> None:
    """Pairs with scores under text keys give the counts of pairs under the numbers that they name."""
    given = placed([pair(t, None, s) for t, s in samples if s])
    plain = placed([pair(t, None, converted(t, s)) for t, s in samples if s])

    assert fed(config, given, [cut]).to_bytes() == fed(config, plain).to_bytes()


@pytest.mark.parametrize("config", [SOFT, HARD], ids=["scores", "labels"])
@pytest.mark.parametrize("together", [True, False])
@given(samples=JSON_ROWS)
def test_events_of_the_monitor(config: Counting, together: bool, samples: list[Sample]) -> None:
    """Events in JSON, the truth with the scores or later, are counted by the truth."""
    events: list[dict[str, Any]] = []
    for at, (truth, scores) in enumerate(samples):
        said = [{"scores": scores}, {"truth": truth}]
        events += [{"id": at, "time": 100.0, **one} for one in ([said[0] | said[1]] if together else said)]
    records = [Record("t", 0, at, at + 1, None, None, json.dumps(event).encode()) for at, event in enumerate(events)]
    decoded, rejected = Decoder(Fields(), config).read(records, 100.0)
    counts = Counts(config)

    assert rejected == []
    assert Joiner(Join(), None).feed(decoded, counts) == []
    expected = fed(config, placed([pair(t, None, converted(t, s), predicted_at=100.0) for t, s in samples]))
    assert counts.total.to_bytes() == expected.total.to_bytes()


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("-0", 0), ("1.0", 1.0), ("-0.0", 0.0), ("1E2", 100.0), ("true", True), ("False", False)]
    + [(text, None) for text in ("01", "+1", "1.", ".5", "0x1", "1_0", "", "nan", "Infinity", "1e999", "null", "[1]")]
    + [("9" * 640, None), ("1" + " " * 700, None), ("[" * 600, None)],
)
def test_what_spells_a_number(text: str, number: Any) -> None:
    """A key spells a number as JSON does, in any case; text that spells no valid label stays text."""
    assert (number_named(text), type(number_named(text))) == (number, type(number))
    assert str(number_named("-0.0")) == "0.0"


def test_two_keys_of_one_class_are_refused() -> None:
    """Keys that name one number raise ScoreError with the position, and nothing is counted."""
    both = {"1": 0.5, "1.0": 0.5}
    for make in (sm.MetricSet, lambda: sm.MetricSet(scores=True), sm.RankSketch, sm.ProbabilityLosses):
        state = make()
        with pytest.raises(sm.ScoreError, match="one score for every class"):
            state.update(1, both)
        with pytest.raises(sm.ScoreError, match="one score for every class") as refused:
            state.update_many([0, 1], [{"0": 1.0}, both])
        assert refused.value.position == 1
        assert state.n == 0


def test_fixed_labels_name_their_own() -> None:
    """With fixed labels a key is the label that it is, else the number that it spells, else the label with its repr."""
    names = ClassNames(["1", 0, 2.0, b"x", (1, "a"), True])

    assert [names.of(key, False) for key in ("1", "0", "2", "true", "b'x'", "(1, 'a')", "3", 5)] == [
        "1", 0, 2.0, True, b"x", (1, "a"), None, 5,
    ]  # fmt: skip
    assert OPEN.of("1", False) == "1"
    state = sm.MetricSet(scores=True, labels=[0, 1, "unknown"])
    state.update("unknown", {"0": 0.25, "1": 0.25, "unknown": 0.5})
    state.update_many([1], [{"0": 0.25, "1": 0.75}])
    assert state.snapshot()["accuracy"] == 1.0
    mixed = sm.MetricSet(scores=True, labels=["1", 1, 5])
    mixed.update(5, {"1": 0.75, 5: 0.25})
    assert mixed.snapshot()["recall", 5] == 0.0
    assert mixed.scored.ranks.labels == (5, "1")


def test_later_truths_of_another_type_change_nothing_before() -> None:
    """A state that has seen text under a key still reads the same key as a number beside a number."""
    state = sm.RankSketch()
    state.update("1", {"0": 0.25, "1": 0.75})
    state.update(1, {"0": 0.25, "1": 0.75})
    state.update_many(["1", 1], [{"0": 0.25, "1": 0.75}] * 2)

    assert state.labels == (0, 1, "0", "1")
    assert state.snapshot()["roc_auc_ovr"] == 1.0


def test_a_perfect_model_is_perfect() -> None:
    """Truth 0 and 1 with keys "0" and "1", as JSON has them."""
    state = sm.MetricSet(scores=True)
    state.update_many([0, 1], scores=[{"0": 0.75, "1": 0.25}, {"0": 0.25, "1": 0.75}])
    snapshot = state.snapshot()

    assert (snapshot["accuracy"], snapshot["roc_auc_ovr"], state.state.labels) == (1.0, 1.0, (0, 1))
    assert snapshot["log_loss"] == pytest.approx(-np.log(0.75))
    area = sm.ROCAUC()
    area.update(1, {"0": 0.25, "1": 0.75})
    area.update_many([0], [{"0": 0.75, "1": 0.25}])
    assert area.get() == 1.0
    wrong = sm.outcome("accuracy")
    assert wrong(1, {"0": 0.25, "1": 0.75}) == 0
    assert sm.evaluate([0, 1], scores=[{"0": 0.75, "1": 0.25}, {"0": 0.25, "1": 0.75}])["accuracy"] == 1.0
