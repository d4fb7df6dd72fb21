"""Streaming, mergeable classification metrics: exact counters, every metric, any number of shards."""

from stream_metrics.containers.aggregate import Aggregate, merge
from stream_metrics.containers.fading import Fading
from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.rolling import Rolling
from stream_metrics.containers.timed import TimeWindow
from stream_metrics.errors import DecodeError, LabelError, MergeError, ScoreError, StreamMetricsError, WeightError
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inference.planning import power, samples_for_power, samples_needed
from stream_metrics.inference.running import RunningInterval
from stream_metrics.inputs.columns import Categorical
from stream_metrics.metrics.metric import CLASSES, Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Estimate, Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector, outcome
from stream_metrics.states.joint import Comparison
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch
from stream_metrics.wire import from_bytes

__version__ = "0.1.0"

globals().update(CLASSES)  # the metric classes: one for each row of the catalog that names one

__all__ = [
    "Aggregate",
    "ByGroup",
    "Categorical",
    "ChangeDetector",
    "Comparison",
    "ConfusionMatrix",
    "DecodeError",
    "Estimate",
    "Fading",
    "GroupSnapshot",
    "Interval",
    "LabelError",
    "MergeError",
    "Metric",
    "MetricSet",
    "ProbabilityLosses",
    "RankSketch",
    "Rolling",
    "RunningInterval",
    "ScoreError",
    "Snapshot",
    "StreamMetricsError",
    "TimeWindow",
    "WeightError",
    "from_bytes",
    "merge",
    "outcome",
    "power",
    "samples_for_power",
    "samples_needed",
    *CLASSES,
]
__all__.sort()
