"""Memory of the score histograms. Only these functions can fail; counting cannot."""


cdef ScoreHistogram *histogram_new(Py_ssize_t buckets, Py_ssize_t size) noexcept nogil:
    """Return an empty histogram, or NULL if there is no memory."""
    cdef ScoreHistogram *c = <ScoreHistogram *> PyMem_RawCalloc(1, sizeof(ScoreHistogram))
    if c != NULL:
        c.buckets, c.size = buckets, size
    return c


cdef void histogram_drop_samples(ScoreHistogram *c) noexcept nogil:
    cdef Py_ssize_t g
    if c.sample != NULL:
        for g in range(c.groups):
            bottom_free(c.sample + g)
    PyMem_RawFree(c.sample)
    PyMem_RawFree(c.scratch)
    c.sample, c.scratch = NULL, NULL


cdef void histogram_free(ScoreHistogram *c) noexcept nogil:
    if c == NULL:
        return
    histogram_drop_samples(c)
    PyMem_RawFree(c.slot)
    drop_cells(c)
    PyMem_RawFree(c)


cdef int copy_cells(const ScoreHistogram *c, ScoreHistogram *into, Py_ssize_t capacity, Py_ssize_t groups,
                    bint fractional) noexcept nogil:
    """Copy the cells into new arrays of another histogram; -1 if there is no memory, and it has not changed."""
    cdef ScoreHistogram fresh = into[0]
    cdef Py_ssize_t cell, size = 8 * c.groups
    fresh.capacity, fresh.groups, fresh.fractions = capacity, groups, NULL
    fresh.record = <uint64_t *> PyMem_RawCalloc(capacity * (2 + 2 * groups), sizeof(uint64_t))
    fresh.order = <cell_t *> PyMem_RawCalloc(capacity, sizeof(cell_t))
    fresh.sum = <uint64_t *> PyMem_RawCalloc(2 * groups, sizeof(uint64_t))
    if fractional:
        fresh.fractions = <fraction_t *> PyMem_RawCalloc(capacity * 2 * groups, sizeof(fraction_t))
    if fresh.record == NULL or fresh.order == NULL or fresh.sum == NULL or (fractional and fresh.fractions == NULL):
        drop_cells(&fresh)
        return -1
    for cell in range(c.used):
        memcpy(record_of(&fresh, cell), record_of(c, cell), 16 + 2 * size)
        if c.fractions != NULL:
            memcpy(fresh.fractions + 2 * groups * cell, c.fractions + 2 * c.groups * cell, 2 * size)
    if c.used:
        memcpy(fresh.order, c.order, c.used * sizeof(cell_t))
    if c.groups:
        memcpy(fresh.sum, c.sum, 2 * size)
    into[0] = fresh
    return 0


cdef void drop_cells(ScoreHistogram *c) noexcept nogil:
    PyMem_RawFree(c.record)
    PyMem_RawFree(c.fractions)
    PyMem_RawFree(c.order)
    PyMem_RawFree(c.sum)


cdef ScoreHistogram *histogram_copy(const ScoreHistogram *source) noexcept nogil:
    """Return an independent copy, or NULL if there is no memory."""
    cdef ScoreHistogram *c = histogram_new(source.buckets, source.size)
    cdef bint failed
    cdef Py_ssize_t g
    if c == NULL:
        return NULL
    c.used, c.level, c.sorted, c.above = source.used, source.level, source.sorted, source.above
    failed = copy_cells(source, c, source.capacity, source.groups, source.fractions != NULL) < 0
    failed = failed or (source.slot != NULL and reindex(c, source.bits) < 0)
    if not failed and source.sample != NULL:
        failed = histogram_sampling(c) < 0
        for g in range(source.groups):
            failed = failed or bottom_copy(c.sample + g, source.sample + g) < 0
    if failed:
        histogram_free(c)
        return NULL
    return c


cdef Py_ssize_t histogram_bytes(const ScoreHistogram *c) noexcept nogil:
    """Return the size in bytes."""
    cdef Py_ssize_t g, total = sizeof(ScoreHistogram) + c.capacity * (24 + 16 * c.groups - 4)
    total += 16 * c.groups
    if c.slot != NULL:
        total += (<Py_ssize_t> 1 << c.bits) * sizeof(cell_t)
    if c.fractions != NULL:
        total += 16 * c.capacity * c.groups
    if c.sample != NULL:
        total += fullest(c.size) * sizeof(uint64_t) + c.groups * sizeof(BottomKSample)
        for g in range(c.groups):
            total += c.sample[g].slots * (sizeof(uint64_t) * 2 + (sizeof(fraction_t) if c.sample[g].part != NULL
                                                                  else 0))
            total += 0 if c.sample[g].order == NULL else c.size * sizeof(slot_t)
    return total


