"""A detector of changes as a state: how much speaks for a rate having left its level, and when it was enough.

**Why detectors do not merge.** Their evidence depends on the order of all samples, and two shards do not know theirs.
Three things are sound instead. Shards that each watch a stream of their own: the mean of their evidence against one
`arl`, under any dependence. Shards of one stream: count per pane of time in a `TimeWindow` (its panes merge), and give
the total of each closed pane to one detector by `update_sum`, which is one step of the same martingale. One detector a
group: `ByGroup`, fed sample by sample. A detector inside a `TimeWindow` is refused: a pane forgets by time and a
detector must not; one that started again with every pane could never see a slow change, and its alarms would have no
stated rate.

**The level.** Given as `p0`, or learned from the first `reference` samples. What was learned is not the truth, and a
detector must not take the difference for a change. There are two ways.

`learn="running"` compares each new sample by its rank among those of the reference and all later ones, whose
distribution is known although the level is not (`_core.detectors`). The guarantee is the same as with a level that is
given, for 0/1 losses (others are first drawn as 0 or 1) that are exchangeable until the change, such as independent
ones with one rate. It is one about the mean over references: after a reference that happened to be low, alarms come
sooner until later samples have corrected it. Since these join the comparison, the level is known better with time, and
a change that creeps is found later than against a level that is given.
It needs a long reference, since evidence grows only while the samples since the change are few against those before
it. At arl=10000, after a reference of 20, 50 or 100 samples without an error, no run of 40 raised an alarm within 3,000
samples that all were errors; a rise from .02 to .5 was missed in 72, 65, 65, 17, 15, 5 and 0 % of runs after 20, 50,
100, 200, 300, 500 and 1,000 samples ("bound" missed it in none). So "running" is the default from 1,000 samples on.

`learn="bound"` freezes the level: a rise is measured against the largest mean that the reference allows at 95 %, a fall
against the smallest. The guarantee holds with 95 % over references, for any independent losses whose mean is at most
(at least) the level, but at a price: mean run lengths were 14 to 20 times `arl`, delays 1.2 to 5 times as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

from stream_metrics._core.detectors.kernels import Detector, Outcome
from stream_metrics._core.numeric.kernels import Swap, commit, real_number, whole
from stream_metrics.errors import MergeError, StreamMetricsError, WeightError, quantity
from stream_metrics.inference.change import DetectorSnapshot, reference_levels
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.batch import label_batch
from stream_metrics.inputs.columns import read_numbers, read_weights
from stream_metrics.labels import Label
from stream_metrics.wire import Portable

DIRECTIONS = {"up": (True, False), "down": (False, True), "both": (True, True)}
RESTARTS = ("same", "reference", "stop")
METHODS = ("sr", "cusum", "calibrated")
LEARN = ("running", "bound")
ENOUGH_TO_RANK = 1000  # samples of a reference; with fewer, ranks may never find that every sample is wrong
MOST_BLOCK = 10**6
MOST_STEPS = 2**30
MOST_BETS, LARGEST = 8, 1e6


def outcome(key: str, label: Label | None = None) -> Outcome:
    """Return the function that turns truth and prediction into an error of a rate.

    Parameters
    ----------
    key : {"accuracy", "recall", "precision", "specificity", "npv"}
        The rate.
    label : Label, optional
        The class; for every rate but the accuracy.

    Returns
    -------
    Outcome
        A function of (truth, prediction): 1 for an error, 0 for none, None where the rate is not about the pair.

    Raises
    ------
    ValueError
        If the key is another one, or a label is missing.

    Notes
    -----
    The mean of the errors is 1 less the rate, so direction="up" of a `ChangeDetector` watches for the rate to fall.

    Examples
    --------
    >>> from stream_metrics import outcome
    >>> missed = outcome("recall", "cat")
    >>> missed("cat", "dog"), missed("cat", "cat"), missed("dog", "dog")
    (1, 0, None)
    """
    return Outcome(key, label)


class ChangeDetector(Detector, Portable):
    """Detects a change of a rate of errors, or of a mean loss, with a stated rate of false alarms.

    While the mean loss is at most (for "down": at least) the level, the mean number of samples to an alarm is at least
    `arl`. `alarm` tells whether the last update raised an alarm, `changed` whether any did, `changes` when.

    Parameters
    ----------
    p0 : float, optional
        The level: the mean loss while nothing has changed, in (0, 1).
    reference : int, optional
        Number of samples to learn the level from, instead of `p0`.
    of : Outcome or str or (str, Label), optional
        What turns truth and prediction into an error: an `outcome`, its key, or its key and label. Without it `update`
        takes a loss in [0, 1].
    direction : {"up", "down", "both"}, default "up"
        The change that raises an alarm.
    arl : float, default 10000
        Mean number of samples to a false alarm, at least.
    method : {"sr", "cusum", "calibrated"}, default "sr"
        "sr" uses the run length up and is the fastest, "cusum" raises far fewer false alarms and is slower,
        "calibrated" is "cusum" with a simulated threshold.
    bets : iterable of float, default (1.2, 1.5, 2.0, 3.0)
        By how much the odds of an error could have changed.
    restart : {"same", "reference", "stop"}, optional
        After an alarm, "same" goes on with the same level, "reference" (the default with `reference`) learns a new one,
        "stop" stops.
    learn : {"running", "bound"}, optional
        How the level is learned: by default "running" from a reference of 1,000 samples on, "bound" below.
    block : int, default 1
        Number of samples in a row that are bet on together, by their mean, where errors depend on those shortly before
        them. An alarm comes at the end of a block.

    Attributes
    ----------
    n : int
        Number of samples.
    abstained : int
        Number of samples without a prediction.
    alarm : bool
        Whether the last update raised an alarm.
    alarms : int
        Number of alarms.
    learning : bool
        Whether the level is being learned.
    stopped : bool
        Whether an alarm has stopped the detector.
    of : Outcome or None
        What turns truth and prediction into an error.

    Raises
    ------
    ValueError
        If not exactly one of `p0` and `reference` is given, or an option is out of range.

    Notes
    -----
    `arl` is a mean: while nothing changes, the number of samples to an alarm varies as an exponential variable does. An
    alarm within `arl` samples is therefore no surprise: with "sr" it came in 48 to 61 % of runs. What is guaranteed for
    every n: the probability of an alarm within n samples is at most n / `arl`. For at most 5 % in 10,000 samples use
    arl=200_000. `alarm_probability` simulates the probability itself.

    Guarantee: for independent losses, the mean run length is at least `arl`; for a learned level, as a mean over
    references with learn="running", with probability 95 % over the reference with learn="bound". Measured, it was 1.02
    to 1.31 times `arl` with "sr", `p0` given or learned by "running", and 26 times or more with "cusum". The threshold
    of "calibrated" is no guarantee: it is simulated once for the level, in up to a second or two, for independent 0/1
    errors watched one by one, which then ran 1 to 1.5 times `arl`. It is that of "cusum" for rates below .001 or above
    .999 and blocks of more than 500. "sr" and "calibrated" find changes equally soon.

    Errors that come in runs break that: at a rate of .1 and a correlation of .2, .5 or .8 with the error before, the
    mean run length was .27, .07 or .03 times `arl`. With block=50 it was 1.20, 1.19 and 1.08 times (block=20: 1.09, .99
    and .64), and for independent errors 1.22, with 1.4 times the delay after a rise to .15. A block should be long
    against the time over which errors depend on each other: it is assumed that blocks do not.

    Memory: under 1 kB. No `merge`: see `merge` for what to do instead. No weights.

    References
    ----------
    .. [1] Shin, Ramdas and Rinaldo 2024. J. Shin, A. Ramdas and A. Rinaldo, E-detectors: a nonparametric framework for
       sequential change detection. arXiv:2203.03532.
    .. [2] Vovk, Gammerman and Shafer 2005. V. Vovk, A. Gammerman and G. Shafer, Algorithmic learning in a random world.
       Springer.
    .. [3] Volkhonskiy et al. 2017. D. Volkhonskiy et al., Inductive conformal martingales for change-point detection.
       COPA 2017, 132-153.

    Examples
    --------
    >>> from stream_metrics import ChangeDetector
    >>> detector = ChangeDetector(0.1, arl=1000)
    >>> for loss in [0, 0, 0, 0, 1] * 10 + [1] * 20:
    ...     detector.update(loss)
    >>> detector.changed
    True
    """

    KIND: ClassVar[str] = "detector"

    @named_arguments
    def __init__(
        self,
        p0: float | None = None,
        *,
        reference: int | None = None,
        of: Outcome | str | tuple[str, Label] | None = None,
        direction: Literal["up", "down", "both"] = "up",
        arl: float = 10_000,
        method: Literal["sr", "cusum", "calibrated"] = "sr",
        bets: Iterable[float] = (1.2, 1.5, 2.0, 3.0),
        restart: Literal["same", "reference", "stop"] | None = None,
        learn: Literal["running", "bound"] | None = None,
        block: int = 1,
    ) -> None:
        if (p0 is None) == (reference is None):
            raise ValueError(f"Expected either `p0` or `reference`, but got p0={p0!r} and reference={reference!r}")
        if learn is not None and reference is None:
            raise ValueError(f"Expected `learn` with `reference` alone, but got learn={learn!r} and p0={p0!r}")
        self.p0 = None if p0 is None else _between(p0, "p0", 0, 1)
        self.block = whole(block, "block", 1, MOST_BLOCK)
        self.reference = None if reference is None else whole(reference, "reference", self.block, 2**61 - 1)
        self.arl = _between(arl, "arl", 1, 1e15)
        self.direction: str = _one_of(DIRECTIONS, "direction", direction)
        self.method: str = _one_of(METHODS, "method", method)
        self.learn: str | None = None
        default = "same"
        if self.reference is not None:
            default = "reference"
            learned_by = "running" if self.reference >= ENOUGH_TO_RANK else "bound"
            self.learn = _one_of(LEARN, "learn", learned_by if learn is None else learn)
        self.restart: str = _one_of(RESTARTS, "restart", default if restart is None else restart)
        if self.restart == "reference" and reference is None:
            raise ValueError("Expected `reference` where a new level is learned after an alarm, but got none")
        self.bets = _odds(bets)
        self._set_up(_outcome(of))
        self.reset()

    def _set_up(self, of: Outcome | None) -> None:
        learned, running = 0 if self.reference is None else self.reference, self.learn == "running"
        directions = DIRECTIONS[self.direction]
        self._configure(of, self.bets, directions, self.method, self.arl, learned, self.restart, running, self.block)

    @named_arguments
    def update_many(self, x: object, y_pred: object = None, w: object = None) -> None:
        """Watch a batch in its order; one bad row rejects the whole batch.

        Parameters
        ----------
        x : array-like of shape (n,)
            Losses in [0, 1], or with `of` true labels.
        y_pred : array-like of shape (n,), optional
            With `of`: predictions.
        w : array-like of shape (n,), optional
            Weights; only 1 is allowed.

        Raises
        ------
        ScoreError
            If a loss is outside [0, 1]; the message names the position.
        LabelError
            If a label is none.
        WeightError
            If a weight is not 1.
        """
        rows: list[tuple[object, ...]]
        if self.of is None:
            if y_pred is not None:
                of = "outcome('accuracy')"
                raise ValueError(f"Expected no `y_pred` for a detector of losses: give it `of`, such as {of}")
            losses = read_numbers(x, "x")
            rows = [(loss,) for loss in (losses if isinstance(losses, list) else losses.tolist())]
        else:
            batch = label_batch(x, y_pred, None)
            assert batch.predicted is not None
            rows = list(zip(batch.truth.objects(), batch.predicted.objects(), strict=True))
        if w is not None and any(weight != 1 for weight in read_weights(w, len(rows))):
            raise WeightError("Expected no `w`, or weights of 1, where changes are detected")
        with self._writing():
            twin: ChangeDetector = self._twin()
            for position, row in enumerate(rows):
                try:
                    twin.update(*row)
                except StreamMetricsError as error:
                    raise error.with_position(position) from None
            commit([Swap(self, twin, inside=True)])

    def update_sum(self, total: float, n: int) -> None:
        """Watch n losses of which only the sum is known, as one step.

        Parameters
        ----------
        total : float
            The sum of the losses, or the number of errors, from 0 to n.
        n : int
            Number of losses; at most 2**30 with learn="running".

        Raises
        ------
        ValueError
            Unless 0 <= total <= n.

        Notes
        -----
        A step is what a pane of time, or all shards of it, have counted. An alarm can come at the end of the step only;
        the run length holds, counted in samples. With learn="running", `total` is the number of losses that are 1, the
        others being 0, and a step takes as long as n updates. With `block` above 1 and a level that does not run, a
        step is a block of its own, within which losses may depend on each other.
        """
        n = whole(n, "n", 0, 2**53 - 1)
        if not 0 <= _real(total) <= n:
            raise ValueError(f"Expected `total` to be from 0 to {n}, the number of losses, but got {total!r}")
        if self.learn == "running" and (total != int(total) or n > MOST_STEPS):
            raise ValueError(
                f"Expected `total` to be a whole number of errors of at most {MOST_STEPS:,} samples where the level is "
                f"learned by ranks, but got {total!r} and {n!r}; learn='bound' takes any"
            )
        with self._writing():
            twin: ChangeDetector = self._twin()
            twin._watch_sum(float(total), n)
            commit([Swap(self, twin, inside=True)])

    def _levels(self, mean: float, n: int) -> tuple[float, float]:
        """Return the levels that a reference of n losses with this mean gives."""
        return reference_levels(min(max(mean, 0.0), 1.0), n // self.block)

    def alarm_probability(
        self, n: int | None = None, *, rate: float | None = None, runs: int = 400, seed: int = 0
    ) -> float:
        """Return how probable an alarm within n samples is while the rate of errors stays the same.

        Simulated with this configuration, from a new start, for independent errors. The evidence so far plays no part.

        Parameters
        ----------
        n : int, optional
            The number of samples, those of the reference not counted; `arl` by default.
        rate : float, optional
            The rate of errors; by default `p0`, or the level that a rise is measured against.
        runs : int, default 400
            Number of simulated streams. The standard error is at most 1 / (2 sqrt(runs)).
        seed : int, default 0
            Seed of the random numbers: the same arguments give the same result.

        Returns
        -------
        float
            The probability.

        Raises
        ------
        ValueError
            If there is no level yet and no `rate`, or an argument is out of range.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> 0.4 < sm.ChangeDetector(0.1, arl=1000).alarm_probability() < 0.65
        True
        """
        n, runs = whole(int(self.arl) if n is None else n, "n", 1, 2**62), whole(runs, "runs", 1, 2**31)
        with self._reading():
            twin: ChangeDetector = self._twin()
        if rate is None:
            if twin.levels is None:
                raise ValueError("Expected `rate`, as no level is learned yet, but got none")
            rate = twin.levels[0]
        rate = _between(rate, "rate", 0, 1)
        return sum(twin._first_alarm(rate, n, seed * runs + run) > 0 for run in range(runs)) / runs

    def merge(self, other: Self) -> Self:
        """Raise `MergeError`: the evidence depends on the order of all samples.

        Parameters
        ----------
        other : ChangeDetector
            Another detector.

        Returns
        -------
        Never
            This method does not return.

        Raises
        ------
        MergeError
            Always. The message says what to do instead.
        """
        raise MergeError(
            "Expected no merge of change detectors, whose evidence depends on the order of all samples: compare the "
            "mean of the evidence of shards with `arl`, or count panes of time and give each total to one detector by "
            "update_sum"
        )

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        ChangeDetector
            The copy.
        """
        with self._reading():
            return self._twin()

    def _twin(self) -> Self:
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._set_up(self.of)
        twin._take(self._numbers())
        return twin

    def reset(self) -> None:
        """Forget every sample and alarm, and a level that was learned; the configuration stays."""
        twin: ChangeDetector = self._twin()
        twin._start()
        if self.p0 is not None:
            twin._set((self.p0, self.p0), [0.0] * (2 * len(self.bets)))
        commit([Swap(self, twin)])

    def snapshot(self) -> DetectorSnapshot:
        """Return a frozen view of evidence, levels and alarms.

        Returns
        -------
        DetectorSnapshot
            The detector at this moment.
        """
        names = ("n", "abstained", "evidence", "arl", "alarms", "alarm", "changed", "learning", "stopped")
        with self._reading():
            data = {name: getattr(self, name) for name in names}
            levels = None if self.levels is None else list(self.levels)
            return DetectorSnapshot({**data, "changes": list(self.changes), "levels": levels})

    def _content(self) -> list[object]:
        of = None if self.of is None else [self.of.key, self.of.label]
        learn = [self.learn, self.block] if self.block > 1 else ["running"] if self.learn == "running" else []
        options = [self.p0, self.reference, of, self.direction, self.arl, self.method, list(self.bets), self.restart]
        with self._reading():
            return [[*options, *learn], self._numbers()]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (p0, reference, of, direction, arl, method, bets, restart, *rest), numbers = content
        learn, block = rest if len(rest) == 2 else (rest[0] if rest else None if reference is None else "bound", 1)
        options: dict[str, Any] = {"learn": learn, "block": block, "restart": restart, "method": method, "bets": bets}
        detector = cls(p0, reference=reference, of=of, direction=direction, arl=arl, **options)
        detector._take(numbers)
        return detector

    def __repr__(self) -> str:
        of = "" if self.of is None else f"{self.of!r}, "
        level = f"p0={self.p0:g}" if self.p0 is not None else f"reference={self.reference}"
        samples, alarms = quantity(self.n, "sample"), quantity(self.alarms, "alarm")
        return f"ChangeDetector({of}{level}, {self.direction}, arl={self.arl:g}, {samples}, {alarms})"


