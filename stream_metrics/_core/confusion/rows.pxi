"""Rows of the square of one state, added to those of another whose classes are in the same or in another order.

The squares of a thousand classes do not fit the caches. So a row whose columns are in another order is gathered in one
pass, several columns as one vector, while the row that comes next is fetched.
"""

from libc.stdint cimport int64_t, uint64_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>

    /* Weights are >= 0. A cell is new if it had no weight and gets some: then both -more and old - 1 are negative. */
    #define SM_ADD_CELL(old, more, fresh) ((fresh) += (-(more) & ((old) - 1)) >> 63, (old) += (more))

    #if defined(__GNUC__)
    typedef uint64_t sm_columns __attribute__((vector_size(16)));
    #endif

    static Py_ssize_t sm_add_gathered(int64_t *target, const int64_t *weights, const int64_t *from, Py_ssize_t n,
                                      const int64_t *next)
    {
        uint64_t *row = (uint64_t *) target, fresh = 0;
        const uint64_t *source = (const uint64_t *) weights;
        Py_ssize_t b = 0;
    #if defined(__GNUC__)
        sm_columns counts = {0, 0};
        for (; b + 8 <= n; b += 8) {
            __builtin_prefetch(next + b);
            for (Py_ssize_t c = b; c < b + 8; c += 2) {
                sm_columns old, more = {source[from[c]], source[from[c + 1]]};
                memcpy(&old, row + c, sizeof old);
                SM_ADD_CELL(old, more, counts);
                memcpy(row + c, &old, sizeof old);
            }
        }
        fresh = counts[0] + counts[1];
    #endif
        for (; b < n; b++) SM_ADD_CELL(row[b], source[from[b]], fresh);
        return (Py_ssize_t) fresh;
    }
    """
    # Add element places[b] of the source to element b of a row, and fetch n elements at `next`; returns what `add_row`
    # does.
    Py_ssize_t add_gathered "sm_add_gathered"(int64_t *row, const int64_t *source, const int64_t *places, Py_ssize_t n,
                                              const int64_t *next)


cdef inline Py_ssize_t add_row(int64_t *target, const int64_t *source, Py_ssize_t n) noexcept nogil:
    """Add weights, which are >= 0, and return how many cells had none before."""
    cdef Py_ssize_t b
    cdef uint64_t fresh = 0
    for b in range(n):
        fresh += (<uint64_t> -source[b] & <uint64_t> (target[b] - 1)) >> 63
        target[b] += source[b]
    return <Py_ssize_t> fresh
