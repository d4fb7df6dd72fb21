"""Rows of the square of one state, added to those of another whose classes are in the same or in another order."""


cdef inline Py_ssize_t add_row(int64_t *target, const int64_t *source, Py_ssize_t n) noexcept nogil:
    """Add weights, which are >= 0, and return how many cells had none before."""
    cdef Py_ssize_t b
    cdef uint64_t fresh = 0
    for b in range(n):
        fresh += (<uint64_t> -source[b] & <uint64_t> (target[b] - 1)) >> 63
        target[b] += source[b]
    return <Py_ssize_t> fresh


cdef inline Py_ssize_t add_scattered(int64_t *target, const int64_t *source, const int64_t *to,
                                     Py_ssize_t n) noexcept nogil:
    """Add the weight of column b to column to[b], as `add_row` does; a class at -1 has no weight."""
    cdef Py_ssize_t b
    cdef uint64_t fresh = 0
    for b in range(n):
        if to[b] >= 0:
            fresh += (<uint64_t> -source[b] & <uint64_t> (target[to[b]] - 1)) >> 63
            target[to[b]] += source[b]
    return <Py_ssize_t> fresh
