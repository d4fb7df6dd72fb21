"""The pairs of one own and one rest score: how many are in order, and how many cells leave open."""

cdef int64_t SAFE = <int64_t> 1 << 61  # twice the product of two totals up to here fits into int64


cdef struct Side:
    const int64_t *count    # weights of a class by cell, `count_step` apart
    const double *place     # its mean places in the cells, `place_step` apart
    Py_ssize_t count_step, place_step
    int64_t total           # with the scores that are 0


cdef struct CountedPairs:
    int64_t sure     # twice the pairs in order plus the tied ones, of those whose order the cells tell
    int64_t open     # the pairs within one mixed cell
    int64_t all
    Py_ssize_t mixed  # the number of mixed cells


cdef CountedPairs pairs_of_sides(int level, Py_ssize_t n, const uint64_t *key, const uint64_t *single_code, Side rest,
                                 Side own, int64_t *cell, double *inside, double *above) noexcept nogil:
    """Count the pairs of two classes; twice the product of their totals must fit into int64.

    For each mixed cell that has a weight: its number, its share of all pairs, and in which share of its own pairs own
    is above, from the two means. That is exact where both densities are linear within the cell, and the best guess from
    two means alone otherwise; 1/2 where a mean is not known.
    """
    cdef Py_ssize_t at
    cdef int64_t below = 0, ordered = 0, tied = 0, p, q, zeros = rest.total, own_zeros = own.total
    cdef uint64_t zero = ZERO >> level
    cdef bint before = True
    cdef double share, all_pairs
    cdef CountedPairs pairs
    pairs.open, pairs.all, pairs.mixed = 0, rest.total * own.total, 0
    all_pairs = <double> max(pairs.all, 1)
    for at in range(n):
        zeros -= rest.count[at * rest.count_step]
        own_zeros -= own.count[at * own.count_step]
    for at in range(n):
        if before and key[at] >= zero:
            before = False
            ordered, tied, below = ordered + own_zeros * below, tied + own_zeros * zeros, below + zeros
        q, p = rest.count[at * rest.count_step], own.count[at * own.count_step]
        if (p | q) == 0:
            continue
        ordered += p * below
        below += q
        if single_code[at] == MIXED if level else key[at] == 1 or key[at] == MIXED - 1:
            pairs.open += p * q
            share = own.place[at * own.place_step] - rest.place[at * rest.place_step] + 0.5
            cell[pairs.mixed], inside[pairs.mixed] = at, <double> (p * q) / all_pairs
            above[pairs.mixed] = min(max(share, 0.0), 1.0) if share == share else 0.5
            pairs.mixed += 1
        else:
            tied += p * q
    if before:
        ordered, tied = ordered + own_zeros * below, tied + own_zeros * zeros
    pairs.sure = 2 * ordered + tied
    return pairs


cdef Side side_of(const int64_t[:, :] counts, const double[:, :] offsets, int64_t total, Py_ssize_t which) noexcept:
    cdef Side side
    side.total, side.count, side.place = total, NULL, NULL
    side.count_step, side.place_step = counts.strides[0] // sizeof(int64_t), offsets.strides[0] // sizeof(double)
    if counts.shape[0]:
        side.count, side.place = &counts[0, which], &offsets[0, which]
    return side


def count_pairs(int level, const uint64_t[::1] cells, const uint64_t[::1] sole, const int64_t[:, :] counts,
                const double[:, :] offsets, const int64_t[:] totals):
    """Count the pairs of a column; twice the product of its totals must fit into int64.

    Returns twice the pairs in order plus the tied ones, of those whose order the column knows; the pairs within one
    mixed cell; all pairs; and of each mixed cell the number, the share of all pairs, and in which share own is above.
    """
    cdef Py_ssize_t n = cells.shape[0]
    cdef CountedPairs pairs
    places, inside, above = vector(n, cnp.NPY_INT64), vector(n, cnp.NPY_DOUBLE), vector(n, cnp.NPY_DOUBLE)
    pairs = pairs_of_sides(level, n, &cells[0] if n else NULL, &sole[0] if n else NULL,
                           side_of(counts, offsets, totals[0], 0), side_of(counts, offsets, totals[1], 1),
                           <int64_t *> cnp.PyArray_DATA(places), <double *> cnp.PyArray_DATA(inside),
                           <double *> cnp.PyArray_DATA(above))
    if pairs.mixed < n:
        places, inside, above = places[:pairs.mixed], inside[:pairs.mixed], above[:pairs.mixed]
    return pairs.sure, pairs.open, pairs.all, places, inside, above
