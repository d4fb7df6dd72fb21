"""Evidence that a rate has changed, bet by bet: one double a bet, a few operations a sample.

A bet stakes the share s on the loss x being above (s > 0) or below (s < 0) the level p: it multiplies its evidence by
1 + s (x - p), whose mean is at most 1 while the mean loss is at most (at least) p. For x in {0, 1} this is the
likelihood ratio of the rate p1 against p with s = (p1 - p) / (p (1 - p)). Before it multiplies, the e-SR procedure adds
1 to the evidence (a change could begin now), the e-CUSUM procedure takes at least 1. The sum of the evidence of all
bets less the number of bets times the number of samples is a supermartingale, so the mean number of samples to an alarm
at the mean evidence A is at least A.

A level that is not known is compared by ranks ("running"). Among the losses of the reference and all later ones, the
rank of each new loss from above, with ties broken at random, is uniform on [0, 1] and independent of earlier ranks
while the losses are exchangeable, at any level (Vovk, Gammerman & Shafer 2005, theorem 8.1). So "the rank is at
most c" has the known probability c: the bets are on that, and the guarantee above holds with no error of estimation.
For c near the rate of errors it is the error itself, but for a few errors (or others) at random. c comes from the first
quarter of the reference, which is not ranked, as the ranks must not depend on c. The random numbers are a fixed
function of the number of the sample, so bytes are a function of the samples.

Losses that depend on those shortly before them are bet on in blocks: 1 + s (mean of the block - p) has a mean of at
most 1 if that of the block is at most p whatever happened before the block. How the losses within a block depend on
each other does not matter.
"""

cimport cython
from collections.abc import Mapping

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from libc.math cimport exp, floor, log1p, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from stream_metrics._core.numeric.hashing cimport splitmix64
from stream_metrics._core.numeric.kernels cimport MOST_SAMPLES, Guarded, by_class, check_samples, plain
from stream_metrics.errors import ScoreError, WeightError
from stream_metrics.labels.class_names import OPEN
from stream_metrics.labels.label import canonical, is_missing, most_likely

cdef enum:
    MOST_BETS = 8
    ABSTAINED = -2
    MOST_TIMES = 100

cdef dict KINDS = {"accuracy": 0, "recall": 1, "precision": 2, "specificity": 3, "npv": 4}
cdef object ONE = 1
cdef Py_ssize_t SIMULATED = 500  # runs
cdef double RAREST = 1e-3        # the rate below which runs would take too long
cdef uint64_t simulated_key[256]
cdef double simulated_bar[256]


cdef class Outcome:
    """Whether a (truth, prediction) pair is an error of a rate: 1, 0, or None if the rate excludes the pair."""

    cdef readonly str key
    cdef readonly object label
    cdef int kind

    def __cinit__(self, str key not None, label=None):
        if key not in KINDS:
            raise ValueError(f"Expected `key` to be one of {sorted(KINDS)}, but got {key!r}")
        self.key, self.kind = key, KINDS[key]
        if (label is None) != (self.kind == 0):
            raise ValueError(
                f"Expected `label` to be {'None' if self.kind == 0 else 'a class'} for {key!r}, "
                f"but got {label!r}")
        self.label = None if label is None else canonical(label, "label")

    @cython.final
    cdef int judge(self, object y_true, object y_pred) except -2:
        """Return 1 for an error, 0 for none, -1 for a pair that the rate excludes."""
        cdef bint actual, predicted
        if not plain(y_pred) and isinstance(y_pred, Mapping):
            y_pred = most_likely(by_class(y_pred, y_true, OPEN))
        if not plain(y_true) or not plain(y_pred) or PyFloat_CheckExact(y_true) or PyFloat_CheckExact(y_pred):
            y_true, y_pred = canonical(y_true, "y_true"), canonical(y_pred, "y_pred")
        if self.kind == 0:
            return y_true != y_pred
        actual, predicted = y_true == self.label, y_pred == self.label
        if self.kind == 1:
            return not predicted if actual else -1
        if self.kind == 2:
            return not actual if predicted else -1
        if self.kind == 3:
            return -1 if actual else predicted
        return -1 if predicted else actual

    def __call__(self, y_true, y_pred):
        """Return 1 for an error, 0 for none, None for an abstention or another pair that the rate excludes."""
        if absent(y_pred):
            return None
        judged = self.judge(y_true, y_pred)
        return None if judged < 0 else judged

    def __repr__(self):
        return f"outcome({self.key!r})" if self.kind == 0 else f"outcome({self.key!r}, {self.label!r})"


