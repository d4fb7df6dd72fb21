from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from stream_metrics._core.confusion.kernels cimport ConfusionCounters
from stream_metrics._core.numeric.kernels cimport Guarded

cdef struct Sample:
    PyObject *truth
    PyObject *predicted
    PyObject *weight

cdef class ExtendedPrediction:
    cdef readonly object predicted
    cdef readonly dict more

cdef struct Ring:
    Py_ssize_t window, held, capacity, head
    Sample *sample


cdef inline void fill_place(Sample *s, object truth, object predicted, object weight) noexcept:
    """Write a sample into the ring, which owns the references."""
    Py_INCREF(truth)
    Py_INCREF(predicted)
    Py_INCREF(weight)
    s.truth, s.predicted, s.weight = <PyObject *> truth, <PyObject *> predicted, <PyObject *> weight


cdef inline void release(Sample s) noexcept:
    """Release the references of a sample."""
    Py_DECREF(<object> s.truth)
    Py_DECREF(<object> s.predicted)
    Py_DECREF(<object> s.weight)


cdef struct Codes:
    uint64_t *code  # ascending
    Py_ssize_t used, capacity

cdef class ExactAuc:
    cdef Codes side[2]  # the rest, its own
    cdef int64_t twice  # twice the pairs of own above rest, and once the tied ones

    cdef int reserve(self, bint own) except -1
    cdef int64_t pairs(self, uint64_t code, bint own) noexcept
    cdef void insert(self, uint64_t code, bint own) noexcept
    cdef void remove(self, uint64_t code, bint own) noexcept
    cdef void clear(self) noexcept
    cdef double area(self, int scale, int shift) noexcept


cdef bint are_clean(dict scores)

cdef class RollingUpdateBase(Guarded):
    cdef Ring ring
    cdef readonly object inner
    cdef object live                # the state of the samples in the window; None if it must be built when it is read
    cdef ConfusionCounters counts   # the counters of `live` if it counts labels only
    cdef bint soft, hard            # whether a prediction may be scores, and then also a label
    cdef object keys                # what keys of scores name
    cdef bint fixed                 # whether these are fixed labels
    cdef bint slow                  # whether looking up a label of the ring may run Python code, as tuples do

    cdef int count_in_state(self, object truth, object predicted, object weight) except -1
    cdef int revert_in_state(self, object truth, object predicted, object weight) except -1
    cdef int count_and_evict(self, object truth, object predicted, object weight) except -1
    cdef int count_plain_labels(self, object truth, object predicted, object weight) except -1
    cdef int count_in_auc(self, object truth, object predicted, object weight) except -1
    cdef int after_count(self, tuple old, object truth, object predicted, object weight) except -1
    cdef int count_sample(self, object truth, object predicted, object weight) except -1
    cdef tuple drop_oldest(self)
    cdef int restore_oldest(self, list dropped) except -1
    cdef int append(self, list samples) except -1
    cdef bint one_by_one(self)
    cdef int refill(self, live, list samples) except -1
    cdef int copy_to(self, RollingUpdateBase twin) except -1
    cdef object interned(self, object label)
    cdef tuple interned_sample(self, object truth, object predicted)
    cdef object current(self)


cdef class RollingAucBase(RollingUpdateBase):
    cdef ExactAuc area   # of the scores in the window while all are rankable; None if `get` is not an area
    cdef object positive
    cdef int scale, shift
    cdef double instead
    cdef Py_ssize_t not_rankable    # samples in the window that the area cannot count

    cdef int read(self, object truth, object predicted, uint64_t *code, bint *own) except -1
    cdef bint is_not_rankable(self, object truth, object predicted, object weight) except -1
    cdef int fill_area(self) except -1
