"""The way of a sample to its state: the pane of its time, or the state of its group.

Finding the state must not cost more than counting, so it is compiled, and where the state is one of labels its counters
are fed without a call in between. What happens rarely (a new pane, a new group, panes that expire) is done in Python by
the class that is derived from the feed. A state that is new gets its place only after it has counted the sample, so a
sample that is refused leaves nothing behind.

A sample of plain labels for a state that is at hand is counted in a stretch of `Guarded`; all else is a section, so no
two threads make a state for the same pane or group, and none counts in a state that was given up.
"""

from cpython.datetime cimport (
    datetime_day, datetime_hour, datetime_microsecond, datetime_minute, datetime_month, datetime_second,
    datetime_tzinfo, datetime_year, import_datetime)
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject
from libc.math cimport fabs, rint
from libc.stdint cimport int64_t, uint64_t

from datetime import UTC, datetime

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, Feed, SetFeed
from stream_metrics._core.numeric.kernels cimport Guarded
from stream_metrics._core.numeric.kernels cimport MOST_SAMPLES, check_samples, numeric_kind, plain, plain_weight, split
from stream_metrics.errors import WeightError
from stream_metrics.labels.label import canonical

import_datetime()

cdef object DATETIME = datetime, UTC_ZONE = UTC
cdef int64_t NEVER = 0x7FFFFFFFFFFFFFFF
cdef double BOUND = 4611686018.0  # seconds: 2^62 ns, the years 1823 to 2116


cdef ConfusionCounters counters_of(object state):
    """The counters of labels that `update` and `revert` of a state do no more than call, or None."""
    cdef ConfusionCounters counts = None
    kind = type(state)
    if isinstance(state, ConfusionCounters):
        base, counts = ConfusionCounters, state
    elif isinstance(state, SetFeed):
        base, counts = SetFeed, (<SetFeed> state).counts if (<SetFeed> state).scored is None else None
    elif isinstance(state, Feed):
        base, counts = Feed, (<Feed> state).counts
    if counts is None or kind.update is not base.update or kind.revert is not base.revert:
        return None
    return counts


cdef inline ConfusionCounters counters_in(object state):
    """The counters of a state of which it is known that it has them."""
    return (<Feed> state).counts if isinstance(state, Feed) else state


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


cdef dict named(object t, object group, object scores, object classes, object unit):
    """The arguments that were given."""
    given = (("t", t), ("group", group), ("scores", scores), ("classes", classes), ("unit", unit))
    return {name: value for name, value in given if value is not None}


cdef inline int deliver(object state, ConfusionCounters counts, object y_true, object y_pred, object w, object t,
                        object group, object scores, object classes, object unit) except -1:
    """Let the state count a sample."""
    if t is None and group is None and scores is None and classes is None and unit is None:
        if counts is not None:
            counts.count(y_true, y_pred, w)
        else:
            state.update(y_true, y_pred, w)
    else:
        state.update(y_true, y_pred, w, **named(t, group, scores, classes, unit))
    return 0


cdef tuple made_plain(ConfusionCounters counts, object y_true, object y_pred, object w):
    """A sample as plain values that counters like these take for the same."""
    weight = plain_weight(w)
    return counts.label_index.admitted(y_true, "y_true", None), counts.label_index.admit_prediction(y_pred), weight


cdef int64_t cost_of_weight(object w) except -1:
    cdef int64_t whole = 1
    cdef uint64_t part = 0
    split(w, &whole, &part)
    return max(whole + (part != 0), 3)


cdef inline int64_t cost(object w) except -1:
    """What a sample takes at most of the room that all states of a container have together: its weight, or 3
    appearances."""
    return 3 if w is UNIT_WEIGHT else cost_of_weight(w)


cdef inline int64_t floored(int64_t a, int64_t b) noexcept nogil:
    """a / b rounded down; b is positive."""
    return a // b - (a % b < 0)


