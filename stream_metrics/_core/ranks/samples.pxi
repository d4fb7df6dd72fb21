"""Counters of a rank sketch: the weight of every true class, and a column of cells for every score.

A class without a score has score 0, and a score of 0 is in no cell: the weight of the zeros of a class is its total
less the sum of its cells. So explicit and absent zeros are the same and cost nothing. The first other score creates the
column. With `pairs`, a column counts every true class (for one-vs-one measures); without, its own class and the
rest.

A sample of known labels and floats is read into entries on the stack, without running Python code; others go through a
step. Then memory is reserved, then the sample is counted, which cannot fail.
"""

cdef enum:
    FEW = 32  # scores that fit on the stack

cdef object UNIT_WEIGHT = 1

cdef inline bint at_least(uint64_t whole, uint64_t part, uint64_t other, uint64_t other_part) noexcept nogil:
    return whole > other or (whole == other and part >= other_part)


cdef struct RankSample:
    Entry near[FEW]
    Entry *entry     # of the scores: `near`, or memory of its own if there are more
    Py_ssize_t n, i  # the number of scores, and the true class
    int kind
    int64_t whole, samples  # how many samples it stands for
    fraction_t part
    bint rounded, abstains, single


cdef int count_one(RankCounters self, object y_true, object scores, object w, object classes) except -1:
    """`update`, for compiled callers."""
    cdef RankSample s
    start_sample(&s, w)
    if classes is None and read_known(self, y_true, scores, False, &s):
        apply_sample(self, &s)
        return 0
    return commit_sample(self, y_true, scores, w, classes, False)


cdef inline bint read_known(RankCounters self, object y_true, object scores, bint inside, RankSample *s) except -1:
    """Read a sample of plain scores of known classes, check it and reserve memory; False for any other sample.

    Unless it is `inside` a section, what follows is a stretch.
    """
    if not read_plain(self, y_true, scores, inside, s) or (type(scores) is float and not self.classes[s.i].single):
        return False
    if self.spare < s.samples:
        find_spare(self, s.samples)
    if s.whole | s.part:
        reserve_sample(self, s)
    return True


cdef inline bint read_plain(RankCounters self, object y_true, object scores, bint inside, RankSample *s) except -1:
    """Read a sample of plain scores of known classes; False for any other sample."""
    if not inside and self.holder != 0:
        self.wait()
    s.i, s.kind = known_class(self, y_true), numeric_kind(y_true)
    if s.i < 0:
        return False
    s.n = read_plain_scores(self, y_true, scores, s.near)
    return s.n >= 0


cdef inline int start_sample(RankSample *s, object w) except -1:
    """Read the weight of a sample."""
    s.entry, s.n, s.whole, s.part, s.samples = s.near, 0, 1, 0, 1
    s.rounded, s.abstains, s.single = False, False, False
    if w is not UNIT_WEIGHT:
        s.rounded = split_some(w, &s.whole, &s.part)
    return 0


cdef Py_ssize_t known_class(RankCounters self, object label) except -2:
    """Return the index of a plain label that is known, else -1; `pos_label` needs no look-up."""
    cdef int kind
    if label is self.pos_label:
        if self.pos_at < 0:
            self.pos_at = find_class(self, label)
        return self.pos_at
    return class_of(self, label, &kind)


cdef inline Py_ssize_t class_of(RankCounters self, object label, int *kind) except -2:
    """Return the index of a plain label, -1 if it is not known, and set its kind; -1 and kind -1 for other objects."""
    cdef Py_ssize_t i = known_index(self.label_index, label, kind)
    return i if i >= 0 else find_plain_label(self, label, kind)


cdef Py_ssize_t find_plain_label(RankCounters self, object label, int *kind) except -2:
    """Do what `class_of` does for an object that is not cached, and cache it unless only its mapping refers to it."""
    cdef Py_ssize_t i
    of = type(label)
    kind[0] = numeric_kind(label) if of is str or of is bool or of is int or of is bytes or of is float else -1
    if kind[0] < 0:
        return -1
    i = find_class(self, label)
    if i >= 0 and Py_REFCNT(label) > 1:  # a key that only its mapping refers to will not come again
        self.label_index.cache_put(label, i, kind[0])
    return i


