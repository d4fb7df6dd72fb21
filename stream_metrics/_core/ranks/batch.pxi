"""A batch of samples, counted into columns of its own without the interpreter's lock, to be merged into a state.

Its columns start at the levels and with the sample thresholds of the target state. So a batch is not counted more
finely than its target, and the cost of merging is bounded by the number of cells of the batch. If the state has no
threshold yet, a large batch estimates one that slightly more codes than the size of the sample should pass: most codes
are then skipped at once. If too few codes pass, as with many equal scores, the samples are drawn again without it.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int8_t, int64_t, uint64_t

import numpy as np

from stream_metrics._core.numeric.scores cimport encode_all

cdef enum:
    LINE = 256  # scores of a column that are encoded at once; the rows of a few columns fit the first-level cache


def unified(labels):
    """Number the distinct labels: (number of each label, distinct labels)."""
    index = {}
    return [index.setdefault(label, len(index)) for label in labels], list(index)


cdef object occurrences(const code_t[::1] codes, Py_ssize_t labels):
    """Count each code."""
    cdef Py_ssize_t r, half = (codes.shape[0] // 2) * 2
    cdef int64_t ones = 0
    table = np.zeros((2, labels + 1), np.int64)  # in turn: increments of one counter wait for each other
    cdef int64_t[:, ::1] count = table
    with nogil:
        if labels == 2:
            for r in range(codes.shape[0]):
                ones += codes[r]
            count[0, 0], count[0, 1] = codes.shape[0] - ones, ones
        else:
            for r in range(0, half, 2):
                count[0, codes[r]] += 1
                count[1, codes[r + 1]] += 1
            for r in range(half, codes.shape[0]):
                count[0, codes[r]] += 1
    return table.sum(axis=0)[:labels]


cdef object sums_by_code(codes, numbers, Py_ssize_t labels):
    """Sum up numbers by the code beside them."""
    sums = np.zeros(labels, np.int64)
    np.add.at(sums, codes, numbers)
    return sums


cdef inline void encode_column(const double[:, :] x, Py_ssize_t k, Py_ssize_t start, Py_ssize_t n,
                               uint64_t *code) noexcept nogil:
    cdef double line[LINE]
    cdef Py_ssize_t r
    if x.strides[0] == sizeof(double):
        encode_all(&x[start, k], code, n)
        return
    for r in range(n):
        line[r] = x[start + r, k]
    encode_all(line, code, n)


cdef class Batch:
    """Counts of a batch; `labels` are those of the columns, None for an implied `pos_label`.

    A row is one sample, or as many as `samples` says, whose weight is then that number.
    """

    cdef list truths, labels         # of the true classes and of the columns
    cdef object weight, parts, occurs, truth_types, label_types
    cdef ScoreHistogram **histograms
    cdef Py_ssize_t size             # number of columns
    cdef bint pairs                  # whether every class is counted apart
    cdef int64_t n, samples, epoch   # rows, and the samples that they stand for
    cdef bint inside                 # whether a section of the state is open
    cdef int64_t[:, ::1] truth_type, label_type
    cdef bint repeated               # whether a row may stand for several samples
    cdef object codes, wholes, fractions, owns, estimates
    cdef const code_t[::1] code
    cdef const int64_t[::1] whole
    cdef const fraction_t[::1] part
    cdef int64_t[::1] own
    cdef int8_t[::1] estimated          # whether the thresholds of the samples are estimates, not those of the state

    def __init__(self, truth, list truths, list labels, label_types, weights, object pos_label, samples=None):
        cdef Py_ssize_t k
        self.n, self.pairs, self.size = len(truth), False, len(labels)
        self.samples = self.n if samples is None else samples.sum()
        self.wholes, self.fractions = weights if samples is None else (samples, None)
        self.repeated = samples is not None
        used = None if self.wholes is None else self.wholes != 0
        if self.fractions is not None:
            used |= self.fractions != 0
        rows = occurrences(truth if used is None else truth[used], len(truths))
        counts = rows if samples is None else sums_by_code(truth, samples, len(truths))
        numbers, self.truths = unified(truths)
        self.truth_types = np.zeros((len(self.truths), 4), np.int64)
        self.occurs = np.zeros(len(self.truths), np.int64)
        for k in range(len(truths)):
            self.truth_types[numbers[k], numeric_kind(truths[k])] += counts[k]
            self.occurs[numbers[k]] += rows[k]
        if len(self.truths) < len(truths):
            truth = np.array(numbers, np.int32)[truth]
        self.codes = np.ascontiguousarray(truth, np.int32)
        self.labels = [pos_label if label is None else label for label in labels]
        self.label_types = label_types
        self.code, self.whole, self.part = self.codes, self.wholes, self.fractions
        self.weight, self.parts = self.totals()
        self.estimates = np.zeros(self.size, np.int8)
        self.estimated = self.estimates
        self.histograms = <ScoreHistogram **> PyMem_RawCalloc(max(self.size, 1), sizeof(ScoreHistogram *))
        if self.histograms == NULL:
            raise MemoryError("no memory for a batch of scores")

    def __dealloc__(self):
        self.close()
        PyMem_RawFree(self.histograms)

    cdef void close(self) noexcept:
        cdef Py_ssize_t k
        if self.histograms != NULL:
            for k in range(self.size):
                histogram_free(self.histograms[k])
                self.histograms[k] = NULL

    def totals(self):
        """The weights of the true classes as Python integers: whole parts, fractions."""
        if self.wholes is None:
            return self.occurs.tolist(), [0] * len(self.truths)
        near = self.n and self.wholes.max() > (2**62) // self.n  # then a sum could overflow
        weight, parts = np.zeros(len(self.truths), object if near else np.int64), np.zeros((2, len(self.truths)),
                                                                                           np.int64)
        np.add.at(weight, self.codes, self.wholes)
        if self.fractions is not None:
            for half, shift in enumerate((0, 32)):  # halves of 32 bits, so that no sum can overflow
                np.add.at(parts[half], self.codes,
                          (self.fractions >> np.uint64(shift) & np.uint64(2**32 - 1)).astype(np.int64))
        return weight.tolist(), [low + (high << 32) for low, high in zip(*parts.tolist())]

    cdef list occurring(self, columns):
        """The labels that have an index once the batch is counted; `columns` are those with a score other than 0."""
        return [label for label, n in zip(self.truths, self.occurs.tolist()) if n] + columns

    cdef int start(self, RankCounters into, list columns) except -1:
        """Create empty columns for a state; `columns` are the labels that have a score other than 0."""
        if not self.inside:
            into.enter_reading()
        try:
            self.set_pairs(into.paired and not loses_pairs(into, self.occurring(columns)))
            return self.take_levels(into)
        finally:
            if not self.inside:
                into.leave()

    cdef int set_pairs(self, bint pairs) except -1:
        """Count every class apart, or only the own class of a column and the rest."""
        self.pairs = pairs
        where = {label: k for k, label in enumerate(self.truths)}
        self.owns = np.array([-1 if pairs else where.get(label, -2) for label in self.labels], np.int64)
        self.own = self.owns
        return 0

    cdef int take_levels(self, RankCounters into) except -1:
        cdef Py_ssize_t k, g, i, j, n, own, groups = len(self.truths) if self.pairs else 2
        cdef ScoreHistogram *c
        cdef ScoreHistogram *target
        self.close()
        self.epoch = into.epoch
        for k in range(self.size):
            j = find_class(into, self.labels[k])
            target = NULL if j < 0 else into.classes[j].histogram
            c = self.histograms[k] = histogram_new(into.buckets, into.sample)
            n = min(self.n, 64 if target == NULL else target.used)
            if (c == NULL or histogram_reserve(c, groups, n, self.fractions is not None) < 0
                    or histogram_sampling(c) < 0):
                raise MemoryError("no memory for a batch of scores")
            own = self.own[k]
            self.estimated[k] = target == NULL or target.level == 0 or into.paired != self.pairs
            for g in range(groups):
                if not self.estimated[k]:
                    i = find_class(into, self.truths[g]) if self.pairs else g
                    if 0 <= i < target.groups:
                        c.sample[g].threshold = target.sample[i].threshold
                else:
                    n = self.occurs[g] if self.pairs else self.occurs[own] if g and own >= 0 else 0 if g else self.n
                    c.sample[g].threshold = estimate_threshold(n, into.sample)
            if target != NULL:
                c.level = target.level
        return 0

    cdef CodeRows rows(self, Py_ssize_t k, Py_ssize_t start) noexcept nogil:
        cdef CodeRows r
        r.group, r.own, r.whole, r.part = &self.code[start], self.own[k], NULL, NULL
        if self.whole is not None:
            r.whole = &self.whole[start]
        if self.part is not None:
            r.part = &self.part[start]
        return r

    def count_matrix(self, RankCounters into, const double[:, :] x):
        """Count finite scores, a column for each label."""
        cdef Py_ssize_t start = 0, r, k, n, rows = x.shape[0], block = max(4 * LINE,
                                                                           min(16384, (1 << 17) // max(self.size, 1)))
        cdef uint64_t *code
        cdef int64_t counted = 0
        cdef CodeRows row
        columns = []
        if may_lose_pairs(into, len(self.truths) + self.size):
            columns = [label for label, some in zip(self.labels, self.columns_with_scores(x)) if some]
        self.start(into, columns)
        seen = np.zeros(self.size, np.int64)
        cdef int64_t[::1] count = seen
        if rows == 0 or self.size == 0:
            return
        code = <uint64_t *> PyMem_RawCalloc(block * self.size, sizeof(uint64_t))
        if code == NULL:
            raise MemoryError("no memory for a batch of scores")
        with nogil:
            while start < rows and counted >= 0:
                n = min(block, rows - start)
                r = 0
                while r < n:
                    for k in range(self.size):
                        encode_column(x, k, start + r, min(LINE, n - r), code + k * block + r)
                    r += LINE
                for k in range(self.size):
                    row = self.rows(k, start)
                    counted = count_rows(self.histograms[k], code + k * block, &row, n)
                    if counted < 0:
                        break
                    count[k] += counted
                start += n
            for k in range(self.size):
                if counted >= 0 and self.estimated[k] and threshold_too_low(self.histograms[k]):
                    counted = self.resample_column(k, x, code)
        PyMem_RawFree(code)
        if counted < 0:
            raise MemoryError("no memory for a batch of scores")
        if self.label_types is not None:
            if self.repeated:
                seen = self.wholes @ (np.asarray(x) != 0)
            for k in range(self.size):
                self.label_types[k, numeric_kind(self.labels[k])] = seen[k]
        self.finish()

    cdef list columns_with_scores(self, const double[:, :] x):
        """Whether each column has a score other than 0 in a row with a weight."""
        cdef Py_ssize_t k, r
        cdef CodeRows rows
        cdef bint some
        out = []
        for k in range(self.size):
            some = False
            if self.n:
                rows.group, rows.own, rows.whole, rows.part = &self.code[0], -1, NULL, NULL
                if self.whole is not None:
                    rows.whole = &self.whole[0]
                if self.part is not None:
                    rows.part = &self.part[0]
                r = 0
                while r < self.n and (x[r, k] == 0.0 or weightless(&rows, r)):
                    r += 1
                some = r < self.n
            out.append(some)
        return out

    cdef int resample_column(self, Py_ssize_t k, const double[:, :] x, uint64_t *code) noexcept nogil:
        """Draw the samples of a column from all rows; -1 if there is no memory."""
        cdef Py_ssize_t start = 0, n
        cdef CodeRows rows
        while start < x.shape[0]:
            n = min(LINE, x.shape[0] - start)
            encode_column(x, k, start, n, code)
            rows = self.rows(k, start)
            if resample(self.histograms[k], code, &rows, n) < 0:
                return -1
            start += n
        return 0

    def count_entries(self, RankCounters into, row, label, codes):
        """Count scores other than 0, sorted by label."""
        cdef const uint64_t[::1] code = codes
        cdef const code_t[::1] group
        cdef const int64_t[::1] whole
        cdef const fraction_t[::1] part
        cdef Py_ssize_t k, a, b
        cdef CodeRows rows
        ends = np.searchsorted(label, np.arange(self.size + 1)).tolist()
        self.start(into, [self.labels[k] for k in range(self.size) if ends[k] < ends[k + 1]])
        groups = self.codes[row]
        wholes = None if self.wholes is None else self.wholes[row]
        parts = None if self.fractions is None else self.fractions[row]
        group, whole, part = groups, wholes, parts
        for k in range(self.size):
            a, b = ends[k], ends[k + 1]
            if a < b:
                rows.group, rows.own, rows.whole, rows.part = &group[a], self.own[k], NULL, NULL
                if whole is not None:
                    rows.whole = &whole[a]
                if part is not None:
                    rows.part = &part[a]
                if count_rows(self.histograms[k], &code[a], &rows, b - a) < 0:
                    raise MemoryError("no memory for a batch of scores")
                if (self.estimated[k] and threshold_too_low(self.histograms[k])
                        and resample(self.histograms[k], &code[a], &rows, b - a) < 0):
                    raise MemoryError("no memory for a batch of scores")
        self.finish()

    def step(self, RankCounters into, tuple scores, int64_t abstained, int64_t rounded):
        """Return the step that adds the batch to the state for which `scores` were counted."""
        cdef BatchStep step = BatchStep.__new__(BatchStep)
        step.target, step.batch, step.scores, step.abstained, step.rounded = into, self, scores, abstained, rounded
        return step

    def finish(self):
        """Drop the samples of exact columns."""
        cdef Py_ssize_t k
        for k in range(self.size):
            if self.histograms[k].level == 0:
                histogram_drop_samples(self.histograms[k])
