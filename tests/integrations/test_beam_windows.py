"""Windows of time against those of Apache Beam: its TestStream on its local runner, with late and unordered events."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import stream_metrics as sm

beam = pytest.importorskip("apache_beam", reason="Apache Beam is not installed; .ci/run installs it")

Events = list[tuple[float, bool]]  # time, and whether the prediction was right


def events(seed: int, disorder: float) -> Events:
    """Return events of about two minutes, each up to `disorder` seconds behind the latest."""
    rng = random.Random(seed)
    return [(round(max(0.5, i - rng.random() * disorder) + 0.123, 3), rng.random() < 0.7) for i in range(120)]


def by_beam(stream: Events, size: int, every: int, lateness: int, path: Path) -> dict[int, tuple[int, int]]:
    """Return what Beam counts in each window, by its end: samples and right ones, after all late events."""
    from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.transforms import trigger, window
    from apache_beam.utils import timestamp

    source, latest = TestStream(), timestamp.Timestamp(0)
    for seconds, right in stream:
        at = timestamp.Timestamp(micros=round(seconds * 1000) * 1000)
        source = source.add_elements([window.TimestampedValue(right, at)])
        if at > latest:
            latest = at
            source = source.advance_watermark_to(latest)
    source = source.advance_watermark_to_infinity()
    target = str(path)

    class Write(beam.DoFn):  # type: ignore[misc,name-defined]
        def process(self, rights: Any, where: Any = beam.DoFn.WindowParam) -> None:
            with open(target, "a") as file:
                file.write(json.dumps([float(where.end), len(rights), sum(rights)]) + "\n")

    options = PipelineOptions([])
    options.view_as(StandardOptions).streaming = True
    with beam.Pipeline(runner="BundleBasedDirectRunner", options=options) as pipeline:
        _ = (
            pipeline
            | source
            | beam.WindowInto(
                window.SlidingWindows(size, every) if every < size else window.FixedWindows(size),
                trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
                accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
                allowed_lateness=lateness,
            )
            | beam.CombineGlobally(beam.combiners.ToListCombineFn()).without_defaults()
            | beam.ParDo(Write())
        )
    output: dict[int, tuple[int, int]] = {}
    for line in path.read_text().splitlines():
        end, n, right = json.loads(line)
        output[round(end)] = max(output.get(round(end), (0, 0)), (n, int(right)))
    return output


def by_us(stream: Events, size: int, every: int, lateness: int) -> dict[int, tuple[int, int]]:
    """Return what our window of time has counted in each window once it can receive no more."""
    window = sm.TimeWindow(sm.ConfusionMatrix(), period=size, panes=size // every, lateness=lateness, on_close="keep")
    for at, right in stream:
        window.update(True, right, t=at)
    window.advance(10_000)
    return {round(end): (state.n, int(state.correct)) for _, end, state in window.closed() if state.n}


@pytest.mark.parametrize(("disorder", "lateness"), [(0.0, 0), (4.0, 0), (25.0, 0), (25.0, 10)])
def test_windows_hold_what_those_of_beam_hold(disorder: float, lateness: int, tmp_path: Path) -> None:
    """Fixed and sliding windows, with and without allowed lateness, count the same samples."""
    for size in (10, 30):
        stream = events(size + lateness, disorder)
        assert by_us(stream, size, 10, lateness) == by_beam(stream, size, 10, lateness, tmp_path / f"panes {size}")
