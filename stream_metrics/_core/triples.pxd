from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.guard cimport Guarded
from stream_metrics._core.indexed cimport Indexed

cdef extern from * nogil:
    """
    #define MOST_LABELS ((Py_ssize_t) (1 << 18) - 1)
    """
    const Py_ssize_t MOST_LABELS  # that the key of a cell can tell apart

cdef object too_many_labels(Py_ssize_t labels)


cdef class Names(Indexed):
    pass

cdef class Triples(Guarded):
    cdef uint64_t *key
    cdef int64_t *value
    cdef uint64_t *fraction
    cdef Py_ssize_t slots, occupied

    cdef int begin(self) except -1
    cdef void drop(self) noexcept
    cdef Py_ssize_t find(self, uint64_t key) except -1
    cdef int grow(self, Py_ssize_t slots) except -1
    cdef int make_fractional(self) except -1
    cdef int add(self, uint64_t key, int64_t whole, uint64_t part) except -1
