"""Metrics as a combiner of Apache Beam: global, per key, in windows, with late data.

    import apache_beam as beam
    import stream_metrics as sm
    from stream_metrics.integrations.beam import Accumulate

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

Rows with other names are renamed by `beam.Select(y_true="label", y_pred="guess")`. A `TimeWindow` takes the time of an
element if it is put in first:

    beam.Map(lambda sample, t=beam.DoFn.TimestampParam: {**sample, "t": t})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stream_metrics.integrations.tables import Fields, count_table, empty_copy
from stream_metrics.states.protocols import Accumulator

try:
    import apache_beam as beam
    from apache_beam.utils.timestamp import Timestamp
except ImportError as error:
    raise ImportError('Expected Apache Beam to be installed: pip install "stream-metrics[beam]"') from error

__all__ = ["Accumulate"]


class Accumulate(beam.CombineFn):  # type: ignore[misc]
    """A CombineFn that counts samples into a state like `prototype`, and gives the state.

    `prototype` is the configuration, any accumulator that merges: a metric, a `MetricSet`, a `ByGroup`, a `TimeWindow`,
    a state. Its counts are ignored. ValueError if it is none, or does not merge.

    An element is one sample. A tuple or a list holds the first arguments of `update` in their order (truth, prediction,
    weight); a mapping, a named tuple or a `beam.Row` holds arguments by name (`y_true`, `y_pred`, `w`, and `scores`,
    `t`, `group` where the prototype takes them). A Timestamp of Beam is a time.

    With `fields` an element is a table whose columns they name: an Arrow table or record batch, as
    `beam.io.ReadFromParquetBatched` gives them, a pandas data frame, or a mapping from name to column.

    A bad sample raises the error of `update` and fails its bundle. A bundle that Beam runs again starts from an empty
    state, so that nothing is counted twice. Between workers states travel as `to_bytes()`.
    """

    def __init__(self, prototype: Accumulator, fields: Fields | None = None) -> None:
        super().__init__()
        if fields is not None and not isinstance(fields, Fields):
            raise ValueError(f"Expected `fields` to be Fields, or None, but got {fields!r}")
        self.prototype, self.fields = empty_copy(prototype), fields

    def create_accumulator(self) -> Accumulator:
        """Return an empty state."""
        return self.prototype.copy()

    def add_input(self, mutable_accumulator: Accumulator, element: Any) -> Accumulator:
        """Count a sample, or with `fields` a table, and return the state."""
        kind = type(element)
        if self.fields is not None:
            count_table(mutable_accumulator, element, self.fields)
        elif kind is tuple or kind is list:
            mutable_accumulator.update(*element)
        else:
            mutable_accumulator.update(**_named(element))
        return mutable_accumulator

    def merge_accumulators(self, accumulators: Iterable[Accumulator]) -> Accumulator:
        """Merge all states into the first and return it; the others stay as they are. Of none, an empty one."""
        total = None
        for state in accumulators:
            total = state if total is None else total.merge(state)
        return self.create_accumulator() if total is None else total

    def extract_output(self, accumulator: Accumulator) -> Accumulator:
        """Return a copy of the state, since Beam goes on counting into the state of a state cell."""
        return accumulator.copy()

    def get_accumulator_coder(self) -> beam.coders.Coder:
        """Return the coder of states, `to_bytes()`."""
        return _StateCoder(type(self.prototype))


class _StateCoder(beam.coders.Coder):  # type: ignore[misc]
    """States of one kind as their own bytes, equal for equal states."""

    def __init__(self, kind: type[Accumulator]) -> None:
        self.kind = kind

    def encode(self, value: Accumulator) -> bytes:
        return value.to_bytes()

    def decode(self, encoded: bytes) -> Accumulator:
        return self.kind.from_bytes(encoded)

    def is_deterministic(self) -> bool:
        return True

    def to_type_hint(self) -> type[Accumulator]:
        return self.kind


def _named(element: Any) -> Mapping[str, object]:
    """Return the arguments of `update` that an element holds by name."""
    named = element
    if not isinstance(element, dict):
        if hasattr(element, "_asdict"):  # a named tuple, a Row
            named = element._asdict()
        elif not isinstance(element, Mapping):
            raise TypeError(f"Expected elements to be tuples, mappings, named tuples or Rows, but got {element!r:.60}")
    t = named.get("t")
    return {**named, "t": t.to_utc_datetime()} if isinstance(t, Timestamp) else named
