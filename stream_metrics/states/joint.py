"""Two models on the same stream, as a state: exact counts of (true label, prediction of one, prediction of the other).

**Folds.** What no table of labels can tell (the uncertainty of areas and losses, and of anything once samples depend on
each other) is told by leaving out one fold of the stream at a time. The fold of a sample is a fixed hash of its unit,
so shards agree on it and every fold merges with itself. The paired DeLong method was the alternative for areas: it
needs, for every item, its rank among the scores of one model and among those of the other. In bounded memory that is a
two-dimensional sketch whose certificate would say little, and it knows nothing of units, losses or average precision.
Folds need two of the sketches there are for each fold (at most 64 kB each and class), are exact to merge, and serve
every metric of scores. A sample without a unit is a unit of its own. In tables of labels it is then in no fold, as the
formulas of independent samples are sharper; for its scores the fold is the hash of truth and scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import Swap, by_class, commit, real_number
from stream_metrics._core.paired.kernels import PairedCounts, ScoredStep
from stream_metrics.errors import ScoreError, StreamMetricsError, options_differ, other_kind, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.batch import Batch, Weights, label_batch
from stream_metrics.inputs.columns import (
    admit_labels,
    as_container,
    check_column,
    checked_column,
    factorize,
    is_table,
    row_objects,
)
from stream_metrics.inputs.score_tables import (
    check_classes,
    finite_scores,
    is_abstention,
    is_mapping,
    is_row,
    own_names,
    plain_number,
    row_of_scores,
    score_table,
)
from stream_metrics.labels import Label, canonical, same_labels, unique
from stream_metrics.labels.pos_label import check_possible, is_default
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Load, check_fixed, largest_load, load_of, not_counted, with_options
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_labels import LabelRule, Scores, content_fold, fold_of, folds_of
from stream_metrics.states.score_states import ScoreStates, Seen, check_counted, checked_scores
from stream_metrics.wire import Portable

if TYPE_CHECKING:
    from stream_metrics.snapshots.comparison import ComparisonSnapshot

CONFIGURATION = ("a", "b", "scores", "pos_label", "folds")
SIDES = ("pred_a", "pred_b")
Pair: TypeAlias = tuple[ScoreStates, ScoreStates]
Columns: TypeAlias = tuple[object, object]
Names: TypeAlias = tuple[tuple[Label, ...] | None, tuple[Label, ...] | None]


class Comparison(PairedCounts, Portable):
    """Two models on the same stream: the difference of any metric, and how sure it is.

    A sample where one of the models abstains (None or {}) is in no comparison. Samples are taken to be independent,
    unless each has a `unit` (see `update`); then all uncertainty comes from leaving out each of `folds` groups of
    units.

    Parameters
    ----------
    a, b : str, default "a" and "b"
        Names of the models. A difference is always b less a.
    labels : iterable of Label, optional
        The classes, in the order in which they are reported; others raise `LabelError`.
    scores : bool or "any", default False
        Whether predictions are scores: True for probabilities, whose areas, curves, calibration and losses are compared
        as well, "any" for other finite numbers, without losses.
    pos_label : Label, default True
        The class whose score a single number is. It is predicted above 0.5, or above 0 for "any".
    folds : int, default 32
        Number of groups of units.

    Attributes
    ----------
    n : int
        Number of samples that both models predict.
    folds : int
        Number of groups of units.
    keyed : int
        Number of samples with a unit.
    weighted : int
        Number of samples with a weight other than 1.

    Notes
    -----
    Memory: 16 bytes a slot for at most twice as many cells as are occupied, a cell being a fold and three labels; with
    scores, 2 `folds` rank sketches.

    Guarantee: counts are exact. A stream that is split over states gives the same bytes, however the states are merged.
    The sum of all weights stays below 2**63.

    Examples
    --------
    >>> from stream_metrics import Comparison
    >>> models = Comparison("old", "new")
    >>> models.update_many([1] * 100, [1] * 70 + [0] * 30, [1] * 85 + [0] * 15)
    >>> difference = models.snapshot().difference("accuracy")
    >>> round(difference.value, 3), difference.low > 0
    (0.15, True)
    """

    KIND: ClassVar[str] = "comparison"
    of_pairs: ClassVar[bool] = False  # windows and groups pass on one prediction
    _scored: dict[int, Pair]  # by fold

    @named_arguments
    def __init__(
        self,
        a: str = "a",
        b: str = "b",
        *,
        labels: Iterable[Label] | None = None,
        scores: bool | Literal["any"] = False,
        pos_label: Label = True,
        folds: int = 32,
    ) -> None:
        if not (isinstance(a, str) and isinstance(b, str)) or a == b:
            raise ValueError(f"Expected `a` and `b` to be two different names, but got {a!r} and {b!r}")
        self.scores = checked_scores(scores)
        self.a, self.b = str(a), str(b)
        self.pos_label = canonical(pos_label, "pos_label")
        if not scores and self.pos_label is not True:
            raise ValueError(f"Expected no `pos_label` without `scores`, but got {pos_label!r:.60}: it is about scores")
        self._configure(labels, folds, bool(scores))
        if not is_default(self.pos_label):
            check_possible(self.pos_label, self.fixed_labels)

    def _update(
        self, y_true: object, pred_a: object, pred_b: object, w: object, unit: object, classes: Iterable[Label] | None
    ) -> None:
        """Count a sample that has a unit or scores."""
        names = _names(classes)
        fold = self.folds if unit is None else fold_of(canonical(unit, "unit"), self.folds)
        if self.scores:
            self._count_scored(y_true, (pred_a, pred_b), w, fold, (names, names), self._shown_labels)
            return
        if names is not None:
            self._refuse_tables(None, None, names)
        self._count(y_true, pred_a, pred_b, w, fold)

    def _count_scored(
        self, y_true: object, predictions: Columns, w: object, fold: int, names: Names, seen: Seen
    ) -> None:
        """Count the scores of both models for a sample, and the labels that they predict."""
        if any(map(is_abstention, predictions)):
            a, b = (None if is_abstention(pred) else y_true for pred in predictions)
            self._count(y_true, a, b, w, fold)
            return
        scores = [self._scores_of(*given, y_true) for given in zip(predictions, SIDES, names, strict=True)]
        place = content_fold(y_true, *scores, folds=self.folds) if fold == self.folds else fold
        with self._writing():
            pair = self._scored.get(place) or (self._empty(), self._empty())
            read = [side.read_sample(y_true, own, w, None, None, seen) for side, own in zip(pair, scores, strict=True)]
            a, b = (labels[1] for labels, _ in read)
            of_labels = self._sample_step(y_true, a, b, w, fold)
            of_sides = [
                [state._update_step(*arguments) for state, arguments in side.bound(of_states)]
                for side, (_, of_states) in zip(pair, read, strict=True)
            ]
            added = [] if place in self._scored else [ScoredStep(self, {**self._scored, place: pair})]
            try:
                commit([*of_sides[0], *of_sides[1], of_labels, *added])
            except ScoreError as error:
                try:
                    commit([state._update_step(*arguments) for state, arguments in self._empty().bound(read[0][1])])
                except ScoreError:
                    raise error.with_argument("pred_a") from None
                raise error.with_argument("pred_b") from None

    def _scores_of(self, pred: object, argument: str, names: tuple[Label, ...] | None, y_true: object) -> Scores:
        """Return a prediction as a float or as floats by class; a truth value is no score."""
        pred = plain_number(pred)
        try:
            if names is not None and is_row(pred):
                pred = row_of_scores(pred, names)
            if not is_mapping(pred) and (isinstance(pred, bool) or real_number(pred) is None):
                expected = "to be a mapping from label to score, a number, or a row of scores with `classes`"
                raise ScoreError(argument=argument, expected=expected, got=pred)
            scores = finite_scores(pred)
            return scores if isinstance(scores, float) else by_class(scores, y_true, self.class_names)
        except ScoreError as error:
            raise error.with_argument(argument) from None

    def _empty(self) -> ScoreStates:
        losses = ProbabilityLosses(self.pos_label) if self.scores is True else None
        ranks = RankSketch(pos_label=self.pos_label, pairs=False)
        rule = LabelRule(self.pos_label, self.fixed_labels, 0.0 if self.scores == "any" else 0.5)
        return ScoreStates(rule, ranks=ranks, losses=losses)

    @named_arguments
    def update_many(
        self,
        y_true: object,
        pred_a: object,
        pred_b: object,
        w: object = None,
        *,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None:
        """Count a batch of samples; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        pred_a, pred_b : array-like of shape (n,) or (n, K)
            Predictions of both models: labels; or with `scores` the scores of `pos_label`, a mapping for each sample,
            or a table with a column for each class, such as `predict_proba` returns.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        classes : sequence of Label of length K, optional
            The classes of the columns of tables of scores; a data frame brings its own.
        unit : array-like of shape (n,) or Label, optional
            Units of the samples, or one unit for all of them; see `update`.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if self.scores:
            self.merge(self._scored_batch(y_true, (pred_a, pred_b), w, unit, _names(classes)))
            return
        self._refuse_tables(pred_a, pred_b, classes)
        names = self.class_names
        first = label_batch(y_true, pred_a, w, "pred_a", names)
        second = label_batch(first.truth, pred_b, first.weights, "pred_b", names)
        self._count_labels(first, second, folds_of(unit, first.n, self.folds))

    def _refuse_tables(self, pred_a: object, pred_b: object, classes: object) -> None:
        """Raise ScoreError for tables of scores, or their classes, where models predict labels."""
        but = "got some; Comparison(scores=True) compares scores"
        if classes is not None:
            raise ScoreError(argument="classes", subject="no `classes`", expected="for labels", but=but)
        for argument, values in (("pred_a", pred_a), ("pred_b", pred_b)):
            if is_table(values) or getattr(values, "ndim", 1) == 2 or hasattr(values, "get_column"):
                raise ScoreError(argument=argument, expected="to have no table of scores", but=but)

    def _count_labels(self, first: Batch, second: Batch, folds: NDArray[np.int64]) -> None:
        """Count two batches of labels with the same truth and weights."""
        labels, codes = [], []
        for column, argument in zip((first.truth, first.predicted, second.predicted), ("y_true", *SIDES), strict=True):
            assert column is not None
            check_column(column, argument, argument != "y_true")
            column_codes, names = factorize(column)
            labels.append(admit_labels(self._admit, names, column, argument))
            codes.append(column_codes.astype(np.int64))
        self._count_rows(labels, codes, folds, *first.split_weights())

    def _scored_batch(
        self, y_true: object, predictions: Columns, w: object, unit: object, names: tuple[Label, ...] | None
    ) -> Comparison:
        """Return a state of its own that has counted a batch of scores, row by row."""
        truth = checked_column(y_true, "y_true")
        n, labels = truth.n, truth.objects()
        given = zip(predictions, SIDES, strict=True)
        rows, classes = zip(*[_score_rows(values, argument, n, names) for values, argument in given], strict=True)
        weights: Iterable[object] = repeat(1, n) if w is None else Weights(w, n).numbers()
        folds, seen = folds_of(unit, n, self.folds).tolist(), {*self.labels, *labels}
        batch: Comparison = self._emptied()
        for row, (label, a, b, weight, fold) in enumerate(zip(labels, *rows, weights, folds, strict=True)):
            try:
                batch._count_scored(label, (a, b), weight, fold, classes, lambda: seen)
            except StreamMetricsError as error:
                raise error.with_position(row) from None
        return batch

    def merge(self, other: Self) -> Self:
        """Add the counts of another shard.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        """
        if not isinstance(other, Comparison):
            raise other_kind(Comparison, other)
        other = other.copy() if other is self else other
        options = [{name: getattr(each, name) for name in CONFIGURATION} for each in (self, other)]
        if repr(options[0]) != repr(options[1]):
            raise options_differ(options[0], options[1], ("a", "b", "scores"))
        if not same_labels(self.fixed_labels, other.fixed_labels):
            raise options_differ({"labels": self.fixed_labels}, {"labels": other.fixed_labels}, ("labels",))
        with self._merging(other):
            pairs = {fold: (a.copy(), b.copy()) for fold, (a, b) in other._scored.items()}
            for fold, pair in pairs.items():
                for scored, mine in zip(pair, self._scored.get(fold, ()), strict=False):
                    commit(scored._merge_steps(mine))
            commit([self._merge_step(other, inside=True), ScoredStep(self, {**self._scored, **pairs})])
        return self

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up: the sum of weights, samples, abstentions."""
        pairs = [[*a._states().values(), *b._states().values()] for a, b in self._scored.values()]
        return largest_load([super()._merge_load(), *(load_of(states) for states in zip(*pairs, strict=True))])

    def _check_scores(self) -> None:
        """Raise ValueError unless the states of scores can have counted the samples of both models."""
        *_, wholes, parts = self.cells()
        units = (sum(wholes.tolist()) << 64) + (0 if parts is None else sum(parts.tolist()))
        for side in (0, 1):
            check_counted([pair[side] for pair in self._scored.values()], self.n, units)
        for a, b in self._scored.values():
            (ranks,), (theirs,) = a.sketches(), b.sketches()
            if (ranks.n, ranks._total_units()) != (theirs.n, theirs._total_units()):
                raise ValueError("scores of both models for the same samples")

    def copy(self) -> Self:
        """Return an independent copy of configuration and counts.

        Returns
        -------
        Comparison
            The copy.
        """
        return self._emptied().merge(self)

    def reconfigured(self, **options: Any) -> Self:
        """Return a new comparison of the same samples with other options.

        Parameters
        ----------
        **options : object
            Arguments of the class that differ: names of models, fixed labels, `scores=False`. What is left out stays.

        Returns
        -------
        Comparison
            What a comparison with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts.
        TypeError
            If there is no such option.
        """
        if options.get("scores") is False:
            options = {"pos_label": True} | options  # which is about scores
        names = ("a", "b", "scores", "pos_label", "folds", "labels")
        twin = with_options(self, options, names, labels=self.fixed_labels)
        state: Self = self.copy()
        for name in ("folds", "scores", "pos_label"):
            old, new = getattr(self, name), getattr(twin, name)
            if (state.n or state.abstained) and repr(old) != repr(new) and (twin.scores or name == "folds"):
                raise not_counted(name, old, new, "samples were counted with the old value")
        used = [at for column in state.cells()[1:4] for at in set(column.tolist())]
        check_fixed(state.fixed_labels, twin.fixed_labels, [state.labels[at] for at in sorted({*used})])
        commit([twin._merge_step(state)])
        for fold, pair in state._scored.items() if twin.scores else ():
            twin._scored[fold] = twin._empty(), twin._empty()
            for side, empty in zip(pair, twin._scored[fold], strict=True):
                side.count_again(empty)
        return twin

    def _emptied(self) -> Self:
        """Return a state of the same configuration that has counted nothing."""
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._scored = {}
        twin._configure(self.fixed_labels, self.folds, bool(self.scores))
        return twin

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        commit([Swap(self, self._emptied())])

    def snapshot(self) -> ComparisonSnapshot:
        """Return a frozen copy from which differences, tests and evidence are read.

        Returns
        -------
        ComparisonSnapshot
            Both models at this moment; later updates do not change it.
        """
        from stream_metrics.inference.comparison.methods import Joint
        from stream_metrics.snapshots.comparison import ComparisonSnapshot

        state: Comparison = self.copy()
        folds, truth, a, b, wholes, parts = state.cells()
        values = wholes.astype(np.float64) if parts is None else wholes + parts.astype(np.float64) * 2.0**-64
        labels, fixed = state.labels, state.fixed_labels
        joint = Joint(folds, truth, a, b, values, labels, 0 if fixed is None else len(fixed), state.folds)
        counters = {name: getattr(state, name) for name in ("n", "keyed", "weighted", "abstentions")}
        scored = {fold: tuple(side.by_name() for side in pair) for fold, pair in sorted(state._scored.items())}
        return ComparisonSnapshot((self.a, self.b), joint, scored, **counters)

    def _content(self) -> list[object]:
        state: Comparison = self.copy()
        *columns, parts = state.cells()
        labels, fixed = state.labels, state.fixed_labels
        numbers = [x.tolist() for x in (*columns, *(() if parts is None else (parts,)))]
        scored = [
            [fold, [state._content() for scored in pair for state in scored._states().values()]]
            for fold, pair in sorted(state._scored.items())
        ]
        return [
            [self.a, self.b, fixed, self.scores, self.pos_label, self.folds],
            [state._mass, state.n, state.keyed, state.weighted, *state.abstentions],
            labels if fixed is None else labels[len(fixed) :],
            state._appearances(),
            numbers,
            scored,
        ]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (a, b, fixed, scores, pos_label, folds), counters, labels, appearances, cells, scored = content
        comparison = cls(a, b, labels=fixed, scores=scores, pos_label=pos_label, folds=folds)
        if {*map(type, chain(counters, appearances, *cells))} - {int} or len({*map(len, cells)}) != 1:
            raise ValueError("whole numbers, as many in every column of cells")
        if len(counters) != 7 or len(cells) not in (5, 6):
            raise ValueError("seven counters, and cells in five or six columns")
        parts = cells[5] if len(cells) == 6 else (0,) * len(cells[0])
        comparison._refill(list(labels), appearances, counters, (*cells[:5], parts))
        for fold, contents in scored:
            pair = comparison._empty(), comparison._empty()
            for state, data in zip((s for side in pair for s in side._states().values()), contents, strict=True):
                state.merge(type(state)._from_content(data))
            if type(fold) is not int or not 0 <= fold < folds or not comparison.scores or not pair[0].n:
                raise ValueError("scores of the folds there are")
            comparison._scored[fold] = pair
        if comparison.scores:
            comparison._check_scores()
        return comparison

    def __repr__(self) -> str:
        samples, classes = quantity(self.n, "sample"), quantity(len(self.labels), "class")
        return f"Comparison({self.a!r}, {self.b!r}, {samples}, {classes})"


def _names(classes: Iterable[Label] | None) -> tuple[Label, ...] | None:
    return None if classes is None else unique(classes, "classes")


def _score_rows(
    values: object, argument: str, n: int, names: tuple[Label, ...] | None
) -> tuple[list[Any], tuple[Label, ...] | None]:
    """Return the scores of each of `n` rows, and the classes of a row that is a sequence."""
    own = own_names(values)
    try:
        table = own is not None or getattr(values, "ndim", 1) != 1
        rows = score_table(values) if table else as_container(values, "scores")
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            check_classes(names or own, rows.shape[1])
    except ScoreError as error:
        raise error.with_argument(argument) from None
    column = row_objects(rows, argument)
    if len(column) != n:
        raise ScoreError(argument=argument, expected=f"to have as many rows as `y_true`, {n}", got=len(column))
    return column, names or own
