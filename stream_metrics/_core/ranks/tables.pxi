"""A column as rows, with the scores that are 0 among them."""


def table_rows(int level, const uint64_t[::1] cells, const uint64_t[::1] sole, const int64_t[:, :] counts,
               const int64_t[:] totals):
    """Return the smallest code of each row, its weights of rest and own, and the places of mixed rows and cells.

    The zeros, which are in no cell, have a row of their own if there are any.
    """
    cdef Py_ssize_t at, row = 0, n = cells.shape[0], mixed = 0
    cdef int64_t zeros = totals[0], own_zeros = totals[1]
    cdef uint64_t zero = ZERO >> level, start
    cdef bint is_below = True, has_zeros
    for at in range(n):
        zeros -= counts[at, 0]
        own_zeros -= counts[at, 1]
    has_zeros = zeros != 0 or own_zeros != 0
    starts, rests, owns = (vector(n + has_zeros, kind) for kind in (cnp.NPY_UINT64, cnp.NPY_INT64, cnp.NPY_INT64))
    rows, places = vector(n, cnp.NPY_INTP), vector(n, cnp.NPY_INTP)
    cdef uint64_t *code = <uint64_t *> cnp.PyArray_DATA(starts)
    cdef int64_t *rest = <int64_t *> cnp.PyArray_DATA(rests)
    cdef int64_t *own = <int64_t *> cnp.PyArray_DATA(owns)
    cdef cnp.npy_intp *mixed_row = <cnp.npy_intp *> cnp.PyArray_DATA(rows)
    cdef cnp.npy_intp *mixed_cell = <cnp.npy_intp *> cnp.PyArray_DATA(places)
    for at in range(n + 1):
        if is_below and (at == n or cells[at] >= zero):
            is_below = False
            if has_zeros:
                code[row], rest[row], own[row] = ZERO, zeros, own_zeros
                row += 1
        if at == n:
            break
        start = cells[at] << level
        code[row] = start + 1 if level and start == ZERO else start
        rest[row], own[row] = counts[at, 0], counts[at, 1]
        if sole[at] == MIXED if level else start == 1 or start == MIXED - 1:
            mixed_row[mixed], mixed_cell[mixed] = row, at
            mixed += 1
        row += 1
    if mixed < n:
        rows, places = rows[:mixed], places[:mixed]
    return starts, rests, owns, rows, places
