"""The classes of a rank sketch: their labels, their weights, and the column of scores that belongs to each.

A class without weight and without a score other than 0 is removed at once. The types of numbers (bool, int, float) are
counted as for a confusion matrix. A score of 0 does not count as an appearance of its label, because explicit and
absent zeros are the same; nor does an implied `pos_label`.
"""

MOST_PAIRED = 64  # classes of which pairs are kept; a hundred would need 250 MB
cdef Py_ssize_t most_paired = MOST_PAIRED
cdef int64_t MOST = 0x7FFFFFFFFFFFFFFD  # the sum of all weights
cdef object MOST_UNITS = <object> MOST << 64
cdef object MOST_BUCKETS = 1 << 24  # numbers of buckets and of sampled scores


cdef Py_ssize_t find_class(RankCounters self, object label) except -2:
    """The index of a canonical label, or -1."""
    return self.label_index.find(label)


cdef Py_ssize_t intern_class(RankCounters self, object label) except -1:
    """The index of a canonical label, new if need be; pairs are dropped if it is one class too many for them."""
    cdef Py_ssize_t i = find_class(self, label)
    cdef Class *classes
    if i >= 0:
        return i
    if loses_pairs(self, (label,)):
        drop_pairs(self)
    i = self.label_index.next_index()
    if i == self.capacity:
        classes = <Class *> allocate(max(8, 2 * i), sizeof(Class))
        if i:
            memcpy(classes, self.classes, i * sizeof(Class))
        PyMem_RawFree(self.classes)
        self.classes, self.capacity = classes, max(8, 2 * i)
    self.label_index.add(label)
    if i == self.used:
        memset(self.classes + i, 0, sizeof(Class))
        self.used += 1
    return i


cdef bint may_lose_pairs(RankCounters self, Py_ssize_t more) except -1:
    """Whether so many labels, known or new, could be too many for the pairs there are."""
    return self.paired and len(self.label_index.index) + more > most_paired


cdef bint loses_pairs(RankCounters self, labels) except -1:
    """Whether there are pairs, and too many classes for them together with canonical labels.

    Raise ScoreError instead if the pairs are needed.
    """
    if not may_lose_pairs(self, len(labels)):
        return False
    known = self.label_index.index
    new = [label for label in dict.fromkeys(labels) if label not in known]
    if len(known) + len(new) <= most_paired:
        return False
    if self._needs_pairs:
        first = new[MOST_PAIRED - len(known)]
        raise ScoreError(subject=f"at most {MOST_PAIRED} classes", got=first,
                         expected="for a metric that compares pairs of classes",
                         but=f"got {first!r} beyond them")
    return True


cdef int check_allowed(RankCounters self, object truth, list labels, object position) except -1:
    """Raise LabelError for new labels of a sample that are refused; None stands for an implied `pos_label`."""
    if labels is not None and len(labels) == 1 and labels[0] is None:
        check_with_single_score(self.pos_label, truth, position)
    if labels is not None and self._binary_only:
        self._check_new(truth, "y_true", position)
        for label in labels:
            if label is not None:
                self._check_new(label, "scores")
    return 0


cdef bint is_empty_class(RankCounters self, Py_ssize_t i) noexcept:
    cdef Class *c = self.classes + i
    return c.whole == 0 and c.part == 0 and (c.histogram == NULL or c.histogram.used == 0)


cdef void release_class(RankCounters self, Py_ssize_t i) noexcept:
    """Release the index of an empty class."""
    self.label_index.remove(i)
    self.pos_at = -1
    memset(self.classes[i].type_counts, 0, sizeof(self.classes[i].type_counts))
    self.classes[i].single = False


cdef void drop_empty_classes(RankCounters self) noexcept:
    """Undo `intern_class` after a failure, the only case in which a class with a label is empty."""
    cdef Py_ssize_t i
    for i in range(self.used):
        if self.label_index.names[i] is not None and is_empty_class(self, i):
            release_class(self, i)


cdef int check_mass(RankCounters self, int64_t whole, fraction_t part) except -1:
    return 0 if whole < MOST - self.mass - 1 else check_units(self, (<object> whole << 64) + part)


cdef int check_units(RankCounters self, object units) except -1:
    """Raise WeightError if the sum of all weights, in units of 2^-64, would be too large."""
    if (<object> self.mass << 64) + self.mass_part + units > MOST_UNITS:
        raise sum_overflow(units >> 64, self.mass, "2**63 - 2", None)
    return 0


cdef int64_t largest_type_count(RankCounters self) noexcept:
    """The largest type count."""
    return 0 if self.used == 0 else most_type_count(self.classes.type_counts, sizeof(Class), self.used)


cdef int find_spare(RankCounters self, int64_t more) except -1:
    """Update `spare`; raise WeightError if it is less than `more`."""
    self.spare = samples_left(self.n, self.abstained, largest_type_count(self), 2)
    if more > self.spare:
        refuse_samples(more, MOST_SAMPLES - self.spare)
    return 0


cdef list report_order(RankCounters self):
    """The indices of the classes in the order of report; in a section."""
    cdef Py_ssize_t a
    self.label_index.sort()
    return [self.label_index.ranking[a] for a in range(self.label_index.ranked)]


cdef object shown_label(RankCounters self, Py_ssize_t i, bint as_data):
    """The label of class i, a number in the narrowest type in which it was seen.

    A `pos_label` that single scores imply was not seen; `as_data` gives it the type of the other class, 0 or 1.
    """
    cdef const int64_t *seen = self.classes[i].type_counts
    cdef Py_ssize_t other
    name = self.label_index.names[i]
    if numeric_kind(name) < 3 and seen[0] == 0 and seen[1] == 0 and seen[2] == 0:
        if name != self.pos_label:
            return name
        other = find_class(self, 1 - name) if as_data and name in (0, 1) else -1
        return self.pos_label if other < 0 else spelled_like(self.pos_label, shown_label(self, other, False))
    return self.label_index.shown(i, seen)
