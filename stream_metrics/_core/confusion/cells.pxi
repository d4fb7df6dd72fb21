"""Exact counters of pairs of class indices: a table of cells, and the totals of every class.

A counter is a 128-bit fixed-point number: a signed 64-bit whole part and, once some weight had a fraction, an unsigned
64-bit part in units of 2^-64. Adding and subtracting such numbers is exact, so states form a commutative group: no
order of updates, merges and reverts can leave a residue. There are no fraction arrays while all weights are whole.

Cells form a square array while there are at most DENSE_CLASSES classes, and a hash of the occupied ones beyond. A
class's totals fill one cache line, so that one sample touches at most three lines.
"""

cimport cython
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree

import numpy as np

from stream_metrics._core.numeric.kernels cimport HASH_SEED, Guarded, sum_overflow
from stream_metrics._core.numeric.openmap cimport CounterMap, map_create, map_find, map_free, map_is_zero

cdef Py_ssize_t DENSE_CLASSES = 1024  # 8 MB of cells
cdef Py_ssize_t FIRST_CAPACITY = 8
cdef Py_ssize_t FIRST_SLOTS = 4096


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
        map_free(&self.table)

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
        if capacity > DENSE_CLASSES and self.table.key == NULL:
            self.make_sparse(FIRST_SLOTS)
        totals = <Totals *> allocate(capacity, sizeof(Totals))
        try:
            if self.fractions != NULL:
                fractions = <Fractions *> allocate(capacity, sizeof(Fractions))
            if self.table.key == NULL:
                value = <int64_t *> allocate(capacity * capacity, sizeof(int64_t))
                if self.table.fraction != NULL:
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
        if self.table.key == NULL:
            for i in range(self.used):
                memcpy(value + i * capacity, self.table.value + i * self.capacity, self.used * sizeof(int64_t))
                if fraction != NULL:
                    memcpy(fraction + i * capacity, self.table.fraction + i * self.capacity,
                           self.used * sizeof(uint64_t))
            self.table.value, value = value, self.table.value
            self.table.fraction, fraction = fraction, self.table.fraction
            PyMem_RawFree(value)
            PyMem_RawFree(fraction)
        self.capacity = capacity
        return 0

    @cython.final
    cdef int make_sparse(self, Py_ssize_t slots) except -1:
        """Move the cells of a square array into a hash of at least `slots` slots."""
        cdef CounterMap dense = self.table, sparse
        cdef Py_ssize_t i, j, at, to, filled = 0
        for at in range(self.used * self.capacity):
            filled += not map_is_zero(&dense, at)
        while slots * 3 < filled * 8:
            slots *= 2
        if map_create(&sparse, slots, self.fractions != NULL, HASH_SEED) < 0:
            raise MemoryError(f"no memory for {slots} cells")
        self.table = sparse
        for i in range(self.used):
            for j in range(self.used):
                at = i * self.capacity + j
                if not map_is_zero(&dense, at):
                    to = self.find(i, j)
                    self.table.value[to] = dense.value[at]
                    if dense.fraction != NULL:
                        self.table.fraction[to] = dense.fraction[at]
        map_free(&dense)
        return 0

    @cython.final
    cdef int make_fractional(self) except -1:
        """Add a fraction part to every counter."""
        cdef Fractions *fractions
        if self.fractions != NULL:
            return 0
        fractions = <Fractions *> allocate(max(self.capacity, 1), sizeof(Fractions))
        try:
            self.table.fraction = <uint64_t *> allocate(
                max(self.cell_slots(), 1), sizeof(uint64_t))
        except MemoryError:
            PyMem_RawFree(fractions)
            raise
        self.fractions = fractions
        return 0

    @cython.final
    cdef Py_ssize_t cell_slots(self) noexcept nogil:
        """The number of elements of `value`; in a hash, every other one is the key of the next."""
        return 2 * self.table.slots if self.table.key != NULL else self.capacity * self.capacity

    @cython.final
    cdef Py_ssize_t find(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Return the position of the value of a cell in the hash; adds the cell if it is new."""
        cdef Py_ssize_t at = map_find(&self.table, ((<uint64_t> i << 32) | <uint64_t> j) + 1, 3)
        if at < 0:
            with gil:
                raise MemoryError(f"no memory for more than {self.table.occupied} cells")
        return at

    @cython.final
    cdef int check_weight(self, int64_t whole) except -1 nogil:
        """Raise WeightError if the sum of all weights would overflow."""
        if not weight_fits(self, whole):
            with gil:
                raise sum_overflow(whole, self.mass, "2**63 - 1", None)
        return 0

    @cython.final
    cdef int add(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1 nogil:
        """Count a checked weight; the fraction arrays exist if `part` is not zero."""
        cdef Py_ssize_t at = cell_index(self, i, j)
        if self.fractions == NULL:
            self.live += self.table.value[at] == 0
            self.table.value[at] += whole
            self.live -= self.table.value[at] == 0
            self.totals[i].actual += whole
            self.totals[j].predicted += whole
            self.mass += whole
            if i == j:
                self.totals[i].diagonal += whole
                self.hit += whole
            return 0
        self.live += (self.table.value[at] | <int64_t> self.table.fraction[at]) == 0
        self.fractional_cells -= self.table.fraction[at] != 0
        plus(&self.table.value[at], &self.table.fraction[at], whole, part)
        self.fractional_cells += self.table.fraction[at] != 0
        self.live -= (self.table.value[at] | <int64_t> self.table.fraction[at]) == 0
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
        cdef uint64_t have = 0 if self.table.fraction == NULL else self.table.fraction[at]
        return self.table.value[at] > whole or (self.table.value[at] == whole and have >= part)

    @cython.final
    cdef bint is_all(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1:
        """Whether a cell has exactly this weight."""
        cdef Py_ssize_t at = cell_index(self, i, j)
        return self.table.value[at] == whole and (0 if self.table.fraction == NULL else self.table.fraction[at]) == part

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
        self.fractional_cells -= self.table.fraction[at] != 0
        minus(&self.table.value[at], &self.table.fraction[at], whole, part)
        self.fractional_cells += self.table.fraction[at] != 0
        self.live -= (self.table.value[at] | <int64_t> self.table.fraction[at]) == 0
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
        self.table.value = <int64_t *> allocate(cells, sizeof(int64_t))
        memcpy(self.table.value, other.table.value, cells * sizeof(int64_t))
        if other.table.key != NULL:
            self.table.key = <uint64_t *> self.table.value
        if other.fractions != NULL:
            self.fractions = <Fractions *> allocate(other.capacity, sizeof(Fractions))
            memcpy(self.fractions, other.fractions, other.used * sizeof(Fractions))
            self.table.fraction = <uint64_t *> allocate(cells, sizeof(uint64_t))
            memcpy(self.table.fraction, other.table.fraction, cells * sizeof(uint64_t))
        self.used, self.capacity = other.used, other.capacity
        self.table.slots, self.table.occupied = other.table.slots, other.table.occupied
        self.table.seed = other.table.seed
        self.fractional_cells, self.live = other.fractional_cells, other.live
        self.mass, self.mass_part = other.mass, other.mass_part
        self.hit, self.hit_part = other.hit, other.hit_part

    cdef void clear(self) noexcept:
        PyMem_RawFree(self.totals)
        PyMem_RawFree(self.fractions)
        map_free(&self.table)
        self.totals, self.fractions = NULL, NULL
        self.used, self.capacity, self.live = 0, 0, 0
        self.fractional_cells, self.mass, self.mass_part, self.hit, self.hit_part = 0, 0, 0, 0, 0

    cdef tuple export(self):
        """Return the non-zero cells in any order: rows, columns, whole parts, fraction parts or None."""
        cdef Py_ssize_t at, n = 0, first = self.table.key != NULL, step = 1 + first
        cdef Py_ssize_t size = self.cell_slots() if first else self.used * self.capacity
        cdef uint64_t key
        for at in range(first, size, step):
            n += not map_is_zero(&self.table, at)
        rows, columns, wholes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        parts = None if self.table.fraction == NULL else np.empty(n, np.uint64)
        cdef int64_t[::1] row = rows, column = columns, whole = wholes
        cdef uint64_t[::1] part = parts
        n = 0
        for at in range(first, size, step):
            if map_is_zero(&self.table, at):
                continue
            if self.table.key == NULL:
                row[n], column[n] = at // self.capacity, at % self.capacity
            else:
                key = self.table.key[at - 1] - 1
                row[n], column[n] = key >> 32, key & 0xFFFFFFFF
            whole[n] = self.table.value[at]
            if self.table.fraction != NULL:
                part[n] = self.table.fraction[at]
            n += 1
        return rows, columns, wholes, parts
