"""Which columns of a Spark data frame are read: by name, nested path or Column object, renamed to fixed names.

Between the caller's data frame and the result, keys are called k0, k1, ... and the columns that are counted by what
they are, so that no name of the caller can clash with one of ours, and none has to be quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StringType, StructField, StructType

from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.labels import Label
from stream_metrics.states.batches import label_counts
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.fields import Fields

__all__ = ["ColumnRef", "Selected", "countable", "numbered", "select"]

ColumnRef: TypeAlias = "str | Column"

SESSION = "spark.sessionWindow"  # in the metadata of a column that Spark would merge by sessions in a `groupBy` only
LABELS = {"tinyint", "smallint", "int", "bigint", "boolean", "float", "double", "string", "binary"}  # equal as labels
AS_TEXT = ("interval", "interval year to month", "interval year", "interval month")  # Arrow has none of them


class Selected(NamedTuple):
    """The columns that are read, under our names, and how the columns of keys get their names and types back."""

    rows: DataFrame
    keys: list[str]
    fields: Fields
    named_keys: list[StructField]

    def restored(self, df: DataFrame, names: Iterable[str]) -> DataFrame:
        """Return a result with the keys as the caller knows them, and these names for its other columns.

        A name that a key has already is given with "sm_" before it.
        """
        columns = [_decoded(F.col(key), field) for key, field in zip(self.keys, self.named_keys, strict=True)]
        used = {field.name.lower() for field in self.named_keys}
        for other, name in zip(df.columns[len(columns) :], names, strict=True):
            while name.lower() in used:
                name = f"sm_{name}"
            used.add(name.lower())
            columns.append(F.col(other).alias(name))
        return df.select(*columns)


def select(df: DataFrame, keys: Any, fields: Fields, classes: Iterable[Label] | None = None) -> Selected:
    """Return the columns of keys and of `fields`; LabelError for one that `df` does not have.

    `classes` are those of `fields`, if these have none.
    """
    if classes is not None:
        fields = fields._replace(classes=list(classes))
    keys = [keys] if isinstance(keys, str) or hasattr(keys, "cast") else list(keys)  # a Column has no length
    key_columns = [_column(df, key, "keys") for key in keys]
    named_keys = list(df.select(*key_columns).schema) if keys else []
    for key, field in zip(keys, named_keys, strict=True):
        if not isinstance(key, str) and field.metadata.get(SESSION):
            raise LabelError(f"Expected `keys` to be known for each row, but a session window, {field.name!r}, is not")
    ours = [f"k{at}" for at in range(len(keys))]
    selected = [
        _encoded(column, field.dataType).alias(name)
        for column, field, name in zip(key_columns, named_keys, ours, strict=True)
    ]
    columns, inner = _roles(df, fields)
    selected += [column.alias(name) for name, column in columns.items()]
    rows = df.select(*selected)
    rows = rows.select(*ours, *(_readable(name, rows.schema[name].dataType).alias(name) for name in columns))
    listed = inner.scores == "scores" and isinstance(rows.schema["scores"].dataType, ArrayType)
    if listed != (fields.classes is not None):
        raise ScoreError(
            f"Expected `classes` with one column of arrays of scores, and only then, but got {fields.classes!r} with "
            f"{fields.scores!r}"
        )
    return Selected(rows, ours, inner, named_keys)


def countable(selected: Selected, empty: Accumulator) -> DataFrame | None:
    """Return how many rows `n` each key and pair of labels has, and the number `at` of the first; None if not exact.

    It is exact where labels are plain, and the state counts labels without weights only.
    """
    kinds = [field.dataType.simpleString() for field in selected.rows.schema[len(selected.keys) :]]
    if selected.fields != Fields() or not LABELS.issuperset(kinds) or label_counts(empty) is None:
        return None
    pairs = numbered(selected.rows).groupBy(*selected.rows.columns)
    return pairs.agg(F.count(F.lit(1)).alias("n"), F.min("at").alias("at"))


def numbered(rows: DataFrame) -> DataFrame:
    """Return rows with a column `at` of their numbers: the partition above `spark_workers.ROW_BITS`, the row below."""
    return rows.withColumn("at", F.monotonically_increasing_id())


def _roles(df: DataFrame, fields: Fields) -> tuple[dict[str, Column], Fields]:
    """Return the columns of `fields` by our names, and fields with our names."""
    columns: dict[str, Column] = {}
    names: dict[str, Any] = dict.fromkeys(fields._fields)
    for role, value in fields._asdict().items():
        if role == "classes":
            names[role] = value
        elif isinstance(value, Mapping):
            names[role] = {label: f"{role} {at}" for at, label in enumerate(value)}
            columns |= {names[role][label]: _column(df, column, role) for label, column in value.items()}
        elif value is not None:
            names[role] = role
            columns[role] = _column(df, value, role)
    return columns, Fields(**names)


def _column(df: DataFrame, value: Any, argument: str) -> Column:
    """Return the column that an argument is or names: the name of a column, dots and all, or a path of fields."""
    if not isinstance(value, str):
        return value
    is_name = value.lower() in {name.lower() for name in df.columns}
    column = F.col("`" + value.replace("`", "``") + "`" if is_name else value)
    try:
        df.select(column).schema  # noqa: B018  # which Spark Connect asks for the first time here
    except AnalysisException as error:
        raise LabelError(
            f"Expected `{argument}` to be a column of the table, but got {value!r}; the columns are {df.columns}"
        ) from error
    return column


def _readable(name: str, kind: DataType) -> Column:
    """Return a column as workers read it: vectors of spark.ml as arrays, whole decimals as integers."""
    column = F.col(f"`{name}`")
    if type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        return vector_to_array(column)
    if isinstance(kind, DecimalType) and name.startswith("scores"):
        return column.cast("double")
    if isinstance(kind, DecimalType) and kind.scale == 0 and name in ("y_true", "y_pred"):
        fits = column.isNull() | column.between(-(2**63), 2**63 - 1)
        error = F.raise_error(F.lit(f"Expected `{name}` to be a decimal of at most 64 bits")).cast("long")
        return F.when(fits, column.cast("long")).otherwise(error)
    return column


def _encoded(column: Column, kind: DataType) -> Column:
    """Return a key as a type that Arrow and Spark's windows know, with the same groups."""
    if isinstance(kind, MapType):
        return F.array_sort(F.map_entries(column))
    return column.cast(_transport(kind)) if _transport(kind) != kind else column


def _decoded(column: Column, field: StructField) -> Column:
    """Return a key that was encoded, with its name."""
    if isinstance(field.dataType, MapType):
        column = F.map_from_entries(column)
    elif _transport(field.dataType) != field.dataType:
        column = column.cast(field.dataType)
    return column.alias(field.name, metadata=field.metadata)


def _transport(kind: DataType) -> DataType:
    """Return a type with intervals of months as text, also inside structs and arrays."""
    if kind.simpleString() in AS_TEXT:
        return StringType()
    if isinstance(kind, ArrayType):
        return ArrayType(_transport(kind.elementType), kind.containsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _transport(f.dataType), f.nullable, f.metadata) for f in kind])
    return kind
