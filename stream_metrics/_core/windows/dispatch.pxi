"""Dispatch of samples to the state of their pane or of their group.

Finding the state must not cost more than counting, so it is compiled, and a state of labels is updated without a call
in between. Rare events (a new pane, a new group, panes that expire) are handled in Python by the derived class. A new
state is stored only after it has counted its sample, so a refused sample has no effect.

A sample of plain labels for the current state is counted in a stretch of `Guarded`; everything else is a section. So no
two threads create a state for the same pane or group, and none counts in a discarded state.
"""

from cpython.datetime cimport (
    datetime_day, datetime_hour, datetime_microsecond, datetime_minute, datetime_month, datetime_second,
    datetime_tzinfo, datetime_year, import_datetime)
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject
from libc.math cimport fabs, floor, rint
from libc.stdint cimport int64_t, uint64_t

from datetime import UTC, datetime
from bisect import bisect_right, insort

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, UpdateBase, SetUpdateBase
from stream_metrics._core.numeric.kernels cimport (
    MOST_SAMPLES, Guarded, check_samples, chosen_labels, not_counted, numeric_kind, plain, plain_weight, split,
)
from stream_metrics.errors import WeightError
from stream_metrics.labels.label import canonical

import_datetime()

cdef object DATETIME = datetime, UTC_ZONE = UTC
cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef int64_t PLAUSIBLE = 400000000  # seconds, 13 years: a weight this near to the time of the clock is a time
cdef double BOUND = 4611686018.0  # seconds: 2^62 ns, the years 1823 to 2116


cdef ConfusionCounters counters_of(object state):
    """Return the counters of a state whose `update` and `revert` only call these, else None."""
    cdef ConfusionCounters counts = None
    kind = type(state)
    if isinstance(state, ConfusionCounters):
        base, counts = ConfusionCounters, state
    elif isinstance(state, SetUpdateBase):
        base, counts = SetUpdateBase, (<SetUpdateBase> state).counts if (<SetUpdateBase> state).scored is None else None
    elif isinstance(state, UpdateBase):
        base, counts = UpdateBase, (<UpdateBase> state).counts
    if counts is None or kind.update is not base.update or kind.revert is not base.revert:
        return None
    return counts if rule_of(state) is None else None


cdef inline object rule_of(object state):
    """Return which samples a state leaves out; None if it leaves out none."""
    return (<UpdateBase> state)._sample_rule if isinstance(state, UpdateBase) else getattr(state, "_sample_rule", None)


cdef inline ConfusionCounters counters_in(object state):
    """Return the counters of a state that has them."""
    return (<UpdateBase> state).counts if isinstance(state, UpdateBase) else state


cdef inline bint is_utc(object moment):
    zone = datetime_tzinfo(moment)
    return zone is None or zone is UTC_ZONE


cdef inline int64_t since_1970(object moment):
    """Nanoseconds of a datetime in UTC or without a zone; days are counted from the first of March (Hinnant 2013)."""
    cdef int64_t month = datetime_month(moment), year = datetime_year(moment) - (month <= 2), era = year // 400
    cdef int64_t of_era = year - era * 400
    cdef int64_t of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + datetime_day(moment) - 1
    cdef int64_t days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    cdef int64_t hours = days * 24 + datetime_hour(moment)
    cdef int64_t seconds = hours * 3600 + datetime_minute(moment) * 60 + datetime_second(moment)
    return (seconds * 1000000 + datetime_microsecond(moment)) * 1000


cdef inline bint read_time(object moment, int64_t *now) except -1:
    """Read a time in nanoseconds since 1970; return False for what must be read the long way."""
    cdef double second
    if type(moment) is float and fabs(<double> moment) < BOUND:
        second = floor(<double> moment)  # apart, because the product would be rounded to a multiple of 256
        now[0] = <int64_t> second * 1000000000 + <int64_t> rint((<double> moment - second) * 1e9)
        return True
    if type(moment) is DATETIME and 1830 < datetime_year(moment) < 2110 and is_utc(moment):
        now[0] = since_1970(moment)
        return True
    return False


