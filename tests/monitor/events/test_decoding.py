"""Records to events: JSON with nested fields, decoders of others, and what is refused for which reason."""

from __future__ import annotations

import json
import math
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stream_metrics.monitor.config import Counting, Fields
from stream_metrics.monitor.events import decoding
from stream_metrics.monitor.events.decoding import Decoder
from stream_metrics.monitor.events.records import MISSING, REASONS, Checked, Event, Events, Record
from stream_metrics.monitor.events.scores import mapping

NOW = 1_700_000_000.0
SCORED = Counting(scores=True)
FIELDS = Fields()
FIXED = Counting(scores=True, labels=("cat", "dog"))
NUMBERS = Counting(scores=True, labels=(0, 1, 2.5))


def record(value: bytes | None, offset: int = 0, timestamp: float | None = None) -> Record:
    """Return a record."""
    return Record("t", 0, offset, offset + 1, timestamp, None, value)


def read(value: Any, counting: Counting = SCORED, fields: Fields = FIELDS, timestamp: float | None = None) -> Any:
    """Return what one record holds: an event, or the reason for which it is refused and what is said."""
    line = value if isinstance(value, bytes | None) else json.dumps(value).encode()
    events, rejected = Decoder(fields, counting).read([record(line, 7, timestamp)], NOW)
    if events.ids:
        assert (events.origins, rejected) == ([("t", 0, 7)], [])
        (found,) = as_said(events)
        return found
    assert rejected[0][:3] == ("t", 0, 7)
    assert rejected[0].reason in REASONS
    assert len(rejected[0].detail) <= 200
    return rejected[0].reason, rejected[0].detail


def as_said(events: Events) -> list[Event]:
    """Return events with scores by class."""
    rows = map(Checked._make, zip(*events[:-1], strict=True))
    return [
        Event(*row[:4], row.scores if row.classes is None else mapping(row.scores, row.classes), row.weight, row.group)  # type: ignore[arg-type]
        for row in rows
    ]


def event(**said: Any) -> dict[str, Any]:
    """Return an event with an id and a time."""
    return {"id": "x", "time": NOW, **said}


EVENTS: list[tuple[dict[str, Any], Counting, dict[str, Any]]] = [
    (event(truth="cat"), SCORED, {"truth": "cat"}),
    (event(truth="cat", prediction=None), SCORED, {"truth": "cat", "prediction": None}),
    (event(truth=None, prediction="dog"), SCORED, {"prediction": "dog"}),
    (event(prediction="dog", scores={"cat": 0.1}), SCORED, {"prediction": "dog", "scores": {"cat": 0.1}}),
    (event(scores={"cat": 0.1, "dog": 1}), SCORED, {"prediction": None, "scores": {"cat": 0.1, "dog": 1}}),
    (event(prediction="dog", scores={}), SCORED, {"prediction": "dog"}),
    (event(scores={}), SCORED, {"prediction": None}),
    (event(truth="cat", scores={}), Counting(), {"truth": "cat", "prediction": None}),
    (event(truth="cat", scores=None), SCORED, {"truth": "cat"}),
    (event(prediction="dog", scores=None, weight=None, group=None), SCORED, {"prediction": "dog"}),
    (event(scores=0.0), SCORED, {"prediction": None, "scores": 0.0}),
    (event(scores={"cat": 7.5}), Counting(scores="any"), {"prediction": None, "scores": {"cat": 7.5}}),
    (event(scores={"cat": 7.5, "dog": 9}), Counting(), {"prediction": "dog"}),
    (event(prediction="cat", scores={"cat": 0.5}), Counting(), {"prediction": "cat"}),
    (event(scores=[0.25, 0.75]), FIXED, {"prediction": None, "scores": {"cat": 0.25, "dog": 0.75}}),
    (event(prediction="cat", scores={"dog": 0.5}), FIXED, {"prediction": "cat", "scores": {"dog": 0.5}}),
    (event(scores={"0": 0.5, "2.5": 0.5}), NUMBERS, {"prediction": None, "scores": {0: 0.5, 2.5: 0.5}}),
    (event(scores={"true": 0.25, "2.5": 0.5}), NUMBERS, {"prediction": None, "scores": {1: 0.25, 2.5: 0.5}}),
    (event(scores={"1.0": 0.75, "0": 0.25}), Counting(labels=(0, 1)), {"prediction": 1}),
    (event(prediction=1, scores={"1": 0.5, "true": 0.5}), SCORED, {"prediction": 1, "scores": None}),
    (event(prediction=2, scores={"2": 0.5, "3": 0.5}), SCORED, {"prediction": 2, "scores": {"2": 0.5, "3": 0.5}}),
    (event(truth=True, scores={"True": 1}), SCORED, {"truth": True, "prediction": None, "scores": {"True": 1}}),
    (event(truth="cat", weight=0, group="fr"), SCORED, {"truth": "cat", "weight": 0, "group": "fr"}),
    (event(truth="a", weight=2.0**-64), SCORED, {"truth": "a", "weight": 2.0**-64}),
    (event(truth="a", weight=0.0), SCORED, {"truth": "a", "weight": 0.0}),
    (event(truth=2.0, weight=2.5, group=3), SCORED, {"truth": 2.0, "weight": 2.5, "group": 3}),
]


