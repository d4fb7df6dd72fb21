"""Two models compared at one moment: differences with their uncertainty, tests, evidence.

**Which method.** Independent samples of weight 1: Tango's score interval for accuracy, recalls and means of recalls;
for other metrics the delta method where the variance rests on enough samples, otherwise the posterior of the joint
counts. Samples with units, and metrics of scores: folds. Weights without units have no method, because nothing says how
much a weighted sample tells; the error says so. Measured at 95 %: see `benchmarks/README.md`.

**Valid at any time.** Accuracy, and recall and specificity of a class: bets, exact from the first sample on. The mean
of the recalls: bets for each class until the standard error rests on enough samples, then an asymptotic sequence. Other
metrics: until then the difference of the exact sequences of both models, or, if there are none, everything that the
difference could be, with a note. Folds: an asymptotic sequence by the same rule, where samples that depend on each
other count as so many fewer as their standard error is larger; of scores, once the rarest class has 50 samples.
The e-value of the discordant samples needs no such start.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from stream_metrics.catalog.table import ALIASES, find
from stream_metrics.errors import UnknownKeyError
from stream_metrics.evaluation.evaluation import States
from stream_metrics.evaluation.warnings import label_warnings
from stream_metrics.formulas.stats.normal import normal_quantile, t_quantile
from stream_metrics.inference.comparison import methods as methods
from stream_metrics.inference.comparison import scores as scores
from stream_metrics.inference.comparison import shares as shares
from stream_metrics.inference.comparison.methods import Joint, Measure
from stream_metrics.inference.comparison.tests import Better, Evidence, discordant_evidence, mcnemar_test
from stream_metrics.inference.intervals.anytime import (
    STEADY,
    TOO_EARLY,
    asymptotic_multiplier,
    early_level,
    late_multiplier,
)
from stream_metrics.inference.intervals.folds import jackknife, left_out
from stream_metrics.inference.intervals.interval import LowHigh
from stream_metrics.inference.intervals.resampling import DRAWS, SEED
from stream_metrics.inputs.arguments import real
from stream_metrics.labels import Label, canonical
from stream_metrics.snapshots.readings import Rendered

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    from matplotlib.figure import Figure

    from stream_metrics.report.document import Element, Medium


Parts = tuple[float, float, str, float, int]  # both values, method, standard error, folds
OF_ALL = {*shares.ACCURACIES, "zero_one_loss", "micro_jaccard", "log_loss", "brier_score"}
ENOUGH = 20  # samples that a variance rests on, or of the rarest class, for one look
REPEATED = "0 folds: samples repeat, so that each needs a unit"
FEW_SAMPLES = "the standard error rests on too few samples"
CELLS = 5  # the first parts of `Joint`, which are arrays
BURN_IN = 50  # samples of the rarest class for many looks at folds of scores


def _signed(ends: tuple[float, float], sign: int) -> tuple[float, float]:
    """Return limits, exchanged if the metric falls where the share rises."""
    return ends if sign > 0 else (-ends[1], -ends[0])


@dataclass(frozen=True, slots=True, repr=False)
class Difference(LowHigh):
    """A metric of both models, and `value` = b - a with the interval that holds it at the `level`.

    It unpacks into both ends, and `in` tells whether a number lies between them.

    `low` and `high` are nan where nothing can be said, and `note` then says why; it also says where the interval is to
    be taken with care. `se` is the standard error, `valid` "fixed" for one look or "anytime" for any number of looks.
    """

    key: str
    label: Label | None
    a: float
    b: float
    value: float
    low: float
    high: float
    se: float
    level: float
    method: str
    valid: str
    note: str = ""

    def __repr__(self) -> str:
        """Return the difference, its ends, both values and the method, and whatever else is to be known."""
        of = self.key if self.label is None else f"{self.key} of {self.label!r}"
        text = f"Difference({of}: {self.value:+.4g}, low={self.low:.4g}, high={self.high:.4g}, level={self.level:g}"
        text += f", a={self.a:.4g}, b={self.b:.4g}, method={self.method!r}"
        text += f", valid={self.valid!r}" if self.valid != "fixed" else ""
        return text + (f", note={self.note!r})" if self.note else ")")


class ComparisonSnapshot(Rendered, Mapping[str, Difference]):
    """Two models at one moment: differences with their uncertainty, tests and evidence.

    It comes from `Comparison.snapshot`. It is a mapping from the metrics of its report to their differences, at 95 %
    and for one look: `snapshot["accuracy"]`, `snapshot["recall", "cat"]`. `difference` has the options.

    Parameters
    ----------
    names : tuple of str
        The names of both models.
    joint : Joint
        The counts of both models together.
    scored : mapping from int to tuple
        The states of scores by fold.
    n : int
        Number of samples that both models predict.
    keyed : int
        Number of samples with a unit.
    weighted : int
        Number of samples with a weight other than 1.
    abstentions : tuple of int
        Numbers of samples without a prediction of a only, of b only, of both.

    Examples
    --------
    >>> from stream_metrics import Comparison
    >>> models = Comparison()
    >>> models.update_many([1] * 100, [1] * 70 + [0] * 30, [1] * 85 + [0] * 15)
    >>> snapshot = models.snapshot()
    >>> snapshot.discordant, snapshot.mcnemar() < 0.001
    ((0, 15), True)
    """

    __slots__ = (
        "_differences", "_left_out", "_scored", "_sides", "_units", "_weighted", "abstentions", "joint", "n", "names",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, str],
        joint: Joint,
        scored: Mapping[int, tuple[States, ...]],
        *,
        n: int,
        keyed: int,
        weighted: int,
        abstentions: tuple[int, int, int],
    ) -> None:
        """Take the counts, and for each fold the states of the scores of both models, by the kind of key."""
        self.names, self.joint, self._scored, self.n, self.abstentions = names, joint, scored, n, abstentions
        self._units, self._weighted = keyed, weighted
        self._sides = methods.sides(joint)
        self._left_out: dict[str, Any] = {}
        self._differences: dict[str, Difference | str] | None = None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of both models, in the order of report."""
        return self.joint.labels

    @property
    def scored(self) -> tuple[str, ...]:
        """Which kinds of values can be read of scores: of "ranks" and "losses"."""
        return tuple(next(iter(self._scored.values()))[0]) if self._scored else ()

    @property
    def discordant(self) -> tuple[int, int]:
        """The numbers of samples that only a, and only b, gets right; ValueError if samples have weights."""
        if self._weighted:
            raise ValueError(f"Expected samples of weight 1 to count them, but got {self._weighted} of another weight")
        _, truth, a, b, values, *_ = self.joint
        right_a, right_b = a == truth, b == truth
        return int(values[right_a & ~right_b].sum()), int(values[right_b & ~right_a].sum())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about data that look wrong; empty if nothing does."""
        truth, *sides = (
            [self.labels[at] for at in np.unique(column[self.joint.values > 0])]
            for column in (self.joint.truth, self.joint.a, self.joint.b)
        )
        texts = [
            text
            for name, side in zip(self.names, sides, strict=True)
            for text in label_warnings(truth, side, self.n, f"predictions of {name}")
        ]
        return tuple(dict.fromkeys(texts))

    @property
    def omitted(self) -> Mapping[str, str]:
        """The metrics of the report that cannot be compared, and why; `snapshot[key]` raises for them."""
        return {key: pair for key, pair in self._headline().items() if isinstance(pair, str)}

    def _headline(self) -> dict[str, Difference | str]:
        """Return the differences of the report at 95 %, for one look, or why there are none."""
        from stream_metrics.report.comparison import keys_of

        if self._differences is None:
            self._differences = {}
            for key in keys_of(self):
                try:
                    self._differences[key] = self.difference(key)
                except ValueError as error:
                    self._differences[key] = str(error)
        return self._differences

    def __getitem__(self, key: str | tuple[str, Label]) -> Any:
        """Return the difference of a metric, or with `snapshot[key, label]` that of one class.

        Intervals are of 95 %, for one look; `difference` has others. A per-class key without a label gives a dict from
        class to difference.
        """
        if isinstance(key, tuple):
            if len(key) != 2:
                raise UnknownKeyError(argument="key", expected="to be a key, or a key and one label", got=key)
            return self.difference(key[0], label=key[1])
        row = find(key)
        if row.kind == "per_class":
            return {label: self.difference(row.key, label=label) for label in self.labels}
        difference = self._headline().get(row.key)
        return difference if isinstance(difference, Difference) else self.difference(row.key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the metrics of the report that can be compared; `omitted` has the others."""
        return (key for key, difference in self._headline().items() if isinstance(difference, Difference))

    def _ipython_key_completions_(self) -> list[str]:
        """Return what notebooks complete in `snapshot[...]`."""
        return list(self)

    def __contains__(self, key: object) -> bool:
        """Tell whether `key`, or the key of which it is an alias, is one of those over which this iterates."""
        key = ALIASES.get(key, key) if isinstance(key, str) else key
        return key in set(self)

    def __len__(self) -> int:
        """Number of metrics over which this iterates."""
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same names and counters."""
        if not isinstance(other, ComparisonSnapshot):
            return NotImplemented
        (joint, *mine), (other_joint, *theirs) = self.__reduce__()[1], other.__reduce__()[1]
        cells = map(np.array_equal, joint[:CELLS], other_joint[:CELLS])
        return all(cells) and joint[CELLS:] == other_joint[CELLS:] and mine == theirs

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counters, not what was read from them."""
        counters = self.n, self._units, self._weighted, self.abstentions
        return _restore, (self.joint, self.names, self._scored, *counters)

    def mcnemar(self, method: str = "midp") -> float:
        """Return the p-value of McNemar's test that both models are right equally often, for one look.

        Parameters
        ----------
        method : {"midp", "exact", "chi2"}, default "midp"
            The variant of the test.

        Returns
        -------
        float
            The p-value.

        Raises
        ------
        ValueError
            If samples have weights, or the method is another one.
        """
        return mcnemar_test(*self.discordant, method)

    def evidence(self, better: str = "either", level: float = 0.95) -> Evidence:
        """Return evidence, valid at any time, that a model is right more often.

        Parameters
        ----------
        better : str, default "either"
            The name of a model, "a" or "b" for the first or the second one, or "either". A name comes before a place:
            "a" is the model of that name, if there is one, and the first model otherwise. "either" is never a name.
        level : float, default 0.95
            Confidence of the interval, in (0, 1).

        Returns
        -------
        Evidence
            The e-value and the p-value. Its `better` is the name of the model.

        Raises
        ------
        ValueError
            If there is no such model, or samples have weights.

        Examples
        --------
        >>> from stream_metrics import Comparison
        >>> models = Comparison("old", "new")
        >>> models.update_many([1] * 100, [1] * 70 + [0] * 30, [1] * 85 + [0] * 15)
        >>> models.snapshot().evidence("new").p_value < 0.05
        True
        """
        return discordant_evidence(*self.discordant, self.names, self._side(better), real(level, "level"))

    def _side(self, better: str) -> Better:
        """Return which model is meant: by its name, else by its place."""
        sides: dict[str, Better] = {"a": "a", "b": "b", self.names[0]: "a", self.names[1]: "b", "either": "either"}
        if not isinstance(better, str) or better not in sides:
            *names, either = map(repr, sides)
            raise ValueError(f"Expected `better` to be {', '.join(names)} or {either}, but got {better!r}")
        return sides[better]

    def difference(
        self,
        key: str,
        level: float = 0.95,
        *,
        label: Label | None = None,
        valid: Literal["fixed", "anytime"] = "fixed",
        t_opt: float = 1000.0,
        draws: int = DRAWS,
        seed: int = SEED,
        **options: Any,
    ) -> Difference:
        """Return a metric of both models, and b less a with its interval.

        Parameters
        ----------
        key : str
            Key of the metric.
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        label : Label, optional
            The class of a per-class metric.
        valid : {"fixed", "anytime"}, default "fixed"
            "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
        t_opt : float, default 1000.0
            Number of samples near which an asymptotic sequence is tightest; to be chosen before the first look.
        draws, seed : int, default 1000 and 20101
            Of the posterior.
        **options : object
            Options of the formula, such as beta=2.

        Returns
        -------
        Difference
            Both values, b less a, its interval, and a note if nothing can be said.

        Raises
        ------
        KeyError
            If there is no such key.
        ValueError
            If the metric cannot be compared, or the samples do not allow the method.
        """
        row = find(key)
        level, t_opt = real(level, "level"), real(t_opt, "t_opt")
        if not 0 < level < 1:
            raise ValueError(f"Expected `level` to be between 0 and 1, but got {level!r}")
        if valid not in ("fixed", "anytime"):
            raise ValueError(f"Expected `valid` to be 'fixed' or 'anytime', but got {valid!r}")
        if row.needs and self._weighted:
            raise ValueError(f"Expected samples of weight 1 for {key!r}, but got {self._weighted} of another weight")
        label = None if label is None else canonical(label, "label")
        if row.state == "counts" and ((row.kind == "per_class") != (label is not None) or row.kind == "matrix"):
            expected, but = "for a per-class key and none for a whole one", f"got {key!r}, {label!r}"
            raise UnknownKeyError(argument="label", subject="a label", expected=expected, got=label, but=but)
        metric = methods.measure(row, options)
        if row.state != "counts":
            return self._finished(metric, label, self._of_scores(metric, label), level, valid, t_opt)
        a, b = (float(methods.value_of(metric, s, s.counts(self.joint.values), label)) for s in self._sides)
        if not self.n or math.isnan(b - a):
            return Difference(
                row.key, label, a, b, math.nan, math.nan, math.nan, math.nan, level, "none", valid, "0/0 for a model"
            )
        self._check_samples()
        empty = Difference(row.key, label, a, b, b - a, math.nan, math.nan, math.nan, level, "", valid)
        if self._units:
            return self._finished(metric, label, (a, b, *self._of_folds(metric, label)), level, valid, t_opt)
        if valid == "anytime":
            return self._watched(metric, empty, t_opt)
        return self._once(metric, empty, draws, seed)

    def _check_samples(self) -> None:
        """Raise ValueError for samples that allow no interval."""
        if 0 < self._units < self.n:
            raise ValueError(f"Expected all samples or none to have a unit, but got {self._units} of {self.n} with one")
        if self._weighted and not self._units:
            raise ValueError(
                f"Expected samples of weight 1, or each with its `unit`, for an interval, "
                f"but got {self._weighted} of another weight"
            )

    def _of_folds(self, metric: Measure, label: Label | None) -> tuple[str, float, int]:
        rows = methods.without_folds(self.joint)
        a, b = (methods.value_of(metric, side, side.counts(rows), label) for side in self._sides)
        return "folds", jackknife(b - a), len(rows)

    def _once(self, metric: Measure, empty: Difference, draws: int, seed: int) -> Difference:
        """Return a difference with its interval for one look."""
        label, level, value = empty.label, empty.level, empty.value
        pairs, sign = metric.pairs(self.joint, label)
        se = methods.delta_se(metric, self._sides, self.joint.values, label)
        note = self._rare(metric, label)
        if note and label is None and self.n >= ENOUGH:  # the value of a class leans on that class
            note = note if not pairs and methods.leans(metric, self._sides, self.joint) else ""
        if pairs:
            low, high = _signed(shares.paired_bounds(pairs, level), sign)
            return replace(empty, low=low, high=high, se=se, method="tango", note=note)
        if methods.steady(metric, self._sides, self.joint, label, ENOUGH):
            margin = -normal_quantile((1 - level) / 2) * se
            return replace(empty, low=value - margin, high=value + margin, se=se, method="delta", note=note)
        low, high, se, lost = methods.posterior(metric, self.joint, label, draws, seed, level)
        note = f"{lost} of {draws} draws were 0/0" if lost else note
        low, high = min(low, value), max(high, value)  # all draws may lie beside it
        return replace(empty, low=low, high=high, se=se, method="posterior", note=note)

    def _watched(self, metric: Measure, empty: Difference, t_opt: float) -> Difference:
        """Return a difference with its interval for all looks: by bets where they can be had, else asymptotic."""
        label, level = empty.label, empty.level
        pairs, sign = metric.pairs(self.joint, label)
        se = methods.delta_se(metric, self._sides, self.joint.values, label)
        empty = replace(empty, se=se)
        if len(pairs) == 1:
            low, high = _signed(shares.paired_sequence(pairs, level), sign)
            return replace(empty, low=low, high=high, method="bets")
        if methods.steady(metric, self._sides, self.joint, label, STEADY):
            margin = late_multiplier(self.n, t_opt, level) * se
            return replace(empty, low=empty.value - margin, high=empty.value + margin, method="asymptotic")
        if pairs:
            low, high = _signed(shares.paired_sequence(pairs, early_level(level, 1)), sign)
            return replace(empty, low=low, high=high, method="bets")
        bounds = methods.apart(metric, self._sides, label, level)
        if bounds is not None:
            return replace(empty, low=bounds[0], high=bounds[1], method="beta_binomial")
        most = metric.row.high - metric.row.low
        return replace(empty, low=-most, high=most, method="asymptotic", note=TOO_EARLY)

    def _finished(
        self, metric: Measure, label: Label | None, parts: Parts, level: float, valid: str, t_opt: float
    ) -> Difference:
        """Return the difference with the interval that the standard error of folds gives."""
        a, b, method, se, folds = parts
        value = b - a
        note = f"only {folds} folds" if folds else REPEATED
        if not se > 0:
            note = "the models do not differ in any sample that counts here" if se == 0 else note
            return Difference(metric.row.key, label, a, b, value, math.nan, math.nan, se, level, method, valid, note)
        margin, note = t_quantile(level, folds - 1), "" if folds > 7 else note
        doubt = self._doubt(metric, label, se, valid)
        if valid == "anytime":
            if doubt:
                most = metric.row.high - metric.row.low
                return Difference(metric.row.key, label, a, b, value, -most, most, se, level, method, valid, doubt)
            margin *= asymptotic_multiplier(self.n, t_opt, 1 - level) / -normal_quantile((1 - level) / 2)
        note = note or doubt
        return Difference(
            metric.row.key, label, a, b, value, value - margin * se, value + margin * se, se, level, method, valid, note
        )

    def _doubt(self, metric: Measure, label: Label | None, se: float, valid: str) -> str:
        """Return why the standard error of folds is no reason for an interval, or ""."""
        watched = valid == "anytime"
        if metric.row.state != "counts":
            if watched and self._rarest(metric, label) < BURN_IN:
                return f"too early: a class has fewer than {BURN_IN} samples"
            return "" if watched else self._rare(metric, label)
        values = self.joint.values * (self.n / self.joint.values.sum())
        alone = methods.delta_se(metric, self._sides, values, label)
        joint = self.joint._replace(values=values * min(1.0, (alone / se) ** 2))
        if methods.steady(metric, self._sides, joint, label, STEADY if watched else ENOUGH):
            return ""
        return TOO_EARLY if watched else FEW_SAMPLES

    def _rarest(self, metric: Measure, label: Label | None) -> float:
        """Return the number of samples of the rarest class that the metric depends on."""
        if metric.row.key in OF_ALL:
            return self.n
        totals = np.bincount(self.joint.truth, self.joint.values, len(self.labels))
        if label is not None and label in self.labels:
            own = float(totals[self.labels.index(label)])
            return min(own, float(totals.sum()) - own)
        return float(totals[totals > 0].min()) if totals.any() else 0

    def _rare(self, metric: Measure, label: Label | None) -> str:
        few = self._rarest(metric, label)
        if few >= ENOUGH:
            return ""
        return f"a class has {few:.0f} sample{'s' * (round(few) != 1)}, too few for this interval"

    def _of_scores(self, metric: Measure, label: Label | None) -> Parts:
        """Return a value of the scores of both models, the method, its standard error, and the number of folds.

        The number is 0 if samples repeat without a unit.
        """
        row = metric.row
        if row.state not in self.scored or row.kind == "matrix" or row.quadratic:
            raise ValueError(
                f"Expected a key of the scores that are kept ({self.scored or 'none'}), but got {row.key!r}"
            )
        if 0 < self._units < self.n:
            raise ValueError(f"Expected all samples or none to have a unit, but got {self._units} of {self.n} with one")
        if row.state not in self._left_out:
            self._left_out[row.state] = left_out(self._scored, row.state)
        wholes, rest = self._left_out[row.state]
        a, b = (scores.read(row, state, label, metric.options) for state in wholes)
        if not self._units and scores.uneven(self._scored, self.joint.parts):
            return a, b, "folds", math.nan, 0
        pairs = [[scores.read(row, state, label, metric.options) for state in pair] for pair in rest]
        estimates = np.array([y - x for x, y in pairs])
        return a, b, "folds", jackknife(estimates), len(estimates)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return everything that the report shows as plain Python types.

        Parameters
        ----------
        level : float, default 0.95
            Confidence of the interval, in (0, 1).

        Returns
        -------
        dict
            Values by name.
        """
        from stream_metrics.report.comparison import to_dict

        return to_dict(self, level)

    def to_frame(self, level: float = 0.95) -> pandas.DataFrame:
        """Return the differences as a pandas table, in the order of the report.

        Parameters
        ----------
        level : float, default 0.95
            Confidence of the intervals, in (0, 1).

        Returns
        -------
        pandas.DataFrame
            A row for each metric, its key in the index: title, values of both models (a, b), difference, interval for
            one look (low, high) and for any number of looks (anytime_low, anytime_high), se, method, note. What cannot
            be compared is nan, and `note` says why.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> from stream_metrics import Comparison
        >>> models = Comparison("old", "new")
        >>> models.update_many([1] * 100, [1] * 70 + [0] * 30, [1] * 85 + [0] * 15)
        >>> models.snapshot().to_frame()[["a", "b"]].iloc[0].to_dict()
        {'a': 0.7, 'b': 0.85}
        """
        from stream_metrics.report.data import comparison_frame

        return comparison_frame(self, level)

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the differences with their intervals around 0.

        Parameters
        ----------
        level : float, default 0.95
            Confidence of the intervals, in (0, 1).

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig(path)` writes it.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        See Also
        --------
        stream_metrics.plots.groups : The same on axes of your own.
        """
        from stream_metrics.plots.groups import differences

        return differences(self, level).figure  # type: ignore[return-value]

    def report(  # type: ignore[override]  # `level` comes first, as in the other methods
        self, level: float = 0.95, width: int | None = None
    ) -> str:
        """Return the report as text.

        Parameters
        ----------
        level : float, default 0.95
            Confidence of the interval, in (0, 1).
        width : int, optional
            Columns, at least 40; the width of the terminal by default.

        Returns
        -------
        str
            Metrics of both models with intervals for one look and for many, tests, evidence.
        """
        from stream_metrics.report.document import text

        return text(partial(self._document, level=level), width)

    def _document(self, medium: Medium, level: float = 0.95) -> list[Element]:
        from stream_metrics.report.comparison import document

        return document(self, medium, level)

    def __repr__(self) -> str:
        """Return one line: names and size."""
        return f"<ComparisonSnapshot n={self.n}, {self.names[1]!r} against {self.names[0]!r}>"


def _restore(
    joint: Joint,
    names: tuple[str, str],
    scored: Mapping[int, tuple[States, ...]],
    n: int,
    keyed: int,
    weighted: int,
    abstentions: tuple[int, int, int],
) -> ComparisonSnapshot:
    return ComparisonSnapshot(names, joint, scored, n=n, keyed=keyed, weighted=weighted, abstentions=abstentions)
