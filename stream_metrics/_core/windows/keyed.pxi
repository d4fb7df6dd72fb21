"""States by key: which of them may be changed in place, and one step that replaces many.

A container prepares new states beside the old ones. Then `commit` takes them over: it inserts what is new, which may
fail and is undone then, and replaces the rest, which cannot fail. No Python code runs in between, so an exception, a
signal or a lack of memory leaves all of it or nothing.

Containers that are copied or merged share states until one of them changes. A state that was read from bytes, and not
used since, is `Packed`.
"""

cimport cython

from msgspec import Raw

cdef Py_ssize_t FEW_TOUCHED = 64  # groups whose numbers are read again at every reading
cdef Py_ssize_t MOST_FOLDED = 4096  # folded keys that are known, so that not each of their samples is hashed


@cython.final
@cython.no_gc
cdef class Packed:
    """A state as the bytes of its content, with the numbers that are read without it."""

    cdef readonly bytes content
    cdef readonly int64_t n, abstained
    cdef int64_t load[3]

    def __cinit__(self, bytes content not None, int64_t n, int64_t abstained, load):
        self.content, self.n, self.abstained = content, n, abstained
        self.load[0], self.load[1], self.load[2] = load

    def __eq__(self, other):
        return type(other) is Packed and self.content == (<Packed> other).content

    def _content(self):
        """Return what an accumulator that contains this state writes of it."""
        return Raw(self.content)

    def _merge_load(self):
        """Return bounds of what a merge adds up."""
        return self.load[0], self.load[1], self.load[2]


def move_key(dict source not None, dict target not None, key, value):
    """Set a key of one dict and remove it from another, or do neither."""
    old = source.get(key), target.get(key)  # so that nothing is freed before both are done
    target[key] = value
    if key in source:
        del source[key]


cpdef list replace_keys(dict target, dict changes):
    """Set keys of a dict, or remove those whose value is None: all of them, or none if there is no memory for it.

    What was there is returned, so that nothing is freed before the caller has set what belongs to it.
    """
    cdef list old = [target.get(key) for key in changes]
    cdef Py_ssize_t at = 0
    try:
        for key, value in changes.items():
            if value is not None and old[at] is None:
                target[key] = value
            at += 1
    except BaseException:
        at = 0
        for key, value in changes.items():
            if value is not None and old[at] is None:
                target.pop(key, None)
            at += 1
        raise
    at = 0
    for key, value in changes.items():
        if old[at] is not None:
            if value is None:
                del target[key]
            else:
                target[key] = value
        at += 1
    return old


cdef class Slot:
    """A group: its state, and how often its key appeared as bool, int, float and any other type."""

    cdef readonly object state      # or `Packed`
    cdef ConfusionCounters counts   # None unless samples may be counted without a section
    cdef bint own                   # whether the state may be changed; others may share it if not
    cdef bint touched               # whether it is among the slots whose numbers may have grown
    cdef bint lent                  # whether a caller has the state
    cdef int64_t n, abstained       # of the state, as they are part of the sums of the container
    cdef int64_t type_counts[4]

    def __cinit__(self, state, forms=(0, 0, 0, 0)):
        self.state, self.own = state, type(state) is not Packed
        self.counts = counters_of(state) if self.own else None
        if not self.own:
            self.n, self.abstained = (<Packed> state).n, (<Packed> state).abstained
        (self.type_counts[0], self.type_counts[1], self.type_counts[2],
         self.type_counts[3]) = [int(times) for times in forms]

    @property
    def forms(self):
        """The four numbers of appearances."""
        return (self.type_counts[0], self.type_counts[1], self.type_counts[2], self.type_counts[3])

    cdef int measure(self) except -1:
        """Read the numbers of samples."""
        if self.counts is not None:
            self.n, self.abstained = self.counts.n, self.counts.abstained
        elif self.own:  # else it was measured before it was shared
            self.n, self.abstained = self.state.n, self.state.abstained
        return 0

    cdef void share(self) noexcept:
        """Let nobody change the state any more."""
        self.own, self.counts = False, None

    cdef int remove_type_of(self, int kind) noexcept:
        """Remove an appearance, from another kind if `kind` has none."""
        cdef int other
        for other in range(4):
            if self.type_counts[(kind + other) % 4] > 0:
                self.type_counts[(kind + other) % 4] -= 1
                break
        return 0