cdef Py_ssize_t read_plain_scores(RankCounters self, object truth, object scores, Entry *entry) except -2:
    """Read a float, or a dict of floats by known labels; return the number that are not 0, -1 for anything else."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0, n = 0, scored = 0
    cdef double x[FEW]
    cdef uint64_t code[FEW]
    if type(scores) is float:
        x[0] = scores
        entry.class_index = known_class(self, self.pos_label)
        entry.code, entry.kind = encode(x[0]), 3
        return <Py_ssize_t> (entry.code != ZERO) if entry.class_index >= 0 and isfinite(x[0]) else -1
    if type(scores) is not dict or not 0 < len(<dict> scores) <= FEW:
        return -1
    while PyDict_Next(<dict> scores, &at, &key, &value):
        if type(<object> value) is not float:
            return -1
        x[n] = <double> <object> value
        entry[n].class_index = class_of(self, <object> key, &entry[n].kind)
        if not isfinite(x[n]) or entry[n].kind < 0 or (entry[n].class_index < 0
                                                       and (x[n] != 0.0 or entry[n].kind == 2)):
            return -1
        n += 1
    if entry.kind == 3 and self.reads_names and numeric_kind(truth) != 3:  # the keys may be text that names numbers
        return -1
    encode_all(x, code, n)
    for at in range(n):
        entry[scored].class_index, entry[scored].kind = entry[at].class_index, entry[at].kind
        entry[scored].code = code[at]
        scored += code[at] != ZERO
    return scored


cdef tuple read_named(RankCounters self, object truth, object scores, object classes):
    """What `read_scores` returns, by the classes that keys of text name beside the true label."""
    if self.reads_names:
        if isinstance(scores, Mapping):
            scores = by_class(scores, truth, OPEN)
        elif classes is not None:
            classes = classes_beside(classes if type(classes) is tuple else unique(classes, "classes"), truth)
    return read_scores(scores, self.pos_label, classes, None)


cdef int place_sample(RankCounters self, object truth, list labels, list values, RankSample *s) except -1:
    """Check a sample to be counted, and reserve memory for it; in a section. After an error drop empty classes."""
    cdef Py_ssize_t at
    if self.spare < s.samples:
        find_spare(self, s.samples)
    if labels is None:
        s.abstains = True
        return 0
    if s.whole | s.part:
        make_entries(s, len(labels))
        s.i, s.kind, s.single = intern_class(self, truth), numeric_kind(truth), labels[0] is None
        for at in range(s.n):
            set_entry(self, s.entry + at, labels[at], values[at], True)
        reserve_sample(self, s)
    return 0


cdef int make_entries(RankSample *s, Py_ssize_t n) except -1:
    """Have memory for so many scores."""
    if n > FEW:
        s.entry = <Entry *> allocate(n, sizeof(Entry))
    s.n = n
    return 0


cdef int set_entry(RankCounters self, Entry *entry, object label, double x, bint new) except -1:
    """Fill an entry; a label without an index gets one if `new`."""
    entry.code, entry.kind = encode(x), numeric_kind(label)
    if label is None:
        label = self.pos_label  # implied: its type does not count
    entry.class_index = intern_class(self, label) if new and entry.code != ZERO else find_class(self, label)
    return 0


cdef inline Py_ssize_t group_in(RankCounters self, Py_ssize_t i, Py_ssize_t j) noexcept:
    """The group of class i in column j."""
    return i if self.paired else i == j


cdef inline int reserve_sample(RankCounters self, const RankSample *s) except -1:
    """Check the weight of a sample, and reserve memory for its scores."""
    cdef Py_ssize_t at
    cdef const Entry *entry
    cdef ScoreHistogram *c
    check_mass(self, s.whole, s.part)
    for at in range(s.n):
        entry = s.entry + at
        if entry.code != ZERO:
            c = self.classes[entry.class_index].histogram
            if c == NULL or not histogram_ready(c, entry.code, group_in(self, s.i, entry.class_index), s.part != 0):
                c = own_histogram(self, entry.class_index)
                if (histogram_reserve(c, group_count(self), 1, s.part != 0) < 0
                        or histogram_reserve_sample(c, group_in(self, s.i, entry.class_index), 1) < 0):
                    raise MemoryError("no memory for a column of scores")
    return 0


@cython.boundscheck(True)  # the list is the caller's, who may change it while scores are read
cdef RankCounters count_samples(RankCounters into, const code_t[::1] truth, list truths, list samples, object classes,
                                tuple weights, const int64_t[:] repeats):
    """Count samples of any form in an empty state, to be merged into another one.

    `truth` has the place in `truths` of each true label; `weights` are whole parts, fractions, and which were rounded,
    or None; a sample stands for as many as `repeats` says, whose weight is then that number.
    """
    cdef RankCounters counts = RankCounters(into.buckets, into.sample, into.pos_label, into.pairs)
    cdef const int64_t[:] wholes = weights[0] if repeats is None else repeats
    cdef const fraction_t[:] parts = weights[1]
    cdef Py_ssize_t r
    cdef RankSample s
    rounded = weights[2]
    counts.reads_names, counts._needs_pairs = False, into._needs_pairs
    for r in range(len(samples)):
        start_sample(&s, UNIT_WEIGHT)
        s.whole = 1 if wholes is None else wholes[r]
        s.part = 0 if parts is None else parts[r]
        s.samples = 1 if repeats is None else repeats[r]
        s.rounded = rounded is not None and rounded[r]
        try:
            if not read_known(counts, truths[truth[r]], samples[r], True, &s):
                labels, values = read_scores(samples[r], into.pos_label, classes, r)
                check_allowed(into, truths[truth[r]], labels, r)
                place_sample(counts, truths[truth[r]], labels, values, &s)
            apply_sample(counts, &s)
        finally:
            if s.entry != s.near:
                PyMem_RawFree(s.entry)
    return counts


cdef void apply_sample(RankCounters self, const RankSample *s) noexcept:
    """Count a sample for which memory was reserved."""
    cdef Py_ssize_t at
    cdef const Entry *entry
    self.spare -= s.samples
    if s.abstains:
        self.abstained += s.samples
        return
    self.n += s.samples
    self.rounded += s.rounded
    if not s.whole | s.part:
        return
    for at in range(s.n):
        entry = s.entry + at
        if entry.code != ZERO:
            histogram_add(self.classes[entry.class_index].histogram, entry.code,
                          group_in(self, s.i, entry.class_index), s.whole, s.part)
            if entry.kind < 3:
                self.classes[entry.class_index].type_counts[entry.kind] += s.samples
    if s.kind < 3:
        self.classes[s.i].type_counts[s.kind] += s.samples
    self.classes[s.i].single |= s.single
    weigh_class(self, s.i, s.whole, s.part)


cdef void weigh_class(RankCounters self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept:
    cdef Class *c = self.classes + i
    add_fixed(<uint64_t *> &c.whole, &c.part, <uint64_t> whole, part)
    add_fixed(<uint64_t *> &self.mass, &self.mass_part, <uint64_t> whole, part)


cdef void weigh_group(RankCounters self, Py_ssize_t j, Py_ssize_t group, uint64_t *whole, uint64_t *part) noexcept:
    """Find the weight of all samples of a group of column j, scores of 0 included."""
    cdef const Class *c = self.classes + (group if self.paired else j)
    whole[0], part[0] = <uint64_t> c.whole, c.part
    if not self.paired and group == 0:
        whole[0], part[0] = <uint64_t> self.mass, self.mass_part
        take_fixed(whole, part, <uint64_t> c.whole, c.part)


cdef ScoreHistogram *own_histogram(RankCounters self, Py_ssize_t j) except NULL:
    if self.classes[j].histogram == NULL:
        self.classes[j].histogram = histogram_new(self.buckets, self.sample)
        if self.classes[j].histogram == NULL:
            raise MemoryError("no memory for a column of scores")
    return self.classes[j].histogram


cdef Py_ssize_t group_count(RankCounters self) noexcept:
    return self.used if self.paired else 2


cdef int find_sample(RankCounters self, object truth, list labels, list values, RankSample *s) except -1:
    """Find the classes of a sample to be reverted."""
    cdef Py_ssize_t at
    s.abstains = labels is None
    if s.abstains:
        return 0
    make_entries(s, len(labels))
    s.n, s.i, s.kind = 0, find_class(self, truth), numeric_kind(truth)
    for at in range(len(labels)):
        set_entry(self, s.entry + s.n, labels[at], values[at], False)
        s.n += s.entry[s.n].code != ZERO
    return 0


cdef int check_sample(RankCounters self, RankSample *s, object y_true, object scores, object w) except -1:
    """Raise WeightError unless the counts allow that there was a sample; reserve memory to revert it."""
    cdef bint possible
    if s.abstains:
        check_exact(self)
        possible = self.abstained > 0
    else:
        possible = self.rounded >= s.rounded and self.n > self.rounded - s.rounded
        if s.whole | s.part:
            possible = possible and s.i >= 0 and holds_sample(self, s)
        else:
            check_exact(self)
            possible = possible and self.n > least_samples(self)
    if not possible:
        check_exact(self)
        raise not_counted((y_true, scores, w), f"y_true={y_true!r}, scores={scores!r}, w={w!r}")
    return 0


cdef int check_exact(RankCounters self) except -1:
    """Raise WeightError if a column is not exact, which then cannot forget a sample."""
    cdef Py_ssize_t j
    for j in range(self.used):
        if self.classes[j].histogram != NULL and self.classes[j].histogram.level > 0:
            raise WeightError(subject="to revert", expected="while every score is exact",
                              got=self.classes[j].histogram.level,
                              but=f"got a column at level {self.classes[j].histogram.level}; "
                                  "a larger `buckets` keeps more scores exact")
    return 0


cdef Py_ssize_t least_samples(RankCounters self) noexcept:
    """Return the least possible number of samples: one for each true class with a weight, and in every column one for
    each cell."""
    cdef Py_ssize_t j, most = 0, classes = 0
    for j in range(self.used):
        classes += (self.classes[j].whole | <int64_t> self.classes[j].part) != 0
        if self.classes[j].histogram != NULL:
            most = max(most, self.classes[j].histogram.used)
    return max(most, classes)


cdef inline Py_ssize_t cells_left(const Class *c, const Entry *entry) noexcept:
    """Return how many cells the column of a class has without the sample that is reverted."""
    if c.histogram == NULL:
        return 0
    return c.histogram.used - (c.entry != 0 and entry[c.entry - 1].is_all)


cdef bint holds_sample(RankCounters self, RankSample *s) except -1:
    """Whether a sample may be there; False if a part of it is missing or a column is not exact. Reserves memory."""
    cdef Py_ssize_t at, j, marked = 0
    cdef ScoreHistogram *c
    try:
        while marked < s.n:
            j = s.entry[marked].class_index
            c = NULL if j < 0 else self.classes[j].histogram
            if (c == NULL or c.level > 0
                    or not histogram_holds(c, s.entry + marked, group_in(self, s.i, j), s.whole, s.part)):
                return False
            self.classes[j].entry = marked + 1
            marked += 1
        if self.n <= least_without(self, s.i, s.entry, s.whole, s.part):
            return False
        if self.pairs and not self.paired:
            check_stays_unpaired(self, s.i, s.entry, s.whole, s.part)
    finally:
        for at in range(marked):
            self.classes[s.entry[at].class_index].entry = 0
    for at in range(s.n if s.part != 0 else 0):
        # fractions that add up to whole numbers are read from bytes without arrays for them
        if histogram_reserve(self.classes[s.entry[at].class_index].histogram, 0, 0, True) < 0:
            raise MemoryError("no memory for a column of scores")
    return True


cdef void remove_sample(RankCounters self, const RankSample *s) noexcept:
    """Revert a sample that was found."""
    cdef Py_ssize_t at
    cdef const Entry *entry
    if s.abstains:
        self.abstained -= 1
        return
    self.n -= 1
    self.rounded -= s.rounded
    if not s.whole | s.part:
        return
    for at in range(s.n):
        entry = s.entry + at
        histogram_remove(self.classes[entry.class_index].histogram, entry, group_in(self, s.i, entry.class_index),
                         s.whole, s.part)
    weigh_class(self, s.i, -s.whole - (s.part != 0), 0 - s.part)
    for at in range(s.n):
        entry = s.entry + at
        if entry.kind < 3 or self.classes[entry.class_index].whole == 0:
            remove_type_of(self, entry.class_index, entry.kind)
    remove_type_of(self, s.i, s.kind)


cdef int check_stays_unpaired(RankCounters self, Py_ssize_t i, const Entry *entry, int64_t whole,
                              fraction_t part) except -1:
    """Raise ScoreError if the sample is the last of so many classes that a state of the others would have pairs."""
    cdef Py_ssize_t j, left = 0
    cdef Class *c
    for j in range(self.used):
        c = self.classes + j
        if self.label_index.names[j] is None:
            continue
        left += cells_left(c, entry) > 0 or not (
            (j == i and c.whole == whole and c.part == part) or (c.whole == 0 and c.part == 0))
    if left <= most_paired:
        raise ScoreError(subject="to revert", expected=f"while more than {MOST_PAIRED} classes are left", got=left,
                         but=f"{left} would be left, whose pairs were dropped when there were more")
    return 0


cdef Py_ssize_t least_without(RankCounters self, Py_ssize_t i, const Entry *entry, int64_t whole,
                              fraction_t part) noexcept:
    """Return `least_samples` without this one of class i, whose scores are there; MOST if the class lacks the weight or
    a column without its score as many scores of 0, or if a column is not exact."""
    cdef Py_ssize_t j, group, most = 0, classes = 0
    cdef Class *c = self.classes + i
    if not at_least(c.whole, c.part, whole, part):
        return MOST
    classes -= c.whole == whole and c.part == part
    for j in range(self.used):
        c = self.classes + j
        classes += (c.whole | <int64_t> c.part) != 0
        if c.entry == 0 and c.histogram != NULL:
            group = i if self.paired else i == j
            if c.histogram.level > 0 or (group < c.histogram.groups and not holds_zero(self, j, group, whole, part)):
                return MOST
        most = max(most, cells_left(c, entry))
    return max(most, classes)


cdef bint holds_zero(RankCounters self, Py_ssize_t j, Py_ssize_t group, int64_t whole, fraction_t part) noexcept:
    """Whether scores of 0 in column j have the weight, in a group."""
    cdef const uint64_t *sum = self.classes[j].histogram.sum + 2 * group
    cdef uint64_t zeros, zeros_part
    weigh_group(self, j, group, &zeros, &zeros_part)
    take_fixed(&zeros, &zeros_part, sum[0], sum[1])
    return at_least(zeros, zeros_part, <uint64_t> whole, part)


cdef void remove_type_of(RankCounters self, Py_ssize_t i, int kind) noexcept:
    """Remove an appearance, from another kind if `kind` has none; release the class if it is empty."""
    if self.label_index.names[i] is None:
        return
    if is_empty_class(self, i):
        release_class(self, i)
    else:
        remove_type(self.classes[i].type_counts, kind, 1)
