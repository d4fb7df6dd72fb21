"""Sources of rows, read as tables one after another: whole, or in batches if they have them.

A source is recognised by its methods, so no package is imported but pyarrow, for the Arrow stream protocol. If a source
can select columns, only those that are counted are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from stream_metrics.inputs.arrow import pyarrow
from stream_metrics.tables.counting import Place
from stream_metrics.tables.fields import Fields, names_of

Placed: TypeAlias = Iterator[tuple[Any, Place]]

BATCH = 1 << 16  # rows of a batch of a dataset or a query
AHEAD = {"batch_readahead": 4, "fragment_readahead": 2}  # batches and files that a scan holds in memory


def tables_of(source: Any, fields: Fields) -> Placed:
    """Yield the tables of a source, each with the place of its first row; TypeError if it is not a source.

    LabelError for a column that the source does not have, if that is known before it is read.
    """
    if isinstance(source, Mapping) or hasattr(source, "iloc"):  # of pandas
        return iter([(source, Place())])
    if hasattr(source, "get_fragments") and hasattr(source, "scanner"):  # a dataset of Arrow
        fields.check(source.schema.names, "dataset")
        scanner = source.scanner(columns=fields.columns(), batch_size=BATCH, **AHEAD)
        return _scanned(scanner, getattr(source, "_scan_options", {}).get("filter") is None)
    if hasattr(source, "scan_batches"):  # a scanner of Arrow
        fields.check(source.projected_schema.names, "scanner")
        return _scanned(source, False)
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # a query of polars
        fields.check(source.collect_schema().names(), "query")
        query = source.select(fields.columns())
        parts = query.collect_batches(chunk_size=BATCH) if hasattr(query, "collect_batches") else [query.collect()]
        return _in_order(parts)
    if hasattr(source, "get_column"):  # a data frame of polars
        return iter([(source, Place())])
    if hasattr(source, "__arrow_c_stream__"):
        return _streamed(source, fields)
    if hasattr(source, "__arrow_c_array__"):
        return iter([(pyarrow().record_batch(source), Place())])
    if not isinstance(source, Iterable) or isinstance(source, str | bytes) or hasattr(source, "to_delayed"):
        raise TypeError(
            f"Expected `table` to be a table, a data frame, a reader or a dataset of Arrow, a query, a mapping of "
            f"columns, or an iterable of tables, but got {type(source).__name__}; stream_metrics.integrations has "
            f"functions for Spark, Dask, Ray and Beam"
        )
    return _one_by_one(source, fields)


def _streamed(source: Any, fields: Fields) -> Placed:
    """Yield the batches of an Arrow stream."""
    pa = pyarrow()
    if isinstance(source, pa.Table):
        fields.check(names_of(source), "table")
        return iter([(source, Place())])
    try:
        reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    except pa.ArrowInvalid:
        raise TypeError("Expected `table` to be a table, but got a column") from None
    fields.check(reader.schema.names, "table")
    return _in_order(reader)


def _in_order(batches: Iterable[Any]) -> Placed:
    """Yield batches that follow each other."""
    row = 0
    for batch in batches:
        yield batch, Place(row=row)
        row += len(batch)


def _scanned(scanner: Any, whole: bool) -> Placed:
    """Yield the batches of files; the numbers of their rows are known if `whole` files are read."""
    rows: dict[str | None, int] = {}
    for tagged in scanner.scan_batches():
        batch, file = tagged.record_batch, getattr(tagged.fragment, "path", None)
        yield batch, Place(file, None, rows.get(file, 0) if whole else None)
        rows[file] = rows.get(file, 0) + batch.num_rows


def _one_by_one(sources: Iterable[Any], fields: Fields) -> Placed:
    """Yield the tables of several sources, numbered as partitions."""
    for partition, source in enumerate(sources):
        for table, place in tables_of(source, fields):
            yield table, place if place.file is not None else place._replace(partition=partition)
