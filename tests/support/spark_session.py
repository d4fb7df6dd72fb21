"""Settings of a local Spark that starts quickly, reads a file a partition, and sends small batches to Python."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "Europe/Paris",
    "spark.sql.files.openCostInBytes": "128m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200",
}


def skip_without_java() -> None:
    """Skip a test on a machine without Java."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark, quick to start: two threads, up to four attempts, a file a partition, batches of 200 rows.

    A process has one session, so the tests of all folders share it.
    """
    sql = pytest.importorskip("pyspark.sql", reason="needs PySpark")
    pytest.importorskip("pyarrow", reason="needs PyArrow")
    skip_without_java()
    from stream_metrics.integrations import spark as adapter

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setattr(adapter, "TASKS", 2)  # tasks that merge: each empty one of 16 takes its time
        session = sql.SparkSession.builder.master("local[2,4]").config(map=SETTINGS).getOrCreate()
        yield session
        session.stop()