cdef dict given_options(object t, object group, object scores, object classes, object unit):
    """Return the optional arguments that were given."""
    given = (("t", t), ("group", group), ("scores", scores), ("classes", classes), ("unit", unit))
    return {name: value for name, value in given if value is not None and value is not MISSING}


cdef inline int deliver(object state, ConfusionCounters counts, object y_true, object y_pred, object w, object t,
                        object group, object scores, object classes, object unit) except -1:
    """Count a sample in a state."""
    if t is None and group is None and scores is MISSING and classes is None and unit is None:
        if counts is not None:
            counts.count(y_true, y_pred, w)
        else:
            state.update(y_true, y_pred, w)
    else:
        state.update(y_true, y_pred, w, **given_options(t, group, scores, classes, unit))
    return 0


cdef tuple plain_sample(object inner, object y_true, object y_pred, object w):
    """Return a sample as plain values that counters like those of `inner` count alike."""
    cdef ConfusionCounters counts = counters_in(inner)
    y_pred = chosen_labels(inner, y_pred, MISSING, None)
    weight = plain_weight(w)
    truth = counts.label_index.admitted(y_true, "y_true", None)
    return truth, counts.label_index.admit_prediction(y_pred, y_true), weight


cdef int64_t cost_of_weight(object w) except -1:
    cdef int64_t whole = 1
    cdef uint64_t part = 0
    split(w, &whole, &part)
    return max(whole + (part != 0), 3)


cdef inline int64_t cost(object w) except -1:
    """Return an upper bound of the share of `_capacity` that a sample uses: its weight, or 3 appearances."""
    return 3 if w is UNIT_WEIGHT else cost_of_weight(w)


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept nogil:
    """a / b rounded down; b is positive."""
    return a // b - (a % b < 0)


