from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

cdef struct Sample:
    PyObject *truth
    PyObject *predicted
    PyObject *weight

cdef class Kept:
    cdef readonly object predicted
    cdef readonly dict more

cdef class Ring:
    cdef readonly Py_ssize_t window
    cdef readonly Py_ssize_t held
    cdef Sample *sample
    cdef Py_ssize_t room, head
    cdef int64_t changes

    cdef int reserve(self) except -1
    cdef int push(self, object truth, object predicted, object weight) except -1
    cdef int push_front(self, object truth, object predicted, object weight) except -1
    cdef tuple pop(self)
    cdef void clear(self) noexcept
