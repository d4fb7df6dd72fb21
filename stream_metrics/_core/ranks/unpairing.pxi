"""Dropping the pairs of a state that gets more than MOST_PAIRED classes: a column keeps its own class and the rest.

The result is what a state without pairs has counted of the same stream. Cells and level of a column follow from its
distinct scores. The weight of the rest is the sum over the other classes. Its sample has the smallest hashes of all
other classes: each of them is among the smallest of every class that has it, so its weight is complete.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t


cdef class Columns:
    """The columns of a state with pairs, to be taken back if the update fails that has dropped them."""

    cdef ScoreHistogram **at
    cdef Py_ssize_t size

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.at != NULL:
            for i in range(self.size):
                histogram_free(self.at[i])
            PyMem_RawFree(self.at)

    cdef int reserve(self, Py_ssize_t size) except -1:
        self.at = <ScoreHistogram **> PyMem_RawCalloc(max(size, 1), sizeof(ScoreHistogram *))
        if self.at == NULL:
            raise MemoryError("no memory for the columns of a state")
        self.size = size
        return 0


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
    """Keep own class and rest in every column; `dropped` has the columns with pairs until the update has succeeded."""
    cdef Columns columns = Columns.__new__(Columns)
    cdef Py_ssize_t i
    cdef int64_t *groups
    cdef ScoreHistogram *c
    columns.reserve(self.used)
    groups = <int64_t *> PyMem_RawCalloc(max(self.used, 1), sizeof(int64_t))
    if groups == NULL:
        raise MemoryError("no memory for the classes of a column")
    try:
        for i in range(self.used):
            c = self.classes[i].histogram
            if c != NULL and c.used:
                columns.at[i] = one_vs_rest(c, groups, i)
                if columns.at[i] == NULL:
                    raise MemoryError("no memory for a column of scores")
    finally:
        PyMem_RawFree(groups)
    swap_columns(self, columns)
    self.paired, self.dropped = False, columns
    return 0


cdef int take_back_pairs(RankCounters self) except -1:
    """Undo `drop_pairs` of an update that has failed; the classes that are new since have no scores."""
    cdef Columns columns = self.dropped
    cdef Py_ssize_t i
    if columns is None:
        return 0
    for i in range(columns.size, self.used):
        histogram_free(self.classes[i].histogram)
        self.classes[i].histogram = NULL
    swap_columns(self, columns)
    self.paired, self.dropped = True, None
    return 0


cdef void swap_columns(RankCounters self, Columns columns) noexcept:
    cdef Py_ssize_t i
    for i in range(columns.size):
        columns.at[i], self.classes[i].histogram = self.classes[i].histogram, columns.at[i]
