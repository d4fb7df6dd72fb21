from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from stream_metrics._core.rank_column cimport Column
from stream_metrics._core.ranked cimport Ranked

cdef class Batch:
    cdef list truths, labels         # of the true classes and of the columns
    cdef object weight, parts, occurs, truth_seen, label_seen
    cdef Column **column
    cdef Py_ssize_t size             # number of columns
    cdef bint pairs
    cdef int64_t n, epoch
    cdef object codes, wholes, fractions, owns
    cdef const int32_t[::1] code
    cdef const int64_t[::1] whole
    cdef const uint32_t[::1] part

    cdef int start(self, Ranked into) except -1
    cdef void close(self) noexcept
