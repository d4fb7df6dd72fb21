# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""What is read of a column: its cells in order, the weights and mean places of two groups of classes, their samples.

The order of the cells is kept until a cell is added or removed, so reading again after every sample costs no sorting.
"""

cimport cython
from libc.math cimport NAN, ldexp
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from stream_metrics._core.bottom cimport UNIT_BITS, Bottom, bottom_prune
from stream_metrics._core.rank_column cimport MIXED, SHIFT, Column, record_of, tail_of
from stream_metrics._core.rank_samples cimport RankSamples
from stream_metrics._core.scores cimport unmixed
from stream_metrics.labels import canonical

cdef uint64_t FRACTION = ((<uint64_t> 1) << UNIT_BITS) - 1
cdef object UNITS = 1 << UNIT_BITS  # a Python integer: products must not wrap


cdef int sort_cells(Column *c) except -1:
    """Bring `order` up to date."""
    cdef Py_ssize_t cell
    cdef uint64_t[::1] key
    cdef const int64_t[::1] by
    if c.sorted or c.held == 0:
        return 0
    keys = np.empty(c.held, np.uint64)
    key = keys
    for cell in range(c.held):
        key[cell] = record_of(c, cell)[0]
    by = np.argsort(keys)
    for cell in range(c.held):
        c.order[cell] = <uint32_t> by[cell]
    c.sorted = True
    return 0


cdef tuple no_sample():
    return np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64), 1.0


cdef tuple read_sample(Column *c, list groups, Py_ssize_t size):
    """The sample of several groups together, by code: (codes, whole weights, fractions, share of all codes)."""
    cdef Py_ssize_t n = 0, at, g
    cdef Bottom *s
    if c.level == 0:
        return no_sample()
    for g in groups:
        if g < c.groups:
            bottom_prune(c.sample + g, c.scratch)
            n += c.sample[g].held
    hashes, wholes, parts = np.empty(n, np.uint64), np.empty(n, np.int64), np.zeros(n, np.int64)
    cdef uint64_t[::1] hash = hashes
    cdef int64_t[::1] whole = wholes, part = parts
    n = 0
    for g in groups:
        if g >= c.groups:
            continue
        s = c.sample + g
        for at in range(s.slots):
            if s.at[at].hash != 0:
                hash[n], whole[n] = s.at[at].hash, s.at[at].whole
                if s.part != NULL:
                    part[n] = s.part[at]
                n += 1
    if len(groups) > 1:
        hashes, index = np.unique(hashes, return_inverse=True)
        whole_sums, part_sums = np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.int64)
        np.add.at(whole_sums, index, wholes)
        np.add.at(part_sums, index, parts)
        wholes, parts = whole_sums, part_sums
        hashes, wholes, parts = hashes[:size], wholes[:size], parts[:size]
    tau = 1.0 if len(hashes) < size else float(hashes.max()) / 2.0**64
    codes = np.empty(len(hashes), np.uint64)
    hash = hashes
    cdef uint64_t[::1] code = codes
    for at in range(code.shape[0]):
        code[at] = unmixed(hash[at])
    by = np.argsort(codes)
    return codes[by], wholes[by] + (parts[by] >> UNIT_BITS), parts[by] & ((1 << UNIT_BITS) - 1), tau


cdef double gather(Column *c, Py_ssize_t cell, const int64_t[::1] groups, int64_t *count, int64_t *part) noexcept:
    """Sum the weights of some groups of a cell; return their mean place in the cell, NAN where it is not known."""
    cdef Py_ssize_t at, g
    cdef uint64_t *record = record_of(c, cell)
    cdef uint64_t moment = 0, low = 0, base, product
    cdef double span
    count[0], part[0] = 0, 0
    for at in range(groups.shape[0]):
        g = groups[at]
        if g < c.groups:
            count[0] += <int64_t> record[2 + 2 * g]
            moment += record[3 + 2 * g]
            if c.tail != NULL:
                part[0] += tail_of(c, cell)[2 * g]
                low += tail_of(c, cell)[2 * g + 1]
    count[0] += part[0] >> UNIT_BITS
    part[0] &= FRACTION
    if c.level <= SHIFT or record[1] != MIXED or (count[0] | part[0]) == 0:
        return NAN
    span = ldexp(<double> count[0] + ldexp(<double> part[0], -UNIT_BITS), c.level - SHIFT)
    if span >= 18446744073709551616.0:
        return NAN
    base = (record[0] << c.level) >> SHIFT
    product = <uint64_t> part[0] * base
    moment += (low >> UNIT_BITS) - <uint64_t> count[0] * base - (product >> UNIT_BITS)
    low &= FRACTION
    product &= FRACTION
    moment -= low < product
    return (<double> moment + ldexp(<double> ((low - product) & FRACTION), -UNIT_BITS)) / span


@cython.auto_pickle(False)
cdef class RankReadings(RankSamples):
    """Readings of a rank sketch."""

    cdef list group_numbers(self, Py_ssize_t j, object own, object rest):
        """The classes to compare: [the rest, its own], each a list of groups of the column, of which some may be unknown."""
        if not self.pairs:
            if own is not None or rest is not None:
                raise ValueError("Expected pairs=True to compare one class with another, but got pairs=False")
            return [[0], [1]]
        i = j if own is None else self.find(canonical(own, "own"))
        if rest is None:
            return [[g for g in range(self.used) if g != i and self.names[g] is not None], [i] if i >= 0 else []]
        other = self.find(canonical(rest, "rest"))
        if other == i and i >= 0:
            raise ValueError(f"Expected `rest` to be another class than {own!r}, but got {rest!r}")
        return [[other] if other >= 0 else [], [i] if i >= 0 else []]

    def arrays(self, label, own=None, rest=None):
        """A column: level, keys, sole codes, weights of rest and own, offsets, totals, and for each of both a sample.

        Weights are (whole parts, fractions in units of 2^-20).
        """
        cdef Py_ssize_t j = self.find(canonical(label)), at, n = 0, side
        cdef Column *c = self.classes[j].column if j >= 0 else NULL
        cdef Py_ssize_t held = 0 if c == NULL else c.held
        numbers = self.group_numbers(j, own, rest)
        keys, soles = np.empty(held, np.uint64), np.empty(held, np.uint64)
        counts, parts, offsets = np.zeros((held, 2), np.int64), np.zeros((held, 2), np.int64), np.empty((held, 2))
        cdef uint64_t[::1] key = keys, sole = soles
        cdef int64_t[:, ::1] count = counts, part = parts
        cdef double[:, ::1] offset = offsets
        rest_array, own_array = np.array(numbers[0], np.int64), np.array(numbers[1], np.int64)
        cdef const int64_t[::1] rest_groups = rest_array, own_groups = own_array
        cdef uint64_t *record
        if held:
            sort_cells(c)
        for at in range(held):
            record = record_of(c, c.order[at])
            offset[n, 0] = gather(c, c.order[at], rest_groups, &count[n, 0], &part[n, 0])
            offset[n, 1] = gather(c, c.order[at], own_groups, &count[n, 1], &part[n, 1])
            key[n], sole[n] = record[0], record[0] if c.level == 0 else record[1]
            n += (count[n, 0] | count[n, 1] | part[n, 0] | part[n, 1]) != 0
        samples = [(no_sample() if c == NULL else read_sample(c, groups, self.sample)) for groups in numbers]
        level = 0 if c == NULL else c.level
        return level, keys[:n], soles[:n], (counts[:n], parts[:n]), offsets[:n], self.group_totals(j, numbers), samples

    def group_totals(self, j, numbers):
        """The weights of rest and own, zeros included, as Python integers in units of 2^-20."""
        cdef Py_ssize_t i
        units = []
        for i in range(self.used):
            units.append(self.classes[i].whole * UNITS + self.classes[i].part)
        if self.pairs:
            return [sum([units[g] for g in groups]) for groups in numbers]
        own = units[j] if j >= 0 else 0
        return [self.mass * UNITS + self.mass_part - own, own]
