"""Rows of codes, counted into a column: the loops of a table of scores."""

ctypedef int32_t code_t  # the number of a label in a batch

cdef struct CodeRows:
    const code_t *group        # the class of each
    int64_t own                # -1, or the class that is counted apart from the rest
    const int64_t *whole       # weights, NULL if all are 1
    const fraction_t *part


cdef inline Py_ssize_t group_of(const CodeRows *rows, Py_ssize_t r) noexcept nogil:
    return rows.group[r] if rows.own == -1 else rows.group[r] == rows.own


cdef inline bint weightless(const CodeRows *rows, Py_ssize_t r) noexcept nogil:
    return rows.whole != NULL and rows.whole[r] == 0 and (rows.part == NULL or rows.part[r] == 0)


cdef inline Py_ssize_t count_fast_run(ScoreHistogram *c, const uint64_t *code, const CodeRows *rows, Py_ssize_t r,
                                      Py_ssize_t n,
                                      int64_t *skipped) noexcept nogil:
    """Count whole weights from row r while each score is 0, or its cell is mixed, in its home slot, and not sampled."""
    cdef Py_ssize_t g, cell, width = 2 + 2 * c.groups
    cdef const cell_t *slot = c.slot
    cdef const BottomKSample *sample = c.sample
    cdef uint64_t *records = c.record - width
    cdef uint64_t *record
    cdef uint64_t x, key
    cdef int level = c.level, shift = 64 - c.bits
    for r in range(r, n):
        x = code[r]
        if x == ZERO or weightless(rows, r):
            skipped[0] += 1
            continue
        g = group_of(rows, r)
        key = x >> level
        cell = slot[(key * <uint64_t> 0x9E3779B97F4A7C15) >> shift]
        record = records + cell * width
        if cell == 0 or splitmix64(x) <= sample[g].threshold or record[0] != key or record[1] != MIXED:
            return r
        record += 2 + 2 * g
        if rows.whole == NULL:
            record[0] += 1
            record[1] += x >> SHIFT
        else:
            record[0] += <uint64_t> rows.whole[r]
            record[1] += <uint64_t> rows.whole[r] * (x >> SHIFT)
    return n


cdef inline int64_t count_rows(ScoreHistogram *c, const uint64_t *code, const CodeRows *rows,
                               Py_ssize_t n) noexcept nogil:
    """Count rows and return how many scores were not 0 (-1: no memory). Memory for all groups is reserved."""
    cdef Py_ssize_t r = 0, g
    cdef int64_t skipped = 0
    cdef bint parts = rows.part != NULL
    while r < n:
        if c.level > 0 and not parts:
            r = count_fast_run(c, code, rows, r, n, &skipped)
            if r == n:
                break
        if code[r] == ZERO or weightless(rows, r):
            skipped += 1
        else:
            g = group_of(rows, r)
            if not histogram_ready(c, code[r], g, parts):
                if histogram_reserve(c, 0, 1, parts) < 0 or histogram_reserve_sample(c, g, 1) < 0:
                    return -1
            histogram_add(c, code[r], g, 1 if rows.whole == NULL else rows.whole[r], rows.part[r] if parts else 0)
        r += 1
    if c.level > WIDE and not c.above:
        c.above = any_above_one(code, rows, n)
    return n - skipped


cdef inline bint any_above_one(const uint64_t *code, const CodeRows *rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        if code[r] > ONE and not weightless(rows, r):
            return True
    return False
