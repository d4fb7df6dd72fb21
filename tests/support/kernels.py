"""The kernels that tests of states call, from one place."""

from stream_metrics._core.ranks.kernels import codes as codes
from stream_metrics.states.batches import run_writer as run_writer
