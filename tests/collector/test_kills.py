"""A collector that is killed at any instant: nothing that it acknowledged is lost, and nothing is counted twice."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.collector_server import CollectorServer
from support.command_line import until

import stream_metrics as sm

WORKERS, KILLS, STARTS = 4, 2, 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CollectorServer]:
    """A collector that runs."""
    server = CollectorServer(tmp_path / "agg.sqlite", "--silent", "1s")
    server.start()
    yield server
    if server.process is not None and server.process.poll() is None:
        server.kill()


class Working(threading.Thread):
    """A worker that counts and reports, and starts again with nothing now and then, under its name or a new one."""

    def __init__(self, url: str, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.rng, self.url, self.stop, self.number = random.Random(number), url, stop, number
        self.counted = sm.MetricSet()  # in all lives, as far as that was acknowledged in the end
        self.acknowledged = 0
        self.starts = 0

    def run(self) -> None:
        """Live again and again until `stop` is set, at least `STARTS` times."""
        while not self.stop.is_set() or self.starts < STARTS:
            name = f"worker-{self.number}" if self.number % 2 else None
            state = sm.MetricSet()
            self.starts += 1
            reporter = sm.Reporter(self.url, state, every=None, worker=name, timeout=5)
            for _ in range(self.rng.randrange(1, 20)):
                truth, predicted = self.rng.choices("abc", k=2)
                state.update(truth, predicted)
                self.counted.update(truth, predicted)
                if self.rng.random() < 0.5:
                    reporter.report(timeout=60)
                    self.acknowledged = self.counted.n
            if self.rng.random() < 0.5:
                reporter.close(timeout=60)
            else:
                reporter.report(timeout=60)
                reporter._process = -1  # it dies without a word, but with all that it has counted reported
            self.acknowledged = self.counted.n


def test_kills_of_the_collector(server: CollectorServer) -> None:
    """Workers report through kills at random instants; acknowledged reports are there right after each restart."""
    rng, stop = random.Random(7), threading.Event()
    workers = [Working(server.url, number, stop) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for _ in range(KILLS):
        enough = sum(worker.acknowledged for worker in workers) + rng.randrange(1, 200)
        until(lambda enough=enough: sum(worker.acknowledged for worker in workers) >= enough)  # type: ignore[misc]
        server.kill()
        acknowledged = sum(worker.acknowledged for worker in workers)
        server.start()
        with contextlib.suppress(OSError):  # nothing was acknowledged yet
            assert server.total().n >= acknowledged
    stop.set()
    for worker in workers:
        worker.join()

    whole = sm.merge(worker.counted for worker in workers)
    assert server.total().to_bytes() == whole.to_bytes()
    assert server.end(signal.SIGTERM) == 0
