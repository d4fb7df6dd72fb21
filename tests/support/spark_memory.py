"""Peak memory of a Spark task that counts scores of many small groups, in a process of its own."""

from __future__ import annotations

import resource

import numpy as np
import pyarrow as pa

import stream_metrics as sm
from stream_metrics.integrations import spark_workers
from stream_metrics.integrations.tables import Job
from stream_metrics.tables.fields import Fields

GROUPS, ROWS, CLASSES, BATCH = 2_000, 400_000, 10, 10_000
MOST = 400  # MiB on top of the process before; as many states would need gigabytes


def batches() -> object:
    """Yield rows of probabilities, each of one of the groups."""
    rng = np.random.default_rng(1)
    offsets = pa.array(np.arange(0, BATCH * CLASSES + 1, CLASSES), pa.int32())
    for _ in range(ROWS // BATCH):
        scores = pa.ListArray.from_arrays(offsets, rng.dirichlet(np.ones(CLASSES), BATCH).ravel())
        labels = pa.array(rng.integers(0, CLASSES, BATCH))
        columns = {"k0": pa.array(rng.integers(0, GROUPS, BATCH)), "y_true": labels, "scores": scores}
        yield pa.record_batch(columns)


def used() -> float:
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Count all rows, and compare memory and number of rows."""
    fields = Fields("y_true", None, "scores", classes=list(range(CLASSES)))
    before = used()
    job = Job.of(sm.MetricSet(scores=True), fields, "raise", None)
    yielded = spark_workers.count_by_key(job, ["k0"], spark_workers.LARGE, batches())
    rows = sum(batch.column("state").null_count for batch in yielded)
    assert rows == ROWS
    assert used() - before < MOST, used() - before
    print("all right")


if __name__ == "__main__":
    main()
