"""How many events a second does the monitor take on one core, and how long does it take to come back?

An event is one line of JSON: a prediction with scores of three classes and its label ("both"), or a prediction, or a
label that comes later ("later": half of the lines are labels). What is timed is the whole chain, from a file on disk to
a state file on disk: lines, parsing with msgspec, checks, the join, counting in the total and in
windows of an hour and a day, checkpoints at the default pace. The peer reads the same file and parses each line with
the same library, and does nothing else. The clock counts processor time of this process, and the garbage collector is
on, as it is in production; the best of some rounds counts, in which the contenders take turns.

A view is what page, API and exporter show: all windows with intervals, curves, groups, trends and the comparison with a
reference. It is timed after a hundred more events, so all windows and groups have changed; the rules alone, which are
evaluated more often, are among the figures, and so is a view when nothing has changed.

With psycopg and the programs of a PostgreSQL server the same is done with a database on this machine, and compared with
the file. The server has processors of its own where there are several; its work is in the time on the wall only.

`python benchmarks/monitor.py day [events]` reads as many events (20 million) as if they came in 24 hours, says how much
memory there was on the way, and is flat if the last quarters had no more than the second.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from monitor_events import START, both, grouped, later, pending
from timing import Line, clock

from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import AlertsTable as Rules
from stream_metrics.monitor.config import Config, CountingTable, JoinTable
from stream_metrics.monitor.events.decoding import loads
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.file import BLOCK, FileSource, Lines
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.process_memory import collecting_rarely, return_large_blocks

sys.path.append(str(Path(__file__).parents[1] / "tests"))

EVENTS, ROUNDS, RATE = 400_000, 5, 10_000.0
WAITING = 1_000_000
DAY, SAMPLES = 86_400.0, 20
TARGET = 150.0  # thousand events a second
VIEWED, MORE, VIEWS = 100_000, 100, 10
RULES = ("accuracy[1h] < 0.5", "macro_f1[1d] < 0.3")


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from views()
    with tempfile.TemporaryDirectory() as folder:
        yield from throughput(Path(folder))
        yield from recovery(Path(folder) / "waiting", "the state file")
        yield from database(Path(folder))


def views() -> Iterator[Line]:
    """Yield what a view takes after some more events."""
    n, rate = VIEWED + MORE * (VIEWS + 1), VIEWED / 5000.0
    for what, events, scores, target in (
        ("3 classes with scores", both(n, rate), True, 10.0),
        ("200 classes and 100 groups", grouped(n, rate, 200, 100), False, 80.0),
    ):
        counting = CountingTable(scores=scores, windows=("1h", "1d"), reference="1h")
        config = Config(counting=counting, alerts=Rules(rules=RULES))
        monitor, source = Monitor(config, clock=lambda: START + 1e6), Lines("t", 0)
        monitor.assign([0])
        alerts = Alerts(config, monitor, {})
        for size in (1, VIEWED, MORE):  # the reference is taken when a window is full
            monitor.step(source.add(b"".join(islice(events, size))))
            monitor.view()
        assert monitor.view().reference is not None
        best = dict.fromkeys(("view", "again", "rules"), float("inf"))
        looks = {"view": monitor.view, "again": monitor.view, "rules": alerts.look}
        for _ in range(VIEWS):
            monitor.step(source.add(b"".join(islice(events, MORE))))
            for name, look in looks.items():
                start = clock()
                look()
                best[name] = min(best[name], (clock() - start) / 1e6)
        figures = f"{best['again']:.1f} ms if nothing has changed; rules {best['rules']:.1f} ms"
        yield Line(f"a view of {what}, three windows", best["view"], "ms", target, figures=figures)


def throughput(folder: Path) -> Iterator[Line]:
    """Yield events a second, and how many of those that the parser alone could take."""
    for name, events in (("both", both(EVENTS, RATE)), ("later", later(EVENTS, RATE, delay=5.0))):
        path = folder / f"{name}.jsonl"
        with open(path, "wb") as file:
            file.writelines(events)
        runs: dict[str, Callable[[], object]] = {"peer": lambda path=path: parsed(path)}  # type: ignore[misc]
        for scores in (True, False):
            config = Config(counting=CountingTable(scores=scores, windows=("1h", "1d")))
            runs["scores" if scores else "labels"] = lambda path=path, config=config: watched(path, config)  # type: ignore[misc]
        best = turns(runs)
        for case, what in (("scores", "scores counted"), ("labels", "labels counted, scores only parsed")):
            ratio = best[case] / best["peer"]
            figures = f"{1e6 * best[case] / EVENTS:.2f} us an event, {ratio:.1f} times the parser alone"
            yield Line(
                f"file to checkpointed counts, {name}, {what}",
                EVENTS / best[case] / 1e3,
                "thousand events/s",
                target=TARGET,
                at_least=True,
                figures=figures,
            )


def turns(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the seconds of processor time of each contender, the best of some turns."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], (clock() - start) / 1e9)
    return best


def parsed(path: Path) -> int:
    """Read a file and parse every line, and do nothing with it."""
    n = 0
    with open(path, "rb") as file:
        for line in file:
            loads(line)
            n += 1
    return n


def watched(path: Path, config: Config, store: str | None = None) -> Monitor:
    """Read a file into a new state file, or another new store, to the last checkpoint."""
    with tempfile.TemporaryDirectory() as folder, collecting_rarely():
        monitor, source = Monitor(config, open_store(store or str(Path(folder) / "state"))), FileSource(str(path))
        source.start(monitor)
        while not source.ended:
            monitor.step(source.poll(0))
        monitor.close()
        source.close()
    assert monitor.view().records.read == EVENTS
    return monitor


def records(events: Iterable[bytes], lines: Lines) -> Iterator[list[Record]]:
    """Yield events as a source hands them over."""
    events = iter(events)
    while block := b"".join(islice(events, BLOCK // 128)):
        yield lines.add(block)


def database(folder: Path) -> Iterator[Line]:
    """Yield what a PostgreSQL database takes, beside the file, if there is a server."""
    try:
        import psycopg  # noqa: F401 - to see whether it is there
        from support import postgres, stores
    except ImportError:
        return
    if postgres.binaries() is None:
        return
    config = Config(counting=CountingTable(scores=True, windows=("1h", "1d")))
    with stores.server() as server:
        for name in ("both", "later"):
            took = {"file": [0.0, 0.0], "database": [0.0, 0.0]}
            for _ in range(ROUNDS):
                for case, best in took.items():
                    store = None if case == "file" else stores.new_address(server)
                    wall, start = time.perf_counter(), clock()
                    watched(folder / f"{name}.jsonl", config, store)
                    times = (clock() - start) / 1e9, time.perf_counter() - wall
                    best[:] = [min(a or b, b) for a, b in zip(best, times, strict=True)]
            ratios = [a / b for a, b in zip(*took.values(), strict=True)]
            rate = EVENTS / took["database"][0] / 1e3
            figures = f"{rate:.0f} thousand events/s; {100 * ratios[1]:.0f} % by the clock on the wall"
            what = f"file to checkpointed counts in PostgreSQL, {name}, scores counted, of the rate with a state file"
            yield Line(what, 100 * ratios[0], "%", target=60.0, at_least=True, figures=figures)
        yield from recovery(stores.new_address(server), "PostgreSQL")


def recovery(store: Path | str, name: str) -> Iterator[Line]:
    """Yield how long a start takes with a million pending predictions, and a checkpoint."""
    config, path, source = Config(counting=CountingTable(scores=True)), str(store), Lines("t", 0)
    monitor = Monitor(config, open_store(path))
    monitor.assign([0])
    for some in records(pending(WAITING, RATE), source):
        monitor.step(some)
    monitor.close()
    wall, start = time.perf_counter(), clock()
    monitor = Monitor(config, open_store(path))
    monitor.assign([0])
    spent, waited = (clock() - start) / 1e9, time.perf_counter() - wall
    assert monitor.stats().pending == WAITING
    yield Line(
        f"open {name} and assign, 1,000,000 predictions pending",
        spent,
        "s",
        target=2,
        figures=f"{waited:.2f} s by the clock on the wall",
    )
    yield checkpoint(monitor, source, name)
    monitor.close()


def checkpoint(monitor: Monitor, source: Lines, name: str) -> Line:
    """Return how long a checkpoint takes after 10,000 labels of predictions of any age, and as many new predictions."""
    old = (line[7:23].decode() for line in islice(pending(WAITING, RATE), 0, WAITING, WAITING // 10_000))
    labels = [f'{{"id":"{key}","time":{START + WAITING / RATE},"y_true":"cat"}}\n'.encode() for key in old]
    new = [line.replace(b'"id":"', b'"id":"new ') for line in pending(10_000, RATE)]
    start = clock()
    monitor.step(source.add(b"".join(labels)))
    monitor.step(source.add(b"".join(new)))
    taken = (clock() - start) / 1e9
    wall, start = time.perf_counter(), clock()
    monitor.checkpoint()
    spent, waited = (clock() - start) / 1e9, time.perf_counter() - wall
    figures = f"{waited * 1e3:.0f} ms by the clock on the wall; {taken * 1e3:.0f} ms to take the events"
    what = f"a checkpoint in {name} after labels of 10,000 of them and 10,000 new ones"
    return Line(what, spent * 1e3, "ms", figures=figures)


def resident() -> float:
    """Return the memory of this process in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def day(events: int) -> int:
    """Read a day of events, and say how much memory there was on the way."""
    config = Config(
        counting=CountingTable(scores=True, windows=("1h", "1d")),
        join=JoinTable(ttl="2h", keep_joined="1h", max_pending=300_000),
    )
    rate, sizes, read = events / DAY, list[float](), 0
    return_large_blocks()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        monitor = Monitor(config, open_store(str(path)), clock=lambda: START + DAY)
        monitor.assign([0])
        for some in records(later(events, rate, delay=600.0, unlabelled=0.02), Lines("t", 0)):
            monitor.step(some)
            read += len(some)
            if read >= events * (len(sizes) + 1) / SAMPLES:
                sizes.append(resident())
                join, disk = monitor.stats(), sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
                what = f"state files {disk:6.1f} MB, pending {join.pending}, joined {join.joined}"
                print(f"{100 * read / events:5.1f} % {sizes[-1]:7.1f} MB, {what}", flush=True)
        monitor.close()
    quarter, end = max(sizes[SAMPLES // 4 - 1 : SAMPLES // 2]), max(sizes[SAMPLES // 2 :])
    print(f"{events} events over {DAY:.0f} s: at most {quarter:.1f} MB in the second quarter, {end:.1f} MB after it")
    return 1 if end > 1.05 * quarter else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["day"]:
        sys.exit(day(int(float((sys.argv[2:] or ["2e7"])[0]))))
    for line in lines():
        print(" | ".join(line.cells()), flush=True)