cdef int reindex(ScoreHistogram *c, int bits) noexcept nogil:
    """Rebuild the index with 2^bits slots."""
    cdef Py_ssize_t cell
    cdef cell_t *fresh = <cell_t *> PyMem_RawCalloc(<size_t> 1 << bits, sizeof(cell_t))
    if fresh == NULL:
        return -1
    PyMem_RawFree(c.slot)
    c.slot, c.bits = fresh, bits
    for cell in range(c.used):
        c.slot[find(c, record_of(c, cell)[0])] = <cell_t> cell + 1
    return 0


cdef int histogram_reserve(ScoreHistogram *c, Py_ssize_t groups, Py_ssize_t extra, bint fractional) noexcept nogil:
    """Reserve memory for groups, more cells and fractions; -1 if there is no memory, and no count has changed."""
    cdef Py_ssize_t capacity = min(c.buckets + 1, c.used + extra), bits = 4
    if capacity > c.capacity:
        capacity = min(c.buckets + 1, max(capacity, 2 * c.capacity, 8))
    capacity = max(capacity, c.capacity)
    groups = max(groups, c.groups)
    while (<Py_ssize_t> 1 << bits) < 4 * capacity - 4:
        bits += 1
    if bits > c.bits and reindex(c, bits) < 0:  # first: cells without an index could not be found
        return -1
    if capacity > c.capacity or groups > c.groups or (fractional and c.fractions == NULL):
        return resize(c, capacity, groups, fractional or c.fractions != NULL)
    return 0


cdef int resize(ScoreHistogram *c, Py_ssize_t capacity, Py_ssize_t groups, bint fractional) noexcept nogil:
    """Move everything into arrays for `capacity` cells and `groups` groups."""
    cdef ScoreHistogram old = c[0]
    cdef BottomKSample *sample = NULL
    cdef Py_ssize_t g
    if c.sample != NULL:
        sample = <BottomKSample *> PyMem_RawCalloc(groups, sizeof(BottomKSample))
        if sample == NULL:
            return -1
        memcpy(sample, c.sample, c.groups * sizeof(BottomKSample))
        for g in range(c.groups, groups):
            sample[g].size, sample[g].threshold = c.size, MIXED
    if copy_cells(&old, c, capacity, groups, fractional) < 0:
        PyMem_RawFree(sample)
        return -1
    c.sample = sample
    drop_cells(&old)
    PyMem_RawFree(old.sample)
    return 0


cdef int histogram_sampling(ScoreHistogram *c) noexcept nogil:
    """Create the samples of the groups, if there are none."""
    cdef Py_ssize_t g
    if c.sample != NULL:
        return 0
    c.sample = <BottomKSample *> PyMem_RawCalloc(max(c.groups, 1), sizeof(BottomKSample))
    c.scratch = <uint64_t *> PyMem_RawCalloc(fullest(c.size), sizeof(uint64_t))
    if c.sample == NULL or c.scratch == NULL:
        histogram_drop_samples(c)
        return -1
    for g in range(c.groups):
        c.sample[g].size, c.sample[g].threshold = c.size, MIXED
    return 0


cdef int histogram_reserve_sample(ScoreHistogram *c, Py_ssize_t group, Py_ssize_t extra) noexcept nogil:
    """Reserve memory in the samples for more codes of a group, and for all cells if sampling starts now."""
    cdef Py_ssize_t g, n
    if c.level == 0 and c.used + extra <= c.buckets:
        return 0
    if histogram_sampling(c) < 0:
        return -1
    for g in range(c.groups):
        n = (extra if g == group else 0) + (occupied_cells(c, g) if c.level == 0 else 0)
        if (g == group or c.level == 0) and bottom_reserve(c.sample + g, n, c.fractions != NULL) < 0:
            return -1
    return 0


cdef int histogram_reserve_for(ScoreHistogram *c, const ScoreHistogram *o, const int64_t *to,
                               Py_ssize_t groups) noexcept nogil:
    """Reserve memory to add another histogram, whose groups `to` maps to groups here; -1 if there is none."""
    cdef Py_ssize_t g, t, extra, most = fullest(c.size)
    cdef bint fractional = o.fractions != NULL
    if histogram_reserve(c, groups, o.used, fractional) < 0:
        return -1
    if c.level == 0 and o.level == 0 and c.used + o.used <= c.buckets:
        return 0
    if histogram_sampling(c) < 0:
        return -1
    for t in range(c.groups):
        if c.sample[t].slots == most and not (c.fractions != NULL and c.sample[t].part == NULL):
            continue
        extra = occupied_cells(c, t) if c.level == 0 else 0
        for g in range(o.groups):
            if to[g] == t:
                extra += occupied_cells(o, g) if o.level == 0 else o.sample[g].used
        if bottom_reserve(c.sample + t, extra, c.fractions != NULL) < 0:
            return -1
    return 0


cdef Py_ssize_t occupied_cells(const ScoreHistogram *c, Py_ssize_t group) noexcept nogil:
    """Count the cells in which a group has a weight."""
    cdef Py_ssize_t cell, n = 0
    for cell in range(c.used):
        n += occupied(c, cell, group)
    return n
