from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.losses.terms cimport Sample, Sums
from stream_metrics._core.numeric.kernels cimport Guarded

cdef struct LossSample:
    Sample rated
    int64_t whole
    uint64_t part
    bint abstains

cdef class LossSums(Guarded):
    cdef Sums sums
    cdef readonly object pos_label
    cdef readonly object classes
    cdef bint reads_names  # whether keys of scores that are text may name numbers; not if the caller read them

    cpdef bint _is_positive(self, object truth, object position=*) except -1
    cdef int read_sample(self, object y_true, object scores, object w, object classes, LossSample *s) except -1
    cdef int check_sample(self, const LossSample *s) except -1
    cdef void apply_sample(self, LossSample *s) noexcept
