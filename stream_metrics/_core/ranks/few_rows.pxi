"""Rows of a table of scores, counted into a state at once: for the few rows that a group has of a batch.

A `Batch` takes some NumPy calls, also for few rows. Here the columns are read once for all groups, and a state counts
the rows from one place to another as `update` counts their samples. After an error the state must be discarded.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint64_t, uint8_t

from stream_metrics._core.numeric.kernels cimport numeric_kind


cdef class CodedScores:
    """Columns of a batch of finite scores: true labels as codes, a column of scores for each label, weights.

    The label None stands for `pos_label`, implied. `rounded` says which weights were rounded. Weights may be None: 1.
    """

    cdef const code_t[::1] truth
    cdef const double[:, ::1] x
    cdef const int64_t[::1] wholes
    cdef const fraction_t[::1] parts
    cdef const uint8_t[::1] rounded
    cdef list truths, labels
    cdef int64_t[::1] places  # of each true label: 4 times the index of its class, plus its kind; -1 is unknown

    def __init__(self, truth, list truths, list labels, x, wholes, parts, rounded):
        self.truth, self.truths, self.labels, self.x = truth, truths, labels, x
        self.wholes, self.parts, self.rounded = wholes, parts, rounded
        self.places = np.full(len(truths), -1, np.int64)

    def count(self, RankCounters into, Py_ssize_t start, Py_ssize_t end):
        """Count the rows from `start` on and before `end`; after an error the state must be discarded."""
        cdef Py_ssize_t n = end - start, columns = len(self.labels), r
        cdef uint64_t *code = NULL
        if n <= 0:
            return
        into.enter()
        try:
            code = <uint64_t *> PyMem_RawCalloc(n, columns * sizeof(uint64_t) + sizeof(code_t))
            if code == NULL:
                raise MemoryError("no memory for a batch of scores")
            self.count_codes(into, start, n, code, <code_t *> (code + n * columns))
        finally:
            for r in range(start, end):
                self.places[self.truth[r]] = -1
            PyMem_RawFree(code)
            into.leave()

    cdef int count_codes(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, uint64_t *code,
                         code_t *group) except -1:
        cdef Py_ssize_t r, k, j
        cdef int64_t rounded = 0
        cdef CodeRows rows
        rows.group, rows.own, rows.whole, rows.part = group, -1, NULL, NULL
        if self.wholes is not None:
            rows.whole = &self.wholes[start]
        if self.parts is not None:
            rows.part = &self.parts[start]
        if n > into.spare:
            find_spare(into, n)
        self.place_truths(into, start, n, &rows, group)
        at = [self.place_column(into, start, n, k, &rows, code + k * n) for k in range(len(self.labels))]
        for k in range(len(self.labels)):  # every class has its index, so a column has all its groups
            j = at[k]
            if j >= 0:
                rows.own = -1 if into.paired else j
                self.count_column(into, n, k, j, &rows, code + k * n)
        self.weigh(into, start, n, &rows, group)
        if self.rounded is not None:
            for r in range(start, start + n):
                rounded += self.rounded[r]
        into.n += n
        into.rounded += rounded
        into.spare -= n
        return 0

    cdef int place_truths(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, const CodeRows *rows,
                          code_t *group) except -1:
        """Set the class of the true label of each row that has a weight."""
        cdef Py_ssize_t r
        cdef int64_t place
        for r in range(n):
            if weightless(rows, r):
                group[r] = -1
                continue
            place = self.places[self.truth[start + r]]
            if place < 0:
                label = self.truths[self.truth[start + r]]
                if into._binary_only:
                    into._check_new(label, "y_true")
                place = 4 * intern_class(into, label) + numeric_kind(label)
                self.places[self.truth[start + r]] = place
            group[r] = <code_t> (place >> 2)
        return 0

    cdef Py_ssize_t place_column(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, Py_ssize_t k,
                                 const CodeRows *rows, uint64_t *code) except -2:
        """Encode the scores of a column; return the index of its class, -1 if no row with a weight has a score."""
        cdef Py_ssize_t r = 0
        while r < n:
            encode_column(self.x, k, start + r, min(LINE, n - r), code + r)
            r += LINE
        r = 0
        while r < n and (code[r] == ZERO or weightless(rows, r)):
            r += 1
        if r == n:
            return -1
        label = self.labels[k]
        if label is None:
            return intern_class(into, into.pos_label)
        if into._binary_only:
            into._check_new(label, "scores")
        return intern_class(into, label)

    cdef int count_column(self, RankCounters into, Py_ssize_t n, Py_ssize_t k, Py_ssize_t j, const CodeRows *rows,
                          const uint64_t *code) except -1:
        """Count the scores of a column in the column of class j."""
        cdef ScoreHistogram *c = own_histogram(into, j)
        cdef int64_t counted = -1
        cdef Py_ssize_t r, scores = 0
        cdef int kind
        for r in range(n):
            scores += code[r] != ZERO
        if histogram_reserve(c, group_count(into), scores, self.parts is not None) == 0:
            counted = count_rows(c, code, rows, n)
        if counted < 0:
            raise MemoryError("no memory for a column of scores")
        label = self.labels[k]
        kind = 3 if label is None else numeric_kind(label)
        if kind < 3:
            into.classes[j].type_counts[kind] += counted
        return 0

    cdef int weigh(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, const CodeRows *rows,
                   const code_t *group) except -1:
        """Add the weights of the rows to their true classes."""
        cdef Py_ssize_t r
        cdef int64_t whole
        cdef fraction_t part
        cdef int kind
        cdef bint single = len(self.labels) > 0 and self.labels[0] is None
        for r in range(n):
            if group[r] < 0:
                continue
            whole = 1 if rows.whole == NULL else rows.whole[r]
            part = 0 if rows.part == NULL else rows.part[r]
            check_mass(into, whole, part)
            weigh_class(into, group[r], whole, part)
            kind = self.places[self.truth[start + r]] & 3
            if kind < 3:
                into.classes[group[r]].type_counts[kind] += 1
            into.classes[group[r]].single |= single
        return 0