@pytest.mark.parametrize(("said", "counting", "expected"), EVENTS, ids=str)
def test_an_event_says_what_it_says(said: Any, counting: Counting, expected: dict[str, Any]) -> None:
    """Truth, prediction and scores in all their forms; what is not said is MISSING or None."""
    found = read(said, counting)

    if expected.get("prediction") == 1 and counting is SCORED:
        assert found == ("score", "two scores of one label, in the keys ['1', 'true']")
        return
    blank = Event("x", NOW, MISSING, MISSING, None, None, None)
    assert found == blank._replace(**expected)
    assert [type(value) for value in found[2:4]] == [type(value) for value in blank._replace(**expected)[2:4]]
    if type(found.scores) is dict:
        assert list(map(type, found.scores)) == list(map(type, expected["scores"]))


@pytest.mark.parametrize("fields", [Fields(), Fields(group="in.group")], ids=["compiled", "nested"])
def test_spellings_of_fields(fields: Fields) -> None:
    """The truth is y_true or else truth, the prediction y_pred or prediction; other names have one spelling."""
    for first, second in (("y_true", "y_pred"), ("truth", "prediction"), ("y_true", "prediction")):
        found = read(event(**{first: "cat", second: "dog"}), fields=fields)
        assert (found.truth, found.prediction) == ("cat", "dog")
    both = event(truth="x", prediction="x", y_true="cat", y_pred=None)
    assert read(both, fields=fields)[2:4] == ("cat", None)
    chosen = read(event(label="cat", truth="x", prediction="dog"), fields=replace(fields, truth="label"))
    assert chosen[2:4] == ("cat", "dog")
    assert read(event(truth="cat"), fields=replace(fields, truth="label"))[0] == "field"


def test_a_pair_needs_no_id() -> None:
    """The position of a record is the id of one with a truth and a prediction; a chosen id has to be there."""
    pairs = ({"y_pred": "dog"}, {"y_pred": None}, {"scores": {"cat": 0.5, "dog": 0.5}}, {"scores": {}})
    for pair in pairs:
        found = read({"time": NOW, "y_true": "cat", **pair})
        assert (found.id, found.truth) == ("t[0]@7", "cat")
        assert read({"time": NOW, "y_true": "cat", **pair}, fields=Fields(id="key"))[0] == "field"
    for half in (
        {"y_true": "cat"},
        {"y_pred": "dog"},
        {"y_true": None, "y_pred": "dog"},
        {"y_true": 1, "scores": None},
    ):
        assert read({"time": NOW, **half})[0] == "field"


