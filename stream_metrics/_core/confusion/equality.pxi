"""Whether two states are equal, without writing their bytes."""


def same_counts(ConfusionCounters a not None, ConfusionCounters b not None):
    """Return whether two states have the same configuration and counts, and so the same bytes."""
    cdef ConfusionCounters first = a if <size_t> <void *> a < <size_t> <void *> b else b
    cdef ConfusionCounters second = b if first is a else a
    if a is b:
        return True
    first.enter_reading()
    try:
        second.enter_reading()
        try:
            return same_numbers(a, b) and same_classes(a, b) and same_cells(a, b)
        finally:
            second.leave()
    finally:
        first.leave()


cdef bint same_numbers(ConfusionCounters a, ConfusionCounters b) noexcept:
    """Whether all sums over cells are equal, which rules out most states that differ."""
    return ((a.n, a.abstained, a.weighted, a.live) == (b.n, b.abstained, b.weighted, b.live)
            and (a.mass, a.mass_part, a.hit, a.hit_part) == (b.mass, b.mass_part, b.hit, b.hit_part))


cdef bint same_classes(ConfusionCounters a, ConfusionCounters b) except -1:
    """Whether the labels are equal and of the same types, the fixed ones in the same order; it sorts both."""
    cdef Py_ssize_t i, j, at
    mine, theirs = (a.fixed_labels, a.other), (b.fixed_labels, b.other)
    if mine != theirs or ((mine[0] is not None or mine[1] is not None) and repr(mine) != repr(theirs)):
        return False
    a.refresh()
    b.refresh()
    if a.classes != b.classes:
        return False
    for at in range(a.classes):
        i, j = a.order[at], b.order[at]
        if i >= a.label_index.fixed and not same_label(a, i, b, j):
            return False
    return True


cdef bint same_label(ConfusionCounters a, Py_ssize_t i, ConfusionCounters b, Py_ssize_t j) except -1:
    """Whether two labels that are not fixed are equal and of one type; that of a number follows from its counts."""
    cdef int64_t *mine = a.totals[i].type_counts
    cdef int64_t *theirs = b.totals[j].type_counts
    x, y = a.label_index.names[i], b.label_index.names[j]
    if numeric_kind(x) < 3:
        return numeric_kind(y) < 3 and x == y and (mine[0], mine[1], mine[2]) == (theirs[0], theirs[1], theirs[2])
    return x is y or (type(x) is type(y) and x == y and (type(x) is not tuple or repr(x) == repr(y)))


cdef bint same_cells(ConfusionCounters a, ConfusionCounters b) except -1:
    """Whether all cells are equal, in states of the same classes with as many cells."""
    cdef Py_ssize_t at, s, i, j
    cdef bint hashed = a.table.key != NULL
    places = np.zeros(a.used, np.int64)
    cdef int64_t[::1] to = places
    for at in range(a.classes):
        to[a.order[at]] = b.order[at]
    if not hashed:
        for i in range(a.used):
            if a.totals[i].actual == 0 and is_empty(a, i):
                continue
            for j in range(a.used):
                if not map_is_zero(&a.table, i * a.width + j) and not same_cell(a, i * a.width + j, b, to[i], to[j]):
                    return False
        return True
    for s in range(a.table.slots):
        at = 2 * s + 1
        if not map_is_zero(&a.table, at):
            i, j = to[row_of(a.table.key[at - 1])], to[column_of(a.table.key[at - 1])]
            if not same_cell(a, at, b, i, j):
                return False
    return True


cdef inline bint same_cell(ConfusionCounters a, Py_ssize_t at, ConfusionCounters b, Py_ssize_t i,
                           Py_ssize_t j) noexcept:
    """Whether the cell at a position in one table has the weight that the cell (i, j) has in the other."""
    cdef uint64_t key = cell_key(i, j), mine, theirs
    cdef Py_ssize_t other = i * b.width + j
    if b.table.key != NULL:
        other = probe(b.table.key, key, home_slot(key, b.table.seed, b.table.slots), b.table.slots)
        if b.table.key[other] == 0:
            return False
        other += 1
    mine = 0 if a.table.fraction == NULL else a.table.fraction[at]
    theirs = 0 if b.table.fraction == NULL else b.table.fraction[other]
    return a.table.value[at] == b.table.value[other] and mine == theirs