cdef class PaneFeed(Guarded):
    """What passes samples on to the state of their pane, and moves the latest time.

    All times are in nanoseconds since 1970. The pane that was fed last is kept at hand: it covers first <= t < last.
    """

    cdef readonly dict _open
    cdef readonly object inner
    cdef object state
    cdef ConfusionCounters counts
    cdef bint counted  # whether states like `inner` have counters and nothing else
    cdef object clock_
    cdef int64_t first, last
    cdef readonly int64_t _length, _panes, _lateness, _latest
    cdef public int64_t _due  # the latest time at which something is to be given up
    cdef public bint _started, _timed
    cdef public bint _watched  # whether `_expire` has more to give up than open panes
    cdef object spare  # an empty state that an expired pane has left
    cdef public int64_t _capacity  # what all panes together can still count; a lower bound, see `cost`
    cdef readonly int64_t dropped

    def __cinit__(self, *args, **kwargs):
        self._open = {}
        self.first, self.last, self._due = 1, 0, NEVER
        self._length = self._panes = 1

    def _attach(self, inner, int64_t length, int64_t panes, int64_t lateness, clock):
        """Set the configuration: `inner` is the empty state of which every pane has a copy."""
        self.inner, self._length, self._panes, self._lateness, self.clock_ = inner, length, panes, lateness, clock
        self.counted = counters_of(inner) is not None

    @property
    def clock(self):
        """What tells the time of a sample that is given none."""
        return self.clock_

    def update(self, y_true, y_pred=None, w=1, *, t=None, group=None, scores=None, classes=None, unit=None):
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
        A sample for a pane that is gone is not counted, but adds to `dropped`.
        """
        cdef int64_t now, taken = cost(w)
        moment = self.clock_() if t is None else t
        if type(moment) is float and fabs(<double> moment) < BOUND:
            now = <int64_t> rint(<double> moment * 1e9)
        elif type(moment) is DATETIME and 1830 < datetime_year(moment) < 2110 and is_utc(moment):
            now = since_1970(moment)
        else:
            now = self._instant(moment)
        if (group is None and scores is None and classes is None and unit is None and self.first <= now < self.last
                and (now <= self._latest or now < self._due) and self.counts is not None and self.holder == 0
                and taken <= self._capacity and self.counts.try_count(y_true, y_pred, w)):
            self._capacity -= taken
            self._timed |= t is not None
            self._latest = max(self._latest, now)
            return
        self.count_slowly(now, t is not None, y_true, y_pred, w, group, scores, classes, unit)

    cdef int count_slowly(self, int64_t now, bint timed, object y_true, object y_pred, object w, object group,
                          object scores,
                          object classes, object unit) except -1:
        """Count one sample in a section; labels and a weight are read before it."""
        if self.counted and group is None and scores is None and classes is None and unit is None:
            y_true, y_pred, w = made_plain(counters_in(self.inner), y_true, y_pred, w)
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
        cdef int64_t pane = 0, taken
        cdef bint moved = not self.first <= now < self.last, new = False
        if moved:
            pane = floored(now, self._length)
            if self._started and pane <= self.gone():
                self.dropped += 1
                self._timed |= timed
                return 0
            state = self._open.get(pane)
            new = state is None
            if new:
                state = self.inner.copy() if self.spare is None else self.spare
            if self.counted:
                counts = counters_in(state)
        taken = cost(w)
        if taken > self._capacity:
            self._find_capacity(taken)
        deliver(state, counts, y_true, y_pred, w, None, group, scores, classes, unit)
        self._capacity -= taken
        if moved:
            if new:
                self.spare = None
                self._open[pane] = state
                self._due = min(self._due, self._falls_due(pane) if self._watched else self.end_of(pane))
            self.state, self.counts = state, counts
            self.first, self.last = pane * self._length, (pane + 1) * self._length
        self._timed |= timed
        if now > self._latest or not self._started:
            self._latest, self._started = now, True
            if now >= self._due:
                if self._watched:
                    self._expire()
                else:
                    self.expire()
        return 0

    cdef int64_t end_of(self, int64_t pane) noexcept:
        """The latest time at which a pane has to go."""
        return (pane + self._panes) * self._length + self._lateness

    cdef int expire(self) except -1:
        """Give up the panes that are too old, where there is nothing but panes."""
        cdef int64_t pane, gone = self.gone(), oldest = NEVER
        for pane in list(self._open):
            if pane <= gone:
                self.spare = self._open.pop(pane)
            elif pane < oldest:
                oldest = pane
        self._due = NEVER if oldest == NEVER else self.end_of(oldest)
        if self.spare is not None:
            self.spare.reset()
        return 0

    cdef int64_t gone(self) noexcept:
        """The newest pane that can receive no more."""
        return floored(self._latest - self._lateness, self._length) - self._panes

    def _gone(self):
        return self.gone()

    def _move(self, int64_t latest):
        """Move the latest time on, and keep no pane at hand."""
        if latest > self._latest or not self._started:
            self._latest, self._started = latest, True
        self.first, self.last = 1, 0

    def _forget(self):
        """Become empty."""
        self._open = {}
        self.state = self.counts = self.spare = None
        self.first, self.last, self._due = 1, 0, NEVER
        self._latest, self._started, self._timed, self.dropped, self._capacity = 0, False, False, 0, 0

    def _drop(self, int64_t samples):
        self.dropped += samples


cdef class Slot:
    """A group: its state, and how often its key was seen as bool, as int, as float and as anything else."""

    cdef readonly object state
    cdef ConfusionCounters counts
    cdef int64_t seen[4]

    def __cinit__(self, state, forms=(0, 0, 0, 0)):
        self.state, self.counts = state, counters_of(state)
        self.seen[0], self.seen[1], self.seen[2], self.seen[3] = [int(times) for times in forms]

    @property
    def forms(self):
        """The four numbers of appearances."""
        return (self.seen[0], self.seen[1], self.seen[2], self.seen[3])

    cdef int unsee(self, int form) noexcept:
        """Take an appearance back, from another form where `form` has none."""
        cdef int other
        for other in range(4):
            if self.seen[(form + other) % 4] > 0:
                self.seen[(form + other) % 4] -= 1
                break
        return 0


cdef class GroupFeed(Guarded):
    """What passes samples on to the state of their group."""

    cdef public dict _slots  # by key
    cdef public dict _folded  # keys that are known to be folded
    cdef public object _rest  # the slot of what is folded, or None
    cdef public int64_t _capacity  # what all groups together can still count; a lower bound, see `cost`

    def __cinit__(self, *args, **kwargs):
        self._slots, self._folded = {}, {}

    def update(self, y_true, y_pred=None, w=1, *, group, t=None, scores=None, classes=None, unit=None):
        """Count one sample of a group.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : object, optional
            The prediction, as `inner` takes it.
        w : int or float, default 1
            Weight of the sample, >= 0.
        group : Label
            The group of the sample.
        t : float or datetime or numpy.datetime64, optional
            Time of the sample, if `inner` has times.
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
        """
        cdef Slot slot = None
        cdef PyObject *found
        cdef int form = 3
        cdef int64_t taken = cost(w)
        key = group
        if type(group) is not str:
            key = group if plain(group) and type(group) is not float else canonical(group, "group")
            form = numeric_kind(key)
        if t is None and scores is None and classes is None and unit is None:
            found = PyDict_GetItemWithError(self._slots, key)
            if found != NULL:
                slot = <Slot> found
            elif self._rest is not None and key in self._folded:
                slot = self._rest
            if (slot is not None and slot.counts is not None and self.holder == 0
                    and taken <= self._capacity and slot.seen[form] < MOST_SAMPLES
                    and slot.counts.try_count(y_true, y_pred, w)):
                slot.seen[form] += 1
                self._capacity -= taken
                return
        self.count_slowly(key, form, y_true, y_pred, w, t, scores, classes, unit)

    cdef int count_slowly(self, object key, int form, object y_true, object y_pred, object w, object t, object scores,
                          object classes, object unit) except -1:
        """Count one sample in a section; labels and a weight are read before it."""
        cdef bint labels_only = t is None and scores is None and classes is None and unit is None
        cdef ConfusionCounters counts = counters_of(self.inner) if labels_only else None
        cdef Slot slot
        cdef bint new
        cdef int64_t taken = cost(w)
        if counts is not None:
            y_true, y_pred, w = made_plain(counts, y_true, y_pred, w)
        self.enter()
        try:
            slot = self.known(key)
            new = slot is None
            if new:
                slot = self._admit(key)
            check_samples(1, slot.seen[form])
            if taken > self._capacity:
                self._find_capacity(taken)
            deliver(slot.state, slot.counts, y_true, y_pred, w, t, None, scores, classes, unit)
            if new:
                self._settle(key, slot)
            slot.seen[form] += 1
            self._capacity -= taken
        finally:
            self.leave()
        return 0

    cdef Slot known(self, object key):
        """The slot of a key that was met before, else None."""
        cdef PyObject *found = PyDict_GetItemWithError(self._slots, key)
        if found != NULL:
            return <Slot> found
        if self._rest is not None and key in self._folded:
            return self._rest
        return None

    def _revert(self, y_true, y_pred=None, w=1, *, group, t=None, scores=None, classes=None, unit=None):
        """Undo one update."""
        cdef Slot slot
        key = canonical(group, "group")
        self.enter()
        try:
            slot = self._slots.get(key)
            if slot is None:
                raise WeightError(
                    "Expected to revert a sample that was counted, "
                    f"but got one of the group {group!r}, which has none")
            slot.state.revert(y_true, y_pred, w, **named(t, None, scores, classes, unit))
            slot.unsee(numeric_kind(key))
            if not slot.state.n and not slot.state.abstained:
                del self._slots[key]
        finally:
            self.leave()
