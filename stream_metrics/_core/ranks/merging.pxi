"""The steps that change a rank sketch: a sample, a counted batch, another state; and copies.

Labels get indices and memory is reserved before, which is invisible to readers. A state that loses its pairs is copied
without them, and the copy takes its place.
"""

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
            start_sample(s, self.w)
            if not self.reverts and read_known(ranks, self.y_true, self.scores, True, s):
                return self.choose(False)
            self.read_arguments(None)
        labels, values = self.read
        if self.reverts:
            self.choose(False)
            find_sample(ranks, self.truth, labels, values, s)
            return check_sample(ranks, s, self.y_true, self.scores, self.w)
        self.choose(labels is not None and (s.whole | s.part) != 0 and may_lose_pairs(ranks, 1 + len(labels))
                    and loses_pairs(ranks, self.with_scores(labels, values)))
        check_allowed(ranks, self.truth, labels, None)
        return place_sample(self.into, self.truth, labels, values, s)

    cdef list with_scores(self, list labels, list values):
        """Return the true label and those that have a score other than 0."""
        cdef list some = [self.truth]
        for label, x in zip(labels, values):
            if x != 0:
                some.append((<RankCounters> self.target).pos_label if label is None else label)
        return some

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
    """The counts of another state, or of a batch that was counted in a state of its own."""

    cdef bint is_batch
    cdef ScoreTable table     # the batch if that is a table, else None
    cdef RankCounters other
    cdef int64_t[::1] to      # the index here of each class there, or -1
    cdef int64_t[::1] groups  # of a column there, to those here

    cdef int prepare(self) except -1:
        cdef RankCounters into = self.target, o = self.source
        if self.table is not None and self.table.epoch != into.epoch:  # its levels are those of another state
            o = self.table.counted(into, True)
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
        self.to = np.zeros(o.used + 2, np.int64)
        for i in range(o.used):
            name = o.label_index.names[i]
            self.to[i] = -1 if name is None else intern_class(into, name)
        if not o.paired:
            self.groups = np.array([0, 1], np.int64)
        else:
            self.groups = self.to if into.paired else np.zeros(o.used + 1, np.int64)
        for i in range(o.used):
            if self.to[i] >= 0 and o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                groups_of_column(into, o, i, self.groups)
                if self.is_batch and adoptable(into, self.to[i], o.classes[i].histogram, &self.groups[0]):
                    continue
                if histogram_reserve_for(own_histogram(into, self.to[i]), o.classes[i].histogram, &self.groups[0],
                                         group_count(into)) < 0:
                    raise MemoryError("no memory for a column of scores")
        return 0

    cdef void apply(self) noexcept:
        cdef RankCounters into = self.into, o = self.other
        cdef Py_ssize_t i
        cdef Class *c
        for i in range(o.used):
            if self.to[i] < 0:
                continue
            if o.classes[i].histogram != NULL and o.classes[i].histogram.used:
                groups_of_column(into, o, i, self.groups)
                c = into.classes + self.to[i]
                if self.is_batch and adoptable(into, self.to[i], o.classes[i].histogram, &self.groups[0]):
                    c.histogram, o.classes[i].histogram = o.classes[i].histogram, c.histogram
                else:
                    histogram_absorb(c.histogram, o.classes[i].histogram, &self.groups[0])
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


def table_step(RankCounters into not None, ScoreTable table not None):
    """Return the step that counts a table."""
    cdef StateStep step = state_step(into, table.counted(into, False))
    step.table, step.is_batch = table, True
    return step


def samples_step(RankCounters into not None, const code_t[::1] truth, list truths, list samples, classes, weights,
                 repeats):
    """Return the step that counts samples of any form; arguments as of `count_samples`."""
    cdef StateStep step = state_step(into, count_samples(into, truth, truths, samples, classes, weights, repeats))
    step.is_batch = True
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
    twin.classes = <Class *> allocate(max(self.used, 1), sizeof(Class))
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
