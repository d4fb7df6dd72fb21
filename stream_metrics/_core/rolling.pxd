from stream_metrics._core.confusion cimport ConfusionCounters
from stream_metrics._core.ring cimport Ring

cdef bint are_clean(dict scores)

cdef class RollingFeed(Ring):
    cdef readonly object inner
    cdef object live                # the state of the samples in the window; None while it is not kept
    cdef ConfusionCounters counts   # what `live` counts with, if it is labels only
    cdef bint soft, hard            # whether a prediction may be scores, and then also a label
    cdef bint slow                  # whether labels in the ring may run Python code when they are looked up: tuples do

    cdef int give(self, object truth, object predicted, object weight) except -1
    cdef int take(self, object truth, object predicted, object weight) except -1
    cdef int pass_on(self, object truth, object predicted, object weight) except -1
    cdef int pass_labels(self, object truth, object predicted, object weight) except -1
    cdef int pass_score(self, object truth, object predicted, object weight) except -1
    cdef int note(self, tuple old, object truth, object predicted, object weight) except -1
    cdef int pass_sample(self, object truth, object predicted, object weight) except -1
    cdef tuple drop_oldest(self)
    cdef int put_back(self, list dropped) except -1
    cdef int append(self, list samples) except -1
    cdef bint one_by_one(self)
    cdef int refill(self, live, list samples) except -1
    cdef int copy_to(self, RollingFeed twin) except -1
    cdef object shared(self, object label)
    cdef tuple labelled(self, object truth, object predicted)
    cdef object current(self)