cdef class GroupUpdateBase(Guarded):
    """Base class of groups: passes samples to the state of their group."""

    cdef readonly dict _slots  # by key
    cdef readonly Slot _rest  # of the overflow group, or None
    cdef readonly dict _folded  # known keys of the overflow group
    cdef public int64_t _capacity  # a lower bound of what all groups together can still count; see `cost`
    cdef readonly object inner, _store  # an empty state, and how states like it are stored
    cdef readonly object _sample_rule  # of the inner state
    cdef list touched
    cdef int64_t n_, abstained_  # of all slots, without what the touched ones have counted since
    cdef bint measured  # whether these are summed up

    def __cinit__(self, *args, **kwargs):
        self._slots, self._folded, self.touched = {}, {}, []

    def _configure(self, inner, store, bint measured, int64_t capacity):
        """Set the configuration; `measured` tells whether the samples of a group only change when it is updated."""
        self.inner, self._store, self.measured, self._capacity = inner, store, measured, capacity
        self._sample_rule = rule_of(inner)

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
        cdef Slot slot = None
        cdef PyObject *entry
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
            entry = PyDict_GetItemWithError(self._slots, key)
            if entry != NULL:
                slot = <Slot> entry
            elif self._rest is not None and key in self._folded:
                slot = self._rest
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
        cdef bint labels_only = t is None and scores is MISSING and classes is None and unit is None, folds
        cdef Slot slot, before
        cdef int64_t taken = cost(w)
        if labels_only and counters_of(self.inner) is not None:
            y_true, y_pred, w = plain_sample(self.inner, y_true, y_pred, w)
        self.enter()
        try:
            before = self.known(key)
            slot = self._admit(key) if before is None else before
            folds = slot is self._rest
            before = self._rest if folds else before
            slot = self.changeable(slot, before)
            check_samples(1, slot.type_counts[kind])
            if taken > self._capacity:
                self._find_capacity(taken)
            deliver(slot.state, slot.counts, y_true, y_pred, w, t, None, scores, classes, unit)
            slot.type_counts[kind] += 1
            self._capacity -= taken
            if slot is not before:
                if folds:
                    self._commit({}, slot, self._capacity)
                elif key in self._slots or self.max_groups is None:
                    self._commit({key: slot}, self._rest, self._capacity)
                else:
                    self._put({key: slot}, self._rest, self._capacity)
                    folds = self._slots.get(key) is not slot
            try:
                if slot is not before:
                    self.touch(self._rest if folds else slot)
                if folds and key not in self._folded:
                    if len(self._folded) >= MOST_FOLDED:
                        self._folded.clear()
                    self._folded[key] = None
            except MemoryError:  # all is counted; the next sample of the group does this
                pass
        finally:
            self.leave()
        return 0

    cdef Slot known(self, object key):
        """Return the slot of a known key, else None."""
        cdef PyObject *entry = PyDict_GetItemWithError(self._slots, key)
        if entry != NULL:
            return <Slot> entry
        if self._rest is not None and key in self._folded:
            return self._rest
        return None

    cdef Slot changeable(self, Slot slot, Slot before):
        """Return a slot whose state may be changed, a new one if others share it; `before` is the slot here, if any."""
        if not slot.own:
            return Slot(self._store.copied(slot.state), slot.forms)
        if slot is before:
            self.touch(slot)
        return slot

    cdef int touch(self, Slot slot) except -1:
        """Let samples be counted in a slot that is in its place, without a section if they are labels."""
        cdef Slot each
        if slot.touched:
            return 0
        if len(self.touched) > 2 * len(self._slots) + FEW_TOUCHED:
            self.touched = [each for each in self.touched if each.touched]
        self.touched.append(slot)
        slot.touched = True
        return 0

    def _lend(self, key):
        """Return the state of a known group, a copy if others share it."""
        cdef Slot slot = self._slots[key]
        if not slot.own:
            return self._store.copied(slot.state)
        self.touch(slot)
        slot.lent = True
        return slot.state

    def _totals(self):
        """Return the numbers of samples and of abstentions of all groups."""
        cdef Slot slot
        cdef int64_t n, abstained
        for slot in self.touched:
            if slot.touched:
                n, abstained = slot.n, slot.abstained
                slot.measure()
                self.n_ += slot.n - n
                self.abstained_ += slot.abstained - abstained
        if len(self.touched) > FEW_TOUCHED:
            self.untouch()
        return self.n_, self.abstained_

    cdef int untouch(self) except -1:
        """Update the touched slots in a section again, but those that callers have; all numbers have been read."""
        cdef Slot slot
        lent = [slot for slot in self.touched if slot.touched and slot.lent]
        for slot in self.touched:
            slot.touched = slot.touched and slot.lent
        self.touched = lent
        return 0

    cpdef int _commit(self, dict changes, Slot rest, int64_t capacity) except -1:
        """Replace slots by key, or remove those that are None, and the slot of folded groups, in one step."""
        cdef Slot slot, before
        cdef Py_ssize_t at = 0
        cdef int64_t n, abstained
        cdef list old
        n, abstained = self.n_, self.abstained_
        if self.measured:
            for key, slot in changes.items():
                before = self._slots.get(key)
                if before is not None:
                    n, abstained = n - before.n, abstained - before.abstained
                if slot is not None:
                    slot.measure()
                    n, abstained = n + slot.n, abstained + slot.abstained
            if rest is not self._rest:
                if self._rest is not None:
                    n, abstained = n - self._rest.n, abstained - self._rest.abstained
                if rest is not None:
                    rest.measure()
                    n, abstained = n + rest.n, abstained + rest.abstained
        former = self._rest  # freed at the end
        old = replace_keys(self._slots, changes)
        for key, slot in changes.items():
            before = old[at]
            if before is not None and before is not slot:
                before.touched = False
            at += 1
        if self._rest is not None and self._rest is not rest:
            self._rest.touched = False
        self._rest, self._capacity = rest, capacity
        self.n_, self.abstained_ = n, abstained
        return 0

    def _share(self):
        """Return the slots by key and that of folded groups, for another object; no state of them changes any more."""
        cdef Slot slot
        if self.measured:
            self._totals()
        slots = self._slots.copy()
        lent = {key: Slot(self._store.copied(slot.state), slot.forms)
                for key, slot in slots.items() if (<Slot> slot).lent}
        if self.measured:
            for slot in lent.values():
                slot.measure()
        rest = self._rest
        slots.update(lent)
        for slot in slots.values():
            slot.share()
        if rest is not None:
            (<Slot> rest).share()
        self.untouch()
        return slots, rest

    def _take(self, dict slots not None, Slot rest, int64_t capacity, inner, store):
        """Have these slots and no others, and forget which keys are folded."""
        cdef Slot slot
        cdef int64_t n = 0, abstained = 0
        if self.measured:
            for slot in [*slots.values(), *([] if rest is None else [rest])]:
                slot.measure()
                n, abstained = n + slot.n, abstained + slot.abstained
        old = self._slots, self._rest, self._folded, self.touched, self.inner, self._store
        touched, folded = [], {}
        self._slots, self._rest, self._folded, self.touched = slots, rest, folded, touched
        self.n_, self.abstained_, self._capacity = n, abstained, capacity
        self.inner, self._store = inner, store

    def _revert(self, y_true, y_pred=MISSING, w=1, *, group, t=None, scores=MISSING, classes=None, unit=None):
        """Undo one update."""
        cdef Slot slot, own
        cdef bint empty, copied
        if scores is None and y_pred is MISSING:
            y_pred = None
        key = canonical(group, "group")
        self.enter()
        try:
            slot = self._slots.get(key)
            if slot is None:
                raise not_counted(group, f"one of the group {group!r}, which has none")
            copied = slot.counts is None
            own = Slot(self._store.copied(slot.state), slot.forms) if copied else self.changeable(slot, slot)
            own.state.revert(y_true, y_pred, w, **given_options(t, None, scores, classes, unit))
            own.remove_type_of(numeric_kind(key))
            if own.counts is not None:
                empty = own.counts.n == 0 and own.counts.abstained == 0
            else:
                empty = not own.state.n and not own.state.abstained
            if empty:  # an empty group stays where groups are folded, so that the same ones remain folded
                own = None if self._rest is None else Slot(self.inner.copy())
            if own is not slot:
                self._commit({key: own}, self._rest, self._capacity)
        finally:
            self.leave()
