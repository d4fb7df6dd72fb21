from stream_metrics._core.guard cimport Guarded
from stream_metrics._core.loss_terms cimport Sample, Sums

cdef class LossSums(Guarded):
    cdef Sums sums
    cdef int pos_kind
    cdef readonly object pos_label
    cdef readonly object classes

    cdef bint measure(self, object y_true, object scores, object classes, object position, Sample *s) except -1
    cdef int measure_single(self, object truth, double p, object position, Sample *s) except -1
    cpdef bint is_positive(self, object truth, object position=*) except -1
    cdef int take_back(self, object y_true, object scores, object w, bint only_look) except -1
    cdef int check_room(self, const Sums *more) except -1
    cdef int commit(self, Sums *batch) except -1
    cdef int check_same(self, object other, str verb) except -1
