"""Merging: a counted batch or another state into a state, and copies.

Steps that can fail come first: labels get indices and memory is reserved, which is invisible to readers. The steps
after them cannot fail.
"""

from cpython.mem cimport PyMem_RawCalloc
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from stream_metrics.errors import options_differ, other_kind

cdef object UNITS = 1 << 64  # a Python integer, so that products cannot overflow


cdef int reserve_for(RankCounters self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) except -1:
    if histogram_reserve_for(own_histogram(self, j), o, to, group_count(self)) < 0:
        raise MemoryError("no memory for a column of scores")
    return 0


cdef bint add_batch(RankCounters self, Batch batch, int64_t abstained, int64_t rounded) except -1:
    cdef Py_ssize_t k, g, i
    cdef int64_t[::1] to, at
    cdef ScoreHistogram *c
    if batch.epoch != self.epoch:
        return False
    with_scores = [label for k, label in enumerate(batch.labels) if batch.histograms[k].used]
    cdef bint loses = loses_pairs(self, batch.occurring(with_scores))
    if batch.pairs != (self.paired and not loses):
        return False
    whole, part = sum(batch.weight), sum(batch.parts)
    check_units(self, whole * UNITS + part)
    if batch.samples + abstained > self.spare:
        find_spare(self, batch.samples + abstained)
    occurs = batch.occurs.tolist()
    try:
        if loses:
            drop_pairs(self)
        truth = [intern_class(self, label) if n else -1 for label, n in zip(batch.truths, occurs)]
        column = [intern_class(self, label) if batch.histograms[k].used else -1 for k, label in enumerate(batch.labels)]
        to_array = np.array((truth if self.paired else [0, 1]) + [0], np.int64)
        at_array = np.array(column + [0], np.int64)
        to, at = to_array, at_array
        for k in range(batch.size):
            if at[k] >= 0 and not adoptable(self, at[k], batch.histograms[k], &to[0]):
                reserve_for(self, at[k], batch.histograms[k], &to[0])
    except BaseException:
        take_back_pairs(self)
        drop_empty_classes(self)
        raise
    self.dropped = None
    for k in range(batch.size):
        if at[k] < 0:
            continue
        if adoptable(self, at[k], batch.histograms[k], &to[0]):
            c = self.classes[at[k]].histogram
            self.classes[at[k]].histogram, batch.histograms[k] = batch.histograms[k], c
        else:
            histogram_absorb(self.classes[at[k]].histogram, batch.histograms[k], &to[0])
        if batch.label_types is not None:
            add_types(self, at[k], batch.label_types[k])
    for g in range(len(truth)):
        i = truth[g]
        if i >= 0:
            part = batch.parts[g]
            weigh_class(self, i, batch.weight[g] + (part >> 64), part & (UNITS - 1))
            add_types(self, i, batch.truth_types[g])
    self.n += batch.samples
    self.abstained += abstained
    self.rounded += rounded
    self.spare -= batch.samples + abstained
    return True


cdef bint adoptable(RankCounters self, Py_ssize_t j, const ScoreHistogram *o, const int64_t *to) noexcept:
    """Whether a column of a batch can replace the column here."""
    cdef Py_ssize_t g
    if self.classes[j].histogram != NULL and self.classes[j].histogram.used > 0:
        return False
    for g in range(o.groups):
        if to[g] != g:
            return False
    return True


cdef int add_types(RankCounters self, Py_ssize_t i, seen) except -1:
    for kind in range(3):
        self.classes[i].type_counts[<Py_ssize_t> kind] += seen[kind]
    return 0


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


cdef int add_state(RankCounters self, RankCounters other) except -1:
    cdef RankCounters o
    cdef Py_ssize_t i, kind
    cdef int64_t[::1] to, groups
    o = duplicate(other) if other is self else other
    try:
        if self.paired and ((o.n and not o.paired) or loses_pairs(self, o.label_index.index)):
            drop_pairs(self)
        to = np.array([-1 if name is None else intern_class(self, name) for name in o.label_index.names] + [0, 0],
                      np.int64)
        groups = np.array([0, 1], np.int64) if not o.paired else to if self.paired else np.zeros(o.used + 1, np.int64)
        for i in range(o.used):
            if to[i] >= 0 and o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                groups_of_column(self, o, i, groups)
                reserve_for(self, to[i], o.classes[i].histogram, &groups[0])
    except BaseException:
        take_back_pairs(self)
        drop_empty_classes(self)
        raise
    self.dropped = None
    for i in range(o.used):
        if to[i] < 0:
            continue
        if o.classes[i].histogram != NULL and o.classes[i].histogram.used:
            groups_of_column(self, o, i, groups)
            histogram_absorb(self.classes[to[i]].histogram, o.classes[i].histogram, &groups[0])
        for kind in range(3):
            self.classes[to[i]].type_counts[kind] += o.classes[i].type_counts[kind]
        weigh_class(self, to[i], o.classes[i].whole, o.classes[i].part)
    self.n += o.n
    self.abstained += o.abstained
    self.rounded += o.rounded
    self.spare = 0
    return 0


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
    twin.binary_only, twin.paired, twin.needs_pairs = self.binary_only, self.paired, self.needs_pairs
    twin.n, twin.abstained, twin.rounded = self.n, self.abstained, self.rounded
    twin.mass, twin.mass_part = self.mass, self.mass_part
    return twin