REFUSED: list[tuple[Any, Counting, str, str]] = [
    (None, SCORED, "decode", "without a value"),
    (b"", SCORED, "decode", "not JSON: Expecting value at column 1"),
    (b'{"id": 1', SCORED, "decode", "not JSON: Expecting ',' delimiter at column 9"),
    (b'{"id": 1}{}', SCORED, "decode", "not JSON: Extra data at column 10"),
    (b'{"id": "\xff"}', SCORED, "decode", "not UTF-8 text: byte 0xff at 8"),
    (b"[" * 100_000, SCORED, "decode", "not JSON"),
    ([1], SCORED, "decode", "no JSON object, but [1]"),
    ({"time": NOW, "truth": 1}, SCORED, "field", "no field 'id' in b'{\"time\": 1700000000.0, \"truth\": 1}'"),
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
    (event(time=NOW + 3601, truth=1), SCORED, "time", "1 s further ahead of the clock than is allowed"),
    (event(truth=[]), SCORED, "label", "`truth`"),
    (event(prediction={}), SCORED, "label", "`prediction`"),
    (b'{"id": 1, "time": 0, "truth": NaN}', SCORED, "label", "nan"),
    (event(truth="owl"), FIXED, "label", "truth 'owl' is none of the labels ['cat', 'dog']"),
    (event(prediction="owl"), FIXED, "label", "prediction 'owl' is none of the labels"),
    (event(scores={"cat": 1.01}), SCORED, "score", "in [0, 1], but got [1.01]"),
    (event(scores={"cat": -0.1}), SCORED, "score", "in [0, 1]"),
    (event(scores={"cat": "high"}), SCORED, "score", "but got ['high']"),
    (event(scores={"cat": None}), SCORED, "score", "but got [None]"),
    (b'{"id": 1, "time": 0, "scores": {"cat": NaN}}', SCORED, "score", "but got [nan]"),
    (b'{"id": 1, "time": 0, "scores": {"cat": 1e999}}', Counting(scores="any"), "score", "finite, but got [inf]"),
    (event(scores="high"), SCORED, "score", "but got 'high'"),
    (event(scores=True), SCORED, "score", "but got True"),
    (event(scores=[0.5]), FIXED, "score", "1 scores in a list for 2 labels"),
    (event(scores={"owl": 0.5}), FIXED, "score", "each key of the scores to be one of the labels ['cat', 'dog']"),
    (event(scores={"[" * 100_000: 0.5}), FIXED, "score", "each key of the scores to be one of the labels"),
    (event(truth=1, scores={"[" * 100_000: 0.5}), SCORED, "score", "to be a number, true or false, as 1 is"),
    (event(scores={"1": 0.5, "1.0": 0.5}), NUMBERS, "score", "two scores of one label, in the keys ['1', '1.0']"),
    (event(prediction=1, scores={"one": 0.5}), SCORED, "score", "to be a number, true or false, as 1 is"),
    (event(scores=0.5), Counting(), "score", "a single score, 0.5, names no class"),
    (event(truth=1, weight=-1), SCORED, "weight", "weight -1 is not a number from 0 to 2**53"),
    (event(truth=1, weight=2**53 + 1), SCORED, "weight", "from 0 to 2**53"),
    (event(truth=1, weight=1e-30), SCORED, "weight", "weight 1e-30 is less than 2**-64"),
    (event(truth=1, weight=-1e-30), SCORED, "weight", "weight -1e-30 is not a number"),
    (event(truth=1, weight=1e16), SCORED, "weight", "weight 1e+16 is not"),
    (event(truth=1, weight="2"), SCORED, "weight", "'2'"),
    (event(truth=1, weight=True), SCORED, "weight", "True"),
    (b'{"id": 1, "time": 0, "truth": 1, "weight": Infinity}', SCORED, "weight", "inf"),
]


