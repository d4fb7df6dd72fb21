"""The states that scores feed beside a confusion matrix, kept in step with it.

A sample with scores is counted by up to four states: its label by the matrix, its scores by the rank sketch of all
classes, its largest score (the confidence) with whether it was right by a second sketch, and its probabilities by the
sums of losses. A batch is read once and counted apart for each state. One call adds what all of them count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import Step, commit
from stream_metrics._core.ranks.kernels import RemovedStep, ScoreCounters
from stream_metrics.errors import StreamMetricsError
from stream_metrics.inputs.batch import Batch
from stream_metrics.inputs.columns import Column
from stream_metrics.inputs.score_tables import is_abstention, is_mapping, is_soft, predictions_by_class
from stream_metrics.labels import Label, canonical, is_missing, unique
from stream_metrics.ranking.classes import RankState
from stream_metrics.ranking.remaining import RemainingRanks
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import CountRows, check_fixed, check_pos_label, not_counted
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_labels import LabelRule, fill_predictions

STATES = ("losses", "ranks", "confidence")  # in the order of their bytes
NAMES = ("ranks", "pairs", "confidence", "losses")  # the states, and whether the first has pairs, in order
ROUNDED = 2**44  # units of 2**-64, by which earlier versions rounded the weight of a sample in a sketch
UNKNOWN = (object(),)  # labels that none are
# truth, label and weight, and by the name of each state of scores what it counts
ReadSample: TypeAlias = tuple[tuple[object, ...], list[tuple[str, tuple[object, ...]]]]
Classes: TypeAlias = Iterable[Label] | None
MixedBatch: TypeAlias = tuple[Batch, Batch | None, Any]  # what `mixed_batch` returns
Seen: TypeAlias = Callable[[], Iterable[Label]]  # returns the labels that were counted


class UncountedPairs:
    """A sketch that lost its pairs of classes in a merge; snapshots omit the metrics of pairs and name the reason."""

    pairs, paired = True, False

    def __init__(self, ranks: RankState) -> None:
        self._ranks = ranks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_ranks":  # while it is copied or read from a pickle
            raise AttributeError(name)
        return getattr(self._ranks, name)


def checked_scores(scores: object) -> bool | Literal["any"]:
    """Return an option that says which scores are counted; ValueError if it is not valid."""
    if scores not in (True, False, "any"):
        raise ValueError(f"Expected `scores` to be True, False or 'any', but got {scores!r}")
    return "any" if scores == "any" else bool(scores)


def in_order(names: set[str]) -> tuple[str, ...]:
    """Return names of states in their order."""
    return tuple(name for name in NAMES if name in names)


def check_counted(parts: Sequence[ScoreStates], n: int, units: int | None = None) -> None:
    """Raise ValueError unless states of scores, of a fold each, can have counted some of `n` samples.

    With `units`, they must have counted all, and that is the sum of the weights, in units of 2**-64. Sets cannot tell:
    not every sample has scores, and where weights have faded, those of sketches have not.
    """
    for part in parts:
        part.check()
    left = n - sum(part.n - (0 if part.removed is None else part.removed.n) for part in parts)
    totals = [sum(map(_units, states)) for states in zip(*(part._states().values() for part in parts), strict=True)]
    if left < 0 or (units is not None and (left or any(abs(total - units) > ROUNDED * n for total in totals))):
        raise ValueError("scores of the samples that were counted")


def _units(state: RankSketch | ProbabilityLosses) -> int:
    """Return the sum of the weights of a state in units of 2**-64."""
    return state.weight_units if isinstance(state, ProbabilityLosses) else state._total_units()


class ScoreStates(ScoreCounters):
    """A rank sketch of all classes, a sketch of the largest score, and the sums of losses: those that are counted."""

    ranks: RankSketch | None
    confidence: RankSketch | None
    losses: ProbabilityLosses | None
    removed: ScoreStates | None

    def __init__(
        self,
        rule: LabelRule,
        ranks: RankSketch | None = None,
        confidence: RankSketch | None = None,
        losses: ProbabilityLosses | None = None,
    ) -> None:
        self.rule = rule
        self.declared = rule.labels  # the classes that there are, if they are known beforehand
        counted = ranks is not None, ranks is not None and ranks.pairs, confidence is not None, losses is not None
        self.names = tuple(compress(NAMES, counted))  # what is counted, as the configuration of a set writes it
        self.configure(ranks, confidence, losses, rule.pos_label, rule.negative, rule.names.fixed, rule.threshold)
        for reader in (self.ranks, self.losses):
            if reader is not None:
                reader.take_names_as_given()  # the rule has read them

    def with_states(self, states: Mapping[str, Any], removed: ScoreStates | None = None) -> ScoreStates:
        """Return other states that are fed like these."""
        twin = ScoreStates(self.rule, **states)
        twin.declared, twin.removed = self.declared, removed
        return twin

    def copy(self) -> ScoreStates:
        """Return an independent copy."""
        removed = None if self.removed is None else self.removed.copy()
        return self.with_states({name: state.copy() for name, state in self._states().items()}, removed)

    def _states(self) -> dict[str, Any]:
        """Return the states there are by name, in the order of their bytes."""
        return {name: state for name in STATES if (state := getattr(self, name)) is not None}

    def sketches(self) -> list[RankSketch]:
        """Return the rank sketches there are."""
        return [state for state in (self.ranks, self.confidence) if state is not None]

    @property
    def n(self) -> int:
        """The number of samples with scores, those that were removed included where a sketch has them."""
        counted: list[Any] = [*self.sketches(), self.losses]
        return int(counted[0].n)

    def by_name(self) -> dict[str, RankState | ProbabilityLosses]:
        """Return the states as formulas read them, by their names in the catalog, without those that are missing."""
        by_name: dict[str, Any] = {name: getattr(self, name) for name in self.names if name != "pairs"}
        if self.losses is not None and self.declared is not None:
            by_name["losses"] = ProbabilityLosses(self.losses.pos_label, self.declared).merge(self.losses)
        if self.removed is not None:
            gone = self.removed._states()
            by_name |= {name: RemainingRanks(by_name[name], removed) for name, removed in gone.items()}
        return by_name

    def take_other_class(self, label: Label) -> None:
        """Use this class as the one beside `pos_label`; the caller knows it from other samples."""
        self.rule = LabelRule(self.rule.pos_label, self.rule.labels, self.rule.threshold)
        self.negative = self.rule.negative = (label,)

    def only(self, names: Sequence[str]) -> ScoreStates:
        """Return states that lack what is not in `names`; they share the others with these."""
        mine = self.names
        if mine == names or {*mine} <= {*names}:
            return self
        states = {name: state for name, state in self._states().items() if name in names}
        if "ranks" in states and "pairs" not in names:
            states["ranks"] = states["ranks"].reconfigured(pairs=False)
        removed = None if self.removed is None else self.removed.only(names)
        return self.with_states(states, removed if removed is not None and removed._states() else None)

    def _merge_steps(self, other: ScoreStates) -> list[Step]:
        """Return the steps that add the counts of another shard with the same configuration."""
        theirs = other._states()
        steps = [mine._merge_step(theirs[name]) for name, mine in self._states().items()]
        if other.removed is None:
            return steps
        if self.removed is None:
            return [*steps, RemovedStep(self, other.removed.copy())]
        return steps + self.removed._merge_steps(other.removed)

    def _nothing_removed(self) -> ScoreStates:
        """Return empty sketches like these, to count removed samples."""
        removed = self.with_states({name: state.copy() for name, state in self._states().items() if name != "losses"})
        commit(removed.reset_steps())
        return removed

    def count_again(self, twin: ScoreStates) -> None:
        """Add the counts to empty states with other options, some of them perhaps less; OptionError if that fails."""
        mine, theirs = self.rule, twin.rule
        if self.n and mine.threshold != theirs.threshold:
            reason = "single numbers were counted as labels by it"
            raise not_counted("threshold", mine.threshold, theirs.threshold, reason)
        check_pos_label(self.n, mine.pos_label, theirs.pos_label)
        if self.ranks is not None:
            check_fixed(mine.labels, theirs.labels, self.ranks.labels)  # the matrix has no class that only scores name
        elif self.n and theirs.labels is not None and not {*theirs.labels} >= {*(mine.labels or UNKNOWN)}:
            raise not_counted("labels", mine.labels, theirs.labels, "which classes the scores named is not counted")
        for name, state in twin._states().items():
            size: dict[str, Any] = {} if name == "losses" else {"buckets": state.buckets, "sample": state.sample}
            more = {"pairs": state.pairs} if name == "ranks" else {}
            state.merge(self._states()[name].reconfigured(**size, **more, pos_label=state.pos_label))
        if self.removed is not None and (removed := twin._nothing_removed())._states():
            twin.removed = removed
            self.removed.count_again(removed)

    def check(self) -> None:
        """Raise ValueError unless all states can have counted the same samples, with the same weights."""
        removed = 0 if self.removed is None else self.removed.n
        counted = {(state.n, state.abstained) for state in self.sketches()}
        if self.losses is not None:
            counted.add((self.losses.n + removed, self.losses.abstained))
        if counted != {(self.n, 0)}:
            raise ValueError("states of scores that have counted as many samples")
        if len({state._total_units() for state in self.sketches()}) > 1:
            raise ValueError("sketches that have counted the same weights")

    def restore_removed(self, contents: Sequence[object]) -> None:
        """Load the sketches of removed samples; ValueError unless these are among the samples."""
        removed = self.removed = self._nothing_removed()
        for sketch, content in zip(removed.sketches(), contents, strict=True):
            sketch.merge(RankSketch._from_content(content))
        removed.check()
        if self.confidence is not None and all(sketch._exact for sketch in self.sketches()):  # it may have been dropped
            raise ValueError("removed samples beside sketches that have coarsened")
        for counted, gone in zip(self.sketches(), removed.sketches(), strict=True):
            RemainingRanks(counted, gone).check()

    def reset_steps(self) -> list[Step]:
        """Return the steps that forget every sample."""
        return [*(state._reset_step() for state in self._states().values()), RemovedStep(self, None)]

    def remove_steps(self, counts: ConfusionMatrix, sample: ReadSample) -> list[Step]:
        """Return the steps that undo a sample; one that a coarse sketch cannot forget is counted as removed."""
        labels, steps, sketches = sample[0], self.bound(sample[1]), self.sketches()
        if not steps or all(sketch._exact for sketch in sketches):
            return [state._revert_step(*arguments) for state, arguments in [(counts, labels), *steps]]
        exact = [(counts, labels), *steps[: -len(sketches)]]
        reverts = [state._revert_step(*arguments) for state, arguments in exact]
        of_sketches = [arguments for _, arguments in steps[-len(sketches) :]]
        if 1 + (0 if self.removed is None else self.removed.n) == self.n:  # nothing is left
            return [*reverts, *(sketch._reset_step() for sketch in sketches), RemovedStep(self, None)]
        if self.removed is not None:
            gone = zip(self.removed.sketches(), of_sketches, strict=True)
            return reverts + [sketch._update_step(*arguments) for sketch, arguments in gone]
        removed = self._nothing_removed()
        for sketch, arguments in zip(removed.sketches(), of_sketches, strict=True):
            sketch.update(*arguments)
        return [*reverts, RemovedStep(self, removed)]

    def update_many(self, owner: Any, mixed: MixedBatch) -> None:
        """Count a batch in all states of their owner, or in none, in one section."""
        whole, scored, y_pred = mixed
        counts: ConfusionMatrix = owner.state
        if scored is None:
            with owner._writing():
                counts._count_batch(whole)
            return
        batches = self._batches(whole, scored, y_pred, () if self.negative else counts.labels)
        with owner._writing():
            steps = [counts._batch_step(whole)]
            try:
                states = [(getattr(owner.scored, name), part) for name, part in batches]
                steps += [state._batch_step(part) for state, part in states if state is not None]
            except StreamMetricsError as error:
                raise scored.with_caller_position(error) from None
            commit(steps)

    def _prepare_rows(self, counts: ConfusionMatrix, mixed: MixedBatch, order: NDArray[np.int64]) -> CountRows | None:
        """Return what lets sets count rows of a batch with scores in every row, in an order.

        None where a row may be refused, or where what it counts depends on a set: on the labels that it has counted.
        """
        whole, scored, y_pred = mixed
        if scored is None or scored.rows is not None or isinstance(scored.scores, list):
            return None
        if scored.scores.ndim == 1 and not self.negative:
            return None
        if scored.weights is not None and scored.weights.wholes.sum(dtype=np.float64) > 2.0**62:
            return None
        batches = self._batches(whole, scored, y_pred, ())
        count_labels = counts._prepare_rows(whole, order)
        readers = [(name, getattr(self, name)._prepare_rows(batch, order)) for name, batch in batches]
        if count_labels is None or any(reader is None for _, reader in readers):
            return None

        def count(owner: Any, start: int, end: int) -> None:
            states: ScoreStates = owner.scored
            count_labels(owner.state, start, end)
            for name, reader in readers:
                reader(getattr(states, name), start, end)

        return count

    def _batches(self, whole: Batch, scored: Batch, y_pred: Any, seen: Iterable[Label]) -> list[tuple[str, Batch]]:
        """Predict labels where there are none; return what each state of scores counts, by the name of the state."""
        decisions = self.rule.of_batch(scored, seen)
        named = predictions_by_class(whole.truth, self.rule.names)
        whole.predicted = fill_predictions(y_pred, decisions.labels, scored, whole.n, named)
        batches = [(name, scored) for name in ("losses", "ranks") if getattr(self, name) is not None]
        if self.confidence is not None:
            right = Column(decisions.right.view("i1"), [False, True])
            batches.append(("confidence", Batch(right, scored.weights, scores=decisions.confidence)))
        return batches

    def steps(self, counts: ConfusionMatrix, sample: ReadSample, reverts: bool = False) -> list[Step]:
        """Return the steps that count a sample in all states, or undo that; the sketches must not have coarsened."""
        labels, read = sample
        every = [*self.bound(read), (counts, labels)]  # labels last, as scores may be refused
        return [state._revert_step(*args) if reverts else state._update_step(*args) for state, args in every]

    def bound(self, read: Iterable[tuple[str, tuple[object, ...]]]) -> list[tuple[Any, tuple[object, ...]]]:
        """Return the states of these names with what they count, but those that a merge has dropped since."""
        states = [(getattr(self, name), arguments) for name, arguments in read]
        return [(state, arguments) for state, arguments in states if state is not None]

    def read_sample(
        self, y_true: object, y_pred: object, w: object, scores: object, classes: Classes, seen: Seen
    ) -> ReadSample:
        """Return truth, label and weight of a sample, and what each state of scores counts, by its name.

        `seen` returns the labels that were counted, which are read only if a single score needs them.
        """
        if is_abstention(scores) and (classes is not None or is_soft(y_pred)):
            scores, y_pred = y_pred, None
        if is_abstention(scores):
            return (y_true, y_pred, w), []
        truth: Any = y_true
        decision = None if classes is not None else self.decision(truth, scores)
        if decision is None:
            scores = self.rule.read(scores, None if classes is None else unique(classes, "classes"), y_true)
            truth = canonical(y_true, "y_true")
            decision = self.rule.of_sample(scores, truth, () if self.negative or is_mapping(scores) else seen())
        label, largest = decision
        sample: tuple[object, ...] = (y_true, scores, w)
        read = [(name, sample if name != "confidence" else (label == truth, largest, w)) for name in self._states()]
        return (y_true, label if is_abstention(y_pred) or is_missing(y_pred) else y_pred, w), read
