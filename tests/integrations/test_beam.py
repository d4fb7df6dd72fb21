"""The combiner on Beam's local runners: the bytes of one process, regardless of the elements, keys and splits."""

from __future__ import annotations

import collections
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.tables.fields import Fields

beam = pytest.importorskip("apache_beam", reason="Apache Beam is not installed; .ci/run installs it")

from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.testing import test_stream  # noqa: E402
from apache_beam.testing.util import assert_that, equal_to  # noqa: E402
from apache_beam.transforms import trigger, userstate, window  # noqa: E402
from apache_beam.utils.timestamp import Timestamp  # noqa: E402
from support.examples import run_example  # noqa: E402
from support.refusals import all_refused, refused  # noqa: E402

from stream_metrics.integrations import beam as adapter  # noqa: E402
from stream_metrics.integrations.beam import Accumulate  # noqa: E402

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
            "t": Timestamp(micros=1_700_000_000_000_001 + rng.randrange(10**9)),
        }
        for t, p, w in labels(n)
    ]


CASES: dict[str, tuple[Callable[[], Any], Callable[[], Samples]]] = {
    "state": (sm.ConfusionMatrix, labels),
    "set": (sm.MetricSet, lambda: [Sample(p, t, w) for t, p, w in labels()]),
    "rows": (sm.MetricSet, lambda: [beam.Row(y_pred=p, y_true=t, w=float(w)) for t, p, w in labels()]),
    "scores": (lambda: sm.MetricSet(scores=True), scores),
    "groups of windows": (lambda: sm.ByGroup(sm.TimeWindow(sm.MCC(), period="10m", panes=5)), timed),
}


def counted(state: Any, samples: Samples) -> Any:
    """Return the state after one process has fed it the samples."""
    for sample in samples:
        if isinstance(sample, dict) or hasattr(sample, "_asdict"):
            named = dict(sample if isinstance(sample, dict) else sample._asdict())
            if "t" in named:
                named["t"] = np.datetime64(named["t"].micros, "us")
            state.update(**named)
        else:
            state.update(*sample)
    return state


class Write(beam.DoFn):
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


@pytest.mark.parametrize("case", ["set", "rows", "scores", "groups of windows"])
def test_the_whole(case: str, tmp_path: Path) -> None:
    """A lifted combine has one process's bytes, from elements of every form, and of any accumulator."""
    make, samples = CASES[case]
    combine = beam.CombineGlobally(Accumulate(make())).without_defaults()
    output = run(tmp_path, lambda p: p | beam.Create(samples()) | beam.Reshuffle() | combine)

    assert output == {None: counted(make(), samples()).to_bytes()}
    assert sm.from_bytes(output[None]).n > 0


def test_pipelines(tmp_path: Path) -> None:
    """Fanout of renamed rows, workers that talk by gRPC, and states combined again have the bytes of one process."""
    rows = beam.Create([beam.Row(label=t, guess=p, weight=float(w)) for t, p, w in labels()])
    renamed = beam.Select(y_true="label", y_pred="guess", w="weight")
    keyed = beam.Create([(at % 5, sample) for at, sample in enumerate(labels())])
    count, again = Accumulate(sm.MetricSet()), beam.CombineGlobally(sm.merge).without_defaults()
    combine = beam.CombineGlobally(count)
    for build, options in [
        (lambda p: p | rows | renamed | combine.without_defaults().with_fanout(3), {}),
        (lambda p: p | beam.Create(labels()) | beam.Reshuffle() | combine, {"direct_running_mode": "multi_threading"}),
        (lambda p: p | keyed | beam.CombinePerKey(count) | beam.Values() | again, {}),
    ]:
        assert run(tmp_path, build, **options) == {None: counted(sm.MetricSet(), labels()).to_bytes()}
    assert run(tmp_path, lambda p: p | beam.Create([]) | combine) == {None: sm.MetricSet().to_bytes()}


def test_per_key(tmp_path: Path) -> None:
    """Every key has the bytes of its own samples; a hot key, or all, may be spread over several workers."""
    samples = [("fr" if at % 3 else "de", sample) for at, sample in enumerate(labels(100))]
    mine = {key: [sample for country, sample in samples if country == key] for key in ("fr", "de")}
    for runner, fanout in [(FN_API, None), (FN_API, lambda key: 4 if key == "fr" else 0), (BUNDLES, 2)]:
        combine = beam.CombinePerKey(Accumulate(sm.MetricSet())).with_hot_key_fanout(fanout)
        output = run(tmp_path, lambda p, combine=combine: p | beam.Create(samples) | combine, runner)
        assert output == {key: counted(sm.MetricSet(), mine[key]).to_bytes() for key in mine}


