"""A detector of changes as a state: how much speaks for a rate having left its level, and when it was enough.

**Why detectors do not merge.** Their evidence depends on the order of all samples, and two shards do not know theirs.
Three things are sound instead. Shards that each watch a stream of their own: the mean of their evidence against one
`arl`, under any dependence. Shards of one stream: count per pane of time in a `TimeWindow` (its panes merge), and give
the total of each closed pane to one detector by `update_sum`, which is one step of the same martingale. One detector a
group: `ByGroup`, fed sample by sample. A detector inside a `TimeWindow` is refused: a pane forgets by time and a
detector must not; one that began anew with every pane could never see a slow change, and its alarms would have no
stated rate.

**The level.** Given as `p0`, or learned from the first `reference` samples and then frozen; it is never taken from what
is being watched. A learned level is not the truth, so a rise is measured against the largest mean that these samples
allow at 95 % and a fall against the smallest: with the plain mean, half of all references would be too low, and of
1,000 samples at 10 % one in six is below 9.05 %, from which the mean run length to an alarm at arl=10000 is 3,000
samples, not 14,000 (60 runs each).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

from stream_metrics._core.detectors import Detector, Outcome
from stream_metrics._core.numeric import real_number
from stream_metrics.errors import MergeError, WeightError
from stream_metrics.inference.detectors import DetectorSnapshot, reference_levels
from stream_metrics.states.columns import coded, column, weights
from stream_metrics.states.tensors import materialize
from stream_metrics.wire import Portable, written_as

__all__ = ["ChangeDetector", "outcome"]

DIRECTIONS = {"up": (True, False), "down": (False, True), "both": (True, True)}
RESTARTS = ("same", "reference", "stop")
MOST_BETS, LARGEST = 8, 1e6


def outcome(key: str, label: Any = None) -> Outcome:
    """Return what turns (truth, prediction) into an error of a rate: 1, 0, or None where the rate is not about the
    pair.

    `key`: "accuracy", or with the class as `label` "recall", "precision", "specificity" or "npv". The mean of the
    errors is 1 less that rate, so "up" watches for the rate to fall. ValueError for another key.
    """
    return Outcome(key, label)


class ChangeDetector(Detector, Portable):
    """Watches a rate of errors, or the mean of any loss in [0, 1], for a change, with a stated rate of false alarms.

    While the mean loss is at most (for "down": at least) the level, the mean number of samples to an alarm is at least
    `arl`. `p0` is the level; or `reference` says how many samples to learn it from. `of` is an `outcome`, or its key,
    or a pair (key, label): then `update` takes truth and prediction, and the level is a rate of errors. `direction`:
    "up", "down", "both". `method`: "sr" uses the run length up and is the fastest, "cusum" raises far fewer false
    alarms and is slower. `bets`: by how much the odds of an error could have changed.

    After an alarm, "same" watches on against the same level, "reference" (the default with `reference`) learns a new
    one, "stop" watches no more. `alarm` tells whether the last update raised one, `changed` whether any did, `changes`
    when.

    Memory: under 1 kB. No `merge`: see `merge` for what to do instead. No weights. Guarantee: the run length holds for
    independent losses; for a learned level, with probability 95 % over the reference.
    """

    KIND: ClassVar[str] = "detector"

    def __init__(
        self,
        p0: float | None = None,
        *,
        reference: int | None = None,
        of: Outcome | str | tuple[str, Any] | None = None,
        direction: Literal["up", "down", "both"] = "up",
        arl: float = 10_000,
        method: Literal["sr", "cusum"] = "sr",
        bets: Iterable[float] = (1.2, 1.5, 2.0, 3.0),
        restart: Literal["same", "reference", "stop"] | None = None,
    ) -> None:
        if (p0 is None) == (reference is None):
            raise ValueError(f"Expected either `p0` or `reference`, but got p0={p0!r} and reference={reference!r}")
        if p0 is not None and not 0 < _real(p0) < 1:
            raise ValueError(f"Expected `p0` to be a rate between 0 and 1, but got {p0!r}")
        if reference is not None and not (type(reference) is int and 1 <= reference < 2**61):
            raise ValueError(f"Expected `reference` to be a whole number above 0, but got {reference!r}")
        if not 1 < _real(arl) < 1e15:
            raise ValueError(f"Expected `arl` to be a number of samples above 1, but got {arl!r}")
        default = "same" if reference is None else "reference"
        chosen: str = default if restart is None else restart
        for name, value, allowed in (
            ("direction", direction, DIRECTIONS), ("method", method, ("sr", "cusum")), ("restart", chosen, RESTARTS)
        ):  # fmt: skip
            if value not in allowed:
                raise ValueError(f"Expected `{name}` to be one of {tuple(allowed)}, but got {value!r}")
        if chosen == "reference" and reference is None:
            raise ValueError("Expected `reference` where a new level is learned after an alarm, but got none")
        self.p0, self.reference = None if p0 is None else float(p0), reference
        self.direction, self.method, self.restart, self.arl = direction, method, chosen, float(arl)
        self.bets = _odds(bets)
        watched = _outcome(of)
        learned = 0 if reference is None else reference
        self._configure(watched, self.bets, DIRECTIONS[direction], method == "cusum", self.arl, learned, chosen)
        self.reset()

    def update_many(self, x: Any, y_pred: Any = None, w: Any = None) -> None:
        """Watch a batch in its order: a column of losses, or with `of` two columns of labels.

        One bad row rejects the whole batch; the error names the position.
        """
        rows = self._losses(x, y_pred) if self.of is None else self._pairs(x, y_pred)
        if w is not None and any(weight != 1 for weight in weights(w, len(rows))):
            raise WeightError("Expected no `w`, or weights of 1, where changes are detected")
        with self._writing():
            twin = self._twin()
            for position, row in enumerate(rows):
                try:
                    twin.update(*row)
                except ValueError as error:
                    raise type(error)(f"{error} at position {position}") from None
            self._take(twin._numbers())

    def _losses(self, x: Any, y_pred: Any) -> list[tuple[Any, ...]]:
        if y_pred is not None:
            raise ValueError("Expected no `y_pred` for a detector of losses: give it `of`, such as outcome('accuracy')")
        x = materialize(x, "x")
        values = x.tolist() if hasattr(x, "tolist") else list(x)
        return [(value,) for value in values]

    def _pairs(self, x: Any, y_pred: Any) -> list[tuple[Any, ...]]:
        columns = []
        for values, name in ((x, "y_true"), (y_pred, "y_pred")):
            codes, names = coded(column(values, name, name == "y_pred"))
            columns.append([names[code] if code >= 0 else None for code in codes.tolist()])
        if len(columns[0]) != len(columns[1]):
            raise ValueError(f"Expected as many predictions as truths, {len(columns[0])}, but got {len(columns[1])}")
        return list(zip(*columns, strict=True))

    def update_sum(self, total: float, n: int) -> None:
        """Watch n losses of which only the sum is known, as one step: what a pane of time, or all shards of it,
        counted.

        With `of` as well, whose errors `total` then counts. An alarm can come at the end of the step only; the run
        length holds, counted in samples. ValueError unless 0 <= total <= n.
        """
        if type(n) is not int or not 0 <= n < 2**53 or not 0 <= _real(total) <= n:
            raise ValueError(f"Expected 0 <= `total` <= `n`, a whole number, but got {total!r} and {n!r}")
        with self._writing():
            self._watch_sum(float(total), n)

    def _levels(self, mean: float, n: int) -> tuple[float, float]:
        """Return the levels that a reference of n losses with this mean gives."""
        return reference_levels(min(max(mean, 0.0), 1.0), n)

    def merge(self, other: Self) -> Self:
        """Raise MergeError: the evidence depends on the order of all samples. The message says what to do instead."""
        raise MergeError(
            "Expected no merge of change detectors, whose evidence depends on the order of all samples: compare the "
            "mean of the evidence of shards with `arl`, or count panes of time and give each total to one detector by "
            "update_sum"
        )

    def copy(self) -> Self:
        """Return an independent copy."""
        with self._reading():
            return self._twin()

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        learned = 0 if self.reference is None else self.reference
        cusum = self.method == "cusum"
        twin._configure(self.of, self.bets, DIRECTIONS[self.direction], cusum, self.arl, learned, self.restart)
        twin._take(self._numbers())
        return twin

    def reset(self) -> None:
        """Forget every sample and alarm, and a level that was learned; the configuration stays."""
        with self._writing():
            self._start()
            if self.p0 is not None:
                self._set((self.p0, self.p0), [0.0] * (2 * len(self.bets)))

    def snapshot(self) -> DetectorSnapshot:
        """Return a frozen view of evidence, levels and alarms."""
        names = ("n", "abstained", "evidence", "arl", "alarms", "alarm", "changed", "learning", "stopped")
        with self._reading():
            data = {name: getattr(self, name) for name in names}
            levels = None if self.levels is None else list(self.levels)
            return DetectorSnapshot({**data, "changes": list(self.changes), "levels": levels})

    def _content(self) -> list[Any]:
        of = None if self.of is None else [self.of.key, self.of.label]
        configuration = [
            self.p0,
            self.reference,
            of,
            self.direction,
            self.arl,
            self.method,
            list(self.bets),
            self.restart,
        ]
        with self._reading():
            return [configuration, self._numbers()]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (p0, reference, of, direction, arl, method, bets, restart), numbers = content
        made = cls(
            p0, reference=reference, of=of, direction=direction, arl=arl, method=method, bets=bets, restart=restart
        )
        made._take(numbers)
        if not written_as(made, content):
            raise ValueError("what this detector would be written as")
        return made

    def __repr__(self) -> str:
        of = "" if self.of is None else f"{self.of!r}, "
        return f"ChangeDetector({of}{self.direction}, arl={self.arl:g}, {self.n} samples, {self.alarms} alarms)"


def _odds(bets: Iterable[float]) -> tuple[float, ...]:
    odds = tuple(_real(bet) for bet in bets) if isinstance(bets, Iterable) and not isinstance(bets, str | bytes) else ()
    if not 1 <= len(odds) <= MOST_BETS or not all(1 < bet <= LARGEST for bet in odds):
        raise ValueError(f"Expected `bets` to be 1 to {MOST_BETS} factors above 1, but got {bets!r}")
    return odds


def _outcome(of: Any) -> Outcome | None:
    if of is None or isinstance(of, Outcome):
        return of
    if isinstance(of, str):
        return Outcome(of)
    if not isinstance(of, tuple | list) or len(of) != 2:
        raise ValueError(f"Expected `of` to be an outcome, its key, or a pair of key and label, but got {of!r}")
    return Outcome(*of)


def _real(value: Any) -> float:
    """Return a number as a float; nan, which no range contains, for anything else."""
    number = real_number(value)
    return math.nan if number is None else number
