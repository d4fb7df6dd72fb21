"""The scores of the rows of a column: the smallest, the mean and the largest of each."""

cdef enum:
    ONE_OCTAVE = 52  # levels up to here have cells over which a score is linear in its code


def row_scores(tuple table, int level, const uint64_t[::1] cells, const uint64_t[::1] sole, const double[:, :] offsets,
               const double[::1] rest, const double[::1] own):
    """Return the smallest, the mean and the largest score of each row, and how far the mean may be off.

    `table` has the smallest code of each row, and the numbers and cells of mixed rows. The mean is that of both classes
    by their mean places, the middle of the codes where one of them is not known.
    """
    cdef const uint64_t[::1] starts = table[0]
    cdef const cnp.npy_intp[::1] mixed = table[1], places = table[2]
    cdef Py_ssize_t row, cell = 0, at = 0, n = starts.shape[0], size = cells.shape[0]
    cdef double width = ldexp(1.0, level), last = width * (1 - ldexp(1.0, -53)), both, place, score
    cdef uint64_t base
    lows, means, highs, radii = (vector(n, cnp.NPY_DOUBLE) for _ in range(4))
    cdef double *low = <double *> cnp.PyArray_DATA(lows)
    cdef double *mean = <double *> cnp.PyArray_DATA(means)
    cdef double *high = <double *> cnp.PyArray_DATA(highs)
    cdef double *radius = <double *> cnp.PyArray_DATA(radii)
    for row in range(n):
        if at < mixed.shape[0] and mixed[at] == row:
            cell = places[at]
            base = cells[cell] << level
            both = rest[row] * offsets[cell, 0] if rest[row] > 0 else 0.0
            both += own[row] * offsets[cell, 1] if own[row] > 0 else 0.0
            place = both / (rest[row] + own[row])
            low[row] = edge_of(starts[row])
            high[row] = edge_of(base + ((<uint64_t> 1 << level) - 1))
            score = edge_of(base + <uint64_t> min((place if place == place else 0.5) * width, last))
            high[row] = min(high[row], 1.0)
            mean[row] = min(max(score, low[row]), high[row])
            radius[row] = high[row] - low[row]
            if place == place and level <= ONE_OCTAVE:
                radius[row] = min(radius[row], radius[row] * ldexp(1.0, SHIFT - level))
            at += 1
        else:
            base = starts[row]
            if level and size and base != ZERO:
                while cell < size - 1 and cells[cell] < base >> level:
                    cell += 1
                base = sole[cell]
            low[row] = edge_of(base)
            mean[row], high[row], radius[row] = low[row], min(low[row], 1.0), 0.0
    return lows, means, highs, radii
