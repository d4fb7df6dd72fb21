"""Settings of a local Spark that starts quickly, reads a file a partition, and sends small batches to Python."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["SETTINGS", "skip_without_java"]

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
