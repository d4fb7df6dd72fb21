from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.guard cimport Guarded

cdef struct Totals:
    int64_t actual, predicted, diagonal
    int64_t seen[4]  # appearances as bool, int, float and as anything else; the last is written and never read
    int64_t unused  # pads the struct to one cache line

cdef struct Fractions:
    uint64_t actual, predicted, diagonal

cdef class Cells(Guarded):
    cdef Totals *totals
    cdef Fractions *fractions
    cdef int64_t *value
    cdef uint64_t *fraction
    cdef uint64_t *key  # the same memory as `value`; NULL while the cells are a square array
    cdef Py_ssize_t used, capacity, slots, occupied
    cdef Py_ssize_t live  # cells with a weight; `occupied` counts those of a hash that fell back to zero, too
    cdef int64_t mass, hit  # the sum of all cells, and of the diagonal
    cdef uint64_t mass_part, hit_part
    cdef Py_ssize_t uneven  # cells whose weight has a fraction

    cdef int reserve(self, Py_ssize_t classes) except -1
    cdef int make_sparse(self, Py_ssize_t slots) except -1
    cdef int make_fractional(self) except -1
    cdef Py_ssize_t places(self) noexcept nogil
    cdef Py_ssize_t find(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int grow_slots(self) except -1 nogil
    cdef int add(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1 nogil
    cdef bint holds(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1
    cdef bint is_all(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1
    cdef bint take(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1
    cdef int check_room(self, int64_t whole) except -1 nogil
    cdef void copy_cells(self, Cells other) except *
    cdef void clear(self) noexcept
    cdef tuple export(self)


cdef inline Py_ssize_t place(Cells cells, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
    """Where the cell (i, j) lies in `value`; a sparse table makes room for it."""
    if cells.key == NULL:
        return i * cells.capacity + j
    return cells.find(i, j)


cdef inline bint empty(Cells cells, Py_ssize_t i) noexcept nogil:
    """Whether class i has no weight, neither true nor predicted."""
    cdef Totals *c = cells.totals + i
    if c.actual | c.predicted:
        return False
    return cells.fractions == NULL or (cells.fractions[i].actual | cells.fractions[i].predicted) == 0


cdef inline bint has_room(Cells cells, int64_t whole) noexcept nogil:
    """Whether a weight leaves the sum of all weights below 2^63 - 1: then no smaller sum can overflow."""
    return whole < <int64_t> 0x7FFFFFFFFFFFFFFF - cells.mass
