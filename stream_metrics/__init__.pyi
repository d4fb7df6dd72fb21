"""The names of the package. Written by .ci/generate.py; do not edit."""

from stream_metrics import integrations as integrations
from stream_metrics import plots as plots
from stream_metrics import testing as testing
from stream_metrics.arrays import classification_report
from stream_metrics.arrays import evaluate
from stream_metrics.catalog.listing import metrics
from stream_metrics.catalog.table import UnknownMetricError
from stream_metrics.collector.reporter import Reporter
from stream_metrics.containers.aggregate import Aggregate
from stream_metrics.containers.aggregate import PutResult
from stream_metrics.containers.aggregate import merge
from stream_metrics.containers.fading import Fading
from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.rolling import Rolling
from stream_metrics.containers.timed import TimeWindow
from stream_metrics.errors import DecodeError
from stream_metrics.errors import LabelError
from stream_metrics.errors import MergeError
from stream_metrics.errors import OptionError
from stream_metrics.errors import ReportError
from stream_metrics.errors import ScoreError
from stream_metrics.errors import StreamMetricsError
from stream_metrics.errors import TimeError
from stream_metrics.errors import WeightError
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inference.planning import power
from stream_metrics.inference.planning import samples_for_power
from stream_metrics.inference.planning import samples_needed
from stream_metrics.inference.running import RunningInterval
from stream_metrics.inputs.columns import Categorical
from stream_metrics.metrics.classes import Accuracy
from stream_metrics.metrics.classes import AverageAccuracy
from stream_metrics.metrics.classes import AveragePrecision
from stream_metrics.metrics.classes import BalancedAccuracy
from stream_metrics.metrics.classes import BrierScore
from stream_metrics.metrics.classes import CohenKappa
from stream_metrics.metrics.classes import CramersV
from stream_metrics.metrics.classes import CrossEntropy
from stream_metrics.metrics.classes import DebiasedCalibrationError
from stream_metrics.metrics.classes import DetectionPrevalence
from stream_metrics.metrics.classes import ExpectedCalibrationError
from stream_metrics.metrics.classes import F1
from stream_metrics.metrics.classes import FBeta
from stream_metrics.metrics.classes import FalseDiscoveryRate
from stream_metrics.metrics.classes import FalseNegativeRate
from stream_metrics.metrics.classes import FalseOmissionRate
from stream_metrics.metrics.classes import FalsePositiveRate
from stream_metrics.metrics.classes import GeneralF1
from stream_metrics.metrics.classes import GeneralFowlkesMallows
from stream_metrics.metrics.classes import GeneralizedMCC
from stream_metrics.metrics.classes import GeometricMean
from stream_metrics.metrics.classes import Gini
from stream_metrics.metrics.classes import HandTillAUC
from stream_metrics.metrics.classes import Jaccard
from stream_metrics.metrics.classes import KSStatistic
from stream_metrics.metrics.classes import LogLoss
from stream_metrics.metrics.classes import MCC
from stream_metrics.metrics.classes import MacroAveragePrecision
from stream_metrics.metrics.classes import MacroCalibrationError
from stream_metrics.metrics.classes import MacroF1
from stream_metrics.metrics.classes import MacroFBeta
from stream_metrics.metrics.classes import MacroJaccard
from stream_metrics.metrics.classes import MacroPrecision
from stream_metrics.metrics.classes import MacroROCAUC
from stream_metrics.metrics.classes import MacroRecall
from stream_metrics.metrics.classes import MacroSpecificity
from stream_metrics.metrics.classes import MaximumCalibrationError
from stream_metrics.metrics.classes import MicroAveragePrecision
from stream_metrics.metrics.classes import MicroF1
from stream_metrics.metrics.classes import MicroFBeta
from stream_metrics.metrics.classes import MicroJaccard
from stream_metrics.metrics.classes import MicroPrecision
from stream_metrics.metrics.classes import MicroROCAUC
from stream_metrics.metrics.classes import MicroRecall
from stream_metrics.metrics.classes import NPV
from stream_metrics.metrics.classes import NegativeF1
from stream_metrics.metrics.classes import OvAAccuracy
from stream_metrics.metrics.classes import OvABalancedAccuracy
from stream_metrics.metrics.classes import OvAMCC
from stream_metrics.metrics.classes import OvO
from stream_metrics.metrics.classes import OvOAccuracy
from stream_metrics.metrics.classes import OvOCohenKappa
from stream_metrics.metrics.classes import OvOF1
from stream_metrics.metrics.classes import OvOMCC
from stream_metrics.metrics.classes import P4
from stream_metrics.metrics.classes import PRAUCTrapezoid
from stream_metrics.metrics.classes import PRFowlkesMallows
from stream_metrics.metrics.classes import PairFowlkesMallows
from stream_metrics.metrics.classes import PartialROCAUC
from stream_metrics.metrics.classes import Precision
from stream_metrics.metrics.classes import PrecisionAtRecall
from stream_metrics.metrics.classes import Prevalence
from stream_metrics.metrics.classes import ROCAUC
from stream_metrics.metrics.classes import Recall
from stream_metrics.metrics.classes import SingleScoreAUC
from stream_metrics.metrics.classes import Specificity
from stream_metrics.metrics.classes import SphericalScore
from stream_metrics.metrics.classes import TPRAtFPR
from stream_metrics.metrics.classes import TopKAccuracy
from stream_metrics.metrics.classes import WeightedAveragePrecision
from stream_metrics.metrics.classes import WeightedBalancedAccuracy
from stream_metrics.metrics.classes import WeightedF1
from stream_metrics.metrics.classes import WeightedFBeta
from stream_metrics.metrics.classes import WeightedJaccard
from stream_metrics.metrics.classes import WeightedKappa
from stream_metrics.metrics.classes import WeightedPrecision
from stream_metrics.metrics.classes import WeightedROCAUC
from stream_metrics.metrics.classes import WeightedRecall
from stream_metrics.metrics.classes import ZeroOneLoss
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.scoring import scorer
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Estimate
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector
from stream_metrics.states.detector import outcome
from stream_metrics.states.joint import Comparison
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch
from stream_metrics.tables.bad_rows import BadRows
from stream_metrics.tables.count import count
from stream_metrics.wire import from_bytes

