"""The steps that change a rank sketch: a sample, a counted batch, another state; and copies.

Labels get indices and memory is reserved before, which is invisible to readers. A state that loses its pairs is copied
without them, and the copy takes its place.
"""

from cpython.mem cimport PyMem_RawCalloc
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from stream_metrics._core.numeric.kernels cimport Step, exchange
from stream_metrics.errors import options_differ, other_kind

cdef object UNITS = 1 << 64  # a Python integer, so that products cannot overflow


cdef class RankStep(Step):
    """A change of a rank sketch, or of the copy without pairs that takes its place."""

    cdef RankCounters into

    cdef int choose(self, bint loses) except -1:
        """Change the state, or a copy without pairs if it `loses` them."""
        self.into = unpaired(self.target) if loses else self.target
        return 0

    cdef void finish(self) noexcept:
        if self.into is not self.target:
            exchange(self.target, self.into)

    cdef void abandon(self) noexcept:
        drop_empty_classes(self.target)


@cython.final
cdef class ScoreStep(RankStep):
    """One sample to be counted or reverted."""

    cdef object y_true, scores, w, truth
    cdef tuple read     # what `read_scores` returns, None until it is read
    cdef bint reverts
    cdef RankSample sample

    cdef int read_arguments(self, object classes) except -1:
        start_sample(&self.sample, self.w)
        self.truth = canonical(self.y_true, "y_true")
        self.read = read_named(self.target, self.truth, self.scores, classes)
        return 0

    cdef int prepare(self) except -1:
        cdef RankCounters ranks = self.target
        cdef RankSample *s = &self.sample
        cdef list labels
        if self.read is None:
            if not self.reverts and read_known(ranks, self.y_true, self.scores, self.w, True, s):
                return self.choose(False)
            self.read_arguments(None)
        labels, values = self.read
        if self.reverts:
            self.choose(False)
            find_sample(ranks, self.truth, labels, values, s)
            return check_sample(ranks, s, self.y_true, self.scores, self.w)
        self.choose(labels is not None and (s.whole | s.part) != 0 and may_lose_pairs(ranks, 1 + len(labels))
                    and loses_pairs(ranks, [self.truth] + [ranks.pos_label if label is None else label
                                                           for label, x in zip(labels, values) if x != 0]))
        return place_sample(self.into, self.truth, labels, values, s)

    cdef void apply(self) noexcept:
        if self.reverts:
            remove_sample(self.into, &self.sample)
        else:
            apply_sample(self.into, &self.sample)
        self.finish()

    def __dealloc__(self):
        if self.sample.entry != NULL and self.sample.entry != self.sample.near:
            PyMem_RawFree(self.sample.entry)


cdef ScoreStep score_step(RankCounters self, object y_true, object scores, object w, bint reverts):
    """Return the step of a sample whose scores are still to be read."""
    cdef ScoreStep step = ScoreStep.__new__(ScoreStep)
    step.target, step.y_true, step.scores, step.w, step.reverts = self, y_true, scores, w, reverts
    return step


cdef int commit_sample(RankCounters self, object y_true, object scores, object w, object classes,
                       bint reverts) except -1:
    """Count or revert a sample, which is read before the section."""
    cdef ScoreStep step = score_step(self, y_true, scores, w, reverts)
    step.read_arguments(classes)
    return commit_steps([step])


cdef int reserve_for(RankCounters self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) except -1:
    if histogram_reserve_for(own_histogram(self, j), o, to, group_count(self)) < 0:
        raise MemoryError("no memory for a column of scores")
    return 0


@cython.final
cdef class BatchStep(RankStep):
    """A batch that was counted apart; it is counted once more if what it relied on has changed since."""

    cdef Batch batch
    cdef tuple scores  # as `Batch.count_matrix` or `Batch.count_entries` takes them
    cdef int64_t abstained, rounded
    cdef int64_t[::1] truth, column, to, whole
    cdef fraction_t[::1] part

    cdef int prepare(self) except -1:
        cdef Batch batch = self.batch
        cdef RankCounters into = self.target
        cdef Py_ssize_t k
        with_scores = [label for k, label in enumerate(batch.labels) if batch.histograms[k].used]
        if batch.epoch != into.epoch or batch.pairs != (into.paired
                                                        and not loses_pairs(into, batch.occurring(with_scores))):
            batch.inside = True
            if len(self.scores) == 1:
                batch.count_matrix(into, *self.scores)
            else:
                batch.count_entries(into, *self.scores)
        check_units(into, sum(batch.weight) * UNITS + sum(batch.parts))
        if batch.samples + self.abstained > into.spare:
            find_spare(into, batch.samples + self.abstained)
        self.choose(into.paired and not batch.pairs)
        return self.reserve(batch, self.into)

    cdef int reserve(self, Batch batch, RankCounters into) except -1:
        cdef Py_ssize_t k
        truth = [intern_class(into, label) if n else -1 for label, n in zip(batch.truths, batch.occurs.tolist())]
        column = [intern_class(into, label) if batch.histograms[k].used else -1 for k, label in enumerate(batch.labels)]
        self.truth, self.column = np.array(truth, np.int64), np.array(column, np.int64)
        self.to = np.array((truth if into.paired else [0, 1]) + [0], np.int64)
        self.whole = np.array([whole + (part >> 64) for whole, part in zip(batch.weight, batch.parts)], np.int64)
        self.part = np.array([part & (UNITS - 1) for part in batch.parts], np.uint64)
        batch.truth_type = batch.truth_types
        batch.label_type = batch.label_types
        for k in range(batch.size):
            if column[k] >= 0 and not adoptable(into, column[k], batch.histograms[k], &self.to[0]):
                reserve_for(into, column[k], batch.histograms[k], &self.to[0])
        return 0

    cdef void apply(self) noexcept:
        cdef Batch batch = self.batch
        cdef RankCounters into = self.into
        cdef Py_ssize_t k, j
        for k in range(batch.size):
            j = self.column[k]
            if j < 0:
                continue
            if adoptable(into, j, batch.histograms[k], &self.to[0]):
                into.classes[j].histogram, batch.histograms[k] = batch.histograms[k], into.classes[j].histogram
            else:
                histogram_absorb(into.classes[j].histogram, batch.histograms[k], &self.to[0])
            if batch.label_type is not None:
                add_types(into, j, &batch.label_type[k, 0])
        for k in range(self.truth.shape[0]):
            if self.truth[k] >= 0:
                weigh_class(into, self.truth[k], self.whole[k], self.part[k])
                add_types(into, self.truth[k], &batch.truth_type[k, 0])
        into.n += batch.samples
        into.abstained += self.abstained
        into.rounded += self.rounded
        into.spare -= batch.samples + self.abstained
        self.finish()


