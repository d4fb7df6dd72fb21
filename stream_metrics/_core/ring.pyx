# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The last N samples: a ring of references.

A sample takes three references, 24 bytes. What is in the ring was made plain before (`windows.samples`) and holds no
reference to anything that could refer to the ring, so the cycle collector need not look into it.
"""

cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t


@cython.final
@cython.auto_pickle(False)
cdef class Kept:
    """A prediction with what came beside it: scores, or the group of the sample."""

    def __cinit__(self, predicted, dict more):
        self.predicted, self.more = predicted, more


@cython.auto_pickle(False)
cdef class Ring:
    """The last samples, oldest first."""

    def __dealloc__(self):
        self.clear()
        PyMem_RawFree(self.sample)

    def __cinit__(self, *args, **kwargs):
        self.window = 1

    cdef int reserve(self) except -1:
        """Make room for one more sample."""
        cdef Py_ssize_t k, room = min(max(<Py_ssize_t> 16, 2 * self.room), self.window)
        cdef Sample *sample
        if self.held < self.room or self.room == self.window:
            return 0
        sample = <Sample *> PyMem_RawCalloc(room, sizeof(Sample))
        if sample == NULL:
            raise MemoryError("no memory for the samples of a window")
        for k in range(self.held):
            sample[k] = self.sample[(self.head + k) % self.room]
        PyMem_RawFree(self.sample)
        self.sample, self.room, self.head = sample, room, 0
        return 0

    cdef int push(self, object truth, object predicted, object weight) except -1:
        """Add the newest sample; the ring is not full."""
        cdef Py_ssize_t at
        cdef Sample *s
        self.reserve()
        at = self.head + self.held
        s = self.sample + (at if at < self.room else at - self.room)
        Py_INCREF(truth)
        Py_INCREF(predicted)
        Py_INCREF(weight)
        s.truth, s.predicted, s.weight = <PyObject *> truth, <PyObject *> predicted, <PyObject *> weight
        self.held += 1
        self.changes += 1
        return 0

    cdef int push_front(self, object truth, object predicted, object weight) except -1:
        """Add the oldest sample; the ring is not full."""
        self.reserve()
        self.head = (self.head if self.head else self.room) - 1
        self.held += 1
        self.changes += 1
        Py_INCREF(truth)
        Py_INCREF(predicted)
        Py_INCREF(weight)
        cdef Sample *s = self.sample + self.head
        s.truth, s.predicted, s.weight = <PyObject *> truth, <PyObject *> predicted, <PyObject *> weight
        return 0

    cdef tuple pop(self):
        """Remove the oldest sample and return it; the ring is not empty."""
        cdef Sample s = self.sample[self.head]
        out = (<object> s.truth, <object> s.predicted, <object> s.weight)
        self.head = self.head + 1 if self.head + 1 < self.room else 0
        self.held -= 1
        self.changes += 1
        Py_DECREF(<object> s.truth)
        Py_DECREF(<object> s.predicted)
        Py_DECREF(<object> s.weight)
        return out

    cdef void clear(self) noexcept:
        cdef Sample s
        while self.held > 0:
            s = self.sample[self.head]
            self.head = self.head + 1 if self.head + 1 < self.room else 0
            self.held -= 1
            Py_DECREF(<object> s.truth)
            Py_DECREF(<object> s.predicted)
            Py_DECREF(<object> s.weight)
        self.head = 0
        self.changes += 1

    def _samples(self):
        """The samples in the window, oldest first, at one moment: a list of (truth, prediction, weight)."""
        cdef Py_ssize_t k
        cdef int64_t now = self.changes - 1
        cdef Sample *s
        while now != self.changes:
            now, out = self.changes, []
            for k in range(self.held):
                s = self.sample + (self.head + k) % self.room
                out.append((<object> s.truth, <object> s.predicted, <object> s.weight))
                if now != self.changes:
                    break
        return out

    def memory(self):
        """The bytes of the ring itself; the state inside has its own."""
        return self.room * sizeof(Sample)
