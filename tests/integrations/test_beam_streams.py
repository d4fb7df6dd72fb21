"""The combiner on streams of Beam: windows, late data, state cells, and bundles that fail and run again."""

from __future__ import annotations

import collections
import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

beam = pytest.importorskip("apache_beam", reason="Apache Beam is not installed; .ci/run installs it")

from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.testing import test_stream  # noqa: E402
from apache_beam.transforms import trigger, userstate, window  # noqa: E402
from apache_beam.utils.timestamp import Timestamp  # noqa: E402
from support.beam_samples import BUNDLES, Write, counted, labels, read, run  # noqa: E402

from stream_metrics.integrations.beam import Accumulate  # noqa: E402


def panes(
    path: Path, into: Any, stream: list[tuple[float, Any] | float], fn: Any
) -> dict[float, list[tuple[int, bytes]]]:
    """Return the panes of each window by its end, number of samples and bytes; a float moves the watermark."""
    source = test_stream.TestStream()
    for event in stream:
        at, *sample = event if isinstance(event, tuple) else (event,)
        moment = Timestamp(micros=round(at * 1e6))
        timed = [window.TimestampedValue(value, moment) for value in sample]
        source = source.add_elements(timed) if timed else source.advance_watermark_to(moment)
    combine = beam.CombineGlobally(fn).without_defaults()
    with beam.Pipeline(runner=BUNDLES, options=PipelineOptions([], streaming=True)) as pipeline:
        _ = pipeline | source.advance_watermark_to_infinity() | into | combine | beam.ParDo(Write(path / "panes"))
    output = collections.defaultdict(list)
    for _, end, n, content in read(path / "panes"):
        output[end].append((n, content))
    return dict(output)


def into(windows: Any, lateness: int, mode: str = "ACCUMULATING", **when: Any) -> Any:
    """Return windows that give a pane at the watermark, and when else is said."""
    mode = getattr(trigger.AccumulationMode, mode)
    when = trigger.AfterWatermark(**when)
    return beam.WindowInto(windows, trigger=when, accumulation_mode=mode, allowed_lateness=lateness)


LATE = {"late": trigger.AfterCount(1)}


@pytest.mark.parametrize("mode", ["ACCUMULATING", "DISCARDING"])
def test_late_data(mode: str, tmp_path: Path) -> None:
    """Panes that accumulate end with the whole window, panes that discard merge to it; what is too late is in none."""
    a, b, c, d, e, f, g = labels(7)
    stream = [(1, a), (12, b), (3, c), 11.0, (4, d), (13, e), 21.0, (5, f), 1000.0, (6, g)]
    output = panes(tmp_path, into(window.FixedWindows(10), 100, mode, **LATE), stream, Accumulate(sm.MetricSet()))

    whole = mode == "ACCUMULATING"
    assert [n for n, _ in output[10.0]] == ([2, 3, 4] if whole else [2, 1, 1])
    states = {end: [sm.from_bytes(content) for _, content in parts] for end, parts in output.items()}
    assert {end: each[-1] if whole else sm.merge(each) for end, each in states.items()} == {
        10.0: counted(sm.MetricSet(), [a, c, d, f]),
        20.0: counted(sm.MetricSet(), [b, e]),
    }


