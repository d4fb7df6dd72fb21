from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.guard cimport Guarded
from stream_metrics._core.indexed cimport Indexed

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
