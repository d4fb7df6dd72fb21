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
    cdef list new = [key for key in changes if key not in target]
    try:
        for key in new:
            target[key] = changes[key]
    except BaseException:
        for key in new:
            target.pop(key, None)
        raise
    for key, value in changes.items():
        if value is not None:
            target[key] = value
        else:
            target.pop(key, None)
    return old


cdef class Slot:
    """The state of a key, and how often a group appeared as bool, int, float and any other type."""

    cdef readonly object state      # or `Packed`
    cdef ConfusionCounters counts   # None unless samples may be counted without a section
    cdef bint own                   # whether the state may be changed; others may share it if not
    cdef bint touched               # whether it is among the slots whose numbers may have grown
    cdef bint lent                  # whether a caller has the state
    cdef int64_t n, abstained       # of the state, as they are part of the sums of the container
    cdef int64_t type_counts[4]

    def __cinit__(self, state, forms=(0, 0, 0, 0), bint own=True):
        self.state, self.own = state, own and type(state) is not Packed
        self.counts = counters_of(state) if self.own else None
        (self.type_counts[0], self.type_counts[1], self.type_counts[2],
         self.type_counts[3]) = [int(times) for times in forms]

    @property
    def forms(self):
        """The four numbers of appearances."""
        return (self.type_counts[0], self.type_counts[1], self.type_counts[2], self.type_counts[3])

    cdef int measure(self) except -1:
        """Read the numbers of samples."""
        if self.own or type(self.state) is Packed:  # else it was measured before it was shared
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


cdef class KeyedUpdateBase(Guarded):
    """Base class of containers: a slot for each key, which one step replaces, and the sums of all of them."""

    cdef readonly dict _slots
    cdef readonly object inner, _store  # an empty state, and how states like it are stored
    cdef readonly object _sample_rule  # of the inner state
    cdef public int64_t _capacity  # a lower bound of what all states together can still count; see `cost`
    cdef bint counted  # whether states like `inner` are counters only
    cdef bint measured  # whether numbers of samples are summed up
    cdef int64_t n_, abstained_  # these sums, without what the touched slots have counted since
    cdef list touched

    def __cinit__(self, *args, **kwargs):
        self._slots, self.touched, self._capacity = {}, [], MOST_SAMPLES

    def _configure(self, inner, store, bint measured=False):
        """Set the configuration; `measured` tells whether the samples of a key only change when it is updated."""
        self.inner, self._store, self.measured = inner, store, measured
        self._sample_rule, self.counted = rule_of(inner), counters_of(inner) is not None

    cdef Slot changeable(self, Slot slot):
        """Return a slot whose state may be changed: a new one if others share it, or an empty one if there is none."""
        if slot is None:
            return Slot(self.inner.copy())
        if not slot.own:
            return Slot(self._store.copied(slot.state), slot.forms)
        self.touch(slot)
        return slot

    cdef int touch(self, Slot slot) except -1:
        """Let samples be counted in a slot that is in its place, without a section if they are labels."""
        cdef Slot each
        if slot.touched or not self.measured:
            return 0
        if len(self.touched) > 2 * len(self._slots) + FEW_TOUCHED:
            self.touched = [each for each in self.touched if each.touched]
        self.touched.append(slot)
        slot.touched = True
        return 0

    def _lend(self, key):
        """Return the state of a known key, a copy if others share it."""
        cdef Slot slot = self._slots[key]
        if not slot.own:
            return self._store.copied(slot.state)
        self.touch(slot)
        slot.lent = True
        return slot.state

    def _totals(self):
        """Return the numbers of samples and of abstentions of all states."""
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

    cpdef int _commit(self, dict changes, int64_t capacity) except -1:
        """Replace slots by key, or remove those that are None, in one step."""
        cdef Slot slot, before
        cdef int64_t n = self.n_, abstained = self.abstained_
        cdef list old
        if self.measured:
            for key, slot in changes.items():
                before = self._slots.get(key)
                if before is not None:
                    n, abstained = n - before.n, abstained - before.abstained
                if slot is not None:
                    slot.measure()
                    n, abstained = n + slot.n, abstained + slot.abstained
        old = replace_keys(self._slots, changes)  # which is freed at the end
        for before in old:
            if before is not None:
                before.touched = False
        self.n_, self.abstained_, self._capacity = n, abstained, capacity
        return 0

    def _share(self):
        """Return the slots by key, for another object; no state of them changes any more."""
        cdef Slot slot
        self._totals()
        slots = self._slots.copy()
        for key, slot in self._slots.items():
            if slot.lent:
                slot = slots[key] = Slot(self._store.copied(slot.state), slot.forms)
                slot.measure()
        for slot in slots.values():
            slot.share()
        self.untouch()
        return slots
