"""A hash of counters by a 64-bit key.

Counters are those of the confusion matrix: whole parts, and fractions in units of 2^-64 once a weight has one. The hash
is open-addressing, at most half full, and its order is never visible.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint64_t

import os

from stream_metrics._core.numeric.hashing cimport home_slot
from stream_metrics._core.numeric.kernels cimport Guarded

cdef Py_ssize_t FIRST_SLOTS = 256
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


cdef class HashCounter(Guarded):
    """Counters by key; keys are not 0."""

    def __dealloc__(self):
        self.drop()

    cdef int begin(self) except -1:
        """Become empty."""
        self.drop()
        self.key = <uint64_t *> PyMem_RawCalloc(FIRST_SLOTS, sizeof(uint64_t))
        self.value = <int64_t *> PyMem_RawCalloc(FIRST_SLOTS, sizeof(int64_t))
        if self.key == NULL or self.value == NULL:
            self.drop()
            raise MemoryError("no memory for the first cells")
        self.slots = FIRST_SLOTS
        return 0

    cdef void drop(self) noexcept:
        PyMem_RawFree(self.key)
        PyMem_RawFree(self.value)
        PyMem_RawFree(self.fraction)
        self.key, self.value, self.fraction = NULL, NULL, NULL
        self.slots, self.occupied = 0, 0

    cdef Py_ssize_t find(self, uint64_t key) except -1:
        """Return the slot of a key; adds the key if it is new."""
        cdef Py_ssize_t at = home_slot(key, SEED, self.slots)
        while self.key[at] != key:
            if self.key[at] == 0:
                if (self.occupied + 1) * 2 > self.slots:
                    self.grow(2 * self.slots)
                    return self.find(key)
                self.key[at] = key
                self.occupied += 1
                return at
            at = (at + 1) & (self.slots - 1)
        return at

    cdef int grow(self, Py_ssize_t slots) except -1:
        """Move the cells into a hash of that many slots."""
        cdef Py_ssize_t at, to
        cdef uint64_t *key = <uint64_t *> PyMem_RawCalloc(slots, sizeof(uint64_t))
        cdef int64_t *value = <int64_t *> PyMem_RawCalloc(slots, sizeof(int64_t))
        cdef uint64_t *fraction = NULL
        if self.fraction != NULL:
            fraction = <uint64_t *> PyMem_RawCalloc(slots, sizeof(uint64_t))
        if key == NULL or value == NULL or (self.fraction != NULL and fraction == NULL):
            PyMem_RawFree(key)
            PyMem_RawFree(value)
            PyMem_RawFree(fraction)
            raise MemoryError(f"no memory for {slots} cells")
        for at in range(self.slots):
            if self.key[at] != 0:
                to = home_slot(self.key[at], SEED, slots)
                while key[to] != 0:
                    to = (to + 1) & (slots - 1)
                key[to], value[to] = self.key[at], self.value[at]
                if fraction != NULL:
                    fraction[to] = self.fraction[at]
        PyMem_RawFree(self.key)
        PyMem_RawFree(self.value)
        PyMem_RawFree(self.fraction)
        self.key, self.value, self.fraction, self.slots = key, value, fraction, slots
        return 0

    cdef int make_fractional(self) except -1:
        """Add a fraction part to every counter."""
        if self.fraction == NULL:
            self.fraction = <uint64_t *> PyMem_RawCalloc(self.slots, sizeof(uint64_t))
            if self.fraction == NULL:
                raise MemoryError(f"no memory for {self.slots} cells")
        return 0

    cdef int add(self, uint64_t key, int64_t whole, uint64_t part) except -1:
        """Count a checked weight; the fractions exist if `part` is not 0."""
        cdef Py_ssize_t at = self.find(key)
        if self.fraction != NULL:
            self.fraction[at] += part
            whole += self.fraction[at] < part
        self.value[at] += whole
        return 0
