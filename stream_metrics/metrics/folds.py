"""Folds of a metric or a set of metrics: counts of the samples of some of the units.

Samples of one unit (a customer, a session, an hour) depend on each other, so formulas for independent samples give
intervals that are too narrow. A hash of the unit selects one of `FOLDS` folds, the same in every shard, and the
uncertainty of any value comes from leaving out one fold at a time (see `inference.intervals.folds`). A fold is an
accumulator like its owner, so folds merge, copy, revert and are written like any other. Each sample is counted twice:
in its fold and in the owner, whose values are read as without folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from stream_metrics._core.confusion.kernels import FoldsStep
from stream_metrics._core.numeric.kernels import Step, commit
from stream_metrics._core.windows.kernels import ExtendedPrediction
from stream_metrics.errors import WeightError
from stream_metrics.inputs.samples import plain_sample
from stream_metrics.inputs.score_tables import names_of_state
from stream_metrics.labels import Label, canonical
from stream_metrics.states.batches import KeyedBatch
from stream_metrics.states.folds import fold_of, folds_of
from stream_metrics.states.losses import ProbabilityLosses

if TYPE_CHECKING:
    from stream_metrics.metrics.base import MetricBase

__all__ = [
    "FOLDS",
    "PlainSample",
    "batch_of",
    "copied",
    "merge_folds",
    "read_folds",
    "revert_unit",
    "update_unit",
    "written",
]

FOLDS = 32
PlainSample: TypeAlias = tuple[object, object, object, dict[str, object]]  # truth, prediction, weight, others by name
L = TypeVar("L", bound="MetricBase")


def update_unit(owner: MetricBase, unit: Label, given: tuple[object, ...], w: object, more: dict[str, object]) -> None:
    """Count a sample in the whole and in the fold of its unit, or in neither."""
    fold, sample = fold_of(canonical(unit, "unit"), FOLDS), _plain(owner, given, w, more)
    empty = _empty(owner)
    with owner._writing():
        part = owner._unit_folds.get(fold) or empty.copy()
        added = [] if fold in owner._unit_folds else [FoldsStep(owner, {**owner._unit_folds, fold: part})]
        commit(owner._sample_steps(sample) + part._sample_steps(sample) + added)


def revert_unit(
    owner: MetricBase, unit: Label | None, given: tuple[object, ...], w: object, more: dict[str, object]
) -> None:
    """Undo one update, of a sample without a unit if `unit` is None."""
    fold = FOLDS if unit is None else fold_of(canonical(unit, "unit"), FOLDS)
    sample = _plain(owner, given, w, more)
    with owner._writing():
        steps = owner._sample_steps(sample, True)
        if unit is None:
            if owner._unit_folds:
                rest = _without_folds(owner)
                commit(rest._sample_steps(sample, True))
                if not _holds_folds(rest, owner._unit_folds):
                    raise WeightError("Expected the `unit` of the sample, since no such sample has none, but got none")
        elif fold not in owner._unit_folds:
            raise WeightError(
                f"Expected to revert a sample that was counted, but got one of unit={unit!r}, which has none"
            )
        else:
            part = owner._unit_folds[fold]
            steps += part._sample_steps(sample, True)
            if _size(part) == 1:  # which is reverted
                steps.append(FoldsStep(owner, {at: each for at, each in owner._unit_folds.items() if at != fold}))
        commit(steps)


def batch_of(owner: L, columns: Mapping[str, object], unit: object, classes: Iterable[Label] | None) -> L:
    """Return a new accumulator that has counted a batch; `unit` is a column, or one unit for all rows."""
    batch = KeyedBatch(columns, classes)
    folds = folds_of(unit, batch.n, FOLDS)
    empty = _empty(owner)
    whole: L = empty.copy()
    whole._unit_folds = batch.split_by_key(folds, lambda _: None, empty)
    for part in whole._unit_folds.values():
        commit(whole._merge_whole(part))
    return whole


def merge_folds(owner: MetricBase, other: MetricBase) -> list[Step]:
    """Return the steps that add the folds of another accumulator."""
    alike = bool(other._unit_folds) and owner._has_options_of(other)
    steps, folds = list[Step](), dict(owner._unit_folds)
    for fold, part in other._unit_folds.items():
        if fold in folds:
            steps += folds[fold]._merge_steps(part)
        else:
            folds[fold] = part.copy() if alike else owner._emptied().merge(part)
    return [*steps, FoldsStep(owner, folds)] if len(folds) > len(owner._unit_folds) else steps


def copied(owner: L) -> dict[int, L]:
    """Return independent copies of the folds, in their order."""
    return {fold: part.copy() for fold, part in sorted(owner._unit_folds.items())} if owner._unit_folds else {}


def written(owner: MetricBase) -> list[object]:
    """Return the folds as the last part of a content; nothing if there are none."""
    folds = [[fold, part._content()[1:]] for fold, part in sorted(owner._unit_folds.items())]
    return [folds] if folds else []


def read_folds(owner: MetricBase, configuration: object, content: Any) -> None:
    """Give a restored accumulator the folds that `written` returned; ValueError for what cannot have been written."""
    for folds_content in content:
        folds = [fold for fold, _ in folds_content]
        if not folds or {*map(type, folds)} != {int} or folds != sorted({*folds} & {*range(FOLDS)}):
            raise ValueError(f"folds from 0 to {FOLDS - 1} in their order")
        for fold, states in folds_content:
            part = type(owner)._from_content((configuration, *states))
            if not _size(part) or part._unit_folds:
                raise ValueError("samples in every fold")
            owner._unit_folds[fold] = part
    if not _holds_folds(owner, owner._unit_folds):
        raise ValueError("no more samples in folds than there are")


def _holds_folds(owner: MetricBase, folds: Mapping[int, MetricBase]) -> bool:
    """Return whether the owner has all samples of folds, so that they can merge everything that the owner can."""
    parts = folds.values()
    if not parts:
        return True
    if sum(part.n for part in parts) > owner.n or sum(part.abstained for part in parts) > owner.abstained:
        return False
    for whole, *in_folds in zip(owner._states(), *(part._states() for part in parts), strict=True):
        most, labels = whole._merge_load(), set(getattr(whole, "labels", ()))
        for state in in_folds:
            if any(x > y for x, y in zip(state._merge_load(), most, strict=True)):
                return False
            if not labels.issuperset(getattr(state, "labels", ())):
                return False
    return True


def _without_folds(owner: L) -> L:
    """Return a copy of the samples of an accumulator, without units."""
    twin: L = _empty(owner).copy()
    commit(twin._merge_whole(owner))
    return twin


def _size(owner: MetricBase) -> int:
    return owner.n + owner.abstained


def _empty(owner: L) -> L:
    """Return an accumulator of the same configuration that has counted nothing."""
    if owner._prototype is None:
        empty = owner.copy()
        empty.reset()
        owner._prototype = empty
    prototype: L = owner._prototype
    return prototype


def _plain(owner: MetricBase, given: tuple[object, ...], w: object, more: dict[str, object]) -> PlainSample:
    """Return truth, prediction, weight and other arguments, as values that run no code of the caller."""
    classes = owner.state.classes if isinstance(owner.state, ProbabilityLosses) else None
    truth, predicted, weight = plain_sample(owner._reads, given, w, more, classes, names_of_state(owner))
    if type(predicted) is ExtendedPrediction:
        return truth, predicted.predicted, weight, predicted.more
    return truth, predicted, weight, {}
