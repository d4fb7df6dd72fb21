"""Updates of fading states: a sample of the current stretch of time is counted in both states without Python code.

What happens once in a stretch, and what needs a look at both states, is in Python, in the derived class.
"""

cdef object checked_weight
from stream_metrics._core.numeric.kernels import checked_weight

cdef extern from *:
    """
    #include <math.h>
    static volatile double half_life_base = 2.0;  /* so that no compiler calls exp2, which may round otherwise */
    static double power_of_two(double x) { return pow(half_life_base, x); }
    """
    double power_of_two(double x) nogil

cdef int64_t EXACT = <int64_t> 1 << 53  # all whole numbers up to here are doubles


cdef inline bint names_class(object prediction):
    """Whether a prediction names its class, regardless of the samples before it."""
    return type(prediction) is dict or type(prediction) is str


cdef class FadingUpdateBase(KeyedUpdateBase):
    """Base class of fading states: counts a sample in the two states of the current stretch, each with its weight.

    A place is a time in nanoseconds since 1970, or the number of an update. Keys are the stretches at whose start
    states began.
    """

    cdef readonly int64_t dropped
    cdef public object clock
    cdef bint numbered                # whether places are numbers of updates
    cdef readonly object _half        # the half-life, an int or a float
    cdef public double _room          # how much weight can come; a lower bound
    cdef public bint _needs_seen      # whether a state may refuse a single score because of the labels it has counted
    cdef Slot older, newer            # of the current stretch, or None
    cdef int64_t origins[2]           # where these began, if half-lives are whole
    cdef double real_origins[2]       # if they are not
    cdef int64_t first, last          # the places of the current stretch: first <= place < last
    cdef bint whole                   # whether half-lives are whole numbers
    cdef bint started
    cdef int64_t latest
    cdef double half, first_power

    def _fade(self, bint by_count, half, int first_power, clock):
        """Set how weights fade; a sample at the origin of a state has the weight 2^first_power there."""
        self.numbered, self._half, self.clock = by_count, half, clock
        self.whole, self.half, self.first_power = type(half) is int, half, first_power

    def _move(self, dict changes not None, latest, tuple current not None, double room, int64_t dropped):
        """Replace slots, and set latest time and other numbers, in one step.

        `current` are the slots that count samples of places from a first one on and before a last one, with their
        origins.
        """
        cdef Slot older, newer
        cdef int64_t first, last, moved = 0 if latest is None else latest, at = 0
        cdef int64_t origins[2]
        cdef double real_origins[2]
        older, newer, older_origin, newer_origin, first, last = current
        for origin in (older_origin, newer_origin):
            origins[at], real_origins[at] = (origin, 0.0) if self.whole else (0, origin)
            at += 1
        self._commit(changes, self._capacity)
        self.latest, self.started = moved, latest is not None
        self.older, self.newer, self.first, self.last = older, newer, first, last
        self.origins, self.real_origins = origins, real_origins
        self._room, self.dropped = room, dropped

    @property
    def _latest(self):
        """The latest time, or the number of updates; None if there was no sample."""
        return self.latest if self.started else None

    def update(self, y_true, y_pred=MISSING, w=1, *, t=None, group=None, scores=MISSING, classes=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : object, optional
            The prediction, as `inner` takes it.
        w : int or float, default 1
            Weight of the sample, >= 0.
        t : float or datetime or numpy.datetime64, optional
            Time of the sample: seconds since 1970, or a datetime (UTC if it is naive). The time of the clock by
            default.
        group : Label, optional
            The group of the sample, if `inner` has groups.
        scores : mapping from Label to float or float or sequence of float, optional
            Scores beside a prediction that is not their largest.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.

        Raises
        ------
        LabelError
            If a label is not allowed.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        ValueError
            If a time is given and samples fade by count.
        """
        cdef int64_t place = 0
        cdef double weight = 1.0
        if self._sample_rule is not None and self._sample_rule.ignores(y_true):
            return
        if scores is None:
            return self.update(y_true, None if y_pred is MISSING else y_pred, w, t=t, group=group, classes=classes)
        if self.numbered and t is not None:
            self._place(t)
        elif not self.numbered:
            moment = self.clock() if t is None else t
            if not read_time(moment, &place):
                place = self._instant(moment)
        if w is not UNIT_WEIGHT:
            w = checked_weight(w)  # refuses a weight as it was given
            weight = w
        if (group is None and scores is MISSING and classes is None
                and self.count_plain_labels(place, weight, y_true, y_pred)):
            return
        self.enter()
        try:
            if self.numbered:
                place = self._place(None)
            if self.is_current(place, weight):
                if self._needs_seen and not names_class(y_pred if scores is MISSING else scores):
                    self._check_seen(self.newer.state, y_true, y_pred,
                                     given_options(None, group, scores, classes, None))
                self.count_in_both(place, weight, y_true, y_pred, group, scores, classes)
            else:
                self._count_slowly(place, y_true, y_pred, w, given_options(None, group, scores, classes, None))
        finally:
            self.leave()

    cdef bint is_current(self, int64_t place, double weight) noexcept:
        """Whether a sample is of the current stretch, and known to fit into both states."""
        return self.first <= place < self.last and weight + 1.0 <= self._room and self.older.own and self.newer.own

    cdef double scaled(self, double weight, int64_t place, int which) except? -1.0:
        """Return the weight of a sample in a state, to the bit as Python computes it with numbers of any size."""
        cdef double age
        cdef int64_t since
        if not self.whole:
            age = (<double> place - self.real_origins[which]) / self.half
        else:
            since = place - self.origins[which]
            if since <= EXACT and self.half <= EXACT:
                age = <double> since / self.half
            else:
                age = <object> since / self._half
        return weight * power_of_two(age + self.first_power)

    cdef bint count_plain_labels(self, int64_t place, double weight, object y_true, object y_pred) except -1:
        """Count a sample of labels in a stretch; return False, and change nothing, if that needs a section."""
        cdef double in_older, in_newer
        if self.numbered:
            place = self.latest + 1
        if y_pred is MISSING or self.holder != 0 or not self.is_current(place, weight) or self.older.counts is None:
            return False
        in_older, in_newer = self.scaled(weight, place, 0), self.scaled(weight, place, 1)
        if not self.older.counts.try_count(y_true, y_pred, in_older):
            return False
        if not self.newer.counts.try_count(y_true, y_pred, in_newer):
            self.enter()  # no Python code has run since `holder` was read
            try:
                self.newer.counts.count(y_true, y_pred, in_newer)
            except BaseException:
                self.older.counts.uncount(y_true, y_pred, in_older)
                raise
            finally:
                self.leave()
        self.advance(place, weight)
        return True

    cdef int count_in_both(self, int64_t place, double weight, object y_true, object y_pred, object group,
                           object scores, object classes) except -1:
        """Count a sample of the current stretch, in a section."""
        cdef Slot older = self.older, newer = self.newer
        cdef bint scored = y_pred is MISSING  # by `scores`, or else the inner state says that there is no prediction
        in_older = self.scaled(weight, place, 0)
        if older.counts is None and not hasattr(older.state, "revert"):  # as groups do that are folded
            self._count_slowly(place, y_true, y_pred, weight, given_options(None, group, scores, classes, None))
            return 0
        deliver(older.state, None if scored else older.counts, y_true, y_pred, in_older, None, group, scores, classes,
                None)
        try:
            deliver(newer.state, None if scored else newer.counts, y_true, y_pred, self.scaled(weight, place, 1),
                    None, group, scores, classes, None)
        except BaseException:
            older.state.revert(y_true, y_pred, in_older, **given_options(None, group, scores, classes, None))
            raise
        self.advance(place, weight)
        return 0

    cdef void advance(self, int64_t place, double weight) noexcept:
        self.latest = max(self.latest, place)
        self._room -= weight + 1.0