def _one_of(allowed: Iterable[str], name: str, value: str) -> str:
    """Return an option that is one of some words."""
    if value not in [*allowed]:
        raise ValueError(f"Expected `{name}` to be one of {[*allowed]}, but got {value!r}")
    return value


def _between(value: object, name: str, low: float, high: float) -> float:
    """Return a number between two others as a float."""
    number = _real(value)
    if not low < number < high:
        raise ValueError(f"Expected `{name}` to be a number between {low} and {high}, but got {value!r}")
    return number


def _odds(bets: Iterable[float]) -> tuple[float, ...]:
    odds = tuple(_real(bet) for bet in bets) if isinstance(bets, Iterable) and not isinstance(bets, str | bytes) else ()
    if not 1 <= len(odds) <= MOST_BETS or not all(1 < bet <= LARGEST for bet in odds):
        raise ValueError(f"Expected `bets` to be 1 to {MOST_BETS} factors above 1, but got {bets!r}")
    return odds


def _outcome(of: object) -> Outcome | None:
    if of is None or isinstance(of, Outcome):
        return of
    if isinstance(of, str):
        return Outcome(of)
    if not isinstance(of, tuple | list) or len(of) != 2:
        raise ValueError(f"Expected `of` to be an outcome, its key, or a pair of key and label, but got {of!r}")
    return Outcome(*of)


def _real(value: object) -> float:
    """Return a number as a float; nan, which no range contains, for anything else."""
    number = real_number(value)
    return math.nan if number is None else number
