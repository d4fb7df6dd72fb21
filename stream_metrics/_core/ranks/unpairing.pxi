"""Dropping the pairs of a state that gets more than MOST_PAIRED classes: a column keeps its own class and the rest.

The result is what a state without pairs has counted of the same stream. Cells and level of a column follow from its
distinct scores. The weight of the rest is the sum over the other classes. Its sample has the smallest hashes of all
other classes: each of them is among the smallest of every class that has it, so its weight is complete.
"""


cdef ScoreHistogram *one_vs_rest(const ScoreHistogram *c, int64_t *groups, Py_ssize_t own) noexcept nogil:
    """Return a column of its own class and the rest, or NULL if there is no memory."""
    cdef ScoreHistogram *o = histogram_new(c.buckets, c.size)
    cdef Py_ssize_t g
    for g in range(c.groups):
        groups[g] = g == own
    if o == NULL or histogram_reserve_for(o, c, groups, 2) < 0:
        histogram_free(o)
        return NULL
    histogram_absorb(o, c, groups)
    return o


cdef int drop_pairs(RankCounters self) except -1:
    """Keep own class and rest in every column; after an error the state must be discarded."""
    cdef Py_ssize_t i
    cdef ScoreHistogram *c
    cdef ScoreHistogram *o
    cdef int64_t *groups = <int64_t *> allocate(max(self.used, 1), sizeof(int64_t))
    try:
        for i in range(self.used):
            c = self.classes[i].histogram
            if c != NULL and c.used:
                o = one_vs_rest(c, groups, i)
                if o == NULL:
                    raise MemoryError("no memory for a column of scores")
                self.classes[i].histogram = o
            else:
                self.classes[i].histogram = NULL
            histogram_free(c)
    finally:
        PyMem_RawFree(groups)
    self.paired = False
    return 0


cdef RankCounters unpaired(RankCounters self):
    """Return a copy without pairs, to take the place of the state."""
    cdef RankCounters twin = duplicate(self)
    drop_pairs(twin)
    return twin
