"""The time of a partition, as most of its events tell it: a clock that is wrong cannot move it.

One event with a time in the future would expire what waits, forget which ids were seen, and make all that follows late.
So time moves on only when a quarter of the last events have reached it. It depends on the events and their order alone.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.math cimport INFINITY
from libc.string cimport memmove

cdef enum:
    FEW = 8  # events, below which there is no time
    MOST_VOTES = 1 << 16


cdef class Votes:
    """The times of the last `most` events, and the largest time so far that a quarter of them had reached.

    `time` is -inf before the eighth event. With `most` 1 it is the largest time seen.
    """

    cdef double* ring
    cdef double* ordered
    cdef readonly Py_ssize_t most
    cdef Py_ssize_t n, at
    cdef public double time

    def __cinit__(self, Py_ssize_t most):
        if not 1 <= most <= MOST_VOTES:
            raise ValueError(f"Expected `votes` to be from 1 to {MOST_VOTES}, but got {most}")
        self.ring = <double*> PyMem_RawCalloc(2 * most, sizeof(double))
        if self.ring == NULL:
            raise MemoryError()
        self.ordered = self.ring + most
        self.most, self.n, self.at, self.time = most, 0, 0, -INFINITY

    def __dealloc__(self):
        PyMem_RawFree(self.ring)

    cpdef double see(self, double time) except? -1:
        """Take the time of an event, which is finite, and return that of the partition."""
        cdef Py_ssize_t old = self.n, place, reached
        if self.n == self.most:
            old = self.place(self.ring[self.at])
        place = self.place(time)
        if place > old:
            place -= 1
            memmove(self.ordered + old, self.ordered + old + 1, (place - old) * sizeof(double))
        else:
            memmove(self.ordered + place + 1, self.ordered + place, (old - place) * sizeof(double))
        self.ordered[place] = self.ring[self.at] = time
        self.at = (self.at + 1) % self.most
        if self.n < self.most:
            self.n += 1
        reached = self.n - 1 - self.n // 4
        if self.n >= min(FEW, self.most) and self.ordered[reached] > self.time:
            self.time = self.ordered[reached]
        return self.time

    cdef Py_ssize_t place(self, double time) noexcept:
        """Return how many of the times are less."""
        cdef Py_ssize_t low = 0, high = self.n, middle
        while low < high:
            middle = (low + high) // 2
            if self.ordered[middle] < time:
                low = middle + 1
            else:
                high = middle
        return low

    @property
    def newest(self):
        """The time; before there is one, the largest that was seen, or None."""
        if self.time > -INFINITY:
            return self.time
        return self.ordered[self.n - 1] if self.n else None

    def content(self):
        """Return the times, the oldest first."""
        cdef Py_ssize_t first = self.at if self.n == self.most else 0, i
        return [self.ring[(first + i) % self.most] for i in range(self.n)]

    def load(self, times, double time):
        """Take over what `content` and `time` were."""
        for each in times:
            self.see(each)
        self.time = time
