"""Streaming, mergeable classification metrics: exact counters, every metric, any number of shards.

A name is imported from its module when it is first used, so that a program loads only what it needs.
"""

import importlib
import typing

import stream_metrics.metrics  # noqa: F401  the folder first: imported later, it would replace the function

if typing.TYPE_CHECKING:
    from stream_metrics import integrations as integrations
    from stream_metrics import plots as plots
    from stream_metrics import testing as testing
    from stream_metrics.arrays import classification_report, evaluate
    from stream_metrics.catalog.listing import metrics
    from stream_metrics.catalog.table import UnknownMetricError
    from stream_metrics.collector.reporter import Reporter
    from stream_metrics.containers.aggregate import Aggregate, PutResult, merge
    from stream_metrics.containers.fading import Fading
    from stream_metrics.containers.groups import ByGroup
    from stream_metrics.containers.rolling import Rolling
    from stream_metrics.containers.timed import TimeWindow
    from stream_metrics.errors import (
        DecodeError,
        LabelError,
        MergeError,
        OptionError,
        ReportError,
        ScoreError,
        StreamMetricsError,
        TimeError,
        WeightError,
    )
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.inference.planning import power, samples_for_power, samples_needed
    from stream_metrics.inference.running import RunningInterval
    from stream_metrics.inputs.columns import Categorical
    from stream_metrics.metrics.classes import (
        F1,
        MCC,
        NPV,
        P4,
        ROCAUC,
        Accuracy,
        AverageAccuracy,
        AveragePrecision,
        BalancedAccuracy,
        BrierScore,
        CohenKappa,
        CramersV,
        CrossEntropy,
        DebiasedCalibrationError,
        DetectionPrevalence,
        ExpectedCalibrationError,
        FalseDiscoveryRate,
        FalseNegativeRate,
        FalseOmissionRate,
        FalsePositiveRate,
        FBeta,
        GeneralF1,
        GeneralFowlkesMallows,
        GeneralizedMCC,
        GeometricMean,
        Gini,
        HandTillAUC,
        Jaccard,
        KSStatistic,
        LogLoss,
        MacroAveragePrecision,
        MacroCalibrationError,
        MacroF1,
        MacroFBeta,
        MacroJaccard,
        MacroPrecision,
        MacroRecall,
        MacroROCAUC,
        MacroSpecificity,
        MaximumCalibrationError,
        MicroAveragePrecision,
        MicroF1,
        MicroFBeta,
        MicroJaccard,
        MicroPrecision,
        MicroRecall,
        MicroROCAUC,
        NegativeF1,
        OvAAccuracy,
        OvABalancedAccuracy,
        OvAMCC,
        OvO,
        OvOAccuracy,
        OvOCohenKappa,
        OvOF1,
        OvOMCC,
        PairFowlkesMallows,
        PartialROCAUC,
        PRAUCTrapezoid,
        Precision,
        PrecisionAtRecall,
        Prevalence,
        PRFowlkesMallows,
        Recall,
        SingleScoreAUC,
        Specificity,
        SphericalScore,
        TopKAccuracy,
        TPRAtFPR,
        WeightedAveragePrecision,
        WeightedBalancedAccuracy,
        WeightedF1,
        WeightedFBeta,
        WeightedJaccard,
        WeightedKappa,
        WeightedPrecision,
        WeightedRecall,
        WeightedROCAUC,
        ZeroOneLoss,
    )
    from stream_metrics.metrics.metric import Metric
    from stream_metrics.metrics.metric_set import MetricSet
    from stream_metrics.scoring import scorer
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Estimate, Snapshot
    from stream_metrics.states.confusion import ConfusionMatrix
    from stream_metrics.states.detector import ChangeDetector, outcome
    from stream_metrics.states.joint import Comparison
    from stream_metrics.states.losses import ProbabilityLosses
    from stream_metrics.states.ranks import RankSketch
    from stream_metrics.tables.bad_rows import BadRows
    from stream_metrics.tables.count import count
    from stream_metrics.wire import from_bytes

__version__ = "0.1.0"

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

_FOLDERS = {"integrations", "plots", "testing"}  # they need other packages
_NAMES = {
    "arrays": "classification_report evaluate",
    "catalog.listing": "metrics",
    "catalog.table": "UnknownMetricError",
    "collector.reporter": "Reporter",
    "containers.aggregate": "Aggregate PutResult merge",
    "containers.fading": "Fading",
    "containers.groups": "ByGroup",
    "containers.rolling": "Rolling",
    "containers.timed": "TimeWindow",
    "errors": (
        "DecodeError LabelError MergeError OptionError ReportError ScoreError StreamMetricsError TimeError WeightError"
    ),
    "inference.intervals.interval": "Interval",
    "inference.planning": "power samples_for_power samples_needed",
    "inference.running": "RunningInterval",
    "inputs.columns": "Categorical",
    "metrics.metric_set": "MetricSet",
    "scoring": "scorer",
    "snapshots.groups": "GroupSnapshot",
    "snapshots.snapshot": "Estimate Snapshot",
    "states.confusion": "ConfusionMatrix",
    "states.detector": "ChangeDetector outcome",
    "states.joint": "Comparison",
    "states.losses": "ProbabilityLosses",
    "states.ranks": "RankSketch",
    "tables.bad_rows": "BadRows",
    "tables.count": "count",
    "wire": "from_bytes",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_CLASSES = "metrics.classes"  # the module of all other names: classes of one metric, and their base, which knows them

del metrics


def __getattr__(name: str) -> object:
    if name in _FOLDERS:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, _CLASSES)}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FOLDERS, *__all__})
