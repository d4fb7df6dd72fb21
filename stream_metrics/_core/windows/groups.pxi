"""Groups: passes samples to the state of their group.

A group that is not kept apart is folded: its samples are counted in the slot with the key None.
"""


cdef class GroupUpdateBase(KeyedUpdateBase):
    """Base class of groups."""

    cdef readonly dict _folded  # known keys that are folded

    def __cinit__(self, *args, **kwargs):
        self._folded = {}

    def update(self, y_true, y_pred=MISSING, w=1, *, group, t=None, scores=MISSING, classes=None, unit=None):
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
        cdef Slot slot
        cdef int kind = 3
        cdef int64_t taken = cost(w)
        if self._sample_rule is not None and self._sample_rule.ignores(y_true):
            return
        if scores is None:
            return self.update(y_true, None if y_pred is MISSING else y_pred, w, t=t, group=group, classes=classes,
                               unit=unit)
        key = group
        if type(group) is not str:
            key = group if plain(group) and type(group) is not float else canonical(group, "group")
            kind = numeric_kind(key)
        if t is None and scores is MISSING and classes is None and unit is None:
            slot = known_slot(self._slots, key)
            if slot is None and key in self._folded:
                slot = known_slot(self._slots, None)
            if (slot is not None and slot.counts is not None and slot.touched and self.holder == 0
                    and taken <= self._capacity and slot.type_counts[kind] < MOST_SAMPLES
                    and slot.counts.try_count(y_true, y_pred, w)):
                slot.type_counts[kind] += 1
                self._capacity -= taken
                return
        self.count_slowly(key, kind, y_true, y_pred, w, t, scores, classes, unit)

    cdef int count_slowly(self, object key, int kind, object y_true, object y_pred, object w, object t, object scores,
                          object classes, object unit) except -1:
        """Count one sample in a section; labels and a weight are read before it."""
        cdef Slot slot, before
        cdef int64_t taken = cost(w)
        if self.counted and t is None and scores is MISSING and classes is None and unit is None:
            y_true, y_pred, w = plain_sample(self.inner, y_true, y_pred, w)
        self.enter()
        try:
            place = key if key in self._slots else None if key in self._folded else self._place(key)
            before = known_slot(self._slots, place)
            slot = self.changeable(before)
            check_samples(1, slot.type_counts[kind])
            if taken > self._capacity:
                self._find_capacity(taken)
            deliver(slot.state, slot.counts, y_true, y_pred, w, t, None, scores, classes, unit)
            slot.type_counts[kind] += 1
            self._capacity -= taken
            if before is None and self.max_groups is not None:
                self._put({place: slot}, self._capacity)
            elif slot is not before:
                self._commit({place: slot}, self._capacity)
            try:
                self.remember(key)
            except MemoryError:  # all is counted; the next sample of the group does this
                pass
        finally:
            self.leave()
        return 0

    cdef int remember(self, object key) except -1:
        """Let the next samples of a group that has counted one be counted quickly."""
        if key in self._slots:
            return self.touch(self._slots[key])
        if key not in self._folded:
            if len(self._folded) >= MOST_FOLDED:
                self._folded.clear()
            self._folded[key] = None
        return self.touch(self._slots[None])

    def _revert(self, y_true, y_pred=MISSING, w=1, *, group, t=None, scores=MISSING, classes=None, unit=None):
        """Undo one update, also of a folded group."""
        cdef Slot slot, own
        if scores is None and y_pred is MISSING:
            y_pred = None
        key = canonical(group, "group")
        self.enter()
        try:
            place = key if key in self._slots else None
            slot = self._slots.get(place)
            if slot is None:
                raise not_counted(group, f"one of the group {group!r}, which has none")
            own = Slot(self._store.copied(slot.state), slot.forms) if slot.counts is None else self.changeable(slot)
            own.state.revert(y_true, y_pred, w, **given_options(t, None, scores, classes, unit))
            own.remove_type_of(numeric_kind(key))
            if own.state.n or own.state.abstained:
                changes = {} if own is slot else {place: own}
            else:
                changes = self._emptied(place)
            self._commit(changes, self._capacity)
        finally:
            self.leave()


cdef inline Slot known_slot(dict slots, object key):
    """Return the slot of a key, or None."""
    cdef PyObject *entry = PyDict_GetItemWithError(slots, key)
    return None if entry == NULL else <Slot> entry
