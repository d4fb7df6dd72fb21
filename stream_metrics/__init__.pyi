"""The names of the package. Written by .ci/generate.py; do not edit."""

from stream_metrics import integrations as integrations
from stream_metrics import plots as plots
from stream_metrics import testing as testing
from stream_metrics.arrays import classification_report as classification_report
from stream_metrics.arrays import evaluate as evaluate
from stream_metrics.catalog.table import UnknownMetricError as UnknownMetricError
from stream_metrics.catalog.table import metrics as metrics
from stream_metrics.collector.reporter import Reporter as Reporter
from stream_metrics.containers.aggregate import Aggregate as Aggregate
from stream_metrics.containers.aggregate import merge as merge
from stream_metrics.containers.fading import Fading as Fading
from stream_metrics.containers.groups import ByGroup as ByGroup
from stream_metrics.containers.multilabel import MultiLabel as MultiLabel
from stream_metrics.containers.rolling import Rolling as Rolling
from stream_metrics.containers.timed import TimeWindow as TimeWindow
from stream_metrics.containers.workers import PutResult as PutResult
from stream_metrics.errors import DecodeError as DecodeError
from stream_metrics.errors import LabelError as LabelError
from stream_metrics.errors import MergeError as MergeError
from stream_metrics.errors import OptionError as OptionError
from stream_metrics.errors import ReportError as ReportError
from stream_metrics.errors import ScoreError as ScoreError
from stream_metrics.errors import StreamMetricsError as StreamMetricsError
from stream_metrics.errors import TimeError as TimeError
from stream_metrics.errors import WeightError as WeightError
from stream_metrics.evaluation.evaluation import Estimate as Estimate
from stream_metrics.inference.intervals.interval import Interval as Interval
from stream_metrics.inference.planning import power as power
from stream_metrics.inference.planning import samples_for_power as samples_for_power
from stream_metrics.inference.planning import samples_needed as samples_needed
from stream_metrics.inference.running import RunningInterval as RunningInterval
from stream_metrics.inputs.columns import Categorical as Categorical
from stream_metrics.metrics.classes import Accuracy as Accuracy
from stream_metrics.metrics.classes import AverageAccuracy as AverageAccuracy
from stream_metrics.metrics.classes import AveragePrecision as AveragePrecision
from stream_metrics.metrics.classes import BalancedAccuracy as BalancedAccuracy
from stream_metrics.metrics.classes import BrierScore as BrierScore
from stream_metrics.metrics.classes import CohenKappa as CohenKappa
from stream_metrics.metrics.classes import CramersV as CramersV
from stream_metrics.metrics.classes import CrossEntropy as CrossEntropy
from stream_metrics.metrics.classes import DebiasedCalibrationError as DebiasedCalibrationError
from stream_metrics.metrics.classes import DetectionPrevalence as DetectionPrevalence
from stream_metrics.metrics.classes import ExpectedCalibrationError as ExpectedCalibrationError
from stream_metrics.metrics.classes import F1 as F1
from stream_metrics.metrics.classes import FBeta as FBeta
from stream_metrics.metrics.classes import FalseDiscoveryRate as FalseDiscoveryRate
from stream_metrics.metrics.classes import FalseNegativeRate as FalseNegativeRate
from stream_metrics.metrics.classes import FalseOmissionRate as FalseOmissionRate
from stream_metrics.metrics.classes import FalsePositiveRate as FalsePositiveRate
from stream_metrics.metrics.classes import GeneralF1 as GeneralF1
from stream_metrics.metrics.classes import GeneralFowlkesMallows as GeneralFowlkesMallows
from stream_metrics.metrics.classes import GeneralizedMCC as GeneralizedMCC
from stream_metrics.metrics.classes import GeometricMean as GeometricMean
from stream_metrics.metrics.classes import Gini as Gini
from stream_metrics.metrics.classes import HandTillAUC as HandTillAUC
from stream_metrics.metrics.classes import Jaccard as Jaccard
from stream_metrics.metrics.classes import KSStatistic as KSStatistic
from stream_metrics.metrics.classes import LogLoss as LogLoss
from stream_metrics.metrics.classes import MCC as MCC
from stream_metrics.metrics.classes import MacroAveragePrecision as MacroAveragePrecision
from stream_metrics.metrics.classes import MacroCalibrationError as MacroCalibrationError
from stream_metrics.metrics.classes import MacroF1 as MacroF1
from stream_metrics.metrics.classes import MacroFBeta as MacroFBeta
from stream_metrics.metrics.classes import MacroJaccard as MacroJaccard
from stream_metrics.metrics.classes import MacroPrecision as MacroPrecision
from stream_metrics.metrics.classes import MacroROCAUC as MacroROCAUC
from stream_metrics.metrics.classes import MacroRecall as MacroRecall
from stream_metrics.metrics.classes import MacroSpecificity as MacroSpecificity
from stream_metrics.metrics.classes import MaximumCalibrationError as MaximumCalibrationError
from stream_metrics.metrics.classes import MicroAveragePrecision as MicroAveragePrecision
from stream_metrics.metrics.classes import MicroF1 as MicroF1
from stream_metrics.metrics.classes import MicroFBeta as MicroFBeta
from stream_metrics.metrics.classes import MicroJaccard as MicroJaccard
from stream_metrics.metrics.classes import MicroPrecision as MicroPrecision
from stream_metrics.metrics.classes import MicroROCAUC as MicroROCAUC
from stream_metrics.metrics.classes import MicroRecall as MicroRecall
from stream_metrics.metrics.classes import NPV as NPV
from stream_metrics.metrics.classes import NegativeF1 as NegativeF1
from stream_metrics.metrics.classes import OvAAccuracy as OvAAccuracy
from stream_metrics.metrics.classes import OvABalancedAccuracy as OvABalancedAccuracy
from stream_metrics.metrics.classes import OvAMCC as OvAMCC
from stream_metrics.metrics.classes import OvO as OvO
from stream_metrics.metrics.classes import OvOAccuracy as OvOAccuracy
from stream_metrics.metrics.classes import OvOCohenKappa as OvOCohenKappa
from stream_metrics.metrics.classes import OvOF1 as OvOF1
from stream_metrics.metrics.classes import OvOMCC as OvOMCC
from stream_metrics.metrics.classes import P4 as P4
from stream_metrics.metrics.classes import PRAUCTrapezoid as PRAUCTrapezoid
from stream_metrics.metrics.classes import PRFowlkesMallows as PRFowlkesMallows
from stream_metrics.metrics.classes import PairFowlkesMallows as PairFowlkesMallows
from stream_metrics.metrics.classes import PartialROCAUC as PartialROCAUC
from stream_metrics.metrics.classes import Precision as Precision
from stream_metrics.metrics.classes import PrecisionAtRecall as PrecisionAtRecall
from stream_metrics.metrics.classes import Prevalence as Prevalence
from stream_metrics.metrics.classes import ROCAUC as ROCAUC
from stream_metrics.metrics.classes import Recall as Recall
from stream_metrics.metrics.classes import SingleScoreAUC as SingleScoreAUC
from stream_metrics.metrics.classes import Specificity as Specificity
from stream_metrics.metrics.classes import SphericalScore as SphericalScore
from stream_metrics.metrics.classes import TPRAtFPR as TPRAtFPR
from stream_metrics.metrics.classes import TopKAccuracy as TopKAccuracy
from stream_metrics.metrics.classes import WeightedAveragePrecision as WeightedAveragePrecision
from stream_metrics.metrics.classes import WeightedBalancedAccuracy as WeightedBalancedAccuracy
from stream_metrics.metrics.classes import WeightedF1 as WeightedF1
from stream_metrics.metrics.classes import WeightedFBeta as WeightedFBeta
from stream_metrics.metrics.classes import WeightedJaccard as WeightedJaccard
from stream_metrics.metrics.classes import WeightedKappa as WeightedKappa
from stream_metrics.metrics.classes import WeightedPrecision as WeightedPrecision
from stream_metrics.metrics.classes import WeightedROCAUC as WeightedROCAUC
from stream_metrics.metrics.classes import WeightedRecall as WeightedRecall
from stream_metrics.metrics.classes import ZeroOneLoss as ZeroOneLoss
from stream_metrics.metrics.metric import Metric as Metric
from stream_metrics.metrics.metric_set import MetricSet as MetricSet
from stream_metrics.scoring import scorer as scorer
from stream_metrics.snapshots.groups import GroupSnapshot as GroupSnapshot
from stream_metrics.snapshots.multilabel import MultiLabelSnapshot as MultiLabelSnapshot
from stream_metrics.snapshots.snapshot import Snapshot as Snapshot
from stream_metrics.states.confusion import ConfusionMatrix as ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector as ChangeDetector
from stream_metrics.states.detector import outcome as outcome
from stream_metrics.states.joint import Comparison as Comparison
from stream_metrics.states.losses import ProbabilityLosses as ProbabilityLosses
from stream_metrics.states.ranks import RankSketch as RankSketch
from stream_metrics.tables.bad_rows import BadRows as BadRows
from stream_metrics.tables.fields import count as count
from stream_metrics.wire import from_bytes as from_bytes

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
    "MultiLabel",
    "MultiLabelSnapshot",
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
