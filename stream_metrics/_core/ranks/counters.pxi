"""Rank sketches as a whole: merging, batches, copies, and what is read of a column.

Steps that can fail come first: labels get indices and memory is reserved, which is invisible to readers. The steps
after them cannot fail.
"""

from cpython.mem cimport PyMem_RawCalloc
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

import numpy as np

from stream_metrics._core.numeric.fixed cimport take_fixed
from stream_metrics._core.numeric.kernels cimport MOST_SAMPLES, check_samples, refuse_samples
from stream_metrics.errors import MergeError
from stream_metrics.labels.label import canonical

cdef object UNITS = 1 << 64  # a Python integer, so that products cannot overflow
cdef enum:
    COARSE_PLACES = 20  # binary places of fractions, unless the bytes give the number


cdef class RankCounters(RankReadings):
    """Exact, mergeable counts of (score column, score cell, true class)."""

    cdef int reserve_for(self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) except -1:
        if histogram_reserve_for(self.own_histogram(j), o, to, self.groups()) < 0:
            raise MemoryError("no memory for a column of scores")
        return 0

    def commit(self, Batch batch, int64_t abstained, int64_t rounded):
        """Add a counted batch; return False, and change nothing, if the state was reset since the batch was started."""
        self.enter()
        try:
            return self.add_batch(batch, abstained, rounded)
        finally:
            self.leave()

    def _check_batch(self, Batch batch):
        """Raise ScoreError if `commit` would refuse the labels of a batch that was counted."""
        cdef Py_ssize_t k
        labels = [label for label, n in zip(batch.truths, batch.occurs.tolist()) if n]
        labels += [label for k, label in enumerate(batch.labels) if batch.histograms[k].used]
        new = [label for label in dict.fromkeys(labels) if label not in self.label_index.index]
        self.check_labels(new)

    cdef bint add_batch(self, Batch batch, int64_t abstained, int64_t rounded) except -1:
        cdef Py_ssize_t k, g, i
        cdef int64_t[::1] to, at
        cdef ScoreHistogram *c
        if batch.epoch != self.epoch:
            return False
        whole, part = sum(batch.weight), sum(batch.parts)
        self.check_units(whole * UNITS + part)
        if batch.n + abstained > self.spare:
            self.find_spare(batch.n + abstained)
        occurs = batch.occurs.tolist()
        try:
            truth = [self.intern(label) if n else -1 for label, n in zip(batch.truths, occurs)]
            column = [self.intern(label) if batch.histograms[k].used else -1 for k, label in enumerate(batch.labels)]
            to_array = np.array((truth if self.pairs else [0, 1]) + [0], np.int64)
            at_array = np.array(column + [0], np.int64)
            to, at = to_array, at_array
            for k in range(batch.size):
                if at[k] >= 0 and not self.adoptable(at[k], batch.histograms[k], &to[0]):
                    self.reserve_for(at[k], batch.histograms[k], &to[0])
        except BaseException:
            self.drop_empty()
            raise
        for k in range(batch.size):
            if at[k] < 0:
                continue
            if self.adoptable(at[k], batch.histograms[k], &to[0]):
                c = self.classes[at[k]].histogram
                self.classes[at[k]].histogram, batch.histograms[k] = batch.histograms[k], c
            else:
                histogram_absorb(self.classes[at[k]].histogram, batch.histograms[k], &to[0])
            if batch.label_types is not None:
                self.add_types(at[k], batch.label_types[k])
        for g in range(len(truth)):
            i = truth[g]
            if i >= 0:
                part = batch.parts[g]
                self.weigh_class(i, batch.weight[g] + (part >> 64), part & (UNITS - 1))
                self.add_types(i, batch.truth_types[g])
        self.n += batch.n
        self.abstained += abstained
        self.rounded += rounded
        self.spare -= batch.n + abstained
        return True

    cdef bint adoptable(self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) noexcept:
        """Whether a column of a batch can replace the column here."""
        cdef Py_ssize_t g
        if self.classes[j].histogram != NULL and self.classes[j].histogram.used > 0:
            return False
        for g in range(o.groups):
            if to[g] != g:
                return False
        return True

    cdef int add_types(self, Py_ssize_t i, seen) except -1:
        for kind in range(3):
            self.classes[i].type_counts[<Py_ssize_t> kind] += seen[kind]
        return 0

    cdef int check_same(self, other) except -1:
        if not isinstance(other, RankCounters):
            raise MergeError(f"Expected to merge a RankSketch, but got {type(other).__name__}")
        for name in ("buckets", "sample", "pos_label", "pairs"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs or repr(mine) != repr(theirs):
                raise MergeError(f"Expected `{name}` to be the same in both states, but got {mine!r} and {theirs!r}")
        return 0

    def check_merge(self, other):
        """Raise what `merge` would: MergeError, WeightError, or ScoreError for too many classes."""
        self.check_same(other)
        cdef RankCounters o = other
        self.check_units(<object> o.mass * UNITS + o.mass_part)
        check_samples(o.n, self.n)
        check_samples(o.abstained, self.abstained)
        if o.largest_type_count() > INT64_MAX - self.largest_type_count():
            refuse_samples(o.largest_type_count(), self.largest_type_count())
        self.check_labels(o.label_index.index)

    def merge(self, other):
        """Add the counts of another state.

        Parameters
        ----------
        other : same class
            A state with the same configuration. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If kinds or configurations differ. The message names the difference.
        """
        self.check_same(other)
        self.enter_merging(other)
        try:
            self.check_merge(other)
            self.add_state(other)
        finally:
            self.leave_merging(other)
        return self

    cdef int add_state(self, RankCounters other) except -1:
        cdef RankCounters o
        cdef Py_ssize_t i, kind
        cdef int64_t[::1] to, groups
        o = other.twin() if other is self else other
        try:
            to = np.array([-1 if name is None else self.intern(name) for name in o.label_index.names] + [0, 0],
                          np.int64)
            groups = to if self.pairs else np.array([0, 1], np.int64)
            for i in range(o.used):
                if to[i] >= 0 and o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                    self.reserve_for(to[i], o.classes[i].histogram, &groups[0])
        except BaseException:
            self.drop_empty()
            raise
        for i in range(o.used):
            if to[i] < 0:
                continue
            if o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                histogram_absorb(self.classes[to[i]].histogram, o.classes[i].histogram, &groups[0])
            for kind in range(3):
                self.classes[to[i]].type_counts[kind] += o.classes[i].type_counts[kind]
            self.weigh_class(to[i], o.classes[i].whole, o.classes[i].part)
        self.n += o.n
        self.abstained += o.abstained
        self.rounded += o.rounded
        self.spare = 0
        return 0

    def copy(self):
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        self.enter_reading()
        try:
            return self.twin()
        finally:
            self.leave()

    cdef RankCounters twin(self):
        cdef RankCounters twin = type(self)(self.buckets, self.sample, self.pos_label, self.pairs)
        cdef Py_ssize_t i
        twin.classes = <Class *> PyMem_RawCalloc(max(self.used, 1), sizeof(Class))
        if twin.classes == NULL:
            raise MemoryError("no memory for the classes of a copy")
        twin.capacity = max(self.used, 1)
        for i in range(self.used):
            twin.classes[i] = self.classes[i]
            twin.classes[i].histogram = NULL
            twin.used = i + 1
            if self.classes[i].histogram != NULL:
                twin.classes[i].histogram = histogram_copy(self.classes[i].histogram)
                if twin.classes[i].histogram == NULL:
                    raise MemoryError("no memory for the copy of a column")
        twin.label_index.copy_from(self.label_index)
        twin.n, twin.abstained, twin.rounded = self.n, self.abstained, self.rounded
        twin.mass, twin.mass_part = self.mass, self.mass_part
        return twin

    def reset(self):
        """Forget every sample; the configuration stays."""
        self.enter()
        try:
            self.forget()
        finally:
            self.leave()

    def pack(self):
        """Return the counts in the order of report: labels, type counts, weights, and the columns as bytes.

        If any weight is no multiple of 2^-20 or was rounded: also the number of binary places, and how many were
        rounded.
        """
        self.enter_reading()
        try:
            return self.packed()
        finally:
            self.leave()

    cdef tuple packed(self):
        cdef Py_ssize_t i
        order = self.report_order()
        cdef int places = self.binary_places()
        groups = np.array(order if self.pairs else [0, 1], np.int64)
        weights = []
        columns = []
        for i in order:
            weights.append((self.classes[i].whole, self.classes[i].part))
            columns.append(pack_histogram(self.classes[i].histogram, groups, places))
        fine = [(places, self.rounded)] if places > COARSE_PLACES or self.rounded else []
        return [self.shown(i) for i in order], self.appearances(), pack_weights(weights, places), columns, *fine

    cdef int binary_places(self) except -1:
        """Return the number of binary places of all fractions; at least 20, the default of the format."""
        cdef Py_ssize_t i
        cdef int zeros = 0
        cdef uint64_t bits = 0
        for i in range(self.used):
            bits |= self.classes[i].part | fraction_bits(self.classes[i].histogram)
        while zeros < 64 - COARSE_PLACES and not bits >> zeros & 1:
            zeros += 1
        return 64 - zeros

    def restore(self, list labels, appearances, bytes weights, columns, int64_t n, int64_t abstained, int places,
                int64_t rounded):
        """Fill an empty state with decoded counts; raise ValueError for counts that no stream of samples produces."""
        cdef Py_ssize_t i, kind, at = 0
        if not (0 <= n <= MOST_SAMPLES and 0 <= abstained <= MOST_SAMPLES and 0 <= rounded <= n):
            raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
        if not COARSE_PLACES <= places <= 64:
            raise ValueError("fractions of 20 to 64 binary places")
        totals = read_weights(weights, len(labels), places)
        for label in labels:
            self.intern(canonical(label))
        if self.used != len(labels) or len(columns) != len(labels):
            raise ValueError("every label once, with a column")
        self.check_units(sum([whole * UNITS + part for whole, part in totals]))
        if len(appearances) != 3 * len([label for label in labels if numeric_kind(label) < 3]):
            raise ValueError("three counts of appearances for every number")
        for i in range(self.used):
            self.weigh_class(i, totals[i][0], totals[i][1])
        for i in range(self.used):
            if columns[i]:
                read_histogram(self.own_histogram(i), columns[i], self.groups(), places)
                self.check_column(i)
            if numeric_kind(labels[i]) < 3:
                for kind in range(3):
                    self.classes[i].type_counts[kind] = appearances[at + kind]
                    if self.classes[i].type_counts[kind] < 0:
                        raise ValueError("counts of appearances that are not negative")
                at += 3
            if self.empty(i):
                raise ValueError("a count for every label")
        if n < self.least_samples(-1, NULL, 0, 0, 0):
            raise ValueError("a sample for every true class, and for every cell of a column")
        self.n, self.abstained, self.rounded = n, abstained, rounded

    cdef int check_column(self, Py_ssize_t j) except -1:
        """Check that no class has more weight in a column than in total."""
        cdef Py_ssize_t g
        cdef Class *own
        cdef uint64_t whole, part
        for g in range(self.groups()):
            own = self.classes + (g if self.pairs else j)
            whole, part = <uint64_t> own.whole, own.part
            if not self.pairs and g == 0:
                whole, part = <uint64_t> self.mass, self.mass_part
                take_fixed(&whole, &part, <uint64_t> own.whole, own.part)
            if not histogram_within(self.classes[j].histogram, g, whole, part):
                raise ValueError("no more weight in a column than its classes have")
        return 0
