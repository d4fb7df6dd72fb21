"""The weights of the `size` smallest hashes seen: a sample that any split of a stream, merged in any order, agrees on.

An element of the final sample has fewer than `size` smaller hashes in every part of the stream, so every part contains
it from its first occurrence on, and its weight is complete. The table grows to 1.5 times `size` before it is pruned, so
a new hash costs a probe and no heap; a hash above the threshold is skipped at once. The hashes are uniform, so their
low bits are the home slot, and pruning moves entries within the table: it needs no memory and cannot fail.
"""

ctypedef uint64_t fraction_t  # of a weight or moment, in units of 2^-64
ctypedef uint32_t slot_t      # the slot of a hash, below 2^25

cdef struct SampleEntry:
    uint64_t hash
    int64_t whole

cdef struct BottomKSample:
    Py_ssize_t size   # the largest number of hashes after pruning
    Py_ssize_t used
    Py_ssize_t slots  # a power of two, at most `fullest(size)`; 0 while there is no memory
    uint64_t threshold    # hashes above it are not among the smallest
    SampleEntry *at
    fraction_t *part    # fractions of the weights, or NULL while all are whole
    slot_t *order       # the slots by code, valid while `sorted`; NULL until they are read
    bint sorted


cdef inline Py_ssize_t slot_of(const SampleEntry *entries, uint64_t hash, Py_ssize_t slots) noexcept nogil:
    """Return the slot of a hash, or the free slot for it."""
    return probe(<const uint64_t *> entries, hash, <Py_ssize_t> (hash & <uint64_t> (slots - 1)), slots) >> 1


cdef inline void bottom_add(BottomKSample *s, uint64_t hash, int64_t whole, fraction_t part,
                            uint64_t *scratch) noexcept nogil:
    """Add to the weight of a hash; memory is reserved. `scratch` is an array of `fullest(size)` hashes."""
    cdef Py_ssize_t at
    if hash > s.threshold:
        return
    at = slot_of(s.at, hash, s.slots)
    if s.at[at].hash == 0:
        s.at[at].hash = hash
        s.used += 1
        s.sorted = False
    if part:
        add_fixed(<uint64_t *> &s.at[at].whole, s.part + at, <uint64_t> whole, part)
    else:
        s.at[at].whole += whole
    if 4 * s.used >= 3 * s.slots:
        bottom_prune(s, scratch)


cdef Py_ssize_t fullest(Py_ssize_t size) noexcept nogil:
    """Return the largest number of slots of a sample."""
    cdef Py_ssize_t slots = 8
    while slots < 2 * size:
        slots *= 2
    return slots


cdef int bottom_reserve(BottomKSample *s, Py_ssize_t extra, bint fractional) noexcept nogil:
    """Reserve memory for `extra` more hashes; -1, and no change, if there is none."""
    cdef Py_ssize_t slots = 8, at, to, want = min(s.used + extra, s.size)
    cdef BottomKSample fresh
    while slots < 2 * want:
        slots *= 2
    slots = max(slots, s.slots)
    if slots == s.slots and not (fractional and s.part == NULL):
        return 0
    fresh.at = <SampleEntry *> PyMem_RawCalloc(slots, sizeof(SampleEntry))
    fresh.part = <fraction_t *> PyMem_RawCalloc(slots, sizeof(fraction_t)) if fractional or s.part != NULL else NULL
    if fresh.at == NULL or (fresh.part == NULL and (fractional or s.part != NULL)):
        PyMem_RawFree(fresh.at)
        PyMem_RawFree(fresh.part)
        return -1
    for at in range(s.slots):
        if s.at[at].hash != 0:
            to = slot_of(fresh.at, s.at[at].hash, slots)
            fresh.at[to] = s.at[at]
            if s.part != NULL:
                fresh.part[to] = s.part[at]
    PyMem_RawFree(s.at)
    PyMem_RawFree(s.part)
    s.at, s.part, s.slots, s.sorted = fresh.at, fresh.part, slots, False
    return 0


cdef void bottom_free(BottomKSample *s) noexcept nogil:
    PyMem_RawFree(s.at)
    PyMem_RawFree(s.part)
    PyMem_RawFree(s.order)
    s.at, s.part, s.order, s.slots, s.used, s.sorted = NULL, NULL, NULL, 0, 0, False


cdef uint64_t select(uint64_t *x, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """Return the k-th smallest of n numbers; reorders them."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef uint64_t pivot
    while low < high:
        pivot = x[low + (high - low) // 2]
        i, j = low, high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return x[k]


cdef void bottom_prune(BottomKSample *s, uint64_t *scratch) noexcept nogil:
    """Keep the `size` smallest hashes; the largest of them becomes the threshold."""
    cdef Py_ssize_t at, to, step, n = 0, mask = s.slots - 1, start = 0
    cdef SampleEntry entry
    cdef fraction_t part = 0
    if s.used <= s.size:
        return
    for at in range(s.slots):
        scratch[n] = s.at[at].hash
        n += scratch[n] != 0
        start = at if s.at[at].hash == 0 else start
    s.threshold = select(scratch, n, s.size - 1)
    s.used, s.sorted = s.size, False
    for step in range(1, s.slots):  # in probe order: an entry goes back to its slot or to an earlier one
        at = (start + step) & mask
        entry = s.at[at]
        if entry.hash == 0:
            continue
        s.at[at].hash, s.at[at].whole = 0, 0
        if s.part != NULL:
            part, s.part[at] = s.part[at], 0
        if entry.hash <= s.threshold:
            to = slot_of(s.at, entry.hash, s.slots)
            s.at[to] = entry
            if s.part != NULL:
                s.part[to] = part


cdef int bottom_copy(BottomKSample *s, const BottomKSample *source) noexcept nogil:
    """Make an empty sample a copy; -1 if there is no memory."""
    s[0] = source[0]
    s.at, s.part, s.order, s.sorted = NULL, NULL, NULL, False
    if source.slots == 0:
        return 0
    s.at = <SampleEntry *> PyMem_RawCalloc(source.slots, sizeof(SampleEntry))
    if source.part != NULL:
        s.part = <fraction_t *> PyMem_RawCalloc(source.slots, sizeof(fraction_t))
    if s.at == NULL or (source.part != NULL and s.part == NULL):
        bottom_free(s)
        return -1
    memcpy(s.at, source.at, source.slots * sizeof(SampleEntry))
    if source.part != NULL:
        memcpy(s.part, source.part, source.slots * sizeof(fraction_t))
    return 0