cdef inline double uniform(int64_t at, uint64_t use) noexcept nogil:
    """The random number in [0, 1) of a sample, one for each `use` below 4."""
    cdef uint64_t hash = splitmix64((4 * <uint64_t> at + use + 1) * <uint64_t> 0x9E3779B97F4A7C15)
    return (hash >> 11) * (1.0 / 9007199254740992.0)


cdef inline bint absent(object y_pred):
    """Whether a prediction is an abstention."""
    if type(y_pred) is str or type(y_pred) is int or type(y_pred) is bool:
        return False
    return y_pred is None or (not y_pred if isinstance(y_pred, Mapping) else is_missing(y_pred))


cdef class Detector(Guarded):
    """The evidence of up to eight bets in each direction, the level that they are against, and the alarms so far."""

    cdef readonly int64_t n, abstained, alarms
    cdef readonly bint alarm, stopped, learning
    cdef readonly Outcome of
    cdef int64_t reference, learned  # how many losses to learn from, and how many were
    cdef int64_t apart               # of these, how many the ranks leave out
    # the sum of the losses learned from; with ranks, of those ranked, and its value at the end of the reference
    cdef double total, first
    cdef int64_t block, filled       # how many losses are bet on together, and how many of them have come
    cdef double part                 # their sum
    cdef Py_ssize_t bets
    cdef bint up, down, cusum, learns_again, stops, running, calibrated
    cdef double bar, stated          # the evidence of an alarm, and `arl`: the same unless the threshold is calibrated
    cdef double odds[MOST_BETS]
    cdef double level[2]               # the rate before the change, for bets on a rise and on a fall
    cdef double share[2 * MOST_BETS]   # what a bet stakes
    cdef double mass[2 * MOST_BETS]    # the evidence of each bet
    cdef int64_t times[MOST_TIMES]   # the last alarms, number k at the place k % MOST_TIMES

    def _configure(self, of, odds, directions, method, double arl, int64_t reference, restart, bint running,
                   int64_t block):
        """Set the configuration; `reference` is 0 if the level is given."""
        cdef Py_ssize_t at
        self.of = of
        self.bets = len(odds)
        for at in range(self.bets):
            self.odds[at] = odds[at]
        self.up, self.down = directions
        self.cusum, self.calibrated = method != "sr", method == "calibrated"
        self.reference, self.running = reference, running
        self.apart, self.block = max(reference // 4, 1), block
        self.stated = self.bar = arl
        self.learns_again, self.stops = restart == "reference", restart == "stop"
        self._start()

    def _start(self):
        """Forget every sample."""
        self.n, self.abstained, self.alarms, self.learned, self.total, self.first = 0, 0, 0, 0, 0.0, 0.0
        self.filled, self.part = 0, 0.0
        self.alarm, self.stopped, self.learning = False, False, self.reference > 0
        self._set((), [0.0] * (2 * self.bets))

    def _set(self, levels, evidence):
        """Set the levels, none while they are being learned, and the evidence of each bet."""
        cdef Py_ssize_t at
        for at in range(2 * self.bets):
            self.mass[at] = evidence[at]
        if levels:
            self.level[0], self.level[1] = levels
            self.learning = self.running and self.learned < self.reference
            self.place_bets()

    cdef int place_bets(self) noexcept:
        """Compute what each bet stakes: its share makes the odds of the level `odds` times as large, or as small.

        On means of blocks, it is the one that is best on average for independent losses, so far that no mean can lose
        more than 90 %.
        """
        cdef Py_ssize_t at, side
        cdef double p, ratio, q, share
        for side in range(2):
            p = self.level[side]
            for at in range(self.bets):
                ratio = 1 / self.odds[at] if side else self.odds[at]
                q = p * ratio / (1 - p + p * ratio)
                if p <= 0 or p >= 1:
                    share = 0
                elif self.block == 1:
                    share = (q - p) / (p * (1 - p))
                else:
                    share = (q - p) / (p * (1 - p) / self.block + (q - p) * (q - p))
                    share = max(share, -0.9 / (1 - p)) if side else min(share, 0.9 / p)
                self.share[side * self.bets + at] = share
        if self.calibrated:
            self.bar = self.threshold()
        return 0

    cdef double threshold(self) noexcept:
        """Return the evidence that e-CUSUM reaches once in `arl` independent errors with the level as their rate, or
        a little less often.

        Simulated, with fixed random numbers, up to a mean run length of some thousands; beyond, it is nearly
        proportional to the threshold. At most `arl`, which is proven to be enough, and that where runs would take too
        long.
        """
        cdef double rate = (self.level[0] + self.level[1]) / 2, rare = min(rate, 1 - rate)
        cdef double goal, bar, length, low = 0, high = 0, longer = 1
        cdef Py_ssize_t at, _attempt
        cdef uint64_t key = splitmix64(self.block * 4 + self.up * 2 + self.down)
        if rare < RAREST or self.block > 500:
            return self.stated
        for at in range(self.bets):
            key = splitmix64(key + (<uint64_t *> &self.odds[at])[0])
        for at in range(2):
            key = splitmix64(key + (<uint64_t *> &self.level[at])[0])
        key = splitmix64(key + (<uint64_t *> &self.stated)[0]) | 1
        if simulated_key[key >> 56] == key:
            return simulated_bar[key >> 56]
        goal = min(self.stated, max(2000.0, 20 / rare, 40.0 * self.block))
        bar = goal / 20 + 1
        for _attempt in range(12):  # to a mean from 1.05 to 1.3 times the goal
            length = self.mean_length(rate, bar, <int64_t> (10 * goal) + 1)
            if length < 1.05 * goal:
                low = bar
            else:
                high, longer = bar, length
                if length <= 1.3 * goal:
                    break
            bar *= min(max(1.15 * goal / length, 0.1), 10.0)
            if high and (bar >= high or bar <= low):
                bar = sqrt(low * high) if low else high / 2
            elif bar <= low:
                bar = 2 * low
        if goal < self.stated:
            high *= 1.1 * self.stated / longer
        bar = min(high, self.stated) if high else self.stated
        simulated_key[key >> 56], simulated_bar[key >> 56] = key, bar
        return bar

    cdef double mean_length(self, double rate, double bar, int64_t longest) noexcept:
        """Return the mean number of independent errors with this rate until the mean evidence reaches a threshold."""
        cdef double saved[2 * MOST_BETS]
        cdef double part = self.part, total
        cdef int64_t filled = self.filled, length, lengths = 0
        cdef uint64_t state = 0
        cdef Py_ssize_t _run
        memcpy(saved, self.mass, sizeof(saved))
        bar *= self.bets * (self.up + self.down)
        for _run in range(SIMULATED):
            self.filled, self.part, length, total = 0, 0, 0, 0
            memset(self.mass, 0, sizeof(self.mass))
            while total < bar and length < longest:
                state += <uint64_t> 0x9E3779B97F4A7C15
                length += 1
                total = self.weigh((splitmix64(state) >> 11) * (1.0 / 9007199254740992.0) < rate)
            lengths += length
        memcpy(self.mass, saved, sizeof(saved))
        self.filled, self.part = filled, part
        return <double> lengths / SIMULATED

    def update(self, x, y_pred=None, w=1):
        """Watch one loss, or with `of` one pair of truth and prediction.

        Parameters
        ----------
        x : float or Label
            A loss in [0, 1], or with `of` the true label.
        y_pred : Label or mapping from Label to float or None
            With `of`: the prediction. None or {} is an abstention.
        w : int, default 1
            Weight; only 1 is allowed.

        Raises
        ------
        ScoreError
            If a loss is outside [0, 1].
        LabelError
            If a label is none.
        WeightError
            If the weight is not 1.
        """
        cdef double loss
        cdef int judged
        if w is not ONE and w != 1:
            raise WeightError(argument="w", expected="to be 1 where changes are detected, sample by sample", got=w)
        if self.of is not None:
            if absent(y_pred):
                canonical(x, "y_true")
                judged = ABSTAINED
            else:
                judged = self.of.judge(x, y_pred)
            self.watch_one(judged, judged)
            return
        if y_pred is not None:
            raise ValueError(
                "Expected no `y_pred` for a detector of losses: give it `of`, such as outcome('accuracy'), "
                f"but got {y_pred!r:.60}")
        if PyFloat_CheckExact(x):
            loss = PyFloat_AS_DOUBLE(x)
        else:
            try:
                loss = x.__float__()
            except (AttributeError, TypeError, ValueError):
                loss = -1
        if not 0.0 <= loss <= 1.0:
            raise ScoreError(argument="x", expected="to be a loss from 0 to 1", got=x, position_last=True)
        self.watch_one(0, loss)

    @cython.final
    cdef int watch_one(self, int judged, double loss) except -1:
        """Watch a loss, or count a pair that the rate excludes; a stretch, unless this completes the reference."""
        if self.holder != 0:
            self.wait()
        check_samples(1, max(self.n, self.abstained))
        if judged < 0:
            self.n += judged != ABSTAINED
            self.abstained += judged == ABSTAINED
            self.alarm = False
        elif self.learning and self.learned + 1 >= self.reference:
            self.enter()
            try:
                self.watch(loss)
            finally:
                self.leave()
        else:
            self.watch(loss)
        return 0

    @cython.final
    cdef int watch(self, double x) except -1:
        """Count a loss, and learn from it or update every bet with it."""
        cdef double evidence = 0
        if self.learning and not self.running:
            self.learn(self.total + x, self.learned + 1)
        elif not self.stopped:
            evidence = self.compare(x, self.n + 1) if self.running else self.weigh(x)
        self.n += 1
        self.alarm = False
        return self.close(evidence)

    cdef int learn(self, double total, int64_t learned) except -1:
        """Have learned from so many losses with this sum; bet against the level that they give once they are enough."""
        cdef double low, high
        if learned >= self.reference:
            levels = self._levels(total / learned, learned)
            low, high = levels  # from here on nothing fails
            memset(self.mass, 0, sizeof(self.mass))
            self.level[0], self.level[1] = low, high
            self.learning = False
            self.place_bets()
        self.total, self.learned = total, learned
        return 0

    @cython.final
    cdef double weigh(self, double x) noexcept:
        """Multiply the evidence of every bet by its factor for a loss or the block it ends; return the sum, or 0."""
        if self.block == 1:
            return self.multiply(x, 1)
        self.part += x
        self.filled += 1
        if self.filled < self.block:
            return 0
        x, self.filled, self.part = self.part / self.block, 0, 0
        return self.multiply(x, self.block)

    @cython.final
    cdef double multiply(self, double x, int64_t n) noexcept:
        """Multiply the evidence of every bet by its factor for the mean of n losses; return the sum."""
        cdef Py_ssize_t at, side
        cdef double total = 0, m
        for side in range(2):
            if not (self.down if side else self.up) or not 0 < self.level[side] < 1:
                continue
            for at in range(side * self.bets, (side + 1) * self.bets):
                m = self.mass[at]
                m = (m if m > 1 else 1) if self.cusum else m + n
                m *= 1 + self.share[at] * (x - self.level[side])
                self.mass[at] = m
                total += m
        return total

    @cython.final
    cdef double compare(self, double x, int64_t at) noexcept:
        """Learn from loss number `at`, or bet on its rank among those of the reference and since; return the
        evidence."""
        cdef double share, place
        if 0 < x < 1:
            x = uniform(at, 0) < x
        self.learned += 1
        self.total += x
        if self.learning:
            if self.learned == self.apart:
                self.level[0] = self.level[1] = (self.total + 0.5) / (self.apart + 1)
                self.total = 0
                self.place_bets()
            if self.learned >= self.reference:
                self.learning = False
                self.first = self.total
            return 0
        share, place = self.total / (self.learned - self.apart), uniform(at, 1)
        place = place * share if x else share + place * (1 - share)
        return self.weigh(place <= self.level[0])

    cdef int close(self, double total) noexcept:
        """Raise the alarm if the evidence is enough, and begin again as the configuration says."""
        if total < self.bar * self.bets * (self.up + self.down):
            return 0
        self.alarm = True
        self.times[self.alarms % MOST_TIMES] = self.n
        self.alarms += 1
        memset(self.mass, 0, sizeof(self.mass))
        self.filled, self.part = 0, 0
        if self.stops:
            self.stopped = True
        elif self.learns_again:
            self.learning, self.learned, self.total, self.first = True, 0, 0.0, 0.0
        elif self.running:
            self.learned, self.total = self.reference, self.first
        return 0

    def _watch_sum(self, double total, int64_t n):
        """Update every bet with n losses of which only the sum is known, in one step.

        In a section that writes. For any losses with this sum, a bet multiplies by at least (factor of 1)^sum (factor
        of 0)^(n - sum).
        """
        cdef double evidence
        check_samples(n, self.n)
        self.n += n
        self.alarm = False
        if self.stopped or n == 0:
            return
        if self.learning and not self.running:
            self.learn(self.total + total, self.learned + n)
            return
        if self.running:
            evidence = self.compare_sum(<int64_t> total, n)
        elif self.block > 1:
            evidence = self.multiply(total / n, n)
        else:
            evidence = self.multiply_sum(total, n)
        self.close(evidence)

    cdef double multiply_sum(self, double total, int64_t n) noexcept:
        """Multiply the evidence of every bet by the least factor of any n losses with this sum; return the sum."""
        cdef Py_ssize_t at, side
        cdef double m, step, evidence = 0
        for side in range(2):
            if not (self.down if side else self.up) or not 0 < self.level[side] < 1:
                continue
            for at in range(side * self.bets, (side + 1) * self.bets):
                step = (total * log1p(self.share[at] * (1 - self.level[side]))
                        + (n - total) * log1p(-self.share[at] * self.level[side]))
                m = self.mass[at]
                m = (m if m > 1 else 1) if self.cusum else m + n
                self.mass[at] = min(m * exp(min(step, 300.0)), 1e300)
                evidence += self.mass[at]
        return evidence

    cdef double compare_sum(self, int64_t errors, int64_t n) noexcept:
        """Compare n losses of 0 and 1 whose order is not known: any order is as likely, and one is drawn."""
        cdef int64_t at
        cdef double evidence = 0
        cdef bint error
        for at in range(n):
            error = uniform(self.n - at, 2) * (n - at) < errors
            errors -= error
            evidence = max(self.compare(error, self.n - at), evidence if self.block > 1 else 0)
        return evidence

    def _first_alarm(self, double rate, int64_t longest, uint64_t seed):
        """Watch random errors of this rate from a new start; return the samples after the reference until an alarm, 0
        for none."""
        cdef int64_t at = 0
        cdef uint64_t state = splitmix64(seed)
        self.reset()
        self.n = state >> 24  # so that ties are broken by other random numbers
        while at < longest:
            at += not self.learning
            state += <uint64_t> 0x9E3779B97F4A7C15
            self.watch((splitmix64(state) >> 11) * (1.0 / 9007199254740992.0) < rate)
            if self.alarm:
                return at
        return 0

    @property
    def evidence(self):
        """The mean evidence of the bets, to be compared with `arl`; 0 after an alarm and while the level is learned."""
        return sum([self.mass[at]
                    for at in range(2 * self.bets)]) / (self.bets * (self.up + self.down)) * (self.stated / self.bar)

    @property
    def changes(self):
        """The numbers of samples after which an alarm was raised, at most the last hundred."""
        cdef int64_t at
        return tuple([self.times[at % MOST_TIMES] for at in range(max(self.alarms - MOST_TIMES, 0), self.alarms)])

    @property
    def changed(self):
        """Whether an alarm was ever raised."""
        return self.alarms > 0

    @property
    def levels(self):
        """The mean losses that a rise and a fall are measured against; None while they are learned."""
        if self.running and not self.learning and self.learned > self.apart:
            return (self.total / (self.learned - self.apart),) * 2
        return None if self.learning else (self.level[0], self.level[1])

    def _numbers(self):
        """Return the numbers of the state as plain data."""
        known = self.learned >= self.apart if self.running else not self.learning
        bets = [] if self.learning else [self.mass[at] for at in range(2 * self.bets)]
        numbers = [self.n, self.abstained, self.alarms, self.alarm, self.stopped, list(self.changes), self.learned,
                   self.total,
                   [self.level[0], self.level[1]] if known else [], bets]
        return [*numbers, *([self.first] if self.running else []),
                *([self.filled, self.part] if self.block > 1 else [])]

    def _take(self, numbers):
        """Restore the numbers that `_numbers` returned; raise ValueError for impossible ones.

        Numbers of another type are refused because the state would be written otherwise.
        """
        n, abstained, alarms, alarm, stopped, times, learned, total, levels, bets, *rest = numbers
        first, filled = rest[:self.running], rest[self.running:] or [0, 0.0]
        if len(first) != self.running or [*map(type, filled)] != [int, float]:  # they are read without bounds
            raise ValueError("a number of each kind")
        if not (0 <= n <= MOST_SAMPLES and 0 <= abstained <= MOST_SAMPLES and 0 <= learned <= n
                and 0 <= total <= learned and 0 <= alarms <= n):
            raise ValueError("no more samples than there were")
        if (len(times) != min(alarms, MOST_TIMES) or not all(a < b for a, b in zip((0, *times), (*times, n + 1)))
                or (alarm and max(times, default=0) != n)):
            raise ValueError("alarms one after the other, and one at the last sample if it raised one")
        if (not all(0 <= m <= 1e300 for m in bets) or not all(0 <= p <= 1 for p in levels)
                or len(bets) not in (0, 2 * self.bets)):
            raise ValueError("the evidence of every bet")
        if not 0 <= filled[1] <= filled[0] < self.block or filled[0] > n:
            raise ValueError("a block that is not full")
        if self.running:
            self.check_running(learned, total, levels, bets, first[0])
            self.first = first[0]
        elif len(levels) != (2 if bets else 0) or (not levels and self.reference == 0):
            raise ValueError("a level")
        self.n, self.abstained, self.alarms, self.learned, self.total = n, abstained, alarms, learned, total
        self.alarm, self.stopped, self.learning = alarm, stopped, not bets
        for at, time in enumerate(times, alarms - len(times)):
            self.times[<int64_t> at % MOST_TIMES] = time
        self.filled, self.part = filled
        self._set(levels, bets or [0.0] * (2 * self.bets))

    cdef int check_running(self, int64_t learned, double total, levels, bets, double first) except -1:
        """Raise ValueError for numbers that a comparison by ranks cannot have."""
        cdef int64_t ranked = learned - self.apart if learned >= self.apart else learned
        if len(levels) != (2 if learned >= self.apart else 0) or bool(bets) != (learned >= self.reference):
            raise ValueError("a level once enough was learned")
        if levels and not 0 < levels[0] == levels[1] < 1:
            raise ValueError("one level between 0 and 1")
        if (not 0 <= first <= total <= ranked or total != floor(total) or first != floor(first)
                or first > self.reference - self.apart or (first and not bets)):
            raise ValueError("whole numbers of errors, those of the reference among all")
        return 0
