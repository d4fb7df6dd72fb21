"""The memory of a column of a rank sketch: all that can fail, apart from the counting, which cannot."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef Column *column_new(Py_ssize_t buckets, Py_ssize_t size) noexcept nogil:
    """An empty column, or NULL if there is no memory."""
    cdef Column *c = <Column *> PyMem_RawCalloc(1, sizeof(Column))
    if c != NULL:
        c.buckets, c.size = buckets, size
    return c


cdef void column_drop_samples(Column *c) noexcept nogil:
    cdef Py_ssize_t g
    if c.sample != NULL:
        for g in range(c.groups):
            bottom_free(c.sample + g)
    PyMem_RawFree(c.sample)
    PyMem_RawFree(c.scratch)
    c.sample, c.scratch = NULL, NULL


cdef void column_free(Column *c) noexcept nogil:
    if c == NULL:
        return
    column_drop_samples(c)
    PyMem_RawFree(c.slot)
    PyMem_RawFree(c.record)
    PyMem_RawFree(c.tail)
    PyMem_RawFree(c.order)
    PyMem_RawFree(c.sum)
    PyMem_RawFree(c)


cdef void *twin(const void *source, Py_ssize_t count, Py_ssize_t each, bint *failed) noexcept nogil:
    """A copy of an array that may be NULL."""
    cdef void *copy
    if source == NULL:
        return NULL
    copy = PyMem_RawCalloc(count, each)
    if copy == NULL:
        failed[0] = True
    else:
        memcpy(copy, source, count * each)
    return copy


cdef Column *column_copy(const Column *source) noexcept nogil:
    """An independent copy, or NULL if there is no memory."""
    cdef Column *c = <Column *> PyMem_RawCalloc(1, sizeof(Column))
    cdef bint failed = False
    cdef Py_ssize_t g, width = 2 + 2 * source.groups
    if c == NULL:
        return NULL
    c[0] = source[0]
    c.sample, c.scratch = NULL, NULL
    c.slot = <cell_t *> twin(source.slot, <Py_ssize_t> 1 << source.bits, sizeof(cell_t), &failed)
    c.record = <uint64_t *> twin(source.record, source.room * width, sizeof(uint64_t), &failed)
    c.tail = <fraction_t *> twin(source.tail, source.room * 2 * source.groups, sizeof(fraction_t), &failed)
    c.order = <cell_t *> twin(source.order, source.room, sizeof(cell_t), &failed)
    c.sum = <uint64_t *> twin(source.sum, 2 * source.groups, sizeof(uint64_t), &failed)
    if not failed and source.sample != NULL:
        failed = column_sampling(c) < 0
        for g in range(source.groups):
            failed = failed or bottom_copy(c.sample + g, source.sample + g) < 0
    if failed:
        column_free(c)
        return NULL
    return c


cdef Py_ssize_t column_bytes(const Column *c) noexcept nogil:
    """How much memory the column takes."""
    cdef Py_ssize_t g, total = sizeof(Column) + c.room * (24 + 16 * c.groups - 4)
    total += 16 * c.groups
    if c.slot != NULL:
        total += (<Py_ssize_t> 1 << c.bits) * sizeof(cell_t)
    if c.tail != NULL:
        total += 16 * c.room * c.groups
    if c.sample != NULL:
        total += fullest(c.size) * sizeof(uint64_t) + c.groups * sizeof(Bottom)
        for g in range(c.groups):
            total += c.sample[g].slots * (sizeof(uint64_t) * 2 + (sizeof(fraction_t) if c.sample[g].part != NULL
                                                                  else 0))
            total += 0 if c.sample[g].order == NULL else c.size * sizeof(slot_t)
    return total


cdef int reindex(Column *c, int bits) noexcept nogil:
    """Give the index that many slots."""
    cdef Py_ssize_t cell
    cdef cell_t *fresh = <cell_t *> PyMem_RawCalloc(<size_t> 1 << bits, sizeof(cell_t))
    if fresh == NULL:
        return -1
    PyMem_RawFree(c.slot)
    c.slot, c.bits = fresh, bits
    for cell in range(c.held):
        c.slot[find(c, record_of(c, cell)[0])] = <cell_t> cell + 1
    return 0


cdef int column_reserve(Column *c, Py_ssize_t groups, Py_ssize_t extra, bint fractional) noexcept nogil:
    """Make room for groups, for more cells and for fractions; -1 if there is no memory, and no count has changed."""
    cdef Py_ssize_t room = min(c.buckets + 1, c.held + extra), bits = 4
    if room > c.room:
        room = min(c.buckets + 1, max(room, 2 * c.room, 8))
    room = max(room, c.room)
    groups = max(groups, c.groups)
    while (<Py_ssize_t> 1 << bits) < 4 * room - 4:
        bits += 1
    if bits > c.bits and reindex(c, bits) < 0:  # first: cells without an index could not be found
        return -1
    if room > c.room or groups > c.groups or (fractional and c.tail == NULL):
        return resize(c, room, groups, fractional or c.tail != NULL)
    return 0


cdef int resize(Column *c, Py_ssize_t room, Py_ssize_t groups, bint fractional) noexcept nogil:
    """Move everything into arrays of that many cells and groups."""
    cdef Column fresh = c[0]
    cdef Py_ssize_t cell, size = 8 * c.groups
    fresh.room, fresh.groups, fresh.tail, fresh.sample = room, groups, NULL, NULL
    fresh.record = <uint64_t *> PyMem_RawCalloc(room * (2 + 2 * groups), sizeof(uint64_t))
    fresh.order = <cell_t *> PyMem_RawCalloc(room, sizeof(cell_t))
    fresh.sum = <uint64_t *> PyMem_RawCalloc(2 * groups, sizeof(uint64_t))
    if fractional:
        fresh.tail = <fraction_t *> PyMem_RawCalloc(room * 2 * groups, sizeof(fraction_t))
    if c.sample != NULL:
        fresh.sample = <Bottom *> PyMem_RawCalloc(groups, sizeof(Bottom))
    if (fresh.record == NULL or fresh.order == NULL or fresh.sum == NULL or (fractional and fresh.tail == NULL)
            or (c.sample != NULL and fresh.sample == NULL)):
        PyMem_RawFree(fresh.record)
        PyMem_RawFree(fresh.order)
        PyMem_RawFree(fresh.sum)
        PyMem_RawFree(fresh.tail)
        PyMem_RawFree(fresh.sample)
        return -1
    for cell in range(c.held):
        memcpy(record_of(&fresh, cell), record_of(c, cell), 16 + 2 * size)
        if c.tail != NULL:
            memcpy(fresh.tail + 2 * groups * cell, c.tail + 2 * c.groups * cell, 2 * size)
    if c.held:
        memcpy(fresh.order, c.order, c.held * sizeof(cell_t))
    if c.groups:
        memcpy(fresh.sum, c.sum, 2 * size)
    if c.sample != NULL:
        memcpy(fresh.sample, c.sample, c.groups * sizeof(Bottom))
        for cell in range(c.groups, groups):
            fresh.sample[cell].size, fresh.sample[cell].bound = c.size, MIXED
    PyMem_RawFree(c.record)
    PyMem_RawFree(c.order)
    PyMem_RawFree(c.sum)
    PyMem_RawFree(c.tail)
    PyMem_RawFree(c.sample)
    c[0] = fresh
    return 0


cdef int column_sampling(Column *c) noexcept nogil:
    """Make sure that there is a sample, maybe empty, of every group."""
    cdef Py_ssize_t g
    if c.sample != NULL:
        return 0
    c.sample = <Bottom *> PyMem_RawCalloc(max(c.groups, 1), sizeof(Bottom))
    c.scratch = <uint64_t *> PyMem_RawCalloc(fullest(c.size), sizeof(uint64_t))
    if c.sample == NULL or c.scratch == NULL:
        column_drop_samples(c)
        return -1
    for g in range(c.groups):
        c.sample[g].size, c.sample[g].bound = c.size, MIXED
    return 0


cdef int column_reserve_sample(Column *c, Py_ssize_t group, Py_ssize_t extra) noexcept nogil:
    """Make room in the samples for more codes of a group, and for all cells if they become samples now."""
    cdef Py_ssize_t g, n
    if c.level == 0 and c.held + extra <= c.buckets:
        return 0
    if column_sampling(c) < 0:
        return -1
    for g in range(c.groups):
        n = (extra if g == group else 0) + (seeds(c, g) if c.level == 0 else 0)
        if (g == group or c.level == 0) and bottom_reserve(c.sample + g, n, c.tail != NULL) < 0:
            return -1
    return 0


cdef int column_reserve_for(Column *c, const Column *o, const int64_t *to, Py_ssize_t groups) noexcept nogil:
    """Make room for all that another column holds, its groups as `to` maps them; -1 if there is no memory."""
    cdef Py_ssize_t g, t, extra
    cdef bint fractional = o.tail != NULL
    if column_reserve(c, groups, o.held, fractional) < 0:
        return -1
    if c.level == 0 and o.level == 0 and c.held + o.held <= c.buckets:
        return 0
    if column_sampling(c) < 0:
        return -1
    for t in range(c.groups):
        extra = seeds(c, t) if c.level == 0 else 0
        for g in range(o.groups):
            if to[g] == t:
                extra += seeds(o, g) if o.level == 0 else o.sample[g].held
        if bottom_reserve(c.sample + t, extra, c.tail != NULL) < 0:
            return -1
    return 0


cdef Py_ssize_t seeds(const Column *c, Py_ssize_t group) noexcept nogil:
    """How many codes of a group a column at level 0 holds."""
    cdef Py_ssize_t cell, n = 0
    for cell in range(c.held):
        n += occupied(c, cell, group)
    return n
