"""How much of one processor does a collector need for 10,000 workers that report once a minute?"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import streams
from timing import Line

import stream_metrics as sm

CLASSES, EVERY = 10, 60.0
SECONDS = 12.0  # of the reports of a minute
TICKS = os.sysconf("SC_CLK_TCK")


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    for name, samples, workers, target in (("labels", 1_000, 10_000, 1), ("scores", 200, 500, None)):
        with tempfile.TemporaryDirectory() as folder:
            yield measured(folder, name, workers, target, [worker(name, number, samples) for number in range(20)])


def worker(name: str, number: int, samples: int) -> tuple[bytes, bytes]:
    """Return two states of a worker, one after the other."""
    draw = np.random.default_rng(number)
    labels = np.array(streams.names(CLASSES))
    state = sm.MetricSet(scores=name == "scores")
    sent = []
    for _ in range(2):
        truth = draw.integers(0, CLASSES, samples)
        if name == "scores":
            scores = draw.dirichlet(np.ones(CLASSES), samples)
            state.update_many(labels[truth], scores=scores, classes=labels.tolist())
        else:
            state.update_many(labels[truth], labels[np.where(draw.random(samples) < 0.8, truth, truth[::-1])])
        sent.append(state.to_bytes())
    return sent[0], sent[1]


def measured(folder: str, name: str, workers: int, target: float | None, states: list[tuple[bytes, bytes]]) -> Line:
    """Return which part of a processor the reports take, with a page open and a scrape each ten seconds."""
    command = [sys.executable, "-m", "stream_metrics", "collect", "--store", f"{folder}/agg.sqlite"]
    process = subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = re.search(r"http://([0-9.:]+)/", process.stderr.readline())
        assert address is not None
        host = address[1]
        epochs = all_at_once(host, workers, states)
        start = processor(process.pid)
        page = threading.Thread(target=watch, args=(host,), daemon=True)
        page.start()
        wall, reports = paced(host, states, epochs)
        spent = processor(process.pid) - start
        total = sm.from_bytes(ask(host, "GET", "/api/state"))
        n = [sm.from_bytes(state).n for state in states[0]]
        assert total.n == workers * n[0] + reports * (n[1] - n[0])
        memory = int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[0]) / 1024
    finally:
        process.terminate()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
    size = sum(len(state) for _, state in states) / len(states)
    rate = f"{reports / wall:.0f} reports of {size / 1e3:.1f} kB a second"
    what = f"Processor time of `collect` / time, {workers:,} workers of ten classes, {name}, page open"
    needed = spent / reports * workers / EVERY  # where the client is too slow, the page weighs more
    return Line(what, needed, target=target, figures=f"{rate}; {memory:.0f} MB")


def all_at_once(host: str, workers: int, states: list[tuple[bytes, bytes]]) -> list[int]:
    """Have all workers register and report, as after a deploy."""
    epochs = []
    for number in range(workers):
        epochs.append(json.loads(ask(host, "POST", f"/api/register?worker=w{number}"))["epoch"])
        report(host, number, epochs[-1], 1, states[number % len(states)][0])
    return epochs


def paced(host: str, states: list[tuple[bytes, bytes]], epochs: list[int]) -> tuple[float, int]:
    """Have workers report at the rate of one a minute; return for how long, and how many."""
    began, scraped, number = time.monotonic(), 0.0, 0
    while (now := time.monotonic() - began) < SECONDS:
        if number < now * len(epochs) / EVERY:
            report(host, number, epochs[number], 2, states[number % len(states)][1])
            number += 1
        elif now - scraped > 10:
            ask(host, "GET", "/metrics")
            scraped = now
        else:
            time.sleep(0.001)
    return time.monotonic() - began, number


def watch(host: str) -> None:
    """Read views as a page does."""
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    while answer.read1(1 << 16):
        pass


def report(host: str, number: int, epoch: int, sequence: int, state: bytes) -> None:
    """Report a state."""
    path = f"/api/report?worker=w{number}&epoch={epoch}&sequence={sequence}"
    assert b"accepted" in ask(host, "POST", path, state)


def ask(host: str, method: str, path: str, body: bytes = b"") -> bytes:
    """Return an answer; each has a connection of its own, as each worker has."""
    connection = http.client.HTTPConnection(host)
    connection.request(method, path, body if method == "POST" else None)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def processor(pid: int) -> float:
    """Return the processor time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
