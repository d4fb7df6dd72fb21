"""Counters of a rank sketch: the weight of every true class, and a column of cells for every score.

A class without a score has score 0, and a score of 0 is in no cell: the weight of the zeros of a class is its total
less the sum of its cells. So explicit and absent zeros are the same and cost nothing. The first other score creates the
column. With `pairs`, a column counts every true class (for one-vs-one measures); without, its own class and the
rest.

A sample is read into entries on the stack, without running Python code if its labels are known and its values are
floats. Then memory is reserved, then the sample is counted, which cannot fail. Everything after the last call into
Python is a stretch of `Guarded`.
"""

cimport cython
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport PyObject, Py_REFCNT
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.numeric.fixed cimport add_fixed, take_fixed
from stream_metrics._core.numeric.scores cimport encode, encode_all
from stream_metrics._core.numeric.kernels cimport (
    by_class, classes_beside, known_index, not_counted, numeric_kind, remove_type, split_some,
)
from stream_metrics.errors import ScoreError, WeightError
from stream_metrics.labels.class_names import OPEN
from stream_metrics.labels.label import canonical, unique

cdef enum:
    FEW = 32  # scores that fit on the stack

cdef object UNIT_WEIGHT = 1

cdef inline bint at_least(uint64_t whole, uint64_t part, uint64_t other, uint64_t other_part) noexcept:
    return whole > other or (whole == other and part >= other_part)


cdef int count_one(RankCounters self, object y_true, object scores, object w, object classes) except -1:
    """`update`, for compiled callers."""
    cdef Entry entry[FEW]
    cdef int64_t whole = 1
    cdef fraction_t part = 0
    cdef bint rounded = False
    cdef Py_ssize_t i, n = -1
    if w is not UNIT_WEIGHT:
        rounded = split_some(w, &whole, &part)
    if self.holder != 0:
        self.wait()
    if self.spare <= 0:
        find_spare(self, 1)
    i = known_class(self, y_true)
    if i >= 0 and classes is None and (type(scores) is not float or self.classes[i].single):
        n = read_plain_scores(self, y_true, scores, entry)
    if n < 0:
        return count_slowly(self, y_true, scores, whole, part, rounded, classes)
    if whole | part:
        count_sample(self, i, numeric_kind(y_true), entry, n, whole, part)
    self.n += 1
    self.rounded += rounded
    self.spare -= 1
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
    kind[0] = numeric_kind(label) if is_plain_type(label) else -1
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


cdef int count_slowly(RankCounters self, object y_true, object scores, int64_t whole, fraction_t part, bint rounded,
                      object classes) except -1:
    """Count a sample with a new label or a value of another type."""
    cdef Entry near[FEW]
    cdef Entry *entry = near
    cdef Py_ssize_t i, n, at
    truth = canonical(y_true, "y_true")
    labels, values = read_named(self, truth, scores, classes)
    if self.holder != 0:
        self.wait()
    if labels is None:
        self.abstained += 1
        self.spare -= 1
        return 0
    check_allowed(self, truth, labels)
    n = len(labels)
    if whole | part:
        if n > FEW:
            entry = <Entry *> PyMem_RawCalloc(n, sizeof(Entry))
            if entry == NULL:
                raise MemoryError("no memory for the scores of a sample")
        try:
            i = intern_class(self, truth)
            for at in range(n):
                set_entry(self, entry + at, labels[at], values[at], True)
            count_sample(self, i, numeric_kind(truth), entry, n, whole, part)
            self.classes[i].single |= labels[0] is None
        except BaseException:
            take_back_pairs(self)
            drop_empty_classes(self)
            raise
        finally:
            if entry != near:
                PyMem_RawFree(entry)
        self.dropped = None
    self.n += 1
    self.rounded += rounded
    self.spare -= 1
    return 0


cdef int set_entry(RankCounters self, Entry *entry, object label, double x, bint new) except -1:
    """Fill an entry; a label without an index gets one if `new`."""
    entry.code, entry.kind = encode(x), numeric_kind(label)
    if label is None:
        label = self.pos_label  # implied: its type does not count
    entry.class_index = intern_class(self, label) if new and entry.code != ZERO else find_class(self, label)
    return 0


