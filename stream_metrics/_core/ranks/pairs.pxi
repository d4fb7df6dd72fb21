"""The pairs of one own and one rest score in a column: how many are in order, and how many cells leave open."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np
cimport numpy as cnp


def count_pairs(Py_ssize_t level, const uint64_t[:] cells, const uint64_t[:] sole, const int64_t[:, :] counts,
                const int64_t[:] totals):
    """Count the pairs of a column of which twice the product of the totals fits into int64.

    Returns twice the pairs in order plus the tied ones, of those whose order the column knows; the pairs within one
    mixed cell; all pairs; the numbers of the mixed cells; and as floats how many pairs each of these has.
    """
    cdef Py_ssize_t at, n = cells.shape[0], mixed = 0
    cdef int64_t rest, own, below = 0, ordered = 0, tied = 0, open = 0
    cdef int64_t zeros = totals[0], own_zeros = totals[1]
    cdef uint64_t zero = ZERO >> level
    cdef bint before = True, is_mixed
    places, inside = vector(n, cnp.NPY_INT64), vector(n, cnp.NPY_DOUBLE)
    cdef int64_t *place = <int64_t *> cnp.PyArray_DATA(places)
    cdef double *pairs_in = <double *> cnp.PyArray_DATA(inside)
    for at in range(n):
        zeros -= counts[at, 0]
        own_zeros -= counts[at, 1]
    for at in range(n):
        if before and cells[at] >= zero:
            before = False
            ordered, tied, below = ordered + own_zeros * below, tied + own_zeros * zeros, below + zeros
        rest, own = counts[at, 0], counts[at, 1]
        is_mixed = sole[at] == MIXED if level else cells[at] == 1 or cells[at] == MIXED - 1
        ordered += own * below
        below += rest
        if is_mixed:
            open += own * rest
            place[mixed], pairs_in[mixed] = at, <double> (own * rest)
            mixed += 1
        else:
            tied += own * rest
    if before:
        ordered, tied = ordered + own_zeros * below, tied + own_zeros * zeros
    return 2 * ordered + tied, open, totals[0] * totals[1], places[:mixed], inside[:mixed]
