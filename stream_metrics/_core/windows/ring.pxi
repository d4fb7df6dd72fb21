"""The last N samples: a ring of references.

A sample takes three references, 24 bytes, which the ring owns. Samples were converted to plain values before
(`inputs.samples`) and cannot refer to the ring, so the cycle collector need not visit them.
"""

cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree

from stream_metrics._core.numeric.kernels cimport Guarded


@cython.final
cdef class ExtendedPrediction:
    """A prediction with further arguments of `update`: scores, classes, the group or the unit of the sample."""

    def __cinit__(self, predicted, dict more):
        self.predicted, self.more = predicted, more


cdef class Ring(Guarded):
    """The last samples, oldest first. Its `cdef` methods are called in a stretch or a section of
    `Guarded`."""

    def __dealloc__(self):
        self.clear()
        PyMem_RawFree(self.sample)

    def __cinit__(self, *args, **kwargs):
        self.window = 1

    cdef int reserve(self) except -1:
        """Reserve memory for one more sample."""
        cdef Py_ssize_t k, capacity = min(max(<Py_ssize_t> 16, 2 * self.capacity), self.window)
        cdef Sample *sample
        if self.held < self.capacity or self.capacity == self.window:
            return 0
        sample = <Sample *> PyMem_RawCalloc(capacity, sizeof(Sample))
        if sample == NULL:
            raise MemoryError("no memory for the samples of a window")
        for k in range(self.held):
            sample[k] = self.sample[(self.head + k) % self.capacity]
        PyMem_RawFree(self.sample)
        self.sample, self.capacity, self.head = sample, capacity, 0
        return 0

    cdef int push(self, object truth, object predicted, object weight) except -1:
        """Add the newest sample; the ring is not full."""
        cdef Py_ssize_t at
        self.reserve()
        if self.held >= self.capacity:
            raise RuntimeError(f"Expected fewer than {self.window} samples in the ring, but got {self.held}")
        at = self.head + self.held
        fill_place(self.sample + (at if at < self.capacity else at - self.capacity), truth, predicted, weight)
        self.held += 1
        return 0

    cdef int push_front(self, object truth, object predicted, object weight) except -1:
        """Add the oldest sample; the ring is not full."""
        self.reserve()
        if self.held >= self.capacity:
            raise RuntimeError(f"Expected fewer than {self.window} samples in the ring, but got {self.held}")
        self.head = (self.head if self.head else self.capacity) - 1
        fill_place(self.sample + self.head, truth, predicted, weight)
        self.held += 1
        return 0

    cdef Sample take_oldest(self) noexcept:
        """Remove the oldest sample and return it; the ring is not empty. The caller owns its references: `release`."""
        cdef Sample s = self.sample[self.head]
        self.head = self.head + 1 if self.head + 1 < self.capacity else 0
        self.held -= 1
        return s

    cdef tuple pop(self):
        """Remove the oldest sample and return it; the ring is not empty."""
        cdef Sample s = self.sample[self.head]
        out = (<object> s.truth, <object> s.predicted, <object> s.weight)
        release(self.take_oldest())
        return out

    cdef void clear(self) noexcept:
        while self.held > 0:
            release(self.take_oldest())
        self.head = 0

    def _samples(self):
        """The samples in the window, oldest first, at one moment: a list of (truth, prediction, weight)."""
        self.enter_reading()
        try:
            return self.listed()
        finally:
            self.leave()

    cdef list listed(self):
        cdef Py_ssize_t k
        cdef Sample *s
        out = []
        for k in range(self.held):
            s = self.sample + (self.head + k) % self.capacity
            out.append((<object> s.truth, <object> s.predicted, <object> s.weight))
        return out

    def memory(self):
        """Return the bytes of the ring of samples; the state inside has its own.

        Returns
        -------
        int
            Bytes.
        """
        return self.capacity * sizeof(Sample)
