from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject

from stream_metrics._core.guard cimport Guarded

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