@pytest.mark.parametrize(("value", "counting", "reason", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_refused_says_why(value: Any, counting: Counting, reason: str, said: str) -> None:
    """Everything that cannot be counted has one of a few reasons, and a text that names the value."""
    found = read(value, counting)

    assert found[0] == reason
    assert said in found[1]


IDS = [("x", "x"), (7, 7), (7.0, 7), (7.5, 7.5), (True, 1), (2**70, 2**70), ("", ""), ("\ud800", "\ud800")]


@pytest.mark.parametrize(("written", "expected"), IDS, ids=repr)
def test_equal_ids_are_one(written: Any, expected: Any) -> None:
    """A number that equals a whole one is that, so that ids which are equal are written alike."""
    found = read(event(id=written, truth=1)).id

    assert found == expected
    assert type(found) is type(expected)


TIMES = [(NOW, NOW), (17, 17.0), ("17.5", 17.5), ("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T01:00:00+01:00", 0.0)]


@pytest.mark.parametrize(("written", "expected"), TIMES, ids=repr)
def test_times_are_seconds_or_text(written: Any, expected: float) -> None:
    """Times are seconds since 1970 or ISO 8601 text."""
    assert read(event(time=written, truth=1)).time == expected


def test_an_event_without_a_time_has_that_of_its_record() -> None:
    """The time at which the record was written stands in, or else the clock."""
    assert read({"id": 1, "truth": 1}, timestamp=5.0).time == 5.0
    assert read({"id": 1, "truth": 1, "time": None}).time == NOW


def test_fields_are_nested_with_dots() -> None:
    """A path leads into objects; a key that is written with dots goes before it; what is not there is not said."""
    fields = Fields(id="meta.id", time="meta.at", truth="label", scores="model.scores", group="meta.country.code")

    found = read({"meta": {"id": 5, "at": 9.0}, "meta.country.code": "fr", "label": "a", "model": []}, fields=fields)

    assert found == Event(5, 9.0, "a", MISSING, None, None, "fr")


ANY_LINE = st.one_of(
    st.sampled_from([b'{"id": 1, "truth": "a"}', b" ", b"{", b"1],[2", b'{"id": 2},{"id": 3}', b"]", b'"', None]),
    st.binary(max_size=8),
    st.dictionaries(st.sampled_from(["id", "truth", "scores"]), st.integers() | st.text(max_size=3)).map(
        lambda value: json.dumps(value).encode()
    ),
)


@given(st.lists(ANY_LINE, max_size=40), st.booleans())
def test_records_parsed_together_are_those_parsed_alone(values: list[bytes | None], standard: bool) -> None:
    """No record can make another one be read otherwise, and the parser makes no difference."""
    with pytest.MonkeyPatch.context() as patch:
        if standard:
            patch.setattr(decoding, "loads", json.loads)
        decoder = Decoder(Fields(), SCORED)
    held = [record(value, offset) for offset, value in enumerate(values)]
    alone = [decoder.read([each], NOW) for each in held]
    events, rejected = decoder.read(held, NOW)

    assert as_said(events) == [event for each, _ in alone for event in as_said(each)]
    assert events.origins == [origin for each, _ in alone for origin in each.origins]
    assert rejected == [letter for _, bad in alone for letter in bad]


def told(decoder: Decoder, value: bytes) -> Any:
    """Return what is made of a record without the compiled reader."""
    decoder._rejected = []
    event = decoder._unusual(record(value), NOW, NOW + 3600)
    return decoder._rejected if event is None else as_said(Events.of([Checked._make(event)], [("t", 0, 0)]))


SCORES: list[Any] = [[], [0.5, 0.5], [0, 1], [2, 0], {}, {"cat": 0.5, "dog": 0.5}, {"dog": 1, "cat": 0}, {"cat": 2}]
SCORES += [{"1": 0.5, "0": 0.5}, {"cat": None}, {"cat": True}]
SAID = st.sampled_from([None, True, False, 0, 1, 2, 0.5, 1.0, -1, 2**63, 2**70, "cat", "dog", "owl", "", "1", *SCORES])
KEYS = ["id", "time", "truth", "prediction", "scores", "weight", "group", "other"]
COUNTINGS = [SCORED, FIXED, NUMBERS, Counting(), Counting(scores="any")]


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), SAID), max_size=8), st.sampled_from(COUNTINGS))
def test_the_compiled_reader_makes_no_difference(events: list[dict[str, Any]], counting: Counting) -> None:
    """What it knows is what comes of the long way, whatever was read before."""
    decoder = Decoder(FIELDS, counting)
    for said in events:
        value = json.dumps({"id": "x", "time": NOW, **said}).encode()
        found, rejected = decoder.read([record(value)], NOW)

        assert repr(rejected or as_said(found)) == repr(told(decoder, value))


def test_a_decoder_can_be_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point makes events of bytes; what it raises is a reason to refuse a record, what it gives is checked."""

    def make(fields: Fields) -> Any:
        def decode(value: bytes) -> Event:
            key, truth = value.decode().split()
            return Event(key, math.nan if truth == "never" else MISSING, truth, MISSING, MISSING, MISSING, fields.group)  # type: ignore[arg-type]

        return decode

    point = EntryPoint("words", "somewhere:make", decoding.GROUP)
    monkeypatch.setattr(decoding, "entry_points", lambda **which: EntryPoints([point]).select(**which))
    monkeypatch.setattr(EntryPoint, "load", lambda self: make)
    fields = Fields(decoder="words", group="all")

    assert read(b"7 cat", fields=fields, timestamp=3.0) == Event("7", 3.0, "cat", MISSING, None, None, "all")
    assert read(b"7 never", fields=fields)[0] == "time"
    assert read(b"7", fields=fields) == ("decode", "ValueError: not enough values to unpack (expected 2, got 1)")
    assert read(None, fields=fields)[0] == "decode"
    with pytest.raises(ValueError, match=r"Expected `decoder` to name one of \['json', 'words'\], but got 'avro'"):
        Decoder(Fields(decoder="avro"), SCORED)
