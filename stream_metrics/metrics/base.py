"""The base of metrics and sets of metrics: updates, merging, copies and folds over states that count samples.

Folds are counts of the samples of some of the units. Samples of one unit (a customer, a session, an hour) depend on
each other, so formulas for independent samples give intervals that are too narrow. A hash of the unit selects one of
`FOLDS` folds, the same in every shard, and the uncertainty of any value comes from leaving out one fold at a time (see
`inference.intervals.folds`). A fold is an accumulator like its owner, so folds merge, copy, revert and are written like
any other. Each sample is counted twice: in its fold and in the owner, whose values are read as without folds.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeAlias

from stream_metrics._core.confusion.kernels import FoldsStep, UpdateBase
from stream_metrics._core.numeric.kernels import Step, chosen_labels, chosen_scores, commit
from stream_metrics._core.windows.kernels import ExtendedPrediction
from stream_metrics.errors import ScoreError, WeightError, options_differ, other_kind, with_article
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.rules import Missing, SampleRule, sample_rule
from stream_metrics.inputs.samples import plain_sample
from stream_metrics.inputs.score_tables import names_of_state
from stream_metrics.labels import Label, canonical
from stream_metrics.labels.pos_label import as_counted_before
from stream_metrics.metrics.rules import count_by_rule
from stream_metrics.states.batches import KeyedBatch
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Load, check_options, largest_load, not_counted, settled
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_labels import fold_of, folds_of
from stream_metrics.wire import Portable, encoded

FOLDS = 32
NO_RULE = SampleRule()
PlainSample: TypeAlias = tuple[object, object, object, dict[str, object]]  # truth, prediction, weight, others by name


class MetricBase(UpdateBase, Portable):
    """Base of `Metric` and `MetricSet`: a state that counts samples, and a configuration beside it."""

    zero_division: float | None
    works_with_weights: ClassVar[bool] = True

    @property
    def _scored(self) -> Any:
        """The states of scores, which a set may have beside those of labels."""
        return getattr(self, "scored", None)

    @property
    def missing(self) -> str:  # no Literal, which jedi cannot read in a property
        """What a missing prediction is: "abstain", "wrong" or "raise"."""
        return (self._sample_rule or NO_RULE).missing

    @property
    def ignore_index(self) -> Label | None:
        """The true label whose samples are left out, None if there is none."""
        return (self._sample_rule or NO_RULE).ignore_index

    def _set_rule(self, missing: Missing, ignore_index: Label | None) -> None:
        """Leave samples out, or take missing predictions otherwise, from now on."""
        if missing == "abstain" and ignore_index is None:
            return
        self._sample_rule = sample_rule(missing, ignore_index)
        if missing == "wrong" and self._reads != "labels":
            raise ValueError("Expected `missing` to be 'abstain' or 'raise' where scores are read, but got 'wrong'")
        if missing == "wrong" and self.state.fixed_labels is not None and self.state.other is None:
            raise ValueError("Expected `other` beside `labels` with missing='wrong', which adds a class, but got none")

    def _written_rule(self) -> dict[str, object]:
        """Return the options of the rule that differ from the defaults, as a configuration has them."""
        if self._sample_rule is None:
            return {}
        options = zip(NO_RULE._fields, self._sample_rule, NO_RULE, strict=True)
        return {name: value for name, value, default in options if value != default}

    def _shown_rule(self) -> list[str]:
        """Return the options of the rule that differ from the defaults, as `repr` shows them."""
        return [f"{name}={value!r}" for name, value in self._written_rule().items()]

    @named_arguments
    def update_many(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        scores: object = None,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None:
        """Count a batch of samples; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        y_pred : array-like of shape (n,) or (n, K), optional
            Predictions: labels, or where scores are read the scores of `pos_label` or a column for each class.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores : array-like of shape (n,) or (n, K), optional
            Where scores are read: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.
        unit : array-like of shape (n,) or Label, optional
            Units of the samples, or one unit for all of them; see `update`.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed, or scores are given where labels only are read.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        columns = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "unit": unit}
        count_by_rule(self, columns, classes)

    def _count_columns(self, columns: Mapping[str, Any], classes: Iterable[Label] | None) -> None:
        """Count a batch of samples of which none is left out."""
        y_true, y_pred, w, scores = (columns.get(name) for name in ("y_true", "y_pred", "w", "scores"))
        if "n" in columns:
            self.state.update_counts(y_true, y_pred, columns["n"], w)
        elif columns["unit"] is not None:
            of_units = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores}
            self.merge(self._batch_of_units(of_units, columns["unit"], classes))
        else:
            self._update_many(y_true, y_pred, w, scores, classes)

    def _update_many(
        self, y_true: object, y_pred: object, w: object, scores: object, classes: Iterable[Label] | None
    ) -> None:
        """Count a batch of samples without units."""
        if self._reads == "labels":
            y_pred = chosen_labels(self, y_pred, scores, classes)
        else:
            y_pred = chosen_scores(self, y_pred, scores)
        self.state.update_many(y_true, y_pred, w, classes=classes)

    @named_arguments
    def update_counts(self, y_true: object, y_pred: object, n: object, w: object = None) -> None:
        """Count a table of counts, such as SQL's `GROUP BY` gives; for what reads labels only.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
            True labels, in the forms that `update_many` takes.
        y_pred : array-like of shape (rows,)
            Predictions; a row without one stands for abstentions.
        n : array-like of shape (rows,)
            Number of samples that each row stands for: whole numbers >= 0, also as floats or Decimals.
        w : array-like of shape (rows,), optional
            Sum of the weights of these samples; `n` by default.

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        ScoreError
            If scores are counted here.
        WeightError
            If `n` is negative or has a fraction, if a weight is negative, not finite, or not 0 where `n` is 0, or if a
            sum is too large.

        See Also
        --------
        ConfusionMatrix.update_counts : Which bytes the state has.
        """
        if self._reads != "labels":
            but = f"got {with_article(type(self))} that reads scores; RankSketch.update_counts counts tables of scores"
            raise ScoreError(subject="`update_counts`", expected="where labels only are counted", but=but)
        count_by_rule(self, {"y_true": y_true, "y_pred": y_pred, "n": n, "w": w}, None)

    @classmethod
    def from_counts(cls, y_true: object, y_pred: object, n: object, w: object = None, **options: Any) -> Self:
        """Return what counted a table of counts, such as SQL's `GROUP BY` gives; for what reads labels only.

        Parameters
        ----------
        y_true, y_pred, n, w : array-like of shape (rows,)
            The table; see `update_counts`.
        **options : object
            Options of the class, such as `labels` or `pos_label`.

        Returns
        -------
        Self
            A new metric or set, with the bytes of one that counted the samples.

        Examples
        --------
        >>> from stream_metrics import MetricSet
        >>> metrics = MetricSet.from_counts(["cat", "cat", "dog"], ["cat", "dog", "dog"], [90, 10, 50])
        >>> metrics.get()["accuracy"]
        0.9333333333333333
        """
        new = cls(**options)
        new.update_counts(y_true, y_pred, n, w)
        return new

    def merge(self, other: Any) -> Self:
        """Add the counts of another shard that counts the same.

        Parameters
        ----------
        other : Metric or MetricSet
            A shard that counts the same samples alike. It stays as it is.

        Returns
        -------
        Self
            This object, which shows what it showed before.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.

        Notes
        -----
        What is counted decides: labels, the sizes of sketches, and for scores `pos_label` and `threshold`. What is
        shown (metrics, `zero_division`, options of formulas, the order of labels) is that of the left one. If sets need
        different counts of scores because their metrics differ, the merge keeps those that both have, for later samples
        too. `snapshot().omitted` names the metrics that need more.
        """
        self._check_same(other)
        with self._merging(other):
            commit(self._merge_steps(other))
        return self

    def _merge_steps(self, other: Any) -> list[Step]:
        """Return the steps of a merge; called in a section of both."""
        alike = bool(other._unit_folds) and self._has_options_of(other)
        steps, folds = self._merge_whole(other), dict(self._unit_folds)
        for fold, part in other._unit_folds.items():
            if fold in folds:
                steps += folds[fold]._merge_steps(part)
            else:
                folds[fold] = part.copy() if alike else self._emptied().merge(part)
        return [*steps, FoldsStep(self, folds)] if len(folds) > len(self._unit_folds) else steps

    def _merge_whole(self, other: Any) -> list[Step]:
        """Return the steps that add the counts of all samples, but not those of the folds."""
        steps: list[Step] = [self.state._merge_step(other.state)]
        if self._scored is not None:
            mine = self._scored.only(other._scored.names)
            steps += mine._merge_steps(other._scored.only(mine.names))
        return steps

    def _states(self) -> list[Any]:
        """Return the states of all samples, without those of the folds."""
        return [self.state, *([] if self._scored is None else self._scored._states().values())]

    @property
    def _reads(self) -> str:
        """Whether a sample has labels, scores or both."""
        raise NotImplementedError

    def _update_unit(self, unit: Label, y_true: object, y_pred: object, w: object, more: dict[str, object]) -> None:
        """Count a sample in the whole and in the fold of its unit, or in neither."""
        fold, sample = fold_of(canonical(unit, "unit"), FOLDS), self._plain_sample(y_true, y_pred, w, more)
        empty = self._empty()
        with self._writing():
            part = self._unit_folds.get(fold) or empty.copy()
            added = [] if fold in self._unit_folds else [FoldsStep(self, {**self._unit_folds, fold: part})]
            commit(self._sample_steps(sample) + part._sample_steps(sample) + added)

    def _revert_unit(
        self, unit: Label | None, y_true: object, y_pred: object, w: object, more: dict[str, object]
    ) -> None:
        """Undo one update, where some samples have units; of a sample without one if `unit` is None."""
        fold = None if unit is None else fold_of(canonical(unit, "unit"), FOLDS)
        sample = self._plain_sample(y_true, y_pred, w, more)
        with self._writing():
            steps, folds = self._sample_steps(sample, True), self._unit_folds
            if fold is None and folds:
                rest = self._empty().copy()
                commit(rest._merge_whole(self))
                commit(rest._sample_steps(sample, True))
                if not rest._holds(folds):
                    raise WeightError("Expected the `unit` of the sample, since no such sample has none, but got none")
            elif fold is not None and fold not in folds:
                raise WeightError(f"Expected a sample that was counted, but no sample of unit={unit!r} was")
            elif fold is not None:
                steps += folds[fold]._sample_steps(sample, True)
                if folds[fold].n + folds[fold].abstained == 1:  # which is reverted
                    steps.append(FoldsStep(self, {at: part for at, part in folds.items() if at != fold}))
            commit(steps)

    def _batch_of_units(self, columns: Mapping[str, Any], unit: object, classes: Iterable[Label] | None) -> Self:
        """Return a new object that has counted a batch; `unit` is a column, or one unit for all rows."""
        batch = KeyedBatch(columns, classes)
        folds = folds_of(unit, batch.n, FOLDS)
        empty = self._empty()
        whole: Self = empty.copy()
        whole._unit_folds = batch.split_by_key(folds, lambda _: None, empty)
        for part in whole._unit_folds.values():
            commit(whole._merge_whole(part))
        return whole

    def _plain_sample(self, y_true: object, y_pred: object, w: object, more: dict[str, object]) -> PlainSample:
        """Return truth, prediction, weight and other arguments, as values that run no code of the caller."""
        classes = self.state.classes if isinstance(self.state, ProbabilityLosses) else None
        names = names_of_state(self)
        truth, predicted, weight = plain_sample(self._reads, (y_true, y_pred), w, more, classes, names)
        if type(predicted) is ExtendedPrediction:
            return truth, predicted.predicted, weight, predicted.more
        return truth, predicted, weight, {}

    def _empty(self) -> Self:
        """Return an object of the same configuration that has counted nothing, which is not to be changed."""
        if self._prototype is None:
            empty = self.copy()
            empty.reset()
            self._prototype = empty
        prototype: Self = self._prototype
        return prototype

    def _holds(self, folds: Mapping[int, MetricBase]) -> bool:
        """Return whether this has all samples of folds, so that they can merge everything that this can."""
        parts = folds.values()
        if not parts:
            return True
        if sum(part.n for part in parts) > self.n or sum(part.abstained for part in parts) > self.abstained:
            return False
        for whole, *in_folds in zip(self._states(), *(part._states() for part in parts), strict=True):
            most, labels = whole._merge_load(), set(getattr(whole, "labels", ()))
            for state in in_folds:
                fits = all(x <= y for x, y in zip(state._merge_load(), most, strict=True))
                if not (fits and labels.issuperset(getattr(state, "labels", ()))):
                    return False
        return True

    def _copied_folds(self) -> dict[int, Self]:
        """Return independent copies of the folds, in their order."""
        return {fold: part.copy() for fold, part in sorted(self._unit_folds.items())} if self._unit_folds else {}

    def _written_folds(self) -> list[object]:
        """Return the folds as the last part of a content; nothing if there are none."""
        if not self._unit_folds:
            return []
        return [[[fold, part._content()[1:]] for fold, part in sorted(self._unit_folds.items())]]

    def _read_folds(self, configuration: object, content: Any) -> None:
        """Have the folds that `_written_folds` returned; ValueError for what cannot have been written."""
        for folds in content:
            for fold, states in folds:
                part = type(self)._from_content((configuration, *states))
                if type(fold) is not int or fold not in range(FOLDS) or fold in self._unit_folds:
                    raise ValueError(f"folds from 0 to {FOLDS - 1}, each once")
                if not part.n + part.abstained or part._unit_folds:
                    raise ValueError("samples in every fold")
                self._unit_folds[fold] = part
            if not folds or list(self._unit_folds) != sorted(self._unit_folds):
                raise ValueError("folds in their order, if there are any")
        if not self._holds(self._unit_folds):
            raise ValueError("no more samples in folds than there are")

    def _sample_steps(self, sample: PlainSample, reverts: bool = False) -> list[Step]:
        """Return the steps that count a plain sample in all states but the folds, or undo that."""
        y_true, y_pred, w, _ = sample
        step: Step = (self.state._revert_step if reverts else self.state._update_step)(y_true, y_pred, w)
        return [step]

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up: the sum of weights, samples, abstentions."""
        return largest_load(state._merge_load() for state in self._states())

    def _check_same(self, other: object) -> None:
        """Raise MergeError unless the other counts states of the same kinds."""
        if not self._counts_like(other):
            raise other_kind(type(self), other)
        assert isinstance(other, MetricBase)
        if self._sample_rule != other._sample_rule:
            mine, theirs = ((metric._sample_rule or NO_RULE)._asdict() for metric in (self, other))
            raise options_differ(mine, theirs)

    def _counts_like(self, other: object) -> bool:
        return type(other) is type(self)

    def reconfigured(self, **options: Any) -> Self:
        """Return a new object of the same samples with other options: another view, wider labels, or less.

        Parameters
        ----------
        **options : object
            Arguments of the constructor that differ. What is left out stays.

        Returns
        -------
        Self
            What an object with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts.
        TypeError
            If the constructor has no such argument.

        Notes
        -----
        Options of the view can always change. Others change the counts, and some of these lose information:
        smaller `buckets` and `sample`, `pairs=False`, `scores=False`, and labels that become `other`. See
        `ConfusionMatrix.reconfigured` for labels and `RankSketch.reconfigured` for sketches.

        Examples
        --------
        >>> from stream_metrics import MacroF1
        >>> metric = MacroF1(labels=["cat", "dog"])
        >>> metric.update("cat", "cat")
        >>> wider = metric.reconfigured(labels=["cat", "dog", "fox"], zero_division=1.0)
        >>> wider.get(), metric.get()
        (1.0, 0.5)
        """
        parameters = inspect.signature(type(self)).parameters.values()
        if all(each.kind is not each.VAR_KEYWORD for each in parameters):
            check_options(self, options, [each.name for each in parameters])
        options = settled(options)
        twin: Self = self._like(options)
        if twin._sample_rule != self._sample_rule and (self.n or self.abstained):
            name = next(name for name in NO_RULE._fields if getattr(self, name) != getattr(twin, name))
            raise not_counted(name, getattr(self, name), getattr(twin, name), "what was left out was not counted")
        with self._reading():
            self._count_again(twin)
            twin._unit_folds = {fold: part.reconfigured(**options) for fold, part in sorted(self._unit_folds.items())}
        return twin

    def _has_options_of(self, other: MetricBase) -> bool:
        """Return whether another object is of the same class and shows the same."""
        if type(other) is not type(self) or repr(self._configuration()) != repr(other._configuration()):
            return False
        mine, theirs = (getattr(each.state, "fixed_labels", None) for each in (self, other))
        return repr(mine) == repr(theirs)

    def _emptied(self) -> Self:
        """Return an object with the same options that has counted nothing."""
        return as_counted_before(self._like, {})  # options that an earlier version let pass

    def _like(self, options: Mapping[str, Any]) -> Self:
        """Return an empty object with other options."""
        return type(self)(**self._arguments() | dict(options))

    def _count_again(self, twin: Self) -> None:
        """Add the counts of all samples to an empty object with other options; OptionError if they do not tell."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return an independent copy of configuration and counts.

        Returns
        -------
        Self
            The copy.
        """
        with self._reading():
            twin = self._with(self.state.copy(), None if self._scored is None else self._scored.copy())
            twin._unit_folds = self._copied_folds()
        return twin

    def _with(self, state: Any, scored: Any = None) -> Self:
        """Return an object with the same options that counts in these states."""
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._sample_rule = self._sample_rule
        twin._attach(state)
        return twin

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        with self._writing():
            commit([*self._reset_steps(), FoldsStep(self, {})])

    def _reset_steps(self) -> list[Step]:
        """Return the steps that empty all states but the folds."""
        return [self.state._reset_step(), *([] if self._scored is None else self._scored.reset_steps())]

    def works_with(self, model: object) -> bool:
        """Return whether this fits a model of river.

        Parameters
        ----------
        model : river.base.Estimator
            A model: a classifier, where labels only are read a clusterer, or for a ranking an anomaly detector.

        Returns
        -------
        bool
            False if river was not imported.
        """
        base = sys.modules.get("river.base")  # a caller with a model of river has imported it
        rankers = ("AnomalyDetector", "AnomalyFilter") if isinstance(self.state, RankSketch) else ()
        names = ("Classifier", *(("Clusterer",) if self._reads == "labels" else rankers))
        return base is not None and isinstance(model, tuple(getattr(base, name) for name in names))

    def clone(self, new_params: Mapping[str, object] | None = None, include_attributes: bool = False) -> Self:
        """Return an empty copy, configured alike but for some parameters.

        Parameters
        ----------
        new_params : mapping from str to object, optional
            Arguments of the constructor that differ.
        include_attributes : bool, default False
            Whether the copy has the samples, too.

        Returns
        -------
        Self
            The copy.

        Raises
        ------
        TypeError
            If the constructor has no such argument.
        MergeError
            If samples are copied, but the configuration differs.
        """
        twin = type(self)(**self._arguments() | dict(new_params)) if new_params else self._emptied()
        return twin.merge(self) if include_attributes else twin

    def _arguments(self, of: type[Any] | None = None) -> dict[str, Any]:
        """Return the arguments of the constructor, or of that of another class, that make a metric like this one."""
        return {name: getattr(self, name) for name in inspect.signature(of or type(self)).parameters}

    @property
    def n(self) -> int:
        """The number of samples counted."""
        return int(self.state.n)

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        return int(self.state.abstained)

    def _configuration(self) -> tuple[object, ...]:
        raise NotImplementedError

    def _would_write(self, content: Any) -> bool:
        return encoded(content[0]) == encoded(self._configuration())  # the states have checked theirs

    def _content(self) -> list[object]:
        with self._reading():
            contents = [state._content() for state in self._states()]
            return [self._configuration(), *contents, *self._written_folds()]

    def _same(self, other: Self) -> bool:
        if self._unit_folds or other._unit_folds or self._scored is not None or other._scored is not None:
            return super()._same(other)
        return repr(self._configuration()) == repr(other._configuration()) and bool(self.state == other.state)
