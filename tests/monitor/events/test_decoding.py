"""Records to events: JSON with nested fields, decoders of others, and what is refused for which reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.monitor_runs import START, Clock, Monitor, Record, config, read, started, window
from support.refusals import refused

import stream_metrics as sm

SCORED: dict[str, Any] = {"windows": [], "scores": True}
ANY = {**SCORED, "scores": "any"}
HARD = {**SCORED, "scores": False}
FIXED = {**SCORED, "labels": ["cat", "dog"]}
NUMBERS = {**SCORED, "labels": [0, 1, 2.5]}
NESTED = {"group": "in.group"}  # a nested field is read the long way, without the compiled reader


def event(**said: Any) -> dict[str, Any]:
    """Return an event with an id and a time."""
    return {"id": "x", "time": START, **said}


def reading(values: list[Any], counting: dict[str, Any] = SCORED, at_once: int = 777, **fields: str) -> Monitor:
    """Return a monitor that has read values, at a time of its clock at which none is from the future."""
    return read(values, at_once, Clock(), counting=counting, fields=fields)


def classes(monitor: Monitor) -> tuple[object, ...]:
    """Return the classes that a monitor has counted."""
    return tuple(monitor.counts().total.snapshot().labels)


def joined(*values: Any, **fields: str) -> int:
    """Return how many pairs there are in values."""
    return reading([*values], **fields).view().join.joined


EVENTS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    (event(truth="cat"), SCORED, {"truth": "cat"}),
    (event(truth="cat", prediction=None), SCORED, {"truth": "cat", "prediction": None}),
    (event(truth=None, prediction="dog"), SCORED, {"prediction": "dog"}),
    (event(prediction="dog", scores={"cat": 0.1}), SCORED, {"prediction": "dog", "scores": {"cat": 0.1}}),
    (event(scores={"cat": 0.1, "dog": 1}), SCORED, {"scores": {"cat": 0.1, "dog": 1}}),
    (event(prediction="dog", scores={}), SCORED, {"prediction": "dog"}),
    (event(scores={}), SCORED, {"prediction": None}),
    (event(truth="cat", scores={}), HARD, {"truth": "cat", "prediction": None}),
    (event(truth="cat", scores=None), SCORED, {"truth": "cat"}),
    (event(prediction="dog", scores=None, weight=None, group=None), SCORED, {"prediction": "dog"}),
    (event(truth=True, scores=0.0), SCORED, {"truth": True, "scores": 0.0}),
    (event(scores={"cat": 7.5}), ANY, {"scores": {"cat": 7.5}}),
    (event(scores={"cat": 7.5, "dog": 9}), HARD, {"prediction": "dog"}),
    (event(prediction="cat", scores={"cat": 0.5}), HARD, {"prediction": "cat"}),
    (event(scores=[0.25, 0.75]), FIXED, {"scores": {"cat": 0.25, "dog": 0.75}}),
    (event(prediction="cat", scores={"dog": 0.5}), FIXED, {"prediction": "cat", "scores": {"dog": 0.5}}),
    (event(truth=1, scores={"0": 0.5, "2.5": 0.5}), NUMBERS, {"truth": 1, "scores": {0: 0.5, 2.5: 0.5}}),
    (event(truth=1, scores={"true": 0.25, "2.5": 0.5}), NUMBERS, {"truth": 1, "scores": {1: 0.25, 2.5: 0.5}}),
    (event(truth=1, scores={"1.0": 0.75, "0": 0.25}), {**HARD, "labels": [0, 1]}, {"truth": 1, "prediction": 1}),
    (event(truth=2, prediction=2, scores={"2": 0.5, "3": 0.5}), SCORED, {"truth": 2, "scores": {2: 0.5, 3: 0.5}}),
    (event(truth=True, scores={"True": 1}), SCORED, {"truth": True, "scores": {True: 1}}),
    (event(truth="cat", weight=0, group="fr"), SCORED, {"truth": "cat", "weight": 0, "group": "fr"}),
    (event(truth="a", weight=2.0**-64), SCORED, {"truth": "a", "weight": 2.0**-64}),
    (event(truth=2.0, weight=2.5, group=3), SCORED, {"truth": 2.0, "weight": 2.5, "group": 3}),
]


@pytest.mark.quick
def test_an_event_says_what_it_says() -> None:
    """Truth, prediction and scores in all their forms are counted as the library counts them in plain calls."""
    wrong = []
    for said, counting, expected in EVENTS:
        halves = [("truth", "cat"), ("prediction", "cat")]
        rest = [event(**{name: value}) for name, value in halves if said.get(name) is None and name not in expected]
        rest = [] if "scores" in expected and "truth" in expected else rest
        rest = [each for each in rest if not ("prediction" in each and "scores" in expected)]
        monitor = reading([said, *rest], counting)
        state = sm.MetricSet(
            scores=counting["scores"], labels=counting.get("labels"), buckets=256, sample=128, pairs=False
        )
        predicted = said.get("prediction") if "scores" in expected else expected.get("prediction", "cat")
        truth, scores, w = expected.get("truth", "cat"), expected.get("scores"), expected.get("weight", 1)
        if scores is None:
            state.state.update(truth, predicted, w)
        else:
            state.update(truth, predicted, w, scores=scores)
        groups = [row.group for row in window(monitor).groups.rows]
        if monitor.counts().total != state or groups != ([str(expected["group"])] if "group" in expected else []):
            wrong.append((said, monitor.view().dead_letters))
    assert wrong == []


@pytest.mark.parametrize("nested", [{}, NESTED], ids=["compiled", "nested"])
def test_spellings_of_fields(nested: dict[str, str]) -> None:
    """The truth is y_true or else truth, the prediction y_pred or prediction; other names have one spelling."""
    for first, second in (("y_true", "y_pred"), ("truth", "prediction"), ("y_true", "prediction")):
        assert classes(reading([event(**{first: "cat", second: "dog"})], **nested)) == ("cat", "dog")
    both = reading([event(truth="x", prediction="x", y_true="cat", y_pred=None)], **nested)
    assert (classes(both), window(both).abstained) == ((), 1)
    both = reading([event(truth="x", prediction="x", y_true="cat", y_pred="dog")], **nested)
    assert classes(both) == ("cat", "dog")
    chosen = reading([event(label="cat", truth="x", prediction="dog"), event(truth="cat")], **nested, truth="label")
    assert classes(chosen) == ("cat", "dog")
    assert chosen.view().records.rejected == {"field": 1}


def test_a_pair_needs_no_id() -> None:
    """The position of a record is the id of one with a truth and a prediction; a chosen id has to be there."""
    pairs = ({"y_pred": "dog"}, {"y_pred": None}, {"scores": {"cat": 0.5, "dog": 0.5}}, {"scores": {}})
    whole = [{"time": START, "y_true": "cat", **pair} for pair in pairs]
    again = [event(id=f"t[0]@{at}", y_true="cat") for at in range(4)]
    join = reading([*whole, *again]).view().join
    halves = ({"y_true": 1}, {"y_pred": 1}, {"y_true": None, "y_pred": 1}, {"y_true": 1, "scores": None})

    assert (join.joined, join.labels_duplicate) == (4, 4)
    assert reading(whole, id="key").view().records.rejected == {"field": 4}
    assert reading([{"time": START, **half} for half in halves]).view().records.rejected == {"field": 4}


REFUSED: list[tuple[Any, dict[str, Any], str, str]] = [
    (None, SCORED, "decode", "without a value"),
    (b"", SCORED, "decode", "not JSON: Expecting value at column 1"),
    (b'{"id": 1', SCORED, "decode", "not JSON: Expecting ',' delimiter at column 9"),
    (b'{"id": 1}{}', SCORED, "decode", "not JSON: Extra data at column 10"),
    (b'{"id": "\xff"}', SCORED, "decode", "not UTF-8 text: byte 0xff at 8"),
    (b"[" * 100_000, SCORED, "decode", "not JSON"),
    ([1], SCORED, "decode", "no JSON object, but [1]"),
    ({"time": START, "truth": 1}, SCORED, "field", "no field 'id' in b'{\"time\": 1700000000.0, \"truth\": 1}'"),
    (event(id=None), SCORED, "field", "no id"),
    (event(id=["x"], truth=1), SCORED, "field", "`id`"),
    (event(), SCORED, "field", "neither a prediction, nor scores, nor a truth"),
    (event(scores=None), SCORED, "field", "neither"),
    (event(scores=[]), SCORED, "score", "0 scores in a list"),
    (event(truth="cat", group=["fr"]), SCORED, "field", "`group`"),
    (event(time="soon", truth=1), SCORED, "time", "ISO 8601"),
    (event(time=[], truth=1), SCORED, "time", "ISO 8601"),
    (event(time=True, truth=1), SCORED, "time", "seconds since 1970"),
    (event(time=1.7e12, truth=1), SCORED, "time", "not from 1824 to 2115"),
    (event(time=1_700_000_000_000, truth=1), SCORED, "time", "from 1824 to 2115"),
    (b'{"id": 1, "time": NaN, "truth": 1}', SCORED, "time", "nan"),
    (event(time=START + 601, truth=1), SCORED, "time", "1 s further ahead of the clock than is allowed"),
    (event(truth=[]), SCORED, "label", "`truth`"),
    (event(prediction={}), SCORED, "label", "`prediction`"),
    (b'{"id": 1, "time": 0, "truth": NaN}', SCORED, "label", "nan"),
    (event(truth=1.5), SCORED, "label", "`truth`"),
    (event(truth="owl"), FIXED, "label", "truth 'owl' is none of the labels ['cat', 'dog']"),
    (event(prediction="owl"), FIXED, "label", "prediction 'owl' is none of the labels"),
    (event(scores={"cat": 1.01}), SCORED, "score", "in [0, 1], but got [1.01]"),
    (event(scores={"cat": -0.1}), SCORED, "score", "in [0, 1]"),
    (event(scores={"cat": "high"}), SCORED, "score", "but got ['high']"),
    (event(scores={"cat": None}), SCORED, "score", "but got [None]"),
    (b'{"id": 1, "time": 0, "scores": {"cat": NaN}}', SCORED, "score", "but got [nan]"),
    (b'{"id": 1, "time": 0, "scores": {"cat": 1e999}}', ANY, "score", "finite, but got [inf]"),
    (event(scores="high"), SCORED, "score", "but got 'high'"),
    (event(scores=True), SCORED, "score", "but got True"),
    (event(scores=[0.5]), FIXED, "score", "1 scores in a list for 2 labels"),
    (event(scores={"owl": 0.5}), FIXED, "score", "each key of the scores to be one of the labels ['cat', 'dog']"),
    (event(scores={"[" * 100_000: 0.5}), FIXED, "score", "each key of the scores to be one of the labels"),
    (event(truth=1, scores={"[" * 100_000: 0.5}), SCORED, "score", "to be a number, true or false, as 1 is"),
    (event(scores={"1": 0.5, "1.0": 0.5}), NUMBERS, "score", "two scores of one label, in the keys ['1', '1.0']"),
    (event(prediction=1, scores={"1": 0.5, "true": 0.5}), SCORED, "score", "in the keys ['1', 'true']"),
    (event(prediction=1, scores={"one": 0.5}), SCORED, "score", "to be a number, true or false, as 1 is"),
    (event(scores=0.5), HARD, "score", "a single score, 0.5, names no class"),
    (event(truth=1, weight=-1), SCORED, "weight", "weight -1 is not a number from 0 to 2**53"),
    (event(truth=1, weight=2**53 + 1), SCORED, "weight", "from 0 to 2**53"),
    (event(truth=1, weight=1e-30), SCORED, "weight", "weight 1e-30 is less than 2**-64"),
    (event(truth=1, weight=-1e-30), SCORED, "weight", "weight -1e-30 is not a number"),
    (event(truth=1, weight=1e16), SCORED, "weight", "weight 1e+16 is not"),
    (event(truth=1, weight="2"), SCORED, "weight", "'2'"),
    (event(truth=1, weight=True), SCORED, "weight", "True"),
    (b'{"id": 1, "time": 0, "truth": 1, "weight": Infinity}', SCORED, "weight", "inf"),
]


@pytest.mark.quick
def test_what_is_refused_says_why() -> None:
    """Everything that cannot be counted has one of a few reasons, and a text that names the value."""
    wrong = []
    for counting in (SCORED, ANY, HARD, FIXED, NUMBERS):
        some = [(value, reason, said) for value, how, reason, said in REFUSED if how is counting]
        letters = reading([value for value, *_ in some], counting).view().dead_letters[::-1]
        assert [letter.offset for letter in letters] == list(range(len(some)))
        for letter, (_, reason, said) in zip(letters, some, strict=True):
            if letter.reason != reason or said not in letter.detail or len(letter.detail) > 200:
                wrong.append((letter, reason, said))
    assert wrong == []


def test_equal_ids_are_one() -> None:
    """A number that equals a whole one is that; text is not the number that it spells."""
    for one, other, same in (
        *(("x", "x", 1), (7, 7.0, 1), (7.5, 7.5, 1), (True, 1, 1), (2**70, 2**70, 1), ("", "", 1)),
        ("\ud800", "\ud800", 1),
        *(("7", 7, 0), (7, 7.5, 0), ("True", True, 0)),
    ):
        assert joined(event(id=one, prediction="a"), event(id=other, truth="a")) == same, (one, other)


def test_times_are_seconds_or_text() -> None:
    """Seconds since 1970 or ISO 8601 text; without one, the time at which the record was written, or the clock."""
    for written, expected in (
        *((START, START), (17, 17.0), ("17.5", 17.5), ("1970-01-01T00:01:00Z", 60.0)),
        *(("1970-01-01T01:00:00+01:00", 0.0), (None, START)),
    ):
        assert reading([event(time=written, truth=1)]).view().event_time == expected
    stamped = Record("t", 0, 0, 1, 5.0, None, json.dumps({"id": 1, "truth": 1}).encode())
    monitor = started(config(), clock=Clock())
    monitor.step([stamped])
    assert monitor.view().event_time == 5.0


def test_fields_are_nested_with_dots() -> None:
    """A path leads into objects; a key that is written with dots goes before it; what is not there is not said."""
    fields = {"id": "meta.id", "time": "meta.at", "truth": "label", "scores": "model.scores"}
    fields["group"] = "meta.country.code"
    said = {"meta": {"id": 5, "at": 9.0}, "meta.country.code": "fr", "label": "a", "model": [], "prediction": "b"}
    monitor = reading([said, {"meta": {"id": 5, "at": 9.0}, "label": "a"}], **fields)

    assert [row.group for row in window(monitor).groups.rows] == ["fr"]
    assert (monitor.view().event_time, monitor.view().join.labels_duplicate) == (9.0, 1)
    assert classes(monitor) == ("a", "b")


def test_a_decoder_can_be_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point makes events of bytes; what it raises is a reason to refuse a record, what it gives is checked."""
    (tmp_path / "words_decoder.py").write_text(
        "def make(fields):\n"
        "    def decode(value):\n"
        "        key, truth = value.decode().split()\n"
        "        return key, float('nan') if truth == 'never' else None, truth, 'dog', None, None, fields.group\n"
        "    return decode\n"
    )
    folder = tmp_path / "words-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: words\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[stream_metrics.decoders]\nwords = words_decoder:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    fields = {"decoder": "words", "group": "all"}
    monitor = reading([b"7 cat", b"7 never", b"7", None], **fields)

    assert classes(monitor) == ("cat", "dog")
    assert [row.group for row in window(monitor).groups.rows] == ["all"]
    letters = monitor.view().dead_letters
    assert [letter.reason for letter in letters] == ["decode", "decode", "time"]
    assert letters[1].detail == "ValueError: not enough values to unpack (expected 2, got 1)"
    error = refused(lambda: reading([], decoder="avro"), ValueError, "`decoder`")
    assert "one of ['json', 'words'], but got 'avro'" in str(error)