cdef class PaneUpdateBase(Guarded):
    """Base class of time windows: passes samples to the state of their pane, and advances the latest time.

    All times are in nanoseconds since 1970. The pane updated last is cached: it covers first <= t < last.
    """

    cdef readonly dict _open  # the newest pane, and what came late for others: states, or `Packed`
    cdef set shared           # panes of these whose states others have too
    cdef list numbers         # of all panes, in order
    cdef readonly object _merges  # the other panes
    cdef public object _closed, _closed_to  # windows that were closed, and the start of the newest of them in panes
    cdef readonly object inner, _store  # an empty state, and how states like it are stored
    cdef readonly object _sample_rule  # of the inner state
    cdef object state
    cdef ConfusionCounters counts
    cdef bint counted  # whether states like `inner` are counters only
    cdef object clock_
    cdef int64_t first, last
    cdef readonly int64_t _length, _panes, _lateness, _latest
    cdef public int64_t _due  # the time at which the next pane expires
    cdef public bint _started, _timed
    cdef public bint _watched  # whether `_expire` handles more than open panes
    cdef object spare  # the emptied state of an expired pane, for reuse
    cdef public int64_t _capacity  # a lower bound of what all panes together can still count; see `cost`
    cdef readonly int64_t dropped

    def __cinit__(self, *args, **kwargs):
        self._open, self.shared, self.numbers = {}, set(), []
        self.first, self.last, self._due = 1, 0, NEVER
        self._length = self._panes = 1

    def _attach(self, inner, store, int64_t length, int64_t panes, int64_t lateness, clock):
        """Set the configuration; every pane has a copy of the empty state `inner`, stored as `store` does."""
        self.inner, self._store, self.clock_, self._sample_rule = inner, store, clock, rule_of(inner)
        self._length, self._panes, self._lateness = length, panes, lateness
        self.counted, self.spare = counters_of(inner) is not None, None

    @property
    def clock(self):
        """The function that returns the time of a sample without one."""
        return self.clock_

    def update(self, y_true, y_pred=MISSING, w=1, *, t=None, group=None, scores=MISSING, classes=None, unit=None):
        """Count one sample at its time.

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
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        LabelError
            If a label is not allowed.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        ValueError
            If a time is none, or lies outside the years 1677 to 2262.

        Notes
        -----
        A sample for an expired pane is not counted, but adds to `dropped`.
        """
        cdef int64_t now = 0, taken = cost(w)
        if self._sample_rule is not None and self._sample_rule.ignores(y_true):
            return
        if scores is None:
            return self.update(y_true, None if y_pred is MISSING else y_pred, w, t=t, group=group, classes=classes,
                               unit=unit)
        moment = self.clock_() if t is None else t
        if not read_time(moment, &now):
            now = self._instant(moment)
        if taken > PLAUSIBLE and t is None and abs(taken - now // 1000000000) < PLAUSIBLE:
            raise WeightError(argument="w", expected="to be a weight", but=f"got the time {w!r}; pass it as `t=`")
        if (group is None and scores is MISSING and classes is None and unit is None and self.first <= now < self.last
                and (now <= self._latest or now < self._due) and self.counts is not None and self.holder == 0
                and taken <= self._capacity and self.counts.try_count(y_true, y_pred, w)):
            self._capacity -= taken
            self._timed |= t is not None
            self._latest = max(self._latest, now)
            return
        self.count_slowly(now, t is not None, y_true, y_pred, w, group, scores, classes, unit)

    cdef int count_slowly(self, int64_t now, bint timed, object y_true, object y_pred, object w, object group,
                          object scores, object classes, object unit) except -1:
        """Count one sample in a section; labels and a weight are read before it."""
        if self.counted and group is None and scores is MISSING and classes is None and unit is None:
            y_true, y_pred, w = plain_sample(self.inner, y_true, y_pred, w)
        self.enter()
        try:
            self.place(now, timed, y_true, y_pred, w, group, scores, classes, unit)
        finally:
            self.leave()
        if self._watched:
            self._report()
        return 0

    cdef int place(self, int64_t now, bint timed, object y_true, object y_pred, object w, object group, object scores,
                   object classes, object unit) except -1:
        """Count one sample in its pane, in a section."""
        cdef ConfusionCounters counts = self.counts
        cdef object state = self.state
        cdef int64_t pane = 0, taken, due = NEVER
        cdef bint moved = not self.first <= now < self.last, new = False
        self._expire_due()
        if moved:
            pane = floor_div(now, self._length)
            if self._started and pane <= self._gone():
                deliver(self.inner.copy(), None, y_true, y_pred, w, None, group, scores, classes, unit)  # may refuse it
                self.dropped += 1
                self._timed |= timed
                return 0
            state = self._open.get(pane)
            new = state is None or type(state) is Packed or pane in self.shared
            if new:
                if self._watched and self._started:  # a late sample opens no window that has ended, as in a batch
                    self._closed_to = self._gone()
                state, self.spare = self.spare if state is None else self._store.copied(state), None
                state = self.inner.copy() if state is None else state
                due = min(self._due, self._falls_due(pane) if self._watched else self.end_of(pane))
            if self.counted:
                counts = counters_in(state)
        taken = cost(w)
        if taken > self._capacity:
            self._find_capacity(taken)
        deliver(state, counts, y_true, y_pred, w, None, group, scores, classes, unit)
        if new:
            self.add_pane(pane, state)
            self.shared.discard(pane)
            self._due = due
        self._capacity -= taken
        if moved:
            self.state, self.counts = state, counts
            self.first, self.last = pane * self._length, (pane + 1) * self._length
        self._timed |= timed
        if now > self._latest or not self._started:
            self._latest, self._started = now, True
            self._expire_due(True)
        return 0

    def _expire_due(self, bint counted=False):
        """Give up the panes and close the windows that the latest time has ended.

        A call that has `counted` its samples must not fail: what lacks memory is left to the next call, which begins
        with it.
        """
        if not self._started or self._latest < self._due:
            return
        try:
            if self._watched:
                self._expire()
                return
            spare = self._remove(self._gone())
            self._due = self.end_of(self.numbers[0]) if self.numbers else NEVER
            if spare is not None:
                spare.reset()
                self.spare = spare
        except MemoryError:
            if not counted:
                raise

    cdef int add_pane(self, int64_t pane, object state) except -1:
        """Have a state for a pane; nothing changes if there is no memory for it."""
        cdef bint fresh = pane not in self._open
        if fresh:
            insort(self.numbers, pane)
        try:
            self._open[pane] = state
        except BaseException:
            if fresh:
                self.numbers.remove(pane)
            raise
        return 0

    cdef int64_t end_of(self, int64_t pane) noexcept:
        """Return the time at which a pane expires."""
        return (pane + self._panes) * self._length + self._lateness

    def _panes_to(self, gone):
        """Return the numbers of the panes up to `gone` in order, and that of the next one."""
        return self.numbers[:bisect_right(self.numbers, gone) + 1]

    def _remove(self, int64_t gone):
        """Forget the panes up to `gone`, and return a state of them that nobody else has, if there is one."""
        cdef dict frozen = self._merges.frozen
        cdef Py_ssize_t number = bisect_right(self.numbers, gone)
        own = None
        for pane in self.numbers[:number]:
            state = self._open.pop(pane, None)
            frozen.pop(pane, None)
            if pane in self.shared:
                self.shared.discard(pane)
            elif state is not None and type(state) is not Packed:
                own = state
        del self.numbers[:number]
        return own

    def _share(self):
        """Return all panes, open and not, for another object; the states that are open change no more."""
        cdef set shared = set(self._open)
        panes = self._open.copy()
        self.shared, self.state, self.counts, self.first, self.last = shared, None, None, 1, 0
        return panes

    def _commit(self, dict changes not None, set shared not None, latest, bint timed, int64_t dropped,
                int64_t capacity, bint closes=True):
        """Replace open panes, note the latest time unless it is None, and set the counters, in one step.

        `shared` are the panes of these whose states others have too; `closes` tells whether windows close by it.
        """
        cdef list old, numbers = self.numbers, new = [pane for pane in changes if pane not in self._open]
        cdef set still = self.shared
        cdef int64_t moved = self._latest if latest is None else latest
        if new:
            numbers = sorted({*numbers, *new})
        if shared or not still.isdisjoint(changes):
            still = (still - changes.keys()) | shared
        old = replace_keys(self._open, changes)  # what was there is freed at the end
        self.numbers, self.shared = numbers, still
        if latest is not None and (moved > self._latest or not self._started):
            self._latest, self._started = moved, True
        self.first, self.last, self._due = 1, 0, -NEVER  # what is due is looked up afterwards
        self._timed |= timed
        self.dropped += dropped
        self._capacity = capacity
        if not closes and self._started:
            self._closed_to = self._gone()

    cpdef int64_t _gone(self) noexcept:
        """Return the newest expired pane."""
        return floor_div(self._latest - self._lateness, self._length) - self._panes

    def _leave_pane(self):
        """Look up the pane of the next sample again."""
        self.first, self.last = 1, 0

    def _forget(self, merges, closed):
        """Have no panes but those of `merges`, and no time; `closed` is empty."""
        cdef tuple old = (self._open, self.state, self.counts, self.spare, self._merges, self._closed)
        panes, shared, numbers = {}, set(), sorted(merges.frozen)
        self._open, self.shared, self.numbers, self._merges = panes, shared, numbers, merges
        self._closed, self._closed_to = closed, None
        self.state = self.counts = self.spare = None
        self.first, self.last, self._due = 1, 0, NEVER
        self._latest, self._started, self._timed, self.dropped = 0, False, False, 0
        self._capacity = MOST_SAMPLES

    def _become(self, PaneUpdateBase twin not None):
        """Have what a twin has, which is not used any more, but for `dropped` and closed windows."""
        cdef tuple old = (self._open, self.state, self.counts, self.spare, self._merges, self.inner, self._store)
        self.inner, self._store, self.counted = twin.inner, twin._store, twin.counted
        self._open, self.shared, self.numbers, self._merges = twin._open, twin.shared, twin.numbers, twin._merges
        self.state = self.counts = self.spare = None
        self.first, self.last, self._due = 1, 0, -NEVER
        self._latest, self._started, self._timed = twin._latest, twin._started, twin._timed
        self._capacity, self._closed_to, self._watched = twin._capacity, twin._closed_to, True

    def _note_closed(self, window, start):
        """Note a window that has closed, which starts with a pane."""
        self._closed.append(window)
        self._closed_to = start
