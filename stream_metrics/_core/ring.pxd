from cpython.ref cimport PyObject

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
    cdef void store(self, Sample *s, object truth, object predicted, object weight) noexcept
    cdef Sample take_oldest(self) noexcept
    cdef tuple pop(self)
    cdef void clear(self) noexcept
    cdef list listed(self)

cdef void release(Sample s) noexcept