__version__: str

__all__ = [
    "Accuracy",
    "Aggregate",
    "AverageAccuracy",
    "AveragePrecision",
    "BadRows",
    "BalancedAccuracy",
    "BrierScore",
    "ByGroup",
    "Categorical",
    "ChangeDetector",
    "CohenKappa",
    "Comparison",
    "ConfusionMatrix",
    "CramersV",
    "CrossEntropy",
    "DebiasedCalibrationError",
    "DecodeError",
    "DetectionPrevalence",
    "Estimate",
    "ExpectedCalibrationError",
    "F1",
    "FBeta",
    "Fading",
    "FalseDiscoveryRate",
    "FalseNegativeRate",
    "FalseOmissionRate",
    "FalsePositiveRate",
    "GeneralF1",
    "GeneralFowlkesMallows",
    "GeneralizedMCC",
    "GeometricMean",
    "Gini",
    "GroupSnapshot",
    "HandTillAUC",
    "Interval",
    "Jaccard",
    "KSStatistic",
    "LabelError",
    "LogLoss",
    "MCC",
    "MacroAveragePrecision",
    "MacroCalibrationError",
    "MacroF1",
    "MacroFBeta",
    "MacroJaccard",
    "MacroPrecision",
    "MacroROCAUC",
    "MacroRecall",
    "MacroSpecificity",
    "MaximumCalibrationError",
    "MergeError",
    "Metric",
    "MetricSet",
    "MicroAveragePrecision",
    "MicroF1",
    "MicroFBeta",
    "MicroJaccard",
    "MicroPrecision",
    "MicroROCAUC",
    "MicroRecall",
    "NPV",
    "NegativeF1",
    "OptionError",
    "OvAAccuracy",
    "OvABalancedAccuracy",
    "OvAMCC",
    "OvO",
    "OvOAccuracy",
    "OvOCohenKappa",
    "OvOF1",
    "OvOMCC",
    "P4",
    "PRAUCTrapezoid",
    "PRFowlkesMallows",
    "PairFowlkesMallows",
    "PartialROCAUC",
    "Precision",
    "PrecisionAtRecall",
    "Prevalence",
    "ProbabilityLosses",
    "PutResult",
    "ROCAUC",
    "RankSketch",
    "Recall",
    "ReportError",
    "Reporter",
    "Rolling",
    "RunningInterval",
    "ScoreError",
    "SingleScoreAUC",
    "Snapshot",
    "Specificity",
    "SphericalScore",
    "StreamMetricsError",
    "TPRAtFPR",
    "TimeError",
    "TimeWindow",
    "TopKAccuracy",
    "UnknownMetricError",
    "WeightError",
    "WeightedAveragePrecision",
    "WeightedBalancedAccuracy",
    "WeightedF1",
    "WeightedFBeta",
    "WeightedJaccard",
    "WeightedKappa",
    "WeightedPrecision",
    "WeightedROCAUC",
    "WeightedRecall",
    "ZeroOneLoss",
    "classification_report",
    "count",
    "evaluate",
    "from_bytes",
    "merge",
    "metrics",
    "outcome",
    "power",
    "samples_for_power",
    "samples_needed",
    "scorer",
]
