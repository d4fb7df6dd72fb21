"""How much memory and disk does a monitor take for predictions that wait, ids, classes, groups and windows?

    python benchmarks/monitor_sizes.py          # the table of docs/deploy/sizing.md, about ten minutes

Each line is a process of its own, of one partition and a state file; memory is what the process has resident in the
end, files are as they are after the last checkpoint.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from stream_metrics.monitor.config import Config, CountingTable, JoinTable
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store

START = 1_700_000_000
BATCH = 10_000
CASES: dict[str, dict[str, Any]] = {
    "nothing": {"n": 1000},
    "1 million labelled, 2 classes, labels only": {"n": 1_000_000, "labelled": True},
    "1 million labelled, 2 classes, scores": {"n": 1_000_000, "labelled": True, "scores": True},
    "1 million waiting, labels only": {"n": 1_000_000},
    "1 million waiting, scores of 2 classes": {"n": 1_000_000, "scores": True},
    "4 million waiting, scores of 2 classes": {"n": 4_000_000, "scores": True},
    "100,000 labelled, 50 classes, scores": {"n": 100_000, "labelled": True, "scores": True, "classes": 50},
    "100,000 labelled, 2 classes, scores, 100 groups": {"n": 100_000, "labelled": True, "scores": True, "groups": 100},
    "100,000 labelled, 2 classes, scores, 4 windows": {
        "n": 100_000, "labelled": True, "scores": True, "windows": ("1h", "6h", "1d", "7d"),
    },
}  # fmt: skip


def events(n: int, labelled: bool, scores: bool, classes: int, groups: int) -> Iterator[bytes]:
    """Yield events, a hundred a second."""
    chance, names = random.Random(0), [f"class-{at}" for at in range(classes)]
    for at in range(n):
        event: dict[str, Any] = {"id": at, "time": START + at / 100, "y_pred": chance.choice(names)}
        if scores:
            shares = [chance.random() for _ in names]
            event["scores"] = {name: round(share / sum(shares), 4) for name, share in zip(names, shares, strict=True)}
        if labelled:
            event["y_true"] = chance.choice(names)
        if groups:
            event["group"] = f"group-{chance.randrange(groups)}"
        yield json.dumps(event).encode()


def measure(case: dict[str, Any], folder: str) -> dict[str, float]:
    """Count events; return megabytes of memory and of files, and the seconds of a view and of a checkpoint."""
    given = {"labelled": False, "scores": False, "classes": 2, "groups": 0} | case
    windows = given.pop("windows", ("1h", "1d"))
    config = Config(
        counting=CountingTable(scores=given["scores"], windows=windows), join=JoinTable(ttl="7d", ahead="7d")
    )
    monitor = Monitor(config, Store(os.path.join(folder, "state")), lambda: START + given["n"] / 100)
    monitor.assign([0])
    batch: list[Record] = []
    for at, line in enumerate(events(**given)):
        batch.append(Record("t", 0, at, at + 1, None, None, line))
        if len(batch) == BATCH or at == given["n"] - 1:
            monitor.step(batch)
            batch = []
    monitor.checkpoint()
    began = time.process_time()
    monitor.view()
    view = time.process_time() - began
    with open("/proc/self/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    monitor.close()
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    return {"memory": resident / 1024, "files": size / 1e6, "view": view, "checkpoint": monitor.checkpoint_seconds}


def main() -> None:
    """Print the table."""
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(CASES[sys.argv[1]], folder)))
        return
    print("| what | memory, MiB | state file, MB | a view, ms |\n|---|---|---|---|")
    for name in CASES:
        done = subprocess.run([sys.executable, __file__, name], check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        print(f"| {name} | {result['memory']:.0f} | {result['files']:.1f} | {result['view'] * 1e3:.0f} |", flush=True)


if __name__ == "__main__":
    main()
