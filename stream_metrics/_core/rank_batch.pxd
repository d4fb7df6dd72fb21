from libc.stdint cimport int8_t, int64_t, uint64_t

from stream_metrics._core.bottom cimport fraction_t
from stream_metrics._core.rank_column cimport Column, code_t
from stream_metrics._core.rank_feed cimport Rows
from stream_metrics._core.ranked cimport Ranked

cdef class Batch:
    cdef list truths, labels         # of the true classes and of the columns
    cdef object weight, parts, occurs, truth_seen, label_seen
    cdef Column **column
    cdef Py_ssize_t size             # number of columns
    cdef bint pairs
    cdef int64_t n, epoch
    cdef object codes, wholes, fractions, owns, guesses
    cdef const code_t[::1] code
    cdef const int64_t[::1] whole
    cdef const fraction_t[::1] part
    cdef int64_t[::1] own
    cdef int8_t[::1] guessed          # whether the bounds of the samples are not those of the state

    cdef int start(self, Ranked into) except -1
    cdef int take_levels(self, Ranked into) except -1
    cdef void close(self) noexcept
    cdef Rows rows(self, Py_ssize_t k, Py_ssize_t start) noexcept nogil
    cdef int draw_again(self, Py_ssize_t k, const double[:, :] x, uint64_t *code) noexcept nogil
