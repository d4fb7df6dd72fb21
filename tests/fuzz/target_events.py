"""Events of the monitor: every record is counted or rejected with a reason, and none spoils what comes after it.

An input is a byte that selects a configuration, one for the number of records in a step, and one JSON value a line.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from fuzz import mutation
from msgspec.structs import replace
from support.monitor_events import NOW, START, counted, events, lines

from stream_metrics.monitor import Config, Monitor, Record, config, open_store
from stream_metrics.monitor._core.kernels import cut

COVERED = ("stream_metrics.monitor", "stream_metrics.labels", "stream_metrics.inputs.times")
JOIN = config.JoinTable(ttl="5m", keep_joined="2m", max_pending=20, max_joined=20)
DOTTED = config.FieldsTable(id="meta.id", time="meta.time", scores="model.scores", group="meta.group")
CONFIGURATIONS = [
    Config(counting=config.CountingTable(**counting), join=JOIN, fields=fields)
    for counting, fields in (
        ({"scores": True, "windows": ("1h",)}, config.FieldsTable()),
        ({"windows": ("5m",), "panes": 5, "clock": "prediction", "max_groups": 2}, config.FieldsTable()),
        ({"scores": True, "labels": ("cat", "dog"), "pos_label": "cat", "windows": ("1h",)}, config.FieldsTable()),
        ({"scores": True, "labels": (0, 1, 2.5), "pos_label": 1, "windows": ()}, config.FieldsTable()),
        ({"scores": "any", "windows": ("10m", "1h")}, DOTTED),
    )
]
MOST_RECORDS = 40  # fewer than those after which a monitor gives up, if none of them was an event
GOOD = [
    {"id": f"good {at}", "time": NOW - 10 + at, "truth": truth, "prediction": prediction, "scores": scores}
    for at, (truth, prediction, scores) in enumerate(
        [("cat", "dog", {"cat": 0.25, "dog": 0.75}), ("dog", "dog", {"dog": 1.0, "cat": 0.0}), ("cat", None, None)]
    )
]
KEYS = ["id", "time", "y_true", "y_pred", "truth", "prediction", "scores", "weight", "group", "meta", "meta.id"]
KEYS += ["model", "other"]
VALUES: list[Any] = [NOW, START, NOW + 3599, "2023-11-14T22:13:20Z", "soon", -1e9, 4e9, 0, 1, 2.5, -1, 2**63, 2**70]
VALUES += [1e300, 2**63 - 2**12 - 1, [[1]], {"scores": {"a": 1}}]
VALUES += [True, False, None, "cat", "dog", "owl", "", "1", "true", "\ud800", "NaN", 0.5, 1.0, 0.1, [], {}, [0.5, 0.5]]
VALUES += [{"cat": 0.5, "dog": 0.5}, {"0": 0.5, "1": 0.5}, {"1": 1, "true": 0}, {"id": 1, "time": NOW}]
WORDS = [json.dumps(value).encode() for value in KEYS + VALUES]
WORDS += [b"{", b"}", b"[", b"]", b":", b",", b"\n", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 5000, b"\xff"]


def seeds() -> list[bytes]:
    """Return events as they come in production for the first two configurations, and a few for each of the others."""
    seen = lines(events(60))
    usual = [bytes([at, at * 3]) + b"\n".join(seen[10 * at : 10 * at + 10]) for at in range(2)]
    few: list[tuple[int, list[Any]]] = [
        (0, [{"id": at, "time": NOW, "truth": truth, "scores": at / 4} for at, truth in enumerate((True, False, 1))]),
        (2, [{"id": "a", "scores": [0.5, 0.25], "weight": 0.5, "group": "x"}, {"id": "a", "truth": "dog"}]),
        (3, [{"id": at, "truth": at, "scores": {"0": 0.5, "1": 0.5}, "time": str(NOW)} for at in (0, 1)]),
        (3, [{"id": 1, "prediction": 1}, {"id": 1, "truth": 1, "time": NOW - 9}, {"id": 1, "truth": 0, "time": NOW}]),
        (4, [{"meta": {"id": at, "time": NOW}, "truth": "a", "model": {"scores": {"a": at}}} for at in range(3)]),
        (4, [{"meta.id": "x", "prediction": 1, "scores": 5}, {"meta": {"id": "x", "group": [1]}, "truth": 1}]),
    ]
    return usual + [bytes([number, 1]) + b"\n".join(lines(many)) for number, many in few]


def mutate(data: bytes, chance: Random, raw: mutation.Raw) -> bytes:
    """Return another input: mostly with values of events changed, or words of their text."""
    kind = chance.random()
    if kind < 0.1 or len(data) < 3:
        return raw(data, chance)
    if kind < 0.4:
        return data[:2] + mutation.change_words(data[2:], chance, WORDS)
    records = data[2:].split(b"\n")
    at = chance.randrange(len(records))
    try:
        event = json.loads(records[at])
        event[chance.choice(KEYS)] = chance.choice([*VALUES, *event.values()])
        records[at] = json.dumps(event).encode()
    except (AttributeError, RecursionError, TypeError, ValueError):
        records[at] = raw(records[at], chance)
    if chance.random() < 0.3:
        records.insert(chance.randrange(len(records)), chance.choice(records))
    return bytes([data[0] if chance.random() < 0.9 else chance.randrange(256), data[1]]) + b"\n".join(records)


def check(data: bytes) -> str:
    """Decode, join and count records in every way; return how many are counted, and why others are not."""
    if len(data) < 2:
        return "too short"
    settings = CONFIGURATIONS[data[0] % len(CONFIGURATIONS)]
    records = _records(data[2:])
    if not records:
        return "no lines"
    at_once = _monitor(settings, records, len(records))
    in_steps = _monitor(settings, records, 1 + data[1] % 7)
    counts, written = at_once.counts(), at_once.counts().parts()
    assert _read(in_steps) == _read(at_once), "a step makes a difference"
    compiled, slow = (  # without groups, the second one by a reader that is not compiled
        _monitor(replace(settings, fields=replace(settings.fields, group=name)), records, len(records))
        for name in ("no_group", "no.group")
    )
    assert _read(compiled) == _read(slow), "the compiled reader makes a difference"
    again = type(counts).from_parts(settings.counting, written)
    assert again.parts() == written, "other counts than were written"
    view = at_once.view()
    for letter in view.dead_letters:
        assert letter.reason in view.records.rejected, letter
        assert len(letter.detail.encode()) <= 800, letter
    if zlib.crc32(data) % 32 == 0:
        json.dumps(msgspec.to_builtins(view), allow_nan=False).encode()
        if view.event_time is not None:  # nothing is written before the first event
            assert counted(in_steps) == counted(at_once), "the size of a step makes a difference"
            assert counted(_restarted(settings, records)) == counted(at_once), "a restart makes a difference"
    _go_on(at_once, settings, records[-1].next)
    rejected = view.records.rejected
    outcomes = sorted(name for name, n in vars(at_once.stats().counters).items() if n)
    taken = "taken" if sum(rejected.values()) < len(records) else "refused"
    return f"{taken}: {settings.counting.scores} {' '.join(sorted(rejected) + outcomes)}"


def _read(monitor: Monitor) -> tuple[Any, ...]:
    """Return all that is known of the records that a monitor has read.

    In a step, what cannot be decoded is refused before what cannot be counted, so letters are compared by their offset.
    """
    view = monitor.view()
    letters = sorted(view.dead_letters, key=lambda letter: letter.offset)
    return monitor.counts().parts(), monitor.stats(), letters, view.event_time


def _records(data: bytes) -> list[Record]:
    """Return the lines of a file that are not empty as records, the first of them."""
    records: list[Any] = cut(data, "t", 0, Record)
    assert [record.value for record in records] == [line for line in data.split(b"\n") if line.strip()]
    assert [record.next for record in records[:-1]] == [record.offset for record in records[1:]]
    assert not records or records[-1].next == len(data)
    return records[:MOST_RECORDS]


def _monitor(settings: Config, records: Sequence[Record], at_once: int, store: Any = None) -> Monitor:
    monitor = Monitor(settings, store, clock=lambda: NOW)
    monitor.assign([0])
    for start in range(0, len(records), at_once):
        monitor.step(records[start : start + at_once])
    return monitor


def _restarted(settings: Config, records: Sequence[Record]) -> Monitor:
    """Return a monitor that was stopped in the middle, and went on from its state file."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "state")
        _monitor(settings, records[: len(records) // 2], 3, open_store(path)).close()
        again = _monitor(settings, records, 3, open_store(path))
        state = counted(again)
        again.close()
        last = _monitor(settings, [], 1, open_store(path))
        assert counted(last) == state, "a state file has something else than was written"
        last.close()
    return last


def _go_on(monitor: Monitor, settings: Config, start: int) -> None:
    """Count good events after all others, each of which must count."""
    total = monitor.counts().total
    before = total.n + total.abstained
    numbers = {"truth": 1, "prediction": 0, "scores": None} if 0 in settings.counting.labels else {}
    good = [event | numbers for event in GOOD]
    if settings.fields is DOTTED:
        good = [{**event, "meta": {"id": event["id"], "time": event["time"]}} for event in good]
    monitor.step([Record("t", 0, start + at, start + at + 1, None, None, line) for at, line in enumerate(lines(good))])
    total = monitor.counts().total
    assert total.n + total.abstained == before + len(good), "good events are not counted"
