"""The pairs of one class with each of many others, counted without making the columns of the pairs.

A cell of 64 classes is a kilobyte, so reading two classes of each cell for every pair would wait for memory. Each class
of the cells is copied once to where it is contiguous.
"""

cdef enum:
    LINE_OF_CACHE = 8  # numbers: between classes, so that they do not share places of the cache, and copied at once


cdef struct ClassCells:
    Py_ssize_t size, step    # cells, numbers from one class to the next
    uint64_t *key            # the memory of all arrays starts here
    uint64_t *single_code
    int64_t *count           # by class; the last one stands for classes that have no weight
    double *place
    int64_t *mixed           # what `pairs_of_sides` fills
    double *inside
    double *above


cdef int copy_by_class(const ScoreHistogram *c, ClassCells *cells) noexcept nogil:
    """Copy the cells in order, which is up to date; -1 if there is no memory. All weights are whole."""
    cdef Py_ssize_t start = 0, end, at, g, groups = c.groups, step = c.used + LINE_OF_CACHE
    cdef uint64_t *record
    cdef double scale = scale_of(c)
    cells.size, cells.step = c.used, step
    cells.key = <uint64_t *> PyMem_RawCalloc((2 * groups + 7) * step, sizeof(uint64_t))
    if cells.key == NULL:
        return -1
    cells.single_code, cells.mixed = cells.key + step, <int64_t *> cells.key + 2 * step
    cells.inside, cells.above = <double *> cells.key + 3 * step, <double *> cells.key + 4 * step
    cells.count = <int64_t *> cells.key + 5 * step
    cells.place = <double *> cells.count + (groups + 1) * step
    for at in range(c.used):
        record = record_of(c, c.order[at])
        cells.key[at], cells.single_code[at] = record[0], record[1]
    while start < c.used:
        end = min(start + <Py_ssize_t> LINE_OF_CACHE, c.used)
        for g in range(groups):
            for at in range(start, end):
                record = record_of(c, c.order[at])
                cells.count[g * step + at] = <int64_t> record[2 + 2 * g]
                cells.place[g * step + at] = mean_place(c, record, record[2 + 2 * g], 0, record[3 + 2 * g], 0, scale)
        start = end
    return 0


cdef bint is_crowded(ScoreHistogram *c, Py_ssize_t group) except -1:
    """Whether a cell has at least `DENSE` sampled codes of a class."""
    cdef BottomKSample *s
    cdef Py_ssize_t at
    if c == NULL or c.level == 0 or group >= c.groups:
        return False
    s = c.sample + group
    bottom_prune(s, c.scratch)
    sort_sample(s)
    for at in range(dense - 1, s.used):
        if (inverse_splitmix64(s.at[s.order[at]].hash) >> c.level
                == inverse_splitmix64(s.at[s.order[at - dense + 1]].hash) >> c.level):
            return True
    return False


cdef Side side_of_class(RankCounters self, Py_ssize_t i, const ClassCells *cells, Py_ssize_t groups) noexcept:
    cdef Side side
    cdef Py_ssize_t start = min(i, groups) * cells.step
    side.count, side.place, side.count_step, side.place_step = cells.count + start, cells.place + start, 1, 1
    side.total = self.classes[i].whole
    return side


cdef object pairs_with(RankCounters self, Py_ssize_t j, Py_ssize_t i, const ClassCells *cells):
    """Count the pairs of two classes by the scores of the first one; None if int64 may be too small."""
    cdef ScoreHistogram *c = self.classes[j].histogram
    cdef Py_ssize_t groups = 0 if c == NULL else c.groups, at
    cdef Side own = side_of_class(self, j, cells, groups), rest = side_of_class(self, i, cells, groups)
    cdef CountedPairs pairs
    cdef double estimate = 0.0, se = 0.0
    if self.classes[i].part or max(rest.total, 1) > SAFE // max(own.total, 1):
        return None
    pairs = pairs_of_sides(0 if c == NULL else c.level, cells.size, cells.key, cells.single_code, rest, own,
                           cells.mixed, cells.inside, cells.above)
    if pairs.open:
        estimate = dot(cells.above, cells.inside, pairs.mixed)
        for at in range(pairs.mixed):
            cells.inside[at] = uniform * cells.inside[at]
        se = sqrt(dot(cells.inside, cells.inside, pairs.mixed))
    return pairs.sure, pairs.open, pairs.all, estimate, se


cdef list count_pairs_against(RankCounters self, object label, list rests):
    cdef Py_ssize_t j = find_class(self, label), i
    cdef ScoreHistogram *c = self.classes[j].histogram if j >= 0 else NULL
    cdef ClassCells cells
    cdef bint crowded
    if not self.paired or j < 0 or self.rounded or self.classes[j].part or (c != NULL and c.fractions != NULL):
        return [None] * len(rests)
    memset(&cells, 0, sizeof(ClassCells))
    if c != NULL:
        sort_cells(c)
        if copy_by_class(c, &cells) < 0:
            raise MemoryError("no memory for the cells of a column")
    try:
        crowded, counted = is_crowded(c, j), []
        for rest in rests:
            i = find_class(self, rest)
            if i < 0 or i == j or (crowded and is_crowded(c, i)):
                counted.append(None)
            else:
                counted.append(pairs_with(self, j, i, &cells))
        return counted
    finally:
        PyMem_RawFree(cells.key)