@given(data=st.data())
@pytest.mark.parametrize("case", CASES)
def test_any_tree_of_accumulators(case: str, data: st.DataObject) -> None:
    """Any split, merged in any tree, with bundles given up, is the whole; only first accumulators change."""
    make, samples = CASES[case]
    fn, whole = Accumulate(counted(make(), samples()[:3])), samples()[:40]
    coder = fn.get_accumulator_coder()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    states = [fn.merge_accumulators(iter([]))]
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        fn.add_inputs(fn.create_accumulator(), whole[start : (start + end) // 2])  # a bundle that failed
        states.append(fn.add_inputs(fn.create_accumulator(), whole[start:end]))
    while len(states) > 1:
        number = data.draw(st.integers(2, len(states)))
        taken = [states.pop(data.draw(st.integers(0, len(states) - 1))) for _ in range(number)]
        before = [coder.encode(each) for each in taken]
        merged = fn.merge_accumulators(iter(taken))
        assert [coder.encode(each) for each in taken[1:]] == before[1:]
        states.append(coder.decode(coder.encode(merged)) if data.draw(st.booleans()) else merged)
    output = fn.extract_output(states[0])

    assert output.to_bytes() == counted(make(), whole).to_bytes()
    assert output is not states[0][0]
    assert fn.create_accumulator()[0].n == 0


class Own(sm.MetricSet):
    """A set of a user's own class."""


def test_accumulators_travel_as_bytes_of_ours(tmp_path: Path) -> None:
    """The coder writes `to_bytes`, equal for equal states, keeps the class, and is the one of the pipeline."""
    fn = Accumulate(Own())
    coder = fn.get_accumulator_coder()
    state = fn.add_inputs(fn.create_accumulator(), labels())
    pipeline = beam.Pipeline(runner=FN_API)
    combined = pipeline | beam.Create(labels()) | beam.CombineGlobally(fn)

    assert coder.encode(state) == state[0].to_bytes()
    assert coder.is_deterministic()
    assert type(coder.decode(coder.encode(state))[0]) is combined.element_type is Own
    assert type(coder).__name__ in str(pipeline.to_runner_api().components.coders)
    pair = beam.CombineGlobally(Accumulate(sm.MetricSet(), on_bad="count"))
    assert (pipeline | "samples" >> beam.Create(labels()) | "pair" >> pair).element_type is type(
        sm.count({"y_true": ["a"], "y_pred": ["a"]}, on_bad="count")
    )


FORMS: dict[str, Callable[[Any], Any]] = {
    "table": lambda table: table,
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "mapping": lambda table: table.to_pydict(),
}
FIELDS = Fields("label", "guess", weight="weight")


def rows() -> list[tuple[str, str | None, float]]:
    """Return samples whose labels are all text."""
    return [(str(t), None if p is None else str(p), w) for t, p, w in labels()]


def table() -> Any:
    """Return these samples as an Arrow table."""
    pa = pytest.importorskip("pyarrow", reason="needs Arrow")
    truth, guess, weight = (list(column) for column in zip(*rows(), strict=True))
    return pa.table({"label": pa.array(truth).dictionary_encode(), "guess": guess, "weight": weight, "id": truth})


def test_what_is_refused() -> None:
    """An element that is no sample raises what is wrong with it, and is not counted; fields are Fields."""
    fn = Accumulate(sm.MetricSet())
    state = fn.create_accumulator()
    samples = [
        (5, TypeError, "Expected elements to be tuples, mappings, named tuples or Rows, but got 5"),
        ("ab", TypeError, "Expected elements to be tuples"),
        ({"y_true": 1, "y_pred": 1, "weight": 7}, TypeError, "to have 'w', but got 'weight'"),
        ({"y_true": 1, "prediction": 1}, TypeError, "to have 'y_pred', but got 'prediction'"),
        ((float("nan"), 1), sm.LabelError, "`y_true`"),
        ({"y_true": 1, "y_pred": 1, "w": -1}, sm.WeightError, "`w`"),
    ]
    all_refused((partial(fn.add_input, state, element), error, about) for element, error, about in samples)
    assert state == (sm.MetricSet(), None)
    refused(partial(Accumulate, sm.MCC(), ("label", "guess")), ValueError, "`fields` to be Fields, or None")


def test_fields_name_what_rows_hold() -> None:
    """With Fields a Row or mapping is one sample of labels, groups or times; other names are not read."""
    named = [{"label": t, "guess": p, "weight": w, "id": 1} for t, p, w in rows()]
    moment = beam.utils.timestamp.Timestamp(1_700_000_000)
    for prototype, fields, elements, samples in [
        (sm.MetricSet(), FIELDS, [beam.Row(**row) if at % 2 else row for at, row in enumerate(named)], rows()),
        (
            sm.ByGroup(sm.TimeWindow(sm.MCC(), "1h")),
            Fields("y", "p", group="g", time="at"),
            [{"y": 1, "p": 1, "g": "x", "at": moment}],
            [{"y_true": 1, "y_pred": 1, "group": "x", "t": moment}],
        ),
        (
            sm.MetricSet(),
            None,
            [row := {"y_true": "a", "y_pred": "b", "w": 2, "id": 7, "t": 5, "group": "x"}, beam.Row(**row)],
            [("a", "b", 2)] * 2,
        ),
    ]:
        fn = Accumulate(prototype, fields)
        state = fn.extract_output(fn.add_inputs(fn.create_accumulator(), elements))
        assert state.to_bytes() == counted(prototype, samples).to_bytes()


BAD = [("a", "a"), (None, "a"), ("b", "a"), 5, ("a",), ("b", "b", -1)]


def test_bad_elements_are_counted(tmp_path: Path) -> None:
    """The output is the state of the good elements and the record of the others, on workers and in one process."""
    fn = Accumulate(sm.MetricSet(), on_bad="count")
    coder, expected = fn.get_accumulator_coder(), counted(sm.MetricSet(), [("a", "a", 1), ("b", "a", 1)])
    parts = [fn.add_inputs(fn.create_accumulator(), BAD[at::2]) for at in range(2)]
    state, bad = fn.extract_output(fn.merge_accumulators([coder.decode(coder.encode(part)) for part in parts]))
    combine, record = beam.CombineGlobally(fn).without_defaults(), beam.Map(lambda result: result.bad)
    output = run(tmp_path, lambda p: p | beam.Create(BAD * 10) | beam.Reshuffle() | combine | record)

    assert (state, bad.n) == (expected, 4)
    assert fn.merge_accumulators(iter([])) == (sm.MetricSet(), sm.BadRows())
    assert sm.from_bytes(output[None]).n == 40


def test_bad_elements_are_split_off() -> None:
    """Good elements go on, and bad ones come out tagged, with their errors and with their keys."""
    for keyed in (False, True):
        elements = [("k", element) if keyed else element for element in BAD]
        with beam.Pipeline(runner=BUNDLES) as pipeline:
            split = pipeline | beam.Create(elements) | adapter.SplitBad(sm.MetricSet(), keyed=keyed)
            texts = split.bad | beam.MapTuple(lambda element, error: (element, "`y_true`" in error))
            assert_that(split.good, equal_to([elements[0], elements[2]]), "good")
            assert_that(texts, equal_to([(elements[1], True), *((element, False) for element in elements[3:])]), "bad")


def test_tables() -> None:
    """Tables of every form count like their rows; split, they go on in parts, and each bad row as a table."""
    pytest.importorskip("pandas", reason="needs pandas")
    pa = pytest.importorskip("pyarrow", reason="needs Arrow")
    fn = Accumulate(sm.MetricSet(), FIELDS)
    for form in FORMS.values():
        tables = [form(table()[at : at + 70]) for at in range(0, 300, 70)]
        state = fn.extract_output(fn.add_inputs(fn.create_accumulator(), tables))
        assert state.to_bytes() == counted(sm.MetricSet(), rows()).to_bytes()

        samples = adapter.SplitBad(sm.MetricSet(), Fields()).samples
        whole = form(pa.table({"y_true": [None, "a", "b", None, None, "a"], "y_pred": ["c"] * 6}))
        parts = list(samples.split(sm.MetricSet(), whole))
        sizes = [(len(part["y_true"]), error is None) for part, error in parts]
        assert sizes == [(1, False), (2, True), (1, False), (1, False), (1, True)]
        good = sm.count([part for part, error in parts if error is None])
        assert good == counted(sm.MetricSet(), [("a", "c", 1), ("b", "c", 1), ("a", "c", 1)])
        fine = form(pa.table({"y_true": ["a"], "y_pred": ["c"]}))
        assert next(samples.split(sm.MetricSet(), fine))[0] is fine
    refused(partial(fn.add_input, fn.create_accumulator(), {"label": ["a"]}), sm.LabelError, "'guess' to be a column")


def test_identifiers_one_by_one() -> None:
    """The number of labels is checked among many single samples."""
    single = Accumulate(sm.MetricSet(), max_labels=1000, on_bad="count")
    samples = ((at, 1) for at in range(70_000))
    refused(partial(single.add_inputs, single.create_accumulator(), samples), sm.LabelError, "at most 1,000")


def test_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the module runs and prints the accuracy of each key."""
    monkeypatch.setattr(beam, "Pipeline", partial(beam.Pipeline, runner=FN_API))

    assert sorted(run_example(adapter, {})) == ["('de', 1.0)", "('fr', 0.5)", "(None, 'cat')", "1"]


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
