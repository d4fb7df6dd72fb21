# Written by .ci/generate.py from the catalog; do not edit.
from collections.abc import Iterable
from typing import Any

from stream_metrics.containers.aggregate import Aggregate as Aggregate
from stream_metrics.containers.aggregate import merge as merge
from stream_metrics.containers.fading import Fading as Fading
from stream_metrics.containers.groups import ByGroup as ByGroup
from stream_metrics.containers.rolling import Rolling as Rolling
from stream_metrics.containers.timed import TimeWindow as TimeWindow
from stream_metrics.errors import DecodeError as DecodeError
from stream_metrics.errors import LabelError as LabelError
from stream_metrics.errors import MergeError as MergeError
from stream_metrics.errors import ScoreError as ScoreError
from stream_metrics.errors import StreamMetricsError as StreamMetricsError
from stream_metrics.errors import WeightError as WeightError
from stream_metrics.inference.intervals.interval import Interval as Interval
from stream_metrics.inference.planning import power as power
from stream_metrics.inference.planning import samples_for_power as samples_for_power
from stream_metrics.inference.planning import samples_needed as samples_needed
from stream_metrics.inference.running import RunningInterval as RunningInterval
from stream_metrics.inputs.columns import Categorical as Categorical
from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric as Metric
from stream_metrics.metrics.metric_set import MetricSet as MetricSet
from stream_metrics.snapshots.groups import GroupSnapshot as GroupSnapshot
from stream_metrics.snapshots.snapshot import Estimate as Estimate
from stream_metrics.snapshots.snapshot import Snapshot as Snapshot
from stream_metrics.states.confusion import ConfusionMatrix as ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector as ChangeDetector
from stream_metrics.states.detector import outcome as outcome
from stream_metrics.states.joint import Comparison as Comparison
from stream_metrics.states.losses import ProbabilityLosses as ProbabilityLosses
from stream_metrics.states.ranks import RankSketch as RankSketch
from stream_metrics.wire import from_bytes as from_bytes

__version__: str
__all__ = [
    "Accuracy",
    "Aggregate",
    "AverageAccuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Baseline",
    "BrierScore",
    "ByGroup",
    "Categorical",
    "ChangeDetector",
    "Chi2",
    "CohenKappa",
    "Comparison",
    "ConfusionMatrix",
    "CovPredPred",
    "CovTruePred",
    "CovTrueTrue",
    "CramersV",
    "CrossEntropy",
    "DebiasedCalibrationError",
    "DecodeError",
    "DetectionPrevalence",
    "DetectionRate",
    "Estimate",
    "ExpectedAccuracy",
    "ExpectedAccuracyTerm",
    "ExpectedCalibrationError",
    "F1",
    "FBeta",
    "FNSum",
    "FPSum",
    "Fading",
    "FalseDiscoveryRate",
    "FalseNegativeRate",
    "FalseNegatives",
    "FalseOmissionRate",
    "FalsePositiveRate",
    "FalsePositives",
    "GeneralF1",
    "GeneralFowlkesMallows",
    "GeneralizedMCC",
    "GeneralizedMCCCodeLiteral",
    "GeneralizedMCCRoundedLiteral",
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
    "MacroF1Eq16Literal",
    "MacroFBeta",
    "MacroJaccard",
    "MacroPrecision",
    "MacroROCAUC",
    "MacroRecall",
    "MacroSpecificity",
    "MajorityPValue",
    "MaximumCalibrationError",
    "McNemar",
    "McNemarPValue",
    "MergeError",
    "Metric",
    "MetricSet",
    "MicroAveragePrecision",
    "MicroF1",
    "MicroF1CodeLiteral",
    "MicroFBeta",
    "MicroJaccard",
    "MicroPrecision",
    "MicroROCAUC",
    "MicroRecall",
    "NIRPValue",
    "NPV",
    "NegativeF1",
    "NegativeF1Literal",
    "NoInformationRate",
    "OvAAccuracy",
    "OvABalancedAccuracy",
    "OvAMCC",
    "OvO",
    "OvOAccuracy",
    "OvOCohenKappa",
    "OvOF1",
    "OvOF1FirstPositive",
    "OvOMCC",
    "P4",
    "PRAUCTrapezoid",
    "PRFowlkesMallows",
    "PairFowlkesMallows",
    "PartialROCAUC",
    "PowerMeanAll",
    "PowerMeanFour",
    "PowerMeanPR",
    "Precision",
    "PrecisionAtRecall",
    "PredictedCount",
    "Prevalence",
    "ProbabilityLosses",
    "ROCAUC",
    "RankSketch",
    "Recall",
    "Rolling",
    "RunningInterval",
    "ScoreError",
    "SingleScoreAUC",
    "Snapshot",
    "Specificity",
    "SphericalScore",
    "StratifiedBaselineAccuracy",
    "StreamMetricsError",
    "Support",
    "TNSum",
    "TPRAtFPR",
    "TPSum",
    "TimeWindow",
    "TopKAccuracy",
    "TrueNegatives",
    "TruePositives",
    "UniformBaselineAccuracy",
    "WeightError",
    "WeightedAccuracyLiteral",
    "WeightedAveragePrecision",
    "WeightedBalancedAccuracy",
    "WeightedBalancedAccuracyEq7Literal",
    "WeightedBalancedAccuracyEq8Literal",
    "WeightedF1",
    "WeightedFBeta",
    "WeightedJaccard",
    "WeightedKappa",
    "WeightedPrecision",
    "WeightedROCAUC",
    "WeightedRecall",
    "ZeroOneLoss",
    "from_bytes",
    "merge",
    "outcome",
    "power",
    "samples_for_power",
    "samples_needed",
]

class Accuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class AverageAccuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class AveragePrecision(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class BalancedAccuracy(Metric):
    def __init__(
        self,
        adjusted: bool = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class Baseline(Metric):
    def __init__(
        self,
        strategy: str = ...,
        prior: Any = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class BrierScore(Metric):
    def __init__(
        self,
        scale_by_half: Any = ...,
        *,
        pos_label: Label = ...,
        zero_division: float = ...,
    ) -> None: ...

class Chi2(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CohenKappa(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CovPredPred(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CovTruePred(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CovTrueTrue(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CramersV(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class CrossEntropy(Metric):
    def __init__(
        self,
        normalize: bool = ...,
        *,
        pos_label: Label = ...,
        zero_division: float = ...,
    ) -> None: ...

class DebiasedCalibrationError(Metric):
    def __init__(
        self,
        bins: int = ...,
        strategy: str = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class DetectionPrevalence(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class DetectionRate(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class ExpectedAccuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class ExpectedAccuracyTerm(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class ExpectedCalibrationError(Metric):
    def __init__(
        self,
        bins: int = ...,
        strategy: str = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class F1(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FBeta(Metric):
    def __init__(
        self,
        beta: float = ...,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FNSum(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FPSum(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalseDiscoveryRate(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalseNegativeRate(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalseNegatives(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalseOmissionRate(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalsePositiveRate(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class FalsePositives(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeneralF1(Metric):
    def __init__(
        self,
        average: Any = ...,
        p: float | None = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeneralFowlkesMallows(Metric):
    def __init__(
        self,
        average: Any = ...,
        p: float | None = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeneralizedMCC(Metric):
    def __init__(
        self,
        alpha: float = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeneralizedMCCCodeLiteral(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeneralizedMCCRoundedLiteral(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class GeometricMean(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class Gini(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class HandTillAUC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class Jaccard(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class KSStatistic(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

LogLoss = CrossEntropy

class MCC(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroAveragePrecision(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroCalibrationError(Metric):
    def __init__(
        self,
        bins: int = ...,
        strategy: str = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroF1(Metric):
    def __init__(
        self,
        variant: str = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroF1Eq16Literal(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroFBeta(Metric):
    def __init__(
        self,
        beta: float = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroJaccard(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroPrecision(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroROCAUC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroRecall(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MacroSpecificity(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MajorityPValue(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MaximumCalibrationError(Metric):
    def __init__(
        self,
        bins: int = ...,
        strategy: str = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class McNemar(Metric):
    def __init__(
        self,
        correction: bool = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class McNemarPValue(Metric):
    def __init__(
        self,
        correction: bool = ...,
        exact: bool = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroAveragePrecision(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroF1(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroF1CodeLiteral(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroFBeta(Metric):
    def __init__(
        self,
        beta: float = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroJaccard(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroPrecision(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroROCAUC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class MicroRecall(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class NIRPValue(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class NPV(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class NegativeF1(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class NegativeF1Literal(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class NoInformationRate(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvAAccuracy(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvABalancedAccuracy(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvAMCC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvO(Metric):
    def __init__(
        self,
        metric: str = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvOAccuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvOCohenKappa(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvOF1(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvOF1FirstPositive(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class OvOMCC(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class P4(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PRAUCTrapezoid(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class PRFowlkesMallows(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PairFowlkesMallows(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PartialROCAUC(Metric):
    def __init__(
        self,
        max_fpr: float = ...,
        standardized: bool = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class PowerMeanAll(Metric):
    def __init__(
        self,
        p: float = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PowerMeanFour(Metric):
    def __init__(
        self,
        p: float = ...,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PowerMeanPR(Metric):
    def __init__(
        self,
        p: float = ...,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class Precision(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class PrecisionAtRecall(Metric):
    def __init__(
        self,
        recall: float = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class PredictedCount(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class Prevalence(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class ROCAUC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class Recall(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class SingleScoreAUC(Metric):
    def __init__(
        self,
        direction: str = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class Specificity(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class SphericalScore(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        zero_division: float = ...,
    ) -> None: ...

class StratifiedBaselineAccuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class Support(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class TNSum(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class TPRAtFPR(Metric):
    def __init__(
        self,
        fpr: float = ...,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class TPSum(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class TopKAccuracy(Metric):
    def __init__(
        self,
        k: int = ...,
        *,
        pos_label: Label = ...,
        zero_division: float = ...,
    ) -> None: ...

class TrueNegatives(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class TruePositives(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class UniformBaselineAccuracy(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedAccuracyLiteral(Metric):
    def __init__(
        self,
        weights: Any = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedAveragePrecision(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedBalancedAccuracy(Metric):
    def __init__(
        self,
        weights: Any = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedBalancedAccuracyEq7Literal(Metric):
    def __init__(
        self,
        weights: Any = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedBalancedAccuracyEq8Literal(Metric):
    def __init__(
        self,
        weights: Any = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedF1(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedFBeta(Metric):
    def __init__(
        self,
        beta: float = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedJaccard(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedKappa(Metric):
    def __init__(
        self,
        weights: str = ...,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedPrecision(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedROCAUC(Metric):
    def __init__(
        self,
        *,
        pos_label: Label = ...,
        buckets: int = ...,
        sample: int = ...,
        zero_division: float = ...,
    ) -> None: ...

class WeightedRecall(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...

class ZeroOneLoss(Metric):
    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = ...,
        other: Label | None = ...,
        zero_division: float = ...,
    ) -> None: ...
