"""Engines that tests of several modules share, since their start takes longer than most tests."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from support.spark_session import SETTINGS, skip_without_java


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark, quick to start: two threads, up to four attempts, a file a partition, batches of 200 rows."""
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


@pytest.fixture(scope="session")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processors of this machine as a cluster, with a home of its own, since Ray keeps a token there."""
    module = pytest.importorskip("ray", reason="needs Ray")
    pytest.importorskip("pyarrow", reason="needs PyArrow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Ray Data warns of its own options when it is imported
        import ray.data  # noqa: F401

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 * 2**20)
        yield module
        module.shutdown()
