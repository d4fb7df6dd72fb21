"""Windows of time: passes samples to the state of their pane, and expires panes as the time moves on."""


cdef int64_t NO_TIME = -(<int64_t> 1 << 62)  # before all times


cdef class PaneUpdateBase(KeyedUpdateBase):
    """Base class of time windows. Keys are panes that are open: the newest, and what came late for others.

    All times are in nanoseconds since 1970. The pane updated last is cached: it covers first <= t < last.
    """

    cdef list numbers         # of all panes, in order
    cdef readonly object _merges  # the other panes
    cdef public object _closed  # windows that were closed
    cdef public int64_t _closed_to  # the start of the newest of these, in panes
    cdef readonly object clock
    cdef Slot slot
    cdef Slot spare  # of an expired pane, emptied for the next one, since a copy of `inner` takes longer
    cdef int64_t first, last
    cdef readonly int64_t _length, _panes, _lateness
    cdef readonly int64_t _latest  # `NO_TIME` if there was none
    cdef public int64_t _due  # the time at which the next pane expires
    cdef readonly bint _timed
    cdef readonly int64_t dropped

    def __cinit__(self, *args, **kwargs):
        self.numbers = []
        self.first, self.last, self._due = 1, 0, NEVER
        self._length, self._latest, self._closed_to = 1, NO_TIME, -NEVER

    def _divide(self, merges, closed, int64_t length, int64_t panes, int64_t lateness, clock):
        """Set what panes there are; `merges` and `closed` are empty."""
        self._merges, self._closed, self.clock = merges, closed, clock
        self._length, self._panes, self._lateness = length, panes, lateness

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
        moment = self.clock() if t is None else t
        if not read_time(moment, &now):
            now = self._instant(moment)
        if taken > PLAUSIBLE and t is None and abs(taken - now // 1000000000) < PLAUSIBLE:
            raise WeightError(argument="w", expected="to be a weight", but=f"got the time {w!r}; pass it as `t=`")
        if (group is None and scores is MISSING and classes is None and unit is None and self.first <= now < self.last
                and (now <= self._latest or now < self._due) and self.slot.counts is not None and self.holder == 0
                and taken <= self._capacity and self.slot.counts.try_count(y_true, y_pred, w)):
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
            if self._latest >= self._due:
                self._expire_due()
            self.place(now, timed, y_true, y_pred, w, group, scores, classes, unit)
            if self._latest >= self._due:
                self._expire_due(True)
        finally:
            self.leave()
        if self._closed:
            self._report()
        return 0

    cdef int place(self, int64_t now, bint timed, object y_true, object y_pred, object w, object group, object scores,
                   object classes, object unit) except -1:
        """Count one sample in its pane, in a section."""
        cdef int64_t number = floor_div(now, self._length), taken = cost(w)
        cdef bint cached = self.first <= now < self.last
        cdef Slot slot, before
        if not cached and number <= self._gone():
            deliver(self.inner.copy(), None, y_true, y_pred, w, None, group, scores, classes, unit)  # may refuse it
            self.dropped += 1
            self._timed |= timed
            return 0
        before = self.slot if cached else self._slots.get(number)
        slot = self.changeable(before) if before is not None or self.spare is None else self.spare
        if taken > self._capacity:
            self._find_capacity(taken)
        deliver(slot.state, slot.counts, y_true, y_pred, w, None, group, scores, classes, unit)
        if slot is not before:
            self._move({number: slot}, now, timed, 0, self._capacity)
            self.spare = None
        self._capacity -= taken
        self._timed |= timed
        self._latest = max(self._latest, now)
        self.slot, self.first, self.last = slot, number * self._length, (number + 1) * self._length
        return 0

    def _expire_due(self, bint counted=False):
        """Give up the panes and close the windows that the latest time has ended.

        A call that has `counted` its samples must not fail: what lacks memory is left to the next call, which begins
        with it.
        """
        if self._latest < self._due:
            return
        try:
            self._expire()
        except (MemoryError, SystemError):  # NumPy raises the latter, too, where memory is lacking
            if not counted:
                raise

    def _panes_to(self, gone):
        """Return the numbers of the panes up to `gone` in order, and that of the next one."""
        return self.numbers[:bisect_right(self.numbers, gone) + 1]

    def _remove(self, int64_t gone):
        """Forget the panes up to `gone`; the next one falls due later."""
        cdef Py_ssize_t number = bisect_right(self.numbers, gone)
        cdef Slot slot, spare = None
        for pane in self.numbers[:number]:
            slot = self._slots.pop(pane, None)
            spare = slot if slot is not None and slot.own else spare
            self._merges.frozen.pop(pane, None)
        del self.numbers[:number]
        self._due = (gone + 1 + self._panes) * self._length + self._lateness
        if spare is not None:
            spare.state.reset()
            self.spare = spare

    def _move(self, dict changes not None, int64_t latest, bint timed, int64_t dropped, int64_t capacity,
              bint closes=True):
        """Replace open panes, move the time on, and set the counters, in one step.

        `closes` tells whether windows close by it, but for those that ended before: no late sample opens them again.
        """
        cdef dict frozen = self._merges.frozen
        cdef list numbers = self.numbers
        cdef list new = [pane for pane in changes if pane not in self._slots and pane not in frozen]
        cdef int64_t moved = max(self._latest, latest)
        if new:
            numbers = [*numbers, *new]
            numbers.sort()
        self._commit(changes, capacity)
        self.numbers, self._closed_to = numbers, self.gone_at(self._latest if closes else moved)
        self._latest = moved
        self.first, self.last, self._due = 1, 0, -NEVER  # what is due is looked up afterwards
        self._timed |= timed
        self.dropped += dropped

    cpdef int64_t _gone(self) noexcept:
        """Return the newest expired pane."""
        return self.gone_at(self._latest)

    cdef int64_t gone_at(self, int64_t latest) noexcept:
        return floor_div(latest - self._lateness, self._length) - self._panes

    def _leave_pane(self):
        """Look up the pane of the next sample again."""
        self.first, self.last = 1, 0

    def _note_closed(self, window, start):
        """Note a window that has closed, which starts with a pane."""
        self._closed.append(window)
        self._closed_to = start
