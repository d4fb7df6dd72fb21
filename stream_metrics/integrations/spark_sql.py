"""Functions for Spark SQL that merge and read states: `sm_merge`, `sm_metric`, `sm_n`.

    import os, sys

    os.environ["PYSPARK_PYTHON"] = sys.executable

    import stream_metrics as sm
    from pyspark.sql import SparkSession
    from stream_metrics.integrations.spark import accumulate_by, register
    from stream_metrics.integrations.tables import Fields

    spark = SparkSession.builder.getOrCreate()
    register(spark)
    rows = [("fr", "mon", "cat", "cat"), ("fr", "tue", "dog", "cat"), ("de", "mon", "dog", "dog")]
    df = spark.createDataFrame(rows, "country string, day string, truth string, guess string")
    accumulate_by(df, ["country", "day"], sm.MetricSet(), Fields("truth", "guess")).createOrReplaceTempView("states")

    spark.sql('''
        SELECT country, count(*) AS days, sm_n(sm_merge(state)) AS n, sm_metric(sm_merge(state), 'macro_f1') AS macro_f1
        FROM states GROUP BY country ORDER BY country
    ''').show()
    print(spark.sql("SELECT sm_metric(sm_merge(state), 'recall', 'cat') AS recall FROM states").first().recall)

- `sm_merge(state)` is an aggregate: the merge of states as bytes, without nulls. Other aggregates may stand beside it.
- `sm_merge_list(states)` merges an array of states.
- `sm_metric(state, key)` is a metric as a double; `sm_metric(state, key, label)` that of one class, nan if it is none.
- `sm_n(state)` is the number of samples of a state.

Through Spark Connect no other aggregates may stand beside `sm_merge(state)`; `sm_merge_list(collect_list(state))` does
the same with them. `spark.merge_states` is the aggregate for data frames, which has no such limit.
"""

from __future__ import annotations

from typing import Any

from stream_metrics.catalog.table import LABEL_VALUED, find
from stream_metrics.labels import Label
from stream_metrics.wire import from_bytes

try:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType, DoubleType, LongType
    from pyspark.sql.utils import is_remote

    from stream_metrics.integrations.spark_workers import merge_all, metric_value
except ImportError as error:
    raise ImportError('Expected PySpark, pandas and PyArrow: pip install "stream-metrics[spark]"') from error

__all__ = ["register"]

EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def register(spark: SparkSession) -> None:
    """Define the functions in a session.

    Parameters
    ----------
    spark : SparkSession
        The session, also one of Spark Connect.
    """
    # Spark would read the annotations of the functions themselves
    merge_list = F.udf(lambda states: _merge_list(states), BinaryType())
    spark.udf.register("sm_merge_list", merge_list)
    spark.udf.register("sm_metric", F.udf(lambda state, key, *label: _metric(state, key, *label), DoubleType()))
    spark.udf.register("sm_n", F.udf(lambda state: _n(state), LongType()))
    if is_remote():
        spark.udf.register("sm_merge", F.pandas_udf(_merge_series, BinaryType()))
    else:
        _register_aggregate(spark, "sm_merge", merge_list)


def _merge_list(states: list[bytes] | None) -> bytes | None:
    return None if states is None else merge_all(states)


def _merge_series(states: pd.Series) -> bytes:
    return merge_all(states)  # type: ignore[return-value]  # Spark reads the annotation, which may not be a union


def _metric(state: bytes | None, key: str, *labels: Label) -> float | None:
    """Return a metric of a state as one number; None for no state."""
    if state is None:
        return None
    per_class = find(key).kind == "per_class"
    if find(key).kind == "matrix" or key in LABEL_VALUED or len(labels) != per_class:
        number = "one with a label" if per_class else "none" if labels or per_class else "a number"
        raise ValueError(
            f"Expected `key` of sm_metric to be a number of all classes or of a label, but {key!r} is {number}"
        )
    counts = from_bytes(state)
    if not hasattr(counts, "snapshot"):
        raise ValueError(f"Expected `state` of sm_metric to be the bytes of a state, but got those of {counts!r}")
    return metric_value(counts.snapshot(), key, *(labels or (None,)))


def _n(state: bytes | None) -> int | None:
    return None if state is None else int(from_bytes(state).n)


def _register_aggregate(spark: SparkSession, name: str, function: Any) -> None:
    """Register `function(collect_list(x))` as a function of x.

    Python aggregates cannot stand beside others, and functions of SQL cannot aggregate. So the function is put together
    from methods of the JVM: it takes the arguments of a call, and returns the expression that Spark puts in its place.
    """
    jvm: Any = spark._jvm
    handles = jvm.java.lang.invoke.MethodHandles
    lookup, kinds = handles.publicLookup(), jvm.java.lang.invoke.MethodType

    def named(path: str) -> Any:
        return jvm.org.apache.spark.util.Utils.classForName(path, True, False)

    def bound(handle: Any, value: Any) -> Any:
        values = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
        values[0] = value
        return handles.insertArguments(handle, 0, values)

    anything, sequence = named("java.lang.Object"), named("scala.collection.immutable.List")
    aggregate = named(f"{EXPRESSIONS}.aggregate.AggregateExpression")
    collect, step = (named(f"{EXPRESSIONS}.aggregate.{kind}") for kind in ("CollectList", "AggregateFunction"))
    no_value, an_expression = jvm.java.lang.Void.TYPE, named(f"{EXPRESSIONS}.Expression")
    empty = jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList()).toList()
    udf = function._unwrapped._judf
    builder = next(method for method in udf.getClass().getMethods() if method.getName() == "builder")
    steps = [
        lookup.findVirtual(named("scala.collection.Seq"), "head", kinds.methodType(anything)),
        lookup.findConstructor(collect, kinds.methodType(no_value, an_expression)),
        lookup.findVirtual(step, "toAggregateExpression", kinds.methodType(aggregate)),
        bound(lookup.findVirtual(sequence, "$colon$colon", kinds.methodType(sequence, anything)), empty),
        bound(lookup.unreflect(builder), udf),
    ]
    generic = kinds.genericMethodType(1)
    composed, *others = (handle.asType(generic) for handle in steps)
    for handle in others:
        composed = handles.filterReturnValue(composed, handle)
    call = jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(named("scala.Function1"), composed)
    registry = spark._jsparkSession.sessionState().functionRegistry()
    registry.createOrReplaceTempFunction(name, call, "python_udf")
