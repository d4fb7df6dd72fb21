from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.losses.terms cimport Sample, Sums
from stream_metrics._core.numeric.kernels cimport Guarded

cdef object no_probability(object value, object label, object position)
cdef double number(object value, object label, object position) except? -1.0
cdef dict cleaned(object scores, object position)
cdef int measure_mapping(dict scores, object truth, object position, bint clean, Sample *s) except -1


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

    cdef bint measure(self, object y_true, object scores, object classes, object position, Sample *s) except -1
    cdef int measure_single(self, object truth, double p, object position, Sample *s) except -1
    cpdef bint _is_positive(self, object truth, object position=*) except -1
    cdef int count_sample(self, object y_true, object scores, object w, object classes) except -1
    cdef int read_sample(self, object y_true, object scores, object w, object classes, LossSample *s) except -1
    cdef int check_sample(self, const LossSample *s) except -1
    cdef void apply_sample(self, LossSample *s) noexcept
    cdef bint without_sample(self, LossSample *s, Sums *rest) noexcept
    cdef int check_counts(self, const Sums *more) except -1
    cdef int commit(self, Sums *batch) except -1
    cdef int check_same(self, object other, str verb) except -1
