"""Samples for the combiner of Beam, pipelines that end in states, and what one process makes of the samples."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.timestamp import Timestamp

import stream_metrics as sm

FN_API = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"  # lifts combiners; not the one for streams
BUNDLES = "BundleBasedDirectRunner"  # runs a bundle that failed again, and streams
CLASSES = ["cat", "dog", "cow", 1, 2.0]

Samples = list[Any]


class Sample(NamedTuple):
    """A sample by name, the prediction first."""

    y_pred: Any
    y_true: Any
    w: float = 1


def labels(n: int = 300, seed: int = 1) -> list[tuple[Any, Any, float]]:
    """Return samples with weights, fractions among them, and abstentions."""
    rng = random.Random(seed)
    return [(rng.choice(CLASSES), rng.choice([*CLASSES, None]), rng.choice([1, 2, 0.1])) for _ in range(n)]


def scores(n: int = 300) -> list[tuple[Any, dict[str, float]]]:
    """Return samples with probabilities."""
    rng = random.Random(2)
    return [("cat" if rng.random() < p else "dog", {"cat": p, "dog": 1 - p}) for p in (rng.random() for _ in range(n))]


def timed(n: int = 300) -> list[dict[str, Any]]:
    """Return samples by name, with a group and a time."""
    rng = random.Random(3)
    return [
        {
            "y_true": t,
            "y_pred": p,
            "w": w,
            "group": rng.choice(["fr", "de", 3]),
            "t": Timestamp(micros=rng.randrange(10**9)),
        }
        for t, p, w in labels(n)
    ]


def without(samples: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return samples by name, without one of the names."""
    return [{key: value for key, value in sample.items() if key != name} for sample in samples]


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Samples]]] = {
    "state": (sm.ConfusionMatrix, labels),
    "metric": (sm.MCC, lambda: [list(sample) for sample in labels()]),
    "set": (sm.MetricSet, lambda: [Sample(p, t, w) for t, p, w in labels()]),
    "rows": (sm.MetricSet, lambda: [beam.Row(y_pred=p, y_true=t, w=float(w)) for t, p, w in labels()]),
    "scores": (lambda: sm.MetricSet(scores=True), scores),
    "coarse": (lambda: sm.RankSketch(buckets=16, sample=8), scores),
    "groups": (lambda: sm.ByGroup(sm.MetricSet(), max_groups=2), lambda: without(timed(), "t")),
    "window": (lambda: sm.TimeWindow(sm.MetricSet(), period="10m", panes=5), lambda: without(timed(), "group")),
    "groups of windows": (lambda: sm.ByGroup(sm.TimeWindow(sm.MCC(), period="10m", panes=5)), timed),
}


def counted(state: Any, samples: Samples) -> Any:
    """Return the state after one process has fed it the samples."""
    for sample in samples:
        if isinstance(sample, dict) or hasattr(sample, "_asdict"):
            named = dict(sample if isinstance(sample, dict) else sample._asdict())
            if "t" in named:
                named["t"] = named["t"].micros / 10**6
            state.update(**named)
        else:
            state.update(*sample)
    return state


class Write(beam.DoFn):  # type: ignore[misc,name-defined]
    """Append key, end of the window, number of samples and bytes of every state to a file."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def process(self, element: Any, where: Any = beam.DoFn.WindowParam) -> None:
        """Write one line, in one piece as other workers write to the same file."""
        key, state = element if isinstance(element, tuple) else (None, element)
        line = json.dumps([key, float(where.end), state.n, state.to_bytes().hex()]) + "\n"
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())


def read(path: Path) -> Iterator[tuple[Any, float, int, bytes]]:
    """Yield what `Write` has written."""
    for line in path.read_text().splitlines() if path.exists() else []:
        key, end, n, content = json.loads(line)
        yield key, end, n, bytes.fromhex(content)


def run(path: Path, build: Callable[[Any], Any], runner: str = FN_API, **options: Any) -> dict[Any, bytes]:
    """Run a pipeline that ends in states, with or without keys, in two workers, and return their bytes by key."""
    path = path / f"states {len(list(path.iterdir()))}"
    with beam.Pipeline(runner=runner, options=PipelineOptions([], direct_num_workers=2, **options)) as pipeline:
        _ = build(pipeline) | "write" >> beam.ParDo(Write(path))
    lines = list(read(path))
    assert len({key for key, *_ in lines}) == len(lines)
    return {key: content for key, _, _, content in lines}