cdef int count_sample(RankCounters self, Py_ssize_t i, int kind, Entry *entry, Py_ssize_t n, int64_t whole,
                      fraction_t part) except -1:
    """Count a sample: first the steps that can fail, then those that cannot."""
    cdef Py_ssize_t at
    cdef ScoreHistogram *c
    check_mass(self, whole, part)
    for at in range(n):
        if entry[at].code != ZERO:
            c = self.classes[entry[at].class_index].histogram
            if c == NULL or not histogram_ready(c, entry[at].code, i if self.paired else i == entry[at].class_index,
                                                part != 0):
                reserve_score(self, entry[at].class_index, i if self.paired else i == entry[at].class_index, part != 0)
    for at in range(n):
        if entry[at].code != ZERO:
            histogram_add(self.classes[entry[at].class_index].histogram, entry[at].code,
                          i if self.paired else i == entry[at].class_index, whole, part)
            if entry[at].kind < 3:
                self.classes[entry[at].class_index].type_counts[entry[at].kind] += 1
    if kind < 3:
        self.classes[i].type_counts[kind] += 1
    weigh_class(self, i, whole, part)
    return 0


cdef void weigh_class(RankCounters self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept:
    cdef Class *c = self.classes + i
    add_fixed(<uint64_t *> &c.whole, &c.part, <uint64_t> whole, part)
    add_mass(self, whole, part)


cdef ScoreHistogram *own_histogram(RankCounters self, Py_ssize_t j) except NULL:
    if self.classes[j].histogram == NULL:
        self.classes[j].histogram = histogram_new(self.buckets, self.sample)
        if self.classes[j].histogram == NULL:
            raise MemoryError("no memory for a column of scores")
    return self.classes[j].histogram


cdef int reserve_score(RankCounters self, Py_ssize_t j, Py_ssize_t group, bint fractional) except -1:
    """Reserve memory for one more score in column j."""
    cdef ScoreHistogram *c = own_histogram(self, j)
    if (histogram_reserve(c, group_count(self), 1, fractional) < 0 or histogram_reserve_sample(c, group, 1) < 0):
        raise MemoryError("no memory for a column of scores")
    return 0


cdef Py_ssize_t group_count(RankCounters self) noexcept:
    return self.used if self.paired else 2


cdef int revert_sample(RankCounters self, object y_true, object scores, object w, object classes,
                       bint check_only) except -1:
    cdef Entry near[FEW]
    cdef Entry *entry = near
    cdef int64_t whole = 1
    cdef fraction_t part = 0
    cdef Py_ssize_t i, n = -1
    cdef int kind = numeric_kind(y_true)
    cdef bint rounded = False, possible
    if w is not UNIT_WEIGHT:
        rounded = split_some(w, &whole, &part)
    if self.holder != 0:
        self.wait()
    i = known_class(self, y_true)
    if i >= 0 and classes is None:
        n = read_plain_scores(self, y_true, scores, near)
    if n < 0:
        truth = canonical(y_true, "y_true")
        labels, values = read_named(self, truth, scores, classes)
        if self.holder != 0:
            self.wait()
        if labels is None:
            return revert_abstention(self, y_true, scores, w, check_only)
        i, kind = find_class(self, truth), numeric_kind(truth)
        if len(labels) > FEW:
            entry = <Entry *> PyMem_RawCalloc(len(labels), sizeof(Entry))
            if entry == NULL:
                raise MemoryError("no memory for the scores of a sample")
    try:
        if n < 0:
            n = set_entries(self, entry, labels, values)
        possible = self.rounded >= rounded and self.n > self.rounded - rounded
        if whole | part:
            possible = possible and i >= 0 and remove_sample(self, i, kind, entry, n, whole, part, check_only)
        else:
            check_exact(self)
            possible = possible and self.n > least_samples(self)
    finally:
        if entry != near:
            PyMem_RawFree(entry)
    if not possible:
        check_exact(self)
        raise sample_not_counted(y_true, scores, w)
    if not check_only:
        self.n -= 1
        self.rounded -= rounded
    return 0


cdef int revert_abstention(RankCounters self, object y_true, object scores, object w, bint check_only) except -1:
    check_exact(self)
    if self.abstained == 0:
        raise sample_not_counted(y_true, scores, w)
    self.abstained -= not check_only
    return 0


cdef object sample_not_counted(object y_true, object scores, object w):
    return not_counted((y_true, scores, w), f"y_true={y_true!r}, scores={scores!r}, w={w!r}")


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


cdef Py_ssize_t set_entries(RankCounters self, Entry *entry, list labels, list values) except -1:
    """Fill entries for the scores that are not 0; return their number."""
    cdef Py_ssize_t at, n = 0
    for at in range(len(labels)):
        set_entry(self, entry + n, labels[at], values[at], False)
        n += entry[n].code != ZERO
    return n


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


cdef bint remove_sample(RankCounters self, Py_ssize_t i, int kind, Entry *entry, Py_ssize_t n, int64_t whole,
                        fraction_t part, bint check_only) except -1:
    """Remove a sample of class i (unless `check_only`); False, and no change, if a part of it is missing or a column is
    not exact."""
    cdef Py_ssize_t at, marked = 0
    cdef Class *c
    try:
        while marked < n:
            if not holds_score(self, i, entry + marked, whole, part):
                return False
            self.classes[entry[marked].class_index].entry = marked + 1
            marked += 1
        if self.n <= least_without(self, i, entry, whole, part):
            return False
        if self.pairs and not self.paired:
            check_stays_unpaired(self, i, entry, whole, part)
    finally:
        for at in range(marked):
            self.classes[entry[at].class_index].entry = 0
    if check_only:
        return True
    for at in range(n if part != 0 else 0):
        # fractions that add up to whole numbers are read from bytes without arrays for them
        if histogram_reserve(self.classes[entry[at].class_index].histogram, 0, 0, True) < 0:
            raise MemoryError("no memory for a column of scores")
    for at in range(n):
        histogram_remove(self.classes[entry[at].class_index].histogram, entry + at,
                         i if self.paired else i == entry[at].class_index, whole, part)
    unweigh_class(self, i, whole, part)
    for at in range(n):
        c = self.classes + entry[at].class_index
        if entry[at].kind < 3 or c.whole == 0:
            remove_type_of(self, entry[at].class_index, entry[at].kind)
    remove_type_of(self, i, kind)
    return True


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


cdef inline bint holds_score(RankCounters self, Py_ssize_t i, Entry *entry, int64_t whole,
                             fraction_t part) noexcept:
    """Whether a column, which is exact, has the weight at a score of class i; sets what `histogram_holds` does."""
    cdef ScoreHistogram *histogram
    if entry.class_index < 0:
        return False
    histogram = self.classes[entry.class_index].histogram
    return (histogram != NULL and histogram.level == 0
            and histogram_holds(histogram, entry, i if self.paired else i == entry.class_index, whole, part))


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
            if c.histogram.level > 0 or (group < c.histogram.groups and not holds_zero(self, i, j, group, whole, part)):
                return MOST
        most = max(most, cells_left(c, entry))
    return max(most, classes)


cdef bint holds_zero(RankCounters self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t group, int64_t whole,
                     fraction_t part) noexcept:
    """Whether scores of 0 in column j have the weight, in the group of class i."""
    cdef const uint64_t *sum = self.classes[j].histogram.sum + 2 * group
    cdef uint64_t zeros = <uint64_t> self.classes[i].whole, zeros_part = self.classes[i].part
    if not self.paired and i != j:
        zeros, zeros_part = <uint64_t> self.mass, self.mass_part
        take_fixed(&zeros, &zeros_part, <uint64_t> self.classes[j].whole, self.classes[j].part)
    take_fixed(&zeros, &zeros_part, sum[0], sum[1])
    return at_least(zeros, zeros_part, <uint64_t> whole, part)


cdef void unweigh_class(RankCounters self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept:
    cdef Class *c = self.classes + i
    take_fixed(<uint64_t *> &c.whole, &c.part, <uint64_t> whole, part)
    take_fixed(<uint64_t *> &self.mass, &self.mass_part, <uint64_t> whole, part)


cdef int remove_type_of(RankCounters self, Py_ssize_t i, int kind) except -1:
    """Remove an appearance, from another kind if `kind` has none; release the class if it is empty."""
    if self.label_index.names[i] is None:
        return 0
    if is_empty_class(self, i):
        return release_class(self, i)
    remove_type(self.classes[i].type_counts, kind, 1)
    return 0