cdef bint adoptable(RankCounters self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) noexcept:
    """Whether a column of a batch can replace the column here."""
    cdef Py_ssize_t g
    if self.classes[j].histogram != NULL and self.classes[j].histogram.used > 0:
        return False
    for g in range(o.groups):
        if to[g] != g:
            return False
    return True


cdef void add_types(RankCounters self, Py_ssize_t i, const int64_t *more) noexcept:
    cdef Py_ssize_t kind
    for kind in range(3):
        self.classes[i].type_counts[kind] += more[kind]


cdef int check_same(RankCounters self, other) except -1:
    if not isinstance(other, RankCounters):
        raise other_kind("RankSketch", other)
    cdef RankCounters o = other
    if (self.buckets == o.buckets and self.sample == o.sample and self.pairs == o.pairs
            and self.pos_label is o.pos_label):
        return 0
    mine, theirs = ({name: getattr(each, name) for name in ("buckets", "sample", "pos_label", "pairs")}
                    for each in (self, other))
    if repr(mine) != repr(theirs):
        raise options_differ(mine, theirs, ("buckets", "sample", "pairs"))
    return 0


@cython.final
cdef class StateStep(RankStep):
    """The counts of another state."""

    cdef RankCounters other
    cdef int64_t[::1] to      # the index here of each class there, or -1
    cdef int64_t[::1] groups  # of a column there, to those here

    cdef int prepare(self) except -1:
        cdef RankCounters into = self.target, o = self.source
        check_units(into, <object> o.mass * UNITS + o.mass_part)
        check_samples(o.n, into.n)
        check_samples(o.abstained, into.abstained)
        if largest_type_count(o) > INT64_MAX - largest_type_count(into):
            refuse_samples(largest_type_count(o), largest_type_count(into))
        o = self.other = duplicate(o) if o is into else o
        self.choose(into.paired and ((o.n and not o.paired) or loses_pairs(into, o.label_index.index)))
        return self.reserve(self.into, o)

    cdef int reserve(self, RankCounters into, RankCounters o) except -1:
        cdef Py_ssize_t i
        self.to = np.array([-1 if name is None else intern_class(into, name) for name in o.label_index.names] + [0, 0],
                           np.int64)
        if not o.paired:
            self.groups = np.array([0, 1], np.int64)
        else:
            self.groups = self.to if into.paired else np.zeros(o.used + 1, np.int64)
        for i in range(o.used):
            if self.to[i] >= 0 and o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                groups_of_column(into, o, i, self.groups)
                reserve_for(into, self.to[i], o.classes[i].histogram, &self.groups[0])
        return 0

    cdef void apply(self) noexcept:
        cdef RankCounters into = self.into, o = self.other
        cdef Py_ssize_t i
        for i in range(o.used):
            if self.to[i] < 0:
                continue
            if o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                groups_of_column(into, o, i, self.groups)
                histogram_absorb(into.classes[self.to[i]].histogram, o.classes[i].histogram, &self.groups[0])
            add_types(into, self.to[i], o.classes[i].type_counts)
            weigh_class(into, self.to[i], o.classes[i].whole, o.classes[i].part)
        into.n += o.n
        into.abstained += o.abstained
        into.rounded += o.rounded
        into.spare = 0
        self.finish()


cdef StateStep state_step(RankCounters self, RankCounters other):
    cdef StateStep step = StateStep.__new__(StateStep)
    step.target, step.source = self, other
    return step


cdef void groups_of_column(RankCounters self, RankCounters o, Py_ssize_t i, int64_t[::1] groups) noexcept:
    """Map the classes in column i of a state with pairs to own and rest, where there are no pairs here."""
    cdef Py_ssize_t g
    if o.paired and not self.paired:
        for g in range(o.used):
            groups[g] = g == i


cdef RankCounters duplicate(RankCounters self):
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
    twin.reads_names = self.reads_names
    twin._binary_only, twin.paired, twin._needs_pairs = self._binary_only, self.paired, self._needs_pairs
    twin.n, twin.abstained, twin.rounded = self.n, self.abstained, self.rounded
    twin.mass, twin.mass_part = self.mass, self.mass_part
    return twin
