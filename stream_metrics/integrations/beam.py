"""Metrics as a combiner of Apache Beam: global, per key, in windows, with late data.

    import apache_beam as beam
    import stream_metrics as sm
    from stream_metrics.integrations.beam import Accumulate, SplitBad

    samples = [("fr", ("cat", "dog")), ("fr", ("cat", "cat")), ("de", ("dog", "dog"))]
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | beam.Create(samples)
            | beam.CombinePerKey(Accumulate(sm.MetricSet()))
            | beam.MapTuple(lambda country, state: (country, state.snapshot()["accuracy"]))
            | beam.Map(print)
        )

A combiner returns the state, not values of it, because panes and keys can then be combined again:
`beam.CombinePerKey(sm.merge)`, or `beam.CombineGlobally(sm.merge).without_defaults()`. From a state one reads
`state.snapshot()`, `state.get()`, or for a file `state.to_bytes()`.

With accumulation_mode=ACCUMULATING every pane holds all samples of its window so far, so the last pane of a window is
the one to keep; with DISCARDING it holds the samples since the pane before, and the panes are merged.

Columns with other names are named by `Fields`: `Accumulate(sm.MetricSet(), Fields("label", "guess"))`. A `TimeWindow`
takes the time of an element if it is put in first:

    beam.Map(lambda sample, t=beam.DoFn.TimestampParam: {**sample, "t": t})

A bad element fails its bundle. With on_bad="count" bad elements are left out, and the combiner returns the named tuple
(state, bad) with their number, reasons and first examples. To keep the elements themselves, split them off before:

    with beam.Pipeline() as pipeline:
        split = pipeline | "more" >> beam.Create([("cat", "dog"), (None, "cat")]) | SplitBad(sm.MetricSet())
        total = split.good | beam.CombineGlobally(Accumulate(sm.MetricSet()))
        _ = total | "n" >> beam.Map(lambda state: print(state.n))
        _ = split.bad | beam.MapTuple(lambda element, error: print(element))
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stream_metrics.inputs.arguments import OTHER_NAMES
from stream_metrics.integrations.tables import part_of
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import BadRows, Counted, OnBad, new_record
from stream_metrics.tables.counting import MOST_LABELS, START, UNKNOWN, Place, Refuse
from stream_metrics.tables.fields import Fields, check_columns, count_table, empty_copy
from stream_metrics.wire import decoded, encoded

try:
    import apache_beam as beam
    from apache_beam.typehints.decorators import IOTypeHints
    from apache_beam.utils.timestamp import Timestamp
except ImportError as error:
    raise ImportError('Expected Apache Beam to be installed: pip install "stream-metrics[beam]"') from error

__all__ = ["Accumulate", "SplitBad"]

OFTEN = 1 << 16  # samples after which the number of labels is checked


class Accumulate(beam.CombineFn):  # type: ignore[misc]
    """A CombineFn that counts samples into a state like `prototype`, and gives the state.

    Parameters
    ----------
    prototype : state, Metric, MetricSet or container
        The accumulator to count with. It is not changed, and samples that it has already are not included.
    fields : Fields, optional
        The names of the arguments of `update` in mappings and Rows. With it an element may also be a table whose
        columns they name: an Arrow table or record batch, as `beam.io.ReadFromParquetBatched` gives them, a pandas data
        frame, or a mapping from name to column.
    on_bad : {"raise", "count"}, default "raise"
        Whether a sample that cannot be counted fails its bundle, or is left out and recorded. With "count" the output
        is the named tuple (state, bad), whose second is a `BadRows`.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, as for `stream_metrics.count`. None is no limit.

    Raises
    ------
    ValueError
        If `prototype` is not an accumulator or does not merge, or an option is not allowed.

    Notes
    -----
    An element is one sample. A tuple or a list holds the first arguments of `update` in their order (truth, prediction,
    weight); a mapping, a named tuple or a `beam.Row` holds arguments by name (`y_true`, `y_pred`, `w`, and `scores`,
    `t`, `group` where the prototype takes them). What else it holds is not read, but another usual name of an argument
    that is missing, such as `weight`, raises TypeError. A Timestamp of Beam is a time.

    A bundle that Beam runs again starts from an empty state, so that nothing is counted twice. States travel between
    workers as `to_bytes()`.
    """

    def __init__(
        self,
        prototype: Accumulator,
        fields: Fields | None = None,
        *,
        on_bad: OnBad = "raise",
        max_labels: int | None = MOST_LABELS,
    ) -> None:
        super().__init__()
        self._samples = _Samples(prototype, fields, max_labels)
        self.prototype, self.fields, self.on_bad = self._samples.empty, fields, on_bad
        new_record(on_bad)

    def default_type_hints(self) -> IOTypeHints:
        """Return that any element is taken, and what is returned."""
        output = type(self.prototype) if self.on_bad == "raise" else Counted
        return IOTypeHints.empty().with_input_types(Any).with_output_types(output)

    def create_accumulator(self) -> Any:
        """Return an empty state and a record without bad rows, None unless these are counted."""
        return self.prototype.copy(), new_record(self.on_bad)

    def add_input(self, mutable_accumulator: Any, element: Any) -> Any:
        """Count a sample or a table, and return the accumulator."""
        state, bad = mutable_accumulator
        self._samples.count(state, element, None if bad is None else bad.add)
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        """Merge all into the first and return it; the others stay as they are. Of none, an empty one."""
        accumulators = iter(accumulators)
        total, total_bad = next(accumulators, None) or self.create_accumulator()
        for state, bad in accumulators:
            total.merge(state)
            if bad is not None:
                total_bad.merge(bad)
        return total, total_bad

    def extract_output(self, accumulator: Any) -> Any:
        """Return a copy, since Beam goes on counting into the state of a state cell."""
        state, bad = accumulator
        self._samples.check(state)
        return state.copy() if bad is None else Counted(state.copy(), bad.copy())

    def get_accumulator_coder(self) -> beam.coders.Coder:
        """Return the coder of states and records, `to_bytes()`."""
        return _AccumulatorCoder(type(self.prototype), self.on_bad)


class SplitBad(beam.PTransform):  # type: ignore[misc]
    """Splits elements into those that `Accumulate` can count, `result.good`, and the others, `result.bad`.

    Parameters
    ----------
    prototype : state, Metric, MetricSet or container
        The accumulator that `Accumulate` will count the elements with. It is not changed.
    fields : Fields, optional
        The names of arguments or columns, as for `Accumulate`.
    keyed : bool, default False
        Whether elements are tuples (key, sample), as `CombinePerKey` takes them.

    Notes
    -----
    A bad element is a tuple of the element and the text of its error. Of a table the rows before, between and after bad
    rows are tables, and each bad row is a table of its own.
    """

    def __init__(self, prototype: Accumulator, fields: Fields | None = None, *, keyed: bool = False) -> None:
        super().__init__()
        self.samples, self.keyed = _Samples(prototype, fields, None), keyed

    def expand(self, elements: Any) -> Any:
        """Return both collections, by the names good and bad."""
        return elements | beam.ParDo(_Split(self.samples, self.keyed)).with_outputs("bad", main="good")


class _Split(beam.DoFn):  # type: ignore[misc]
    """Lets a state of its own, which is given up with the bundle, count what is good."""

    def __init__(self, samples: _Samples, keyed: bool) -> None:
        self.samples, self.keyed = samples, keyed
        self.state = samples.empty

    def start_bundle(self) -> None:
        """Forget what the last bundle counted."""
        self.state = self.samples.empty.copy()

    def process(self, element: Any) -> Iterator[Any]:
        """Yield an element, or its parts, tagged if they are bad."""
        key, sample = element if self.keyed else (None, element)
        for part, problem in self.samples.split(self.state, sample):
            part = (key, part) if self.keyed else part
            yield part if problem is None else beam.pvalue.TaggedOutput("bad", (part, problem))


class _Samples:
    """Counts elements of any form into states like an empty one."""

    def __init__(self, prototype: Accumulator, fields: Fields | None, max_labels: int | None) -> None:
        if fields is not None and not isinstance(fields, Fields):
            raise ValueError(f"Expected `fields` to be Fields, or None, but got {fields!r}")
        self.empty, self.in_tables, self.fields = empty_copy(prototype), fields is not None, fields or Fields()
        self.names, self.max_labels = frozenset(inspect.signature(self.empty.update).parameters), max_labels
        self.check(self.empty)

    def check(self, state: Accumulator) -> None:
        """Raise LabelError if a state has too many labels."""
        self.fields.limit(self.max_labels).add(state)

    def count(self, state: Accumulator, element: Any, refuse: Refuse | None = None) -> None:
        """Count an element; what cannot be counted raises, or is refused."""
        if self._is_table(element):
            place = START if refuse is None else UNKNOWN
            count_table(state, element, self.fields, place, refuse, self.fields.limit(self.max_labels))
            self.check(state)
            return
        try:
            self._count_one(state, element)
        except (ValueError, TypeError) as error:
            if refuse is None:
                raise
            refuse(error, UNKNOWN, [0])
        if state.n % OFTEN == 0:
            self.check(state)

    def split(self, state: Accumulator, element: Any) -> Iterator[tuple[Any, str | None]]:
        """Yield the good parts of an element with None, and the bad ones with the texts of their errors."""
        refused: list[tuple[int, str]] = []

        def refuse(error: Exception, place: Place, rows: Sequence[int]) -> None:
            refused.extend((row, str(error)) for row in rows)

        if not self._is_table(element):
            self.count(state, element, refuse)
            yield element, refused[0][1] if refused else None
            return
        count_table(state, element, self.fields, UNKNOWN, refuse)
        start = 0
        for row, error in sorted(refused):
            if row > start:
                yield _rows(element, start, row), None
            yield _rows(element, row, row + 1), error
            start = row + 1
        rest = _rows(element, start, None) if refused else element
        if len(rest[self.fields.y_true]):
            yield rest, None

    def _is_table(self, element: Any) -> bool:
        if not self.in_tables or hasattr(element, "_asdict"):
            return False
        if not isinstance(element, Mapping):
            return hasattr(element, "columns")
        truth = element.get(self.fields.y_true)
        return hasattr(truth, "__len__") and not isinstance(truth, str | bytes)

    def _count_one(self, state: Accumulator, element: Any) -> None:
        if self.in_tables:  # a table of one row is read by the rules for tables
            row = _named(element)
            check_columns(self.fields.columns(), row, "element")
            row = {name: [_moment(row[name])] for name in self.fields.columns()}
            count_table(state, row, self.fields, UNKNOWN)
        elif type(element) is tuple or type(element) is list:
            state.update(*element)
        else:
            state.update(**self._arguments(_named(element)))

    def _arguments(self, named: Mapping[str, object]) -> Mapping[str, object]:
        """Return what are arguments of `update`; TypeError for another name of one that is missing."""
        if not self.names.issuperset(named):
            for name in named:
                meant = OTHER_NAMES.get(name)
                if name not in self.names and meant in self.names and meant not in named:
                    raise TypeError(f"Expected elements to have {meant!r}, but got {name!r}, which Fields can name")
            named = {name: value for name, value in named.items() if name in self.names}
        return {**named, "t": _moment(named["t"])} if "t" in named else named


def _named(element: Any) -> Mapping[str, Any]:
    """Return what an element holds by name."""
    if isinstance(element, Mapping):
        return element
    if hasattr(element, "_asdict"):  # a named tuple, a Row
        named: Mapping[str, Any] = element._asdict()
        return named
    raise TypeError(f"Expected elements to be tuples, mappings, named tuples or Rows, but got {element!r:.60}")


def _moment(value: Any) -> Any:
    return value.to_utc_datetime() if isinstance(value, Timestamp) else value


def _rows(table: Any, start: int, stop: int | None) -> Any:
    """Return some rows of a table."""
    if isinstance(table, Mapping):
        return {name: column[start:stop] for name, column in table.items()}
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


class _AccumulatorCoder(beam.coders.Coder):  # type: ignore[misc]
    """States of one kind with records of bad rows as their own bytes, equal for equal states."""

    def __init__(self, kind: type[Accumulator], on_bad: OnBad) -> None:
        self.kind, self.on_bad = kind, on_bad

    def encode(self, value: tuple[Accumulator, BadRows | None]) -> bytes:
        state, bad = part_of(*value)
        return state if bad is None else encoded([state, bad])

    def decode(self, encoded: bytes) -> tuple[Accumulator, BadRows | None]:
        state, bad = (encoded, None) if self.on_bad == "raise" else decoded(encoded)
        return self.kind.from_bytes(state), None if bad is None else BadRows.from_bytes(bad)

    def is_deterministic(self) -> bool:
        return True

    def to_type_hint(self) -> type:
        return tuple
