"""Signatures and docstrings of the metric classes. Written by .ci/generate.py; do not edit."""

from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Literal

from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric

class Accuracy(Metric):
    """Share of the samples that are predicted right.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``accuracy``.
    - Formula: ``c / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 3, 4. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import Accuracy
    >>> metric = Accuracy()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class AverageAccuracy(Metric):
    """Mean over the classes of the accuracy of the class against the rest.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``average_accuracy``.
    - Formula: ``((K - 2) N + 2 c) / (K N)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is at least 1 - 2/K.

    References
    ----------
    .. [1] Bleik and Gauher 2016. S. Bleik and S. Gauher, Computing classification evaluation metrics in R. Blog post,
       2016.

    Examples
    --------
    >>> from stream_metrics import AverageAccuracy
    >>> metric = AverageAccuracy()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7778
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class AveragePrecision(Metric):
    """Mean precision over the samples of a class, from the highest score down.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``average_precision``.
    - Formula: ``sum (R_n - R_{n-1}) P_n over the distinct scores, high to low``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    There is no interpolation, as in scikit-learn.

    References
    ----------
    .. [1] Doering 2018. M. Doering, Performance measures for multi-class problems. Blog post, 2018.
    .. [2] Zhu 2004. M. Zhu, Recall, precision and average precision. Working Paper 2004-09, Department of Statistics
       and Actuarial Science, University of Waterloo.

    Examples
    --------
    >>> from stream_metrics import AveragePrecision
    >>> metric = AveragePrecision(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.9167
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class BalancedAccuracy(Metric):
    """Mean recall of the classes that have samples.

    Parameters
    ----------
    adjusted : bool, default False
        Whether the value is adjusted for chance.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``balanced_accuracy``.
    - Formula: ``sum R_k / K' over the K' classes with t_k > 0``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Classes without samples are left out, whatever `zero_division` is. Adjusted for chance it is (BA - 1/K') / (1 -
    1/K'), in [-1, 1], which is 0/0 if K' = 1 (Brodersen et al. 2010).

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 5, 6. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import BalancedAccuracy
    >>> metric = BalancedAccuracy()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7222
    """

    def __init__(
        self,
        adjusted: bool = False,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class BrierScore(Metric):
    """Mean squared distance between the probabilities and the truth.

    Parameters
    ----------
    scale_by_half : bool or "auto", default "auto"
        Whether the value is halved. "auto" halves the loss of a single probability and of a row of False and True; in a
        set with `labels`, of every sample if they are two, of none if they are more.
    pos_label : Label, default True
        The class whose score a single number is.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``brier_score``.
    - Formula: ``(1/N) sum w sum_k (q_k - y_k)^2``, in the notation of `Metric`.
    - Range: [0, 2]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data.
    - Memory: under 600 bytes, whatever is counted.

    Halved it lies in [0, 1], and is (q - y)^2 for a single probability. A class without a score has q_k = 0.

    References
    ----------
    .. [1] Brier 1950. G. W. Brier, Verification of forecasts expressed in terms of probability. Monthly Weather Review
       78(1), 1-3.

    Examples
    --------
    >>> from stream_metrics import BrierScore
    >>> metric = BrierScore()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.556
    """

    def __init__(
        self,
        scale_by_half: bool | Literal["auto"] = "auto",
        *,
        pos_label: Label = True,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class CohenKappa(Metric):
    """Agreement beyond the agreement of independent raters with the same totals.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``cohen_kappa``.
    - Formula: ``(c N - sum t_k p_k) / (N^2 - sum t_k p_k)``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: one single class, both true and predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is 1 only if every sample is predicted right. It is -1 only for two equally frequent classes that are
    swapped. scikit-learn returns nan where this is 0/0.

    References
    ----------
    .. [1] Cohen 1960. J. Cohen, A coefficient of agreement for nominal scales. Educational and Psychological
       Measurement 20(1), 37-46.

    Examples
    --------
    >>> from stream_metrics import CohenKappa
    >>> metric = CohenKappa()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class CramersV(Metric):
    """Strength of the association of truth and prediction.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``cramers_v``.
    - Formula: ``sqrt(chi2 / (N (K' - 1))) with the K' classes that are true or predicted``, in the notation of
      `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is 1 for a perfect prediction and for every relabelling of it.

    References
    ----------
    .. [1] Cramer 1946. H. Cramer, Mathematical methods of statistics. Princeton University Press.
    .. [2] Itai and Katz 2022, sec. 3.2.3. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import CramersV
    >>> metric = CramersV()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6455
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class DebiasedCalibrationError(Metric):
    """Root mean squared distance between score and share over bins of scores, without the noise of the bins.

    Parameters
    ----------
    bins : int, default 15
        Number of bins of scores, at most 2**20.
    strategy : {"uniform", "quantile"}, default "uniform"
        Whether bins have the same width or hold the same number of samples.
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``debiased_calibration_error``.
    - Formula: ``sqrt(max(0, sum_b n_b / n ((share_b - score_b)^2 - v_b / n_b))) with the variance v_b of truth less
      score, over the bins with two samples or more``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no data, or a score outside [0, 1].
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    For calibrated scores it is about 0 at any number of samples and bins. A weight of 3 counts as three samples.

    References
    ----------
    .. [1] Kumar et al. 2019. A. Kumar, P. Liang and T. Ma, Verified uncertainty calibration. NeurIPS 2019.

    Examples
    --------
    >>> from stream_metrics import DebiasedCalibrationError
    >>> metric = DebiasedCalibrationError(bins=2, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.0
    """

    def __init__(
        self,
        bins: int = 15,
        strategy: Literal["uniform", "quantile"] = "uniform",
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class DetectionPrevalence(Metric):
    """Share of the predictions that name a class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``detection_prevalence``.
    - Formula: ``p_k / N``, in the notation of `Metric`.
    - Range: [0, 1].
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Kuhn 2008 (R caret). M. Kuhn, Building predictive models in R using the caret package. Journal of Statistical
       Software 28(5), 1-26.

    Examples
    --------
    >>> from stream_metrics import DetectionPrevalence
    >>> metric = DetectionPrevalence(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.3333
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class ExpectedCalibrationError(Metric):
    """Mean distance between score and share of the class over bins of scores.

    Parameters
    ----------
    bins : int, default 15
        Number of bins of scores, at most 2**20.
    strategy : {"uniform", "quantile"}, default "uniform"
        Whether bins have the same width or hold the same number of samples.
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``expected_calibration_error``.
    - Formula: ``sum_b w_b / W abs(share_b - score_b) over the bins b``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no data, or a score outside [0, 1].
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    The value depends on the bins.

    References
    ----------
    .. [1] Naeini et al. 2015. M. P. Naeini, G. F. Cooper and M. Hauskrecht, Obtaining well calibrated probabilities
       using Bayesian binning. AAAI 2015, 2901-2907.

    Examples
    --------
    >>> from stream_metrics import ExpectedCalibrationError
    >>> metric = ExpectedCalibrationError(bins=5, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.36
    """

    def __init__(
        self,
        bins: int = 15,
        strategy: Literal["uniform", "quantile"] = "uniform",
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class F1(Metric):
    """Harmonic mean of precision and recall of a class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``f1``.
    - Formula: ``2 C_kk / (t_k + p_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: class neither true nor predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 9-11. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import F1
    >>> metric = F1(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class FBeta(Metric):
    """Weighted harmonic mean of precision and recall of a class.

    Parameters
    ----------
    beta : float, default 1.0
        Number >= 0: how many times as much recall counts as precision.
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``fbeta``.
    - Formula: ``(1 + b^2) C_kk / (b^2 t_k + p_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: class neither true nor predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Recall counts b times as much as precision.

    References
    ----------
    .. [1] van Rijsbergen 1979, ch. 7. C. J. van Rijsbergen, Information retrieval, second edition. Butterworths.

    Examples
    --------
    >>> from stream_metrics import FBeta
    >>> metric = FBeta(beta=2.0, pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7143
    """

    def __init__(
        self,
        beta: float = 1.0,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class FalseDiscoveryRate(Metric):
    """Share of the predictions of a class that are wrong.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``false_discovery_rate``.
    - Formula: ``FP_k / p_k``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no prediction of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 1.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import FalseDiscoveryRate
    >>> metric = FalseDiscoveryRate(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.0
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class FalseNegativeRate(Metric):
    """Share of the samples of a class that are missed.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``false_negative_rate``.
    - Formula: ``FN_k / t_k``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no sample of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 1.3. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import FalseNegativeRate
    >>> metric = FalseNegativeRate(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.3333
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class FalseOmissionRate(Metric):
    """Share of the predictions of other classes that are of the class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``false_omission_rate``.
    - Formula: ``FN_k / (N - p_k)``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all predictions are of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 1.3. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import FalseOmissionRate
    >>> metric = FalseOmissionRate(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.25
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class FalsePositiveRate(Metric):
    """Share of the samples of other classes that are predicted as the class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``false_positive_rate``.
    - Formula: ``FP_k / (N - t_k)``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all samples are of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 2.2. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import FalsePositiveRate
    >>> metric = FalsePositiveRate(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.0
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class GeneralF1(Metric):
    """Arithmetic, geometric, harmonic or power mean of F1 over the classes.

    Parameters
    ----------
    average : {"arithmetic", "geometric", "harmonic", "power"}, default "arithmetic"
        Mean over the classes.
    p : float, optional
        Exponent of the power mean; needed if `average` is "power".
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``general_f1``.
    - Formula: ``S(F1_1, ..., F1_K) with the mean S that `average` names``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The arithmetic mean is the macro F1.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.2. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import GeneralF1
    >>> metric = GeneralF1(average="harmonic")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6316
    """

    def __init__(
        self,
        average: Literal["arithmetic", "geometric", "harmonic", "power"] = "arithmetic",
        p: float | None = None,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class GeneralFowlkesMallows(Metric):
    """Arithmetic, geometric, harmonic or power mean of Fowlkes-Mallows over the classes.

    Parameters
    ----------
    average : {"arithmetic", "geometric", "harmonic", "power"}, default "arithmetic"
        Mean over the classes.
    p : float, optional
        Exponent of the power mean; needed if `average` is "power".
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``general_fowlkes_mallows``.
    - Formula: ``S(FM_1, ..., FM_K) with FM_k = sqrt(P_k R_k) and the mean S that `average` names``, in the notation of
      `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.2. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import GeneralFowlkesMallows
    >>> metric = GeneralFowlkesMallows(average="geometric")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6609
    """

    def __init__(
        self,
        average: Literal["arithmetic", "geometric", "harmonic", "power"] = "arithmetic",
        p: float | None = None,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class GeneralizedMCC(Metric):
    """Determinant of the normalised confusion matrix.

    Parameters
    ----------
    alpha : float, default 0.0
        Number >= 0 that is added to every cell first.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``generalized_mcc``.
    - Formula: ``det C / sqrt(prod t_k prod p_k) over the classes that are true or predicted``, in the notation of
      `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes, or a class never true or never predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Small values are usual: it shrinks like cramers_v^(K-1). It is also 1 for every even permutation of the labels.

    References
    ----------
    .. [1] Itai and Katz 2022, eq. 7, 8. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import GeneralizedMCC
    >>> metric = GeneralizedMCC()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.2887
    """

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class GeometricMean(Metric):
    """Geometric mean of the recalls of the classes that have samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``geometric_mean``.
    - Formula: ``(prod R_k)^(1/K') over the K' classes with t_k > 0``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    It is 0 if one of these recalls is 0.

    References
    ----------
    .. [1] Kubat and Matwin 1997. M. Kubat and S. Matwin, Addressing the curse of imbalanced training sets: one-sided
       selection. ICML 1997, 179-186.

    Examples
    --------
    >>> from stream_metrics import GeometricMean
    >>> metric = GeometricMean()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6934
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Gini(Metric):
    """Twice the ROC AUC less one, also known as Somers' D or accuracy ratio.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``gini``.
    - Formula: ``2 AUC - 1``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class, or of no other class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    References
    ----------
    .. [1] Somers 1962. R. H. Somers, A new asymmetric measure of association for ordinal variables. American
       Sociological Review 27(6), 799-811.

    Examples
    --------
    >>> from stream_metrics import Gini
    >>> metric = Gini(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class HandTillAUC(Metric):
    """Mean ROC AUC over all pairs of classes that occur, Hand and Till's M.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc_ovo``.
    - Formula: ``2 / (c (c - 1)) sum_{i<j} A(i,j) over the c classes that occur, with A(i,j) the mean of both
      directions``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: bounded by the number of classes, at most 64, and by `buckets` and `sample`; see `RankSketch`.

    It does not depend on how frequent the classes are.

    References
    ----------
    .. [1] Hand and Till 2001, eq. 7. D. J. Hand and R. J. Till, A simple generalisation of the area under the ROC curve
       for multiple class classification problems. Machine Learning 45, 171-186.

    Examples
    --------
    >>> from stream_metrics import HandTillAUC
    >>> metric = HandTillAUC()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.7917
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Jaccard(Metric):
    """Intersection over union of the samples of a class and its predictions.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``jaccard``.
    - Formula: ``C_kk / (t_k + p_k - C_kk)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: class neither true nor predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Jaccard 1912. P. Jaccard, The distribution of the flora in the alpine zone. New Phytologist 11(2), 37-50.

    Examples
    --------
    >>> from stream_metrics import Jaccard
    >>> metric = Jaccard(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class KSStatistic(Metric):
    """Largest distance between the score distributions of a class and of the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``ks_statistic``.
    - Formula: ``max abs(TPR - FPR) over the thresholds``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class, or of no other class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    References
    ----------
    .. [1] Smirnov 1948. N. Smirnov, Table for estimating the goodness of fit of empirical distributions. Annals of
       Mathematical Statistics 19(2), 279-281.

    Examples
    --------
    >>> from stream_metrics import KSStatistic
    >>> metric = KSStatistic(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class LogLoss(Metric):
    """Mean negative logarithm of the probability of the true class: cross-entropy, in nats.

    Parameters
    ----------
    normalize : bool, default True
        Whether the value is the mean over the samples; otherwise it is their sum.
    pos_label : Label, default True
        The class whose score a single number is.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``log_loss``.
    - Formula: ``-(1/N) sum w ln max(q_t, 2^-52) with the probability q_t of the true class``, in the notation of
      `Metric`.
    - Range: [0, inf); lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data.
    - Memory: under 600 bytes, whatever is counted.

    The value is at most 36.05 if normalised. A true class without a score has q_t = 0.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 20-23. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import LogLoss
    >>> metric = LogLoss()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.9194
    """

    def __init__(
        self,
        normalize: bool = True,
        *,
        pos_label: Label = True,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MCC(Metric):
    """Correlation of truth and prediction, coded one-hot (R_K; phi for two classes).

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``matthews_corrcoef``.
    - Formula: ``(c N - sum t_k p_k) / sqrt((N^2 - sum p_k^2) (N^2 - sum t_k^2))``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all samples, or all predictions, of one class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is 1 only if every sample is predicted right. For more than two classes the minimum depends on the truth
    and is above -1.

    References
    ----------
    .. [1] Gorodkin 2004. J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient.
       Computational Biology and Chemistry 28(5-6), 367-374. doi:10.1016/j.compbiolchem.2004.09.006
    .. [2] Grandini et al. 2020, eq. 24, 25. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class
       classification: an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MCC
    >>> metric = MCC()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5222
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroAveragePrecision(Metric):
    """Mean average precision over the classes.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``average_precision_ovr``.
    - Formula: ``sum AP_k / K' over the K' classes where it is defined``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: undefined for every class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Classes for which it is undefined are left out, whatever `zero_division` is.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import MacroAveragePrecision
    >>> metric = MacroAveragePrecision()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.75
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroCalibrationError(Metric):
    """Mean over the classes of the expected calibration error, known as classwise ECE.

    Parameters
    ----------
    bins : int, default 15
        Number of bins of scores, at most 2**20.
    strategy : {"uniform", "quantile"}, default "uniform"
        Whether bins have the same width or hold the same number of samples.
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``expected_calibration_error_ovr``.
    - Formula: ``sum ECE_k / K' over the K' classes where it is defined``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data, or a score outside [0, 1].
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Classes for which it is undefined are left out, whatever `zero_division` is.

    References
    ----------
    .. [1] Kull et al. 2019. M. Kull et al., Beyond temperature scaling: obtaining well-calibrated multi-class
       probabilities with Dirichlet calibration. NeurIPS 2019.

    Examples
    --------
    >>> from stream_metrics import MacroCalibrationError
    >>> metric = MacroCalibrationError(bins=5)
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.3067
    """

    def __init__(
        self,
        bins: int = 15,
        strategy: Literal["uniform", "quantile"] = "uniform",
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroF1(Metric):
    """Mean F1 over the classes.

    Parameters
    ----------
    variant : {"mean_of_f1", "f1_of_means"}, default "mean_of_f1"
        Mean of the F1 of the classes, or F1 of macro precision and macro recall.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_f1``.
    - Formula: ``sum F1_k / K; with variant="f1_of_means" 2 P R / (P + R) of macro precision P and macro recall R``, in
      the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The literature uses both variants under one name. The F1 of the means is never smaller than the mean F1.

    References
    ----------
    .. [1] Opitz and Burst 2019. J. Opitz and S. Burst, Macro F1 and macro F1. arXiv:1911.03347.

    Examples
    --------
    >>> from stream_metrics import MacroF1
    >>> metric = MacroF1()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6556
    """

    def __init__(
        self,
        variant: Literal["mean_of_f1", "f1_of_means"] = "mean_of_f1",
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroFBeta(Metric):
    """Mean F-beta over the classes.

    Parameters
    ----------
    beta : float, default 1.0
        Number >= 0: how many times as much recall counts as precision.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_fbeta``.
    - Formula: ``sum F_k / K``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] van Rijsbergen 1979, ch. 7. C. J. van Rijsbergen, Information retrieval, second edition. Butterworths.

    Examples
    --------
    >>> from stream_metrics import MacroFBeta
    >>> metric = MacroFBeta(beta=2.0)
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6825
    """

    def __init__(
        self,
        beta: float = 1.0,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroJaccard(Metric):
    """Mean Jaccard index over the classes, also called mean IoU.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_jaccard``.
    - Formula: ``sum J_k / K``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Jaccard 1912. P. Jaccard, The distribution of the flora in the alpine zone. New Phytologist 11(2), 37-50.

    Examples
    --------
    >>> from stream_metrics import MacroJaccard
    >>> metric = MacroJaccard()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroPrecision(Metric):
    """Mean precision over the classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_precision``.
    - Formula: ``sum P_k / K``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 14. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MacroPrecision
    >>> metric = MacroPrecision()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroROCAUC(Metric):
    """Mean over the classes of the ROC AUC of the class against the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc_ovr``.
    - Formula: ``sum AUC_k / K' over the K' classes where it is defined``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: undefined for every class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Classes for which it is undefined are left out, whatever `zero_division` is.

    References
    ----------
    .. [1] Doering 2018. M. Doering, Performance measures for multi-class problems. Blog post, 2018.

    Examples
    --------
    >>> from stream_metrics import MacroROCAUC
    >>> metric = MacroROCAUC()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.8056
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroRecall(Metric):
    """Mean recall over the classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_recall``.
    - Formula: ``sum R_k / K``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    `BalancedAccuracy` leaves classes without samples out.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 15. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MacroRecall
    >>> metric = MacroRecall()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7222
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MacroSpecificity(Metric):
    """Mean specificity over the classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``macro_specificity``.
    - Formula: ``sum S_k / K``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Lemaitre et al. 2017 (imbalanced-learn). G. Lemaitre, F. Nogueira and C. K. Aridas, Imbalanced-learn: a
       Python toolbox to tackle the curse of imbalanced datasets in machine learning. JMLR 18(17), 1-5.

    Examples
    --------
    >>> from stream_metrics import MacroSpecificity
    >>> metric = MacroSpecificity()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.85
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MaximumCalibrationError(Metric):
    """Largest distance between score and share of the class in a bin of scores.

    Parameters
    ----------
    bins : int, default 15
        Number of bins of scores, at most 2**20.
    strategy : {"uniform", "quantile"}, default "uniform"
        Whether bins have the same width or hold the same number of samples.
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``maximum_calibration_error``.
    - Formula: ``max_b abs(share_b - score_b) over the bins b``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no data, or a score outside [0, 1].
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    One nearly empty bin can decide it.

    References
    ----------
    .. [1] Naeini et al. 2015. M. P. Naeini, G. F. Cooper and M. Hauskrecht, Obtaining well calibrated probabilities
       using Bayesian binning. AAAI 2015, 2901-2907.

    Examples
    --------
    >>> from stream_metrics import MaximumCalibrationError
    >>> metric = MaximumCalibrationError(bins=5, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.6
    """

    def __init__(
        self,
        bins: int = 15,
        strategy: Literal["uniform", "quantile"] = "uniform",
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroAveragePrecision(Metric):
    """Average precision of all scores of all classes together.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``average_precision_micro``.
    - Formula: ``sum (R_n - R_{n-1}) P_n over the distinct scores of all classes, high to low``, in the notation of
      `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import MicroAveragePrecision
    >>> metric = MicroAveragePrecision()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.5818
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroF1(Metric):
    """F1 of all classes together.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``micro_f1``.
    - Formula: ``2 sum TP_k / (2 sum TP_k + sum FP_k + sum FN_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 19. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MicroF1
    >>> metric = MicroF1()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroFBeta(Metric):
    """F-beta of all classes together.

    Parameters
    ----------
    beta : float, default 1.0
        Number >= 0: how many times as much recall counts as precision.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``micro_fbeta``.
    - Formula: ``(1 + b^2) sum TP_k / ((1 + b^2) sum TP_k + b^2 sum FN_k + sum FP_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Every wrong sample is one false positive and one false negative, so the value is the accuracy for every beta.

    References
    ----------
    .. [1] van Rijsbergen 1979, ch. 7. C. J. van Rijsbergen, Information retrieval, second edition. Butterworths.

    Examples
    --------
    >>> from stream_metrics import MicroFBeta
    >>> metric = MicroFBeta(beta=2.0)
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        beta: float = 1.0,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroJaccard(Metric):
    """Jaccard index of all classes together.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``micro_jaccard``.
    - Formula: ``c / (2 N - c)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Jaccard 1912. P. Jaccard, The distribution of the flora in the alpine zone. New Phytologist 11(2), 37-50.

    Examples
    --------
    >>> from stream_metrics import MicroJaccard
    >>> metric = MicroJaccard()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroPrecision(Metric):
    """Precision of all classes together.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``micro_precision``.
    - Formula: ``sum TP_k / (sum TP_k + sum FP_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 17. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MicroPrecision
    >>> metric = MicroPrecision()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroROCAUC(Metric):
    """ROC AUC of all scores of all classes against one threshold.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc_micro``.
    - Formula: ``P(s_own > s_rest) + P(s_own = s_rest) / 2 over the scores of all classes``, in the notation of
      `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import MicroROCAUC
    >>> metric = MicroROCAUC()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.73
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class MicroRecall(Metric):
    """Recall of all classes together.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``micro_recall``.
    - Formula: ``sum TP_k / (sum TP_k + sum FN_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 18. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import MicroRecall
    >>> metric = MicroRecall()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class NPV(Metric):
    """Share of the predictions of other classes that are not of the class (negative predictive value).

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``npv``.
    - Formula: ``TN_k / (N - p_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all predictions are of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 1.3. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import NPV
    >>> metric = NPV(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.75
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class NegativeF1(Metric):
    """Harmonic mean of negative predictive value and specificity: F1 of the rest as one class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``f1_negative``.
    - Formula: ``2 TN_k / (2 TN_k + FP_k + FN_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: everything is true positive.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.2. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import NegativeF1
    >>> metric = NegativeF1(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8571
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvAAccuracy(Metric):
    """Accuracy of a class against the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``ova_accuracy``.
    - Formula: ``(TP_k + TN_k) / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Bleik and Gauher 2016. S. Bleik and S. Gauher, Computing classification evaluation metrics in R. Blog post,
       2016.

    Examples
    --------
    >>> from stream_metrics import OvAAccuracy
    >>> metric = OvAAccuracy(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8333
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvABalancedAccuracy(Metric):
    """Balanced accuracy of a class against the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``ova_balanced_accuracy``.
    - Formula: ``(R_k + S_k) / 2``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    If all samples or none are of the class, the value is the rate that is defined.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 5. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import OvABalancedAccuracy
    >>> metric = OvABalancedAccuracy(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8333
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvAMCC(Metric):
    """Matthews correlation of a class against the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``ova_matthews_corrcoef``.
    - Formula: ``(TP TN - FP FN) / sqrt(t_k p_k (N - t_k) (N - p_k))``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all samples, or all predictions, of one class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 24. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import OvAMCC
    >>> metric = OvAMCC(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7071
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvO(Metric):
    """Mean of a metric of two classes over all pairs of classes.

    Parameters
    ----------
    metric : str, default "f1"
        Metric of two classes: "accuracy", "cohen_kappa", "matthews_corrcoef", "p4", "fowlkes_mallows" or a rate of one
        class such as "recall".
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``ovo``.
    - Formula: ``mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j, for rates of one class that of
      both classes``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The range is that of the metric.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import OvO
    >>> metric = OvO(metric="recall")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8611
    """

    def __init__(
        self,
        metric: str = "f1",
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvOAccuracy(Metric):
    """Mean accuracy over all pairs of classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``accuracy_ovo``.
    - Formula: ``mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import OvOAccuracy
    >>> metric = OvOAccuracy()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8056
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvOCohenKappa(Metric):
    """Mean Cohen's kappa over all pairs of classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``cohen_kappa_ovo``.
    - Formula: ``mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import OvOCohenKappa
    >>> metric = OvOCohenKappa()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6333
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvOF1(Metric):
    """Mean F1 over all pairs of classes and both classes of a pair.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``f1_ovo``.
    - Formula: ``mean of the F1 of both classes on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j``, in the notation
      of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import OvOF1
    >>> metric = OvOF1()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class OvOMCC(Metric):
    """Mean Matthews correlation over all pairs of classes.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``matthews_corrcoef_ovo``.
    - Formula: ``mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j``, in the notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 3.2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import OvOMCC
    >>> metric = OvOMCC()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6925
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class P4(Metric):
    """Harmonic mean of precision, recall, specificity and negative predictive value of a class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``p4``.
    - Formula: ``4 TP TN / (4 TP TN + (TP + TN) (FP + FN))``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: one single class, both true and predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, eq. 5. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.
    .. [2] Sitarz 2022. M. Sitarz, Extending F1 metric, probabilistic approach. arXiv:2210.11997.

    Examples
    --------
    >>> from stream_metrics import P4
    >>> metric = P4(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8276
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class PRAUCTrapezoid(Metric):
    """Area under the precision-recall curve with straight lines between its points.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``pr_auc_trapezoid``.
    - Formula: ``sum (R_n - R_{n-1}) (P_n + P_{n-1}) / 2 over the distinct scores of the class, high to low``, in the
      notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    It is optimistic where points are far apart; `AveragePrecision` is not.

    References
    ----------
    .. [1] Davis and Goadrich 2006. J. Davis and M. Goadrich, The relationship between precision-recall and ROC curves.
       ICML 2006, 233-240.
    .. [2] Sing et al. 2005 (ROCR). T. Sing, O. Sander, N. Beerenwinkel and T. Lengauer, ROCR: visualizing classifier
       performance in R. Bioinformatics 21(20), 3940-3941.

    Examples
    --------
    >>> from stream_metrics import PRAUCTrapezoid
    >>> metric = PRAUCTrapezoid(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.9583
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class PRFowlkesMallows(Metric):
    """Geometric mean of precision and recall of a class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``fowlkes_mallows``.
    - Formula: ``C_kk / sqrt(t_k p_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: class neither true nor predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is 0 if the class is either true or predicted, but not both. The clustering index of the same name is
    `PairFowlkesMallows`.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 2.1. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import PRFowlkesMallows
    >>> metric = PRFowlkesMallows(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.8165
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class PairFowlkesMallows(Metric):
    """Agreement of two clusterings on the pairs of samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``pair_fowlkes_mallows``.
    - Formula: ``(sum C_ij^2 - N) / sqrt((sum p_k^2 - N) (sum t_k^2 - N))``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no two samples share a class, or a prediction.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    This is the index of scikit-learn and river, and no measure of a classifier. A whole weight is as many samples;
    weights with a fraction raise `ValueError`.

    References
    ----------
    .. [1] Fowlkes and Mallows 1983. E. B. Fowlkes and C. L. Mallows, A method for comparing two hierarchical
       clusterings. JASA 78(383), 553-569.

    Examples
    --------
    >>> from stream_metrics import PairFowlkesMallows
    >>> metric = PairFowlkesMallows()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.2887
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class PartialROCAUC(Metric):
    """Area under the ROC curve for false positive rates from 0 to `max_fpr`.

    Parameters
    ----------
    max_fpr : float, default 0.1
        Largest false positive rate, in (0, 1].
    standardized : bool, default True
        Whether the area is scaled so that chance is 1/2 and a perfect score 1.
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``partial_roc_auc``.
    - Formula: ``A, or standardised (1 + (A - m) / (M - m)) / 2 with m = max_fpr^2 / 2 and M = max_fpr``, in the
      notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class, or of no other class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Ties are crossed by straight lines. Standardised, 1/2 is chance and 1 is perfect.

    References
    ----------
    .. [1] McClish 1989. D. K. McClish, Analyzing a portion of the ROC curve. Medical Decision Making 9(3), 190-195.

    Examples
    --------
    >>> from stream_metrics import PartialROCAUC
    >>> metric = PartialROCAUC(max_fpr=0.5, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.7778
    """

    def __init__(
        self,
        max_fpr: float = 0.1,
        standardized: bool = True,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Precision(Metric):
    """Share of the predictions of a class that are right (positive predictive value).

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``precision``.
    - Formula: ``C_kk / p_k``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no prediction of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 1, 12. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import Precision
    >>> metric = Precision(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    1.0
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class PrecisionAtRecall(Metric):
    """Largest precision of a threshold whose recall is at least `recall`.

    Parameters
    ----------
    recall : float, default 0.9
        Smallest recall, in [0, 1].
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``precision_at_recall``.
    - Formula: ``max P over the thresholds with R >= recall``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    There is no interpolation.

    References
    ----------
    .. [1] Doering 2018. M. Doering, Performance measures for multi-class problems. Blog post, 2018.

    Examples
    --------
    >>> from stream_metrics import PrecisionAtRecall
    >>> metric = PrecisionAtRecall(recall=0.5, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    1.0
    """

    def __init__(
        self,
        recall: float = 0.9,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Prevalence(Metric):
    """Share of the samples that belong to a class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``prevalence``.
    - Formula: ``t_k / N``, in the notation of `Metric`.
    - Range: [0, 1].
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Kuhn 2008 (R caret). M. Kuhn, Building predictive models in R using the caret package. Journal of Statistical
       Software 28(5), 1-26.

    Examples
    --------
    >>> from stream_metrics import Prevalence
    >>> metric = Prevalence(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class ROCAUC(Metric):
    """Probability that a sample of the class scores above a sample of the rest.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc``.
    - Formula: ``P(s_own > s_rest) + P(s_own = s_rest) / 2``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class, or of no other class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    References
    ----------
    .. [1] Doering 2018. M. Doering, Performance measures for multi-class problems. Blog post, 2018.
    .. [2] Itai and Katz 2022, sec. 2.2. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import ROCAUC
    >>> metric = ROCAUC(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.8333
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Recall(Metric):
    """Share of the samples of a class that are predicted as the class (sensitivity).

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``recall``.
    - Formula: ``C_kk / t_k``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no sample of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 2, 13. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification:
       an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import Recall
    >>> metric = Recall(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class SingleScoreAUC(Metric):
    """Mean ROC AUC over all pairs of classes of one score, that of `pos_label`.

    Parameters
    ----------
    direction : {"up", "down", "auto"}, default "up"
        Whether later classes (in the order of the labels) are expected to have higher or lower scores. "auto" decides
        for each pair by the medians.
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc_single_score``.
    - Formula: ``mean over the pairs i < j of the ROC AUC of one score``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: fewer than two classes.
    - Memory: bounded by the number of classes, at most 64, and by `buckets` and `sample`; see `RankSketch`.

    With direction "auto" each pair is ordered by its medians, which is optimistic.

    References
    ----------
    .. [1] Doering 2018. M. Doering, Performance measures for multi-class problems. Blog post, 2018.
    .. [2] Robin et al. 2011 (pROC). X. Robin et al., pROC: an open-source package for R and S+ to analyze and compare
       ROC curves. BMC Bioinformatics 12, 77.

    Examples
    --------
    >>> from stream_metrics import SingleScoreAUC
    >>> metric = SingleScoreAUC(pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    0.8333
    """

    def __init__(
        self,
        direction: Literal["up", "down", "auto"] = "up",
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class Specificity(Metric):
    """Share of the samples of other classes that are not predicted as the class.

    Parameters
    ----------
    pos_label : Label, default True
        The class that is measured against the rest.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``specificity``.
    - Formula: ``TN_k / (N - t_k)``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all samples are of the class.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Itai and Katz 2022, sec. 1.3. U. Itai and N. Katz, Goodness of fit metrics for multi-class predictor.
       arXiv:2208.05651.

    Examples
    --------
    >>> from stream_metrics import Specificity
    >>> metric = Specificity(pos_label="cat")
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    1.0
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class SphericalScore(Metric):
    """Mean cosine of the angle between the probabilities and the truth.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``spherical_score``.
    - Formula: ``(1/N) sum w q_t / sqrt(sum_k q_k^2) with the probability q_t of the true class``, in the notation of
      `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data.
    - Memory: under 600 bytes, whatever is counted.

    A row of zeros counts as 0.

    References
    ----------
    .. [1] Roby 1965. T. B. Roby, Belief states and the uses of evidence. Behavioral Science 10(3), 255-270.

    Examples
    --------
    >>> from stream_metrics import SphericalScore
    >>> metric = SphericalScore()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.6637
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class TPRAtFPR(Metric):
    """Largest true positive rate of a threshold whose false positive rate is at most `fpr`.

    Parameters
    ----------
    fpr : float, default 0.1
        Largest false positive rate, in [0, 1].
    pos_label : Label, default True
        The class that is measured against the rest.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``tpr_at_fpr``.
    - Formula: ``max TPR over the thresholds with FPR <= fpr``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the score of `pos_label`, as one number, or a mapping from
      label to score, not the predicted label. A batch is a column of such scores, or a table with a column for each of
      `classes`. `scores=` is another name of it. None is an abstention.
    - 0/0: no sample of the class, or of no other class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    There is no interpolation.

    References
    ----------
    .. [1] Fawcett 2006. T. Fawcett, An introduction to ROC analysis. Pattern Recognition Letters 27(8), 861-874.

    Examples
    --------
    >>> from stream_metrics import TPRAtFPR
    >>> metric = TPRAtFPR(fpr=0.5, pos_label="spam")
    >>> metric.update_many(["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7])
    >>> round(metric.get(), 4)
    1.0
    """

    def __init__(
        self,
        fpr: float = 0.1,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class TopKAccuracy(Metric):
    """Share of the samples whose true class is among the k classes with the largest probabilities.

    Parameters
    ----------
    k : int, default 2
        Number of classes from 1 to 10.
    pos_label : Label, default True
        The class whose score a single number is.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``top_k_accuracy``.
    - Formula: ``weight of the samples with rank of the true class <= k, over N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: no data.
    - Memory: under 600 bytes, whatever is counted.

    The rank is 1 + classes scored higher + tied classes earlier in the order of the labels (scikit-learn prefers the
    later one).

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import TopKAccuracy
    >>> metric = TopKAccuracy()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.8
    """

    def __init__(
        self,
        k: int = 2,
        *,
        pos_label: Label = True,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedAveragePrecision(Metric):
    """Mean average precision over the classes, weighted by their samples.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``average_precision_ovr_weighted``.
    - Formula: ``sum t_k AP_k / sum t_k over the classes where it is defined``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: undefined for every class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Classes for which it is undefined are left out, whatever `zero_division` is.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import WeightedAveragePrecision
    >>> metric = WeightedAveragePrecision()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.8
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedBalancedAccuracy(Metric):
    """Mean recall of the classes that have samples, with a weight for each class.

    Parameters
    ----------
    weights : mapping from label to float or sequence of float, optional
        Weight of each class, >= 0; a sequence is in the order of the labels. By default all classes weigh the same.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_balanced_accuracy``.
    - Formula: ``sum w_k R_k / sum w_k over the classes with t_k > 0``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: all weights are 0.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The weights may have any scale. Without weights it is the balanced accuracy.

    References
    ----------
    .. [1] Grandini et al. 2020, eq. 7, 8, as intended. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class
       classification: an overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import WeightedBalancedAccuracy
    >>> metric = WeightedBalancedAccuracy(weights={"cat": 1.0, "dog": 2.0, "fox": 3.0})
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.7778
    """

    def __init__(
        self,
        weights: Mapping[Label, float] | Sequence[float] | None = None,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedF1(Metric):
    """Mean F1 over the classes, weighted by their samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_f1``.
    - Formula: ``sum t_k F1_k / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import WeightedF1
    >>> metric = WeightedF1()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6778
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedFBeta(Metric):
    """Mean F-beta over the classes, weighted by their samples.

    Parameters
    ----------
    beta : float, default 1.0
        Number >= 0: how many times as much recall counts as precision.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_fbeta``.
    - Formula: ``sum t_k F_k / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] van Rijsbergen 1979, ch. 7. C. J. van Rijsbergen, Information retrieval, second edition. Butterworths.

    Examples
    --------
    >>> from stream_metrics import WeightedFBeta
    >>> metric = WeightedFBeta(beta=2.0)
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6627
    """

    def __init__(
        self,
        beta: float = 1.0,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedJaccard(Metric):
    """Mean Jaccard index over the classes, weighted by their samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_jaccard``.
    - Formula: ``sum t_k J_k / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import WeightedJaccard
    >>> metric = WeightedJaccard()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.5278
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedKappa(Metric):
    """Agreement beyond chance of ordered classes, where a miss costs its distance.

    Parameters
    ----------
    weights : {"linear", "quadratic"}, default "linear"
        Cost of a miss: its distance in the order of the labels, or the square of the distance.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_kappa``.
    - Formula: ``1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = abs(i - j) or (i - j)^2``, in the
      notation of `Metric`.
    - Range: [-1, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: one single class, both true and predicted.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The order of the labels must be the order of the classes; `labels` sets it.

    References
    ----------
    .. [1] Cohen 1968. J. Cohen, Weighted kappa: nominal scale agreement with provision for scaled disagreement or
       partial credit. Psychological Bulletin 70(4), 213-220.

    Examples
    --------
    >>> from stream_metrics import WeightedKappa
    >>> metric = WeightedKappa(weights="quadratic")
    >>> metric.update_many([1, 2, 3, 3, 2], [1, 2, 2, 3, 3])
    >>> round(metric.get(), 4)
    0.6429
    """

    def __init__(
        self,
        weights: Literal["linear", "quadratic"] = "linear",
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedPrecision(Metric):
    """Mean precision over the classes, weighted by their samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan. A component that is 0/0 counts as this number; nan leaves it out of
        the mean.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_precision``.
    - Formula: ``sum t_k P_k / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import WeightedPrecision
    >>> metric = WeightedPrecision()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.75
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedROCAUC(Metric):
    """Mean ROC AUC over the classes, weighted by their samples.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose score a single number is.
    buckets : int, default 1024
        Number of different scores of a class up to which the value is exact.
    sample : int, default 512
        Number of scores of each class that are kept in full beyond that.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``roc_auc_ovr_weighted``.
    - Formula: ``sum t_k AUC_k / sum t_k over the classes where it is defined``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the scores of all classes, as a mapping from label to score,
      not the predicted label; one number is the score of `pos_label`. A batch is a table with a column for each of
      `classes`, such as `predict_proba` returns, or a data frame, which names its columns. `scores=` is another name of
      it. None is an abstention.
    - 0/0: undefined for every class.
    - Memory: bounded, whatever is counted: for a class against the rest at most 160 KiB by default.

    Classes for which it is undefined are left out, whatever `zero_division` is.

    References
    ----------
    .. [1] Provost and Domingos 2001. F. Provost and P. Domingos, Well-trained PETs: improving probability estimation
       trees. CeDER Working Paper IS-00-04, Stern School of Business, New York University.

    Examples
    --------
    >>> from stream_metrics import WeightedROCAUC
    >>> metric = WeightedROCAUC()
    >>> truth = ["cat", "cat", "dog", "fox", "fox"]
    >>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1],
    ...           [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
    >>> metric.update_many(truth, scores, classes=["cat", "dog", "fox"])
    >>> round(metric.get(), 4)
    0.8167
    """

    def __init__(
        self,
        *,
        pos_label: Label = True,
        buckets: int = 1024,
        sample: int = 512,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class WeightedRecall(Metric):
    """Mean recall over the classes, weighted by their samples.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default 0.0
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``weighted_recall``.
    - Formula: ``sum t_k R_k / N``, in the notation of `Metric`.
    - Range: [0, 1]; higher is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    The value is the accuracy.

    References
    ----------
    .. [1] Pedregosa et al. 2011 (scikit-learn). F. Pedregosa et al., Scikit-learn: machine learning in Python. JMLR 12,
       2825-2830.

    Examples
    --------
    >>> from stream_metrics import WeightedRecall
    >>> metric = WeightedRecall()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.6667
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = 0.0,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

class ZeroOneLoss(Metric):
    """Share of the samples that are predicted wrong, the error rate.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.
    zero_division : float, default nan
        Value that stands for 0/0: 0.0, 1.0 or nan.
    missing : {"abstain", "wrong", "raise"}, default "abstain"
        What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "(missing)",
        which is never true (labels only); or an error.
    ignore_index : Label, optional
        A true label whose samples are left out.

    Notes
    -----
    - Key: ``zero_one_loss``.
    - Formula: ``(N - c) / N``, in the notation of `Metric`.
    - Range: [0, 1]; lower is better.
    - Prediction (`y_pred` of `update` and `update_many`): the predicted label, or a mapping from label to score, whose
      largest is predicted. None is an abstention.
    - 0/0: no data.
    - Memory: at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.

    References
    ----------
    .. [1] Grandini et al. 2020, sec. 2. M. Grandini, E. Bagli and G. Visani, Metrics for multi-class classification: an
       overview. arXiv:2008.05756.

    Examples
    --------
    >>> from stream_metrics import ZeroOneLoss
    >>> metric = ZeroOneLoss()
    >>> metric.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])
    >>> round(metric.get(), 4)
    0.3333
    """

    def __init__(
        self,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
        zero_division: float = nan,
        missing: Literal["abstain", "wrong", "raise"] = "abstain",
        ignore_index: Label | None = None,
    ) -> None: ...

CrossEntropy = LogLoss
