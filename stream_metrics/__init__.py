"""Streaming, mergeable classification metrics: exact counters, every metric, any number of shards."""

from stream_metrics.aggregate import Aggregate, merge
from stream_metrics.errors import DecodeError, LabelError, MergeError, ScoreError, StreamMetricsError, WeightError
from stream_metrics.group_snapshot import GroupSnapshot
from stream_metrics.groups import ByGroup
from stream_metrics.inference.intervals import Interval
from stream_metrics.inference.planning import power, samples_for_power, samples_needed
from stream_metrics.inference.running import RunningInterval
from stream_metrics.metric import CLASSES, Metric
from stream_metrics.metric_set import MetricSet
from stream_metrics.snapshot import Estimate, Snapshot
from stream_metrics.states.columns import Categorical
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector, outcome
from stream_metrics.states.joint import Comparison
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch
from stream_metrics.windows.fading import Fading
from stream_metrics.windows.rolling import Rolling
from stream_metrics.windows.timed import TimeWindow
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
