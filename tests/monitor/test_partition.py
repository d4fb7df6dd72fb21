"""One partition: every record counts once, memory is bounded, earlier versions are read and later ones refused."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, START, events, offline, records
from support.stores import execute, monitoring

from stream_metrics.monitor import Config, Monitor, Record, config

PLAIN = Config(
    counting=config.CountingTable(windows=()),
    join=config.JoinTable(max_pending=10**6, in_memory=15_000, max_joined=1000),
)
SCHEMA_1 = Path(__file__).parent / "store" / "schema_1.sqlite.gz"  # half of `events(400, seed=5)`, before panes


@pytest.mark.quick
def test_records_are_taken_once_whatever_the_gaps() -> None:
    """What is before the next offset of its topic was read; offsets may have gaps, topics may alternate."""
    stream = [
        Record("ab"[at % 2], 0, at * 7, at * 7 + 1, None, None, record.value)
        for at, record in enumerate(records([{"id": at, "time": START, "truth": "cat"} for at in range(100)]))
    ]
    monitor = offline(stream[:60])
    monitor.step(stream[20:])
    monitor.step(stream)

    assert monitor.stats().counters.labels == 100
    assert monitor.view().partitions[0].next == {"a": 98 * 7 + 1, "b": 99 * 7 + 1}


@pytest.mark.quick
def test_two_topics_are_one_partition() -> None:
    """Predictions of one topic meet the labels of another, with an offset for each."""
    predictions = [{"id": at, "time": START + at, "prediction": "cat"} for at in range(10)]
    labels = [{"id": at, "time": START + at + 5, "truth": "cat"} for at in range(10)]
    monitor = offline([*records(predictions, 3, "p"), *records(labels[:7], 3, "l")])

    assert monitor.stats()[:2] == (3, 7)
    assert monitor.assign([3]) == {("p", 3): 10, ("l", 3): 7}


def test_a_newer_format_is_refused_with_both_numbers(path: str) -> None:
    """State of a later version is not guessed at."""
    with monitoring(path) as monitor:
        monitor.step(records(events(10)))
    ((following, state),) = execute(path, "select next, state from state")
    newer = state[:1] + b"\x02" + state[2:]
    crc = zlib.crc32(newer, zlib.crc32(following))
    execute(path, f"update state set state = x'{newer.hex()}', crc = {crc}")

    with monitoring(path, parts=[]) as again, pytest.raises(StoreError, match="in format 1, but it is stored in 2"):
        again.assign([0])


def points(monitor: Monitor, query: str) -> Any:
    """Return the points that answer a query of a range of time."""
    return json.loads(monitor.answer_range(query)[1])["points"]


def test_a_file_of_the_first_version_is_migrated_and_continued(path: str) -> None:
    """What it counted stays, the rest is counted, parts of other names are replaced, panes begin with the migration."""
    Path(path).write_bytes(gzip.decompress(SCHEMA_1.read_bytes()))
    stream = records(events(400, seed=5))
    told = structs.replace(
        CONFIG, counting=config.CountingTable(windows=("1h", "4h")), store=config.StoreTable(retention=("1m",))
    )
    whole = offline(stream, told)
    whole.checkpoint()
    names = {name for (name,) in execute(path, "select name from parts")}
    assert any(name.startswith("groups/") for name in names)
    for _ in range(2):
        with monitoring(path, told) as monitor:
            assert monitor.assign([0])["t", 0] in (len(stream) // 2, len(stream))
            monitor.step(stream)
            monitor.checkpoint()
            counts, stats = monitor.counts(), monitor.stats()
            since = json.loads(monitor.answer_range(f"from={START}&to={START + 8000}")[1])["complete_from"]
            query = f"from={since}&to={START + 8000}"
            assert points(monitor, query)[0]["n"] > 0
            assert points(monitor, query) == points(whole, query)
        parts, expected = (
            {name: part for name, part in each.parts().items() if not name.startswith("by_group/")}
            for each in (counts, whole.counts())
        )  # the panes of groups were longer then
        assert parts == expected
        assert stats == whole.stats()
        assert {name for (name,) in execute(path, "select name from parts")} == set(counts.parts())
        assert counts.total_groups.n == whole.counts().total_groups.n > 0
        assert since > START


def test_entries_that_are_missing_are_noticed(path: str) -> None:
    """A join buffer that lacks something is not gone on with as if it were whole."""
    with monitoring(path) as monitor:
        monitor.step(records(events(100)))
    execute(path, "delete from log where shelf = 1")

    with monitoring(path, parts=[]) as again, pytest.raises(StoreError, match=r"Expected \d+ waiting and \d+ joined"):
        again.assign([0])


def predictions(start: int, n: int, field: bytes = b"prediction", topic: str = "t") -> list[Record]:
    """Return records of predictions or labels, the ids of which come in no order."""
    rows = []
    for at in range(start, start + n):
        key = at * 2654435761 % 2**32
        value = b'{"id": "%08x-%08x", "time": %.3f, "%s": "cat"}' % (key, at, START + at / 1000, field)
        rows.append(Record(topic, 0, at, at + 1, None, None, value))
    return rows


def test_memory_is_bounded_and_old_predictions_are_not_read_at_the_start(path: str) -> None:
    """Far more pending predictions than fit into memory: they are in the file, and found there."""
    n = 60_000
    with monitoring(path, PLAIN) as monitor:
        for start in range(0, n, 10_000):
            monitor.step(predictions(start, 10_000))
            monitor.checkpoint()
    tracemalloc.start()
    with monitoring(path, PLAIN) as again:
        size, _ = tracemalloc.get_traced_memory()
        labels = predictions(0, n, b"truth", "l")[::7]
        again.step(labels)
        again.checkpoint()
        assert again.stats()[:2] == (n - len(labels), len(labels))
        assert 0.6 * n < execute(path, "select count(*) from pending")[0][0] < n - len(labels)
    tracemalloc.stop()
    assert size < 40e6


def test_the_log_of_a_slow_stream_is_short(path: str) -> None:
    """One prediction for each checkpoint, for a long time: what is old is in rows, not in a segment for each second."""
    with monitoring(path, PLAIN) as monitor:
        for record in predictions(0, 300):
            monitor.step([record])
            monitor.checkpoint()
        assert monitor.stats().pending == 300

    ((segments,),), ((rows,),) = (execute(path, f"select count(*) from {table}") for table in ("log", "pending"))
    assert segments <= 257
    assert rows >= 40
