"""Exact counters of pairs of class indices: a table of cells, and the totals of every class.

A counter is a 128-bit fixed-point number: a signed 64-bit whole part and, once some weight had a fraction, an unsigned
64-bit part in units of 2^-64. Adding and subtracting such numbers is exact, so states form a commutative group: no
order of updates, merges and reverts can leave a residue. There are no fraction arrays while all weights are whole.

Cells lie in a square array while there are at most DENSE_CLASSES classes and in an open-addressing hash of the occupied
ones beyond: 16 bytes a slot, key beside value, at a load of 3/8 to 3/4. A class's totals fill one cache line, so that
one sample touches at most three lines. Cells that return to zero stay in the hash until it is rebuilt.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree

import os

import numpy as np

from stream_metrics._core.numeric.hashing cimport home_slot
from stream_metrics._core.numeric.kernels cimport Guarded
from stream_metrics.errors import WeightError

cdef Py_ssize_t DENSE_CLASSES = 1024  # 8 MB of cells
cdef Py_ssize_t FIRST_CAPACITY = 8
cdef Py_ssize_t FIRST_SLOTS = 4096
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


cdef void *allocate(Py_ssize_t count, Py_ssize_t size) except NULL nogil:
    cdef void *block = PyMem_RawCalloc(count, size)
    if block == NULL:
        with gil:
            raise MemoryError(f"no memory for {count} counters of {size} bytes")
    return block


cdef inline void plus(int64_t *whole, uint64_t *part, int64_t w, uint64_t f) noexcept nogil:
    part[0] += f
    whole[0] += w + (part[0] < f)


cdef inline void minus(int64_t *whole, uint64_t *part, int64_t w, uint64_t f) noexcept nogil:
    whole[0] -= w + (part[0] < f)
    part[0] -= f


cdef class Cells(Guarded):
    """Weights by (row, column); the caller assigns the indices, and opens sections where they are needed."""

    def __dealloc__(self):
        PyMem_RawFree(self.totals)
        PyMem_RawFree(self.fractions)
        PyMem_RawFree(self.value)
        PyMem_RawFree(self.fraction)

    @cython.final
    cdef int reserve(self, Py_ssize_t classes) except -1:
        """Reserve memory for `classes` classes; on failure nothing has changed."""
        cdef Py_ssize_t capacity = max(self.capacity, FIRST_CAPACITY), i
        cdef Totals *totals
        cdef Fractions *fractions = NULL
        cdef int64_t *value = NULL
        cdef uint64_t *fraction = NULL
        if classes <= self.capacity:
            return 0
        while capacity < classes:
            capacity *= 2
        if capacity > DENSE_CLASSES and self.key == NULL:
            self.make_sparse(FIRST_SLOTS)
        totals = <Totals *> allocate(capacity, sizeof(Totals))
        try:
            if self.fractions != NULL:
                fractions = <Fractions *> allocate(capacity, sizeof(Fractions))
            if self.key == NULL:
                value = <int64_t *> allocate(capacity * capacity, sizeof(int64_t))
                if self.fraction != NULL:
                    fraction = <uint64_t *> allocate(capacity * capacity, sizeof(uint64_t))
        except MemoryError:
            PyMem_RawFree(totals)
            PyMem_RawFree(fractions)
            PyMem_RawFree(value)
            raise
        if self.used:
            memcpy(totals, self.totals, self.used * sizeof(Totals))
        self.totals, totals = totals, self.totals
        PyMem_RawFree(totals)
        if fractions != NULL:
            memcpy(fractions, self.fractions, self.used * sizeof(Fractions))
            self.fractions, fractions = fractions, self.fractions
            PyMem_RawFree(fractions)
        if self.key == NULL:
            for i in range(self.used):
                memcpy(value + i * capacity, self.value + i * self.capacity, self.used * sizeof(int64_t))
                if fraction != NULL:
                    memcpy(fraction + i * capacity, self.fraction + i * self.capacity, self.used * sizeof(uint64_t))
            self.value, value = value, self.value
            self.fraction, fraction = fraction, self.fraction
            PyMem_RawFree(value)
            PyMem_RawFree(fraction)
        self.capacity = capacity
        return 0

    @cython.final
    cdef int make_sparse(self, Py_ssize_t slots) except -1:
        """Move the cells of a square array into a hash of at least `slots` slots."""
        cdef Py_ssize_t i, j, at, old = self.capacity, filled = 0
        cdef int64_t *value = self.value
        cdef uint64_t *fraction = self.fraction
        cdef int64_t *fresh
        cdef uint64_t *fresh_fraction = NULL
        for i in range(self.used * old):
            filled += value[i] != 0 or (fraction != NULL and fraction[i] != 0)
        while slots * 3 < filled * 8:
            slots *= 2
        fresh = <int64_t *> allocate(2 * slots, sizeof(int64_t))
        try:
            if self.fractions != NULL:
                fresh_fraction = <uint64_t *> allocate(2 * slots, sizeof(uint64_t))
        except MemoryError:
            PyMem_RawFree(fresh)
            raise
        self.key, self.value, self.fraction = <uint64_t *> fresh, fresh, fresh_fraction
        self.slots, self.occupied = slots, 0
        for i in range(self.used):
            for j in range(self.used):
                if value[i * old + j] != 0 or (fraction != NULL and fraction[i * old + j] != 0):
                    at = self.find(i, j)
                    self.value[at] = value[i * old + j]
                    if fraction != NULL:
                        self.fraction[at] = fraction[i * old + j]
        PyMem_RawFree(value)
        PyMem_RawFree(fraction)
        return 0

    @cython.final
    cdef int make_fractional(self) except -1:
        """Add a fraction part to every counter."""
        cdef Fractions *fractions
        if self.fractions != NULL:
            return 0
        fractions = <Fractions *> allocate(max(self.capacity, 1), sizeof(Fractions))
        try:
            self.fraction = <uint64_t *> allocate(
                max(self.cell_slots(), 1), sizeof(uint64_t))
        except MemoryError:
            PyMem_RawFree(fractions)
            raise
        self.fractions = fractions
        return 0

    @cython.final
    cdef Py_ssize_t cell_slots(self) noexcept nogil:
        """The number of elements of `value`; in a hash, every other one is the key of the next."""
        return 2 * self.slots if self.key != NULL else self.capacity * self.capacity

    @cython.final
    cdef Py_ssize_t find(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Return the position of the value of a cell in the hash; adds the cell if it is new."""
        cdef uint64_t key = ((<uint64_t> i << 32) | <uint64_t> j) + 1
        cdef Py_ssize_t at = 2 * home_slot(key, SEED, self.slots)
        while self.key[at] != key:
            if self.key[at] == 0:
                if (self.occupied + 1) * 4 > self.slots * 3:
                    self.grow_slots()
                    return self.find(i, j)
                self.key[at] = key
                self.occupied += 1
                return at + 1
            at = (at + 2) & (2 * self.slots - 1)
        return at + 1

    @cython.final
    cdef int grow_slots(self) except -1 nogil:
        """Rebuild the hash without its zero cells, twice as large if they were few."""
        cdef Py_ssize_t slots = self.slots, at, to, live = 0
        cdef uint64_t *key = self.key
        cdef int64_t *value = self.value
        cdef uint64_t *fraction = self.fraction
        cdef uint64_t *fresh_fraction = NULL
        cdef int64_t *fresh
        for at in range(1, 2 * self.slots, 2):
            live += value[at] != 0 or (fraction != NULL and fraction[at] != 0)
        while (live + 1) * 2 > slots:
            slots *= 2
        fresh = <int64_t *> PyMem_RawCalloc(2 * slots, sizeof(int64_t))
        if fraction != NULL:
            fresh_fraction = <uint64_t *> PyMem_RawCalloc(2 * slots, sizeof(uint64_t))
        if fresh == NULL or (fraction != NULL and fresh_fraction == NULL):
            PyMem_RawFree(fresh)
            PyMem_RawFree(fresh_fraction)
            with gil:
                raise MemoryError(f"no memory for {slots} cells")
        for at in range(1, 2 * self.slots, 2):
            if value[at] != 0 or (fraction != NULL and fraction[at] != 0):
                to = 2 * home_slot(key[at - 1], SEED, slots) + 1
                while fresh[to - 1] != 0:
                    to = (to + 2) & (2 * slots - 1)
                fresh[to - 1], fresh[to] = <int64_t> key[at - 1], value[at]
                if fraction != NULL:
                    fresh_fraction[to] = fraction[at]
        self.key, self.value, self.fraction = <uint64_t *> fresh, fresh, fresh_fraction
        self.slots, self.occupied = slots, live
        PyMem_RawFree(value)
        PyMem_RawFree(fraction)
        return 0

    @cython.final
    cdef int check_weight(self, int64_t whole) except -1 nogil:
        """Raise WeightError if the sum of all weights would overflow."""
        if not weight_fits(self, whole):
            with gil:
                raise WeightError(
                    "Expected the sum of all weights to stay below 2**63 - 1, "
                    f"but got {whole} on top of {self.mass}")
        return 0

    @cython.final
    cdef int add(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1 nogil:
        """Count a checked weight; the fraction arrays exist if `part` is not zero."""
        cdef Py_ssize_t at = cell_index(self, i, j)
        if self.fractions == NULL:
            self.live += self.value[at] == 0
            self.value[at] += whole
            self.live -= self.value[at] == 0
            self.totals[i].actual += whole
            self.totals[j].predicted += whole
            self.mass += whole
            if i == j:
                self.totals[i].diagonal += whole
                self.hit += whole
            return 0
        self.live += (self.value[at] | <int64_t> self.fraction[at]) == 0
        self.fractional_cells -= self.fraction[at] != 0
        plus(&self.value[at], &self.fraction[at], whole, part)
        self.fractional_cells += self.fraction[at] != 0
        self.live -= (self.value[at] | <int64_t> self.fraction[at]) == 0
        plus(&self.totals[i].actual, &self.fractions[i].actual, whole, part)
        plus(&self.totals[j].predicted, &self.fractions[j].predicted, whole, part)
        plus(&self.mass, &self.mass_part, whole, part)
        if i == j:
            plus(&self.totals[i].diagonal, &self.fractions[i].diagonal, whole, part)
            plus(&self.hit, &self.hit_part, whole, part)
        return 0

    @cython.final
    cdef bint holds(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1:
        """Whether a cell has at least this weight."""
        cdef Py_ssize_t at = cell_index(self, i, j)
        cdef uint64_t have = 0 if self.fraction == NULL else self.fraction[at]
        return self.value[at] > whole or (self.value[at] == whole and have >= part)

    @cython.final
    cdef bint is_all(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1:
        """Whether a cell has exactly this weight."""
        cdef Py_ssize_t at = cell_index(self, i, j)
        return self.value[at] == whole and (0 if self.fraction == NULL else self.fraction[at]) == part

    @cython.final
    cdef bint remove_weight(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1:
        """Undo `add`; return False, and change nothing, if the cell has less weight."""
        cdef Py_ssize_t at
        if not self.holds(i, j, whole, part):
            return False
        if self.fractions == NULL:
            if part == 0:
                return self.add(i, j, -whole, 0) == 0
            self.make_fractional()
        at = cell_index(self, i, j)
        self.fractional_cells -= self.fraction[at] != 0
        minus(&self.value[at], &self.fraction[at], whole, part)
        self.fractional_cells += self.fraction[at] != 0
        self.live -= (self.value[at] | <int64_t> self.fraction[at]) == 0
        minus(&self.totals[i].actual, &self.fractions[i].actual, whole, part)
        minus(&self.totals[j].predicted, &self.fractions[j].predicted, whole, part)
        minus(&self.mass, &self.mass_part, whole, part)
        if i == j:
            minus(&self.totals[i].diagonal, &self.fractions[i].diagonal, whole, part)
            minus(&self.hit, &self.hit_part, whole, part)
        return True

    cdef void copy_cells(self, Cells other) except *:
        """Become a copy of `other`; this table is still empty."""
        cdef Py_ssize_t cells = other.cell_slots()
        if other.capacity == 0:
            return
        self.totals = <Totals *> allocate(other.capacity, sizeof(Totals))
        memcpy(self.totals, other.totals, other.used * sizeof(Totals))
        self.value = <int64_t *> allocate(cells, sizeof(int64_t))
        memcpy(self.value, other.value, cells * sizeof(int64_t))
        if other.key != NULL:
            self.key = <uint64_t *> self.value
        if other.fractions != NULL:
            self.fractions = <Fractions *> allocate(other.capacity, sizeof(Fractions))
            memcpy(self.fractions, other.fractions, other.used * sizeof(Fractions))
            self.fraction = <uint64_t *> allocate(cells, sizeof(uint64_t))
            memcpy(self.fraction, other.fraction, cells * sizeof(uint64_t))
        self.used, self.capacity, self.slots, self.occupied = other.used, other.capacity, other.slots, other.occupied
        self.fractional_cells, self.live = other.fractional_cells, other.live
        self.mass, self.mass_part = other.mass, other.mass_part
        self.hit, self.hit_part = other.hit, other.hit_part

    cdef void clear(self) noexcept:
        PyMem_RawFree(self.totals)
        PyMem_RawFree(self.fractions)
        PyMem_RawFree(self.value)
        PyMem_RawFree(self.fraction)
        self.totals, self.fractions, self.value, self.fraction, self.key = NULL, NULL, NULL, NULL, NULL
        self.used, self.capacity, self.slots, self.occupied, self.live = 0, 0, 0, 0, 0
        self.fractional_cells, self.mass, self.mass_part, self.hit, self.hit_part = 0, 0, 0, 0, 0

    cdef tuple export(self):
        """Return the non-zero cells in any order: rows, columns, whole parts, fraction parts or None."""
        cdef Py_ssize_t at, n = 0, first = self.key != NULL, step = 1 + first
        cdef Py_ssize_t size = self.cell_slots() if first else self.used * self.capacity
        cdef uint64_t key
        for at in range(first, size, step):
            n += self.value[at] != 0 or (self.fraction != NULL and self.fraction[at] != 0)
        rows, columns, wholes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        parts = None if self.fraction == NULL else np.empty(n, np.uint64)
        cdef int64_t[::1] row = rows, column = columns, whole = wholes
        cdef uint64_t[::1] part = parts
        n = 0
        for at in range(first, size, step):
            if self.value[at] == 0 and (self.fraction == NULL or self.fraction[at] == 0):
                continue
            if self.key == NULL:
                row[n], column[n] = at // self.capacity, at % self.capacity
            else:
                key = self.key[at - 1] - 1
                row[n], column[n] = key >> 32, key & 0xFFFFFFFF
            whole[n] = self.value[at]
            if self.fraction != NULL:
                part[n] = self.fraction[at]
            n += 1
        return rows, columns, wholes, parts