@pytest.mark.parametrize(("disorder", "lateness"), [(0.0, 0), (4.0, 0), (25.0, 0), (25.0, 10)])
def test_our_windows_hold_what_those_of_beam_hold(disorder: float, lateness: int, tmp_path: Path) -> None:
    """Fixed and sliding windows of time count the samples of Beam's windows, with and without allowed lateness."""
    for size in (10, 30):
        rng = random.Random(size + lateness)
        ours = sm.TimeWindow(sm.ConfusionMatrix(), size, panes=size // 10, lateness=lateness, on_close="keep")
        stream: list[Any] = []
        for at in range(120):
            t, right = round(max(0.5, at - rng.random() * disorder) + 0.123, 3), rng.random() < 0.7
            latest = max((event for event in stream if isinstance(event, float)), default=0.0)
            stream += [(t, (True, right)), *([t] if t > latest else [])]
            ours.update(True, right, t=t)
        ours.advance(10_000)
        windows = window.SlidingWindows(size, 10) if size > 10 else window.FixedWindows(size)
        (tmp_path / f"{size}").mkdir()
        theirs = panes(tmp_path / f"{size}", into(windows, lateness, **LATE), stream, Accumulate(sm.ConfusionMatrix()))
        expected = {round(end): max(parts)[1] for end, parts in theirs.items()}
        assert {round(end): state.to_bytes() for _, end, state in ours.closed() if state.n} == expected


def test_sessions(tmp_path: Path) -> None:
    """A sample between two sessions merges what both have accumulated."""
    a, b, c, d = labels(4)
    windows = into(window.Sessions(10), 0, early=trigger.AfterCount(1))
    output = panes(tmp_path, windows, [(1, a), (15, b), (8, c), (40, d)], Accumulate(sm.MetricSet()))

    assert output[25.0][-1] == (3, counted(sm.MetricSet(), [a, b, c]).to_bytes())
    assert output[50.0][-1] == (1, counted(sm.MetricSet(), [d]).to_bytes())


def test_time_of_the_element(tmp_path: Path) -> None:
    """A window of time inside the combiner takes the times that Beam has, to the microsecond."""
    whole = sm.TimeWindow(sm.MetricSet(), period="5m", panes=5)
    micros = [1_700_000_000_000_001 + 60_000_000 * at for at in range(20)]
    output = run(
        tmp_path,
        lambda p: (
            p
            | beam.Create([{"y_true": at, "y_pred": at % 2} for at in range(20)])
            | beam.Map(lambda sample: window.TimestampedValue(sample, Timestamp(micros=micros[sample["y_true"]])))
            | beam.Map(lambda sample, t=beam.DoFn.TimestampParam: {**sample, "t": t})
            | beam.CombineGlobally(Accumulate(whole.copy()))
        ),
    )
    for at, t in enumerate(micros):
        whole.update(at, at % 2, t=np.datetime64(t, "us"))

    assert output == {None: whole.to_bytes()}
    assert whole.n == 5


def test_state_cells(tmp_path: Path) -> None:
    """In a state cell of a DoFn, what was read stays as it was while the cell goes on to count."""

    class Running(beam.DoFn):  # type: ignore[misc,name-defined]
        CELL = userstate.CombiningValueStateSpec("counts", Accumulate(sm.MetricSet()))

        def process(self, element: Any, cell: Any = beam.DoFn.StateParam(CELL)) -> Iterator[Any]:  # noqa: B008
            views = []
            for sample in element[1]:
                cell.add(sample)
                views.append(cell.read())
            yield from enumerate(views)

    output = run(tmp_path, lambda p: p | beam.Create([("fr", labels(40))]) | beam.ParDo(Running()))

    assert output == {at: counted(sm.MetricSet(), labels(40)[: at + 1]).to_bytes() for at in range(40)}


def first_time(path: str) -> bool:
    """Tell whether this is the first call for a file, which is then there."""
    with contextlib.suppress(FileExistsError), open(path, "x"):
        return True
    return False


class FailsOnce(Accumulate):
    """A combiner that fails in the middle of its first bundle, and once while it merges."""

    def __init__(self, prototype: Any, path: Path) -> None:
        super().__init__(prototype)
        self.path = str(path)

    def add_input(self, mutable_accumulator: Any, element: Any) -> Any:
        """Count a sample, and fail after some."""
        state = super().add_input(mutable_accumulator, element)
        if state.n == 30 and first_time(self.path + "-add"):
            raise RuntimeError("first attempt to add")
        return state

    def merge_accumulators(self, accumulators: Any) -> Any:
        """Merge states, and fail once that is done."""
        state = super().merge_accumulators(accumulators)
        if state.n and first_time(self.path + "-merge"):
            raise RuntimeError("first attempt to merge")
        return state


def test_bundles_that_run_again(tmp_path: Path) -> None:
    """A DoFn, the combiner in mid bundle and its merge fail at first; the bytes are those of one pass."""

    def stumble(sample: Any) -> Any:
        if sample[2] == 0.1 and first_time(f"{tmp_path}/map"):
            raise RuntimeError("first attempt to map")
        return sample

    output = run(
        tmp_path,
        lambda p: (
            p
            | beam.Create(labels())
            | beam.Map(stumble)
            | beam.CombineGlobally(FailsOnce(sm.MetricSet(), tmp_path / "failed"))
        ),
        BUNDLES,
    )

    assert {path.name for path in tmp_path.iterdir()} == {"states 0", "map", "failed-add", "failed-merge"}
    assert output == {None: counted(sm.MetricSet(), labels()).to_bytes()}
