from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint64_t
from stream_metrics._core.confusion.kernels cimport ConfusionCounters
from stream_metrics._core.numeric.kernels cimport Guarded

cdef struct Sample:
    PyObject *truth
    PyObject *predicted
    PyObject *weight

cdef class Kept:
    cdef readonly object predicted
    cdef readonly dict more

cdef class Ring(Guarded):
    cdef readonly Py_ssize_t window
    cdef readonly Py_ssize_t held
    cdef Sample *sample
    cdef Py_ssize_t room, head

    cdef int reserve(self) except -1
    cdef int push(self, object truth, object predicted, object weight) except -1
    cdef int push_front(self, object truth, object predicted, object weight) except -1
    cdef Sample take_oldest(self) noexcept
    cdef tuple pop(self)
    cdef void clear(self) noexcept
    cdef list listed(self)


cdef inline void keep(Sample *s, object truth, object predicted, object weight) noexcept:
    """Fill a place of the ring, which owns the references."""
    Py_INCREF(truth)
    Py_INCREF(predicted)
    Py_INCREF(weight)
    s.truth, s.predicted, s.weight = <PyObject *> truth, <PyObject *> predicted, <PyObject *> weight


cdef inline void release(Sample s) noexcept:
    """Give back the references of a sample."""
    Py_DECREF(<object> s.truth)
    Py_DECREF(<object> s.predicted)
    Py_DECREF(<object> s.weight)


cdef struct Codes:
    uint64_t *code  # ascending
    Py_ssize_t held, room

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


cdef class AreaFeed(RollingFeed):
    cdef ExactAuc area   # of the scores in the window while none is odd; None where it is not asked for
    cdef object positive
    cdef int scale, shift
    cdef double instead
    cdef Py_ssize_t odd    # samples in the window that the area cannot take

    cdef int read(self, object truth, object predicted, uint64_t *code, bint *own) except -1
    cdef bint is_odd(self, object truth, object predicted, object weight) except -1
    cdef int fill_area(self) except -1
