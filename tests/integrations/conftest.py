"""What the tests of several modules share: one local Spark, since its start takes longer than most tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support.spark_session import SETTINGS, skip_without_java


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark, quick to start: two threads, up to four attempts, a file a partition, batches of 200 rows."""
    sql = pytest.importorskip("pyspark.sql", reason="needs PySpark")
    skip_without_java()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = sql.SparkSession.builder.master("local[2,4]").config(map=SETTINGS).getOrCreate()
        yield session
        session.stop()
