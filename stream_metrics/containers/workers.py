"""What an aggregate knows of a worker: its newest state, and what became of its messages."""

from __future__ import annotations

import enum
from typing import NamedTuple

from stream_metrics.containers.keyed import StoredState
from stream_metrics.errors import MergeError
from stream_metrics.labels import Label

__all__ = ["Entry", "PutResult", "RetiredCounts", "Worker", "newer", "outcome"]


class PutResult(enum.StrEnum):
    """What `Aggregate.put` did with a state; only `ACCEPTED` is true.

    Attributes
    ----------
    ACCEPTED
        The state is new and counts from now on.
    DUPLICATE
        The state came before.
    STALE
        A later state of this life of the worker came before.
    FENCED
        The life of the worker that sent the state is over: a later epoch has reported, or the worker was retired or
        dropped.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Aggregate, PutResult
    >>> total = Aggregate()
    >>> [total.put("worker", Accuracy(), sequence) for sequence in (2, 1)]
    [<PutResult.ACCEPTED: 'accepted'>, <PutResult.STALE: 'stale'>]
    >>> bool(PutResult.STALE), PutResult.STALE == "stale"
    (False, True)
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    FENCED = "fenced"

    def __bool__(self) -> bool:
        return self is PutResult.ACCEPTED


class Worker(NamedTuple):
    """What an aggregate knows of a worker.

    Attributes
    ----------
    epoch, sequence : int
        The numbers of the state that counts.
    n : int
        How many samples it has.
    age : float
        Seconds since it came.
    accepted, duplicate, stale, fenced : int
        How many states of the worker had each outcome; see `PutResult`.
    """

    epoch: int
    sequence: int
    n: int
    age: float
    accepted: int = 0
    duplicate: int = 0
    stale: int = 0
    fenced: int = 0


class Entry(NamedTuple):
    """The newest state of a worker as it is stored, with its numbers, and when it came.

    The state is None if the worker was dropped, or retired: then it is part of the base.
    """

    epoch: int
    sequence: int
    state: StoredState | None
    since: float
    retired: bool = False

    @property
    def rank(self) -> tuple[int, bool, int, bool]:
        """What grows with news: retiring ends an epoch, dropping ends it up to a sequence."""
        return self.epoch, self.retired, self.sequence, self.state is None

    @property
    def n(self) -> int:
        """The number of samples."""
        return 0 if self.state is None else self.state.n


class RetiredCounts(NamedTuple):
    """What retired workers have counted, and the epoch up to which unknown workers are over."""

    state: StoredState | None = None
    floor: int | None = None


def outcome(worker: Label, old: Entry | None, new: Entry) -> PutResult:
    """Return what becomes of a state that arrives; MergeError if it differs from `old` under the same numbers."""
    if newer(worker, old, new) is new:
        return PutResult.ACCEPTED
    if old is None or old.state is None or new.epoch < old.epoch:
        return PutResult.FENCED
    return PutResult.STALE if new.sequence < old.sequence else PutResult.DUPLICATE


def newer(worker: Label, mine: Entry | None, theirs: Entry) -> Entry:
    """Return the newer of two entries of a worker, `mine` if they are one."""
    if mine is None or theirs.rank > mine.rank:
        return theirs
    if theirs.rank == mine.rank and theirs.state != mine.state:
        raise MergeError(
            f"Expected one state of worker {worker!r} under epoch {mine.epoch} and sequence {mine.sequence}, but got "
            f"two that differ, of {mine.n} and {theirs.n} samples"
        )
    return mine
