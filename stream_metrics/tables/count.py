"""Tables of any library, counted in one call with bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.inner import walk_inner
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.bad_rows import Counted, OnBad
from stream_metrics.tables.counting import MOST_LABELS
from stream_metrics.tables.fields import Fields, count_tables, empty_copy, tables_of


def count(
    table: Any,
    prototype: Accumulator | None = None,
    *,
    y_true: str = "y_true",
    y_pred: str | None = None,
    w: str | None = None,
    scores: str | Mapping[Label, str] | None = None,
    classes: Sequence[Label] | None = None,
    group: str | None = None,
    t: str | None = None,
    on_bad: OnBad = "raise",
    max_labels: int | None = MOST_LABELS,
) -> Any:
    """Count the rows of a table, or of a reader in batches, whose columns are named.

    Parameters
    ----------
    table : table, reader, query, mapping or iterable
        Anything with an Arrow stream (a table or a reader of pyarrow, a relation of DuckDB, ...), a dataset or a
        scanner of pyarrow, a data frame of pandas or polars, a lazy frame of polars, a mapping from name to column, or
        an iterable of these.
    prototype : state, Metric, MetricSet or container, optional
        A state with the configuration to count with; its counts are ignored. By default a `MetricSet`, with scores if
        `scores` are named; with `group` in a `ByGroup`.
    y_true : str, default "y_true"
        The column of true labels; of a data frame of pandas also a level of the index, as every column here.
    y_pred : str, optional
        The column of predictions. By default "y_pred", or with `scores` none: the class of the largest score.
    w : str, optional
        The column of weights.
    scores : str or mapping from Label to str, optional
        A column of scores: of `pos_label`, mappings from class to score, or arrays of the scores of `classes`. Or for
        each class its column.
    classes : sequence of Label, optional
        The classes of a column of arrays of scores, in their order.
    group : str, optional
        The column of groups.
    t : str, optional
        The column of times, for a prototype that has them.
    on_bad : {"raise", "count"}, default "raise"
        Whether a row that cannot be counted raises, or is left out and recorded.
    max_labels : int or None, default 100_000
        The largest number of distinct labels, because a column of identifiers is most likely a mistake. None is no
        limit.

    Returns
    -------
    state or Counted
        A new state like `prototype`; with on_bad="count" the named tuple (state, bad), whose second is a `BadRows`.

    Raises
    ------
    LabelError
        If a column is missing, there are more labels than `max_labels`, or a label is not allowed; the message names
        the column, or the row with its file.
    ScoreError, WeightError, TimeError
        If a score, a weight or a time is not allowed, unless on_bad="count".
    ValueError
        If `prototype` does not merge, or an option is not allowed.
    TypeError
        If `table` is not a source of rows.

    See Also
    --------
    evaluate : Columns in, metrics out.

    Notes
    -----
    Memory: the state, and of a source in batches a few batches. Batches of any size give the same bytes.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> rows = {"label": ["cat", "dog", None], "guess": ["cat", "cat", "dog"]}
    >>> state, bad = sm.count(rows, y_true="label", y_pred="guess", on_bad="count")
    >>> state.snapshot()["accuracy"], bad.n, bad.first[0].row
    (0.5, 1, 2)
    """
    fields = Fields(y_true, "y_pred" if y_pred is None and scores is None else y_pred, scores, w, group, t, classes)
    state = empty_copy(MetricSet(scores=scores is not None) if prototype is None else prototype)
    if group is not None and not any(isinstance(part, ByGroup) for part in walk_inner(state)):
        state = ByGroup(state)
    state, bad = count_tables(state, tables_of(table, fields), fields, on_bad, max_labels)
    return state if bad is None else Counted(state, bad)
