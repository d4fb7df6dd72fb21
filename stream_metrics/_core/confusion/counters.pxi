"""The confusion counters: samples become cells, one by one, in batches, and from other states."""

cdef object ONE = 1


cdef inline int count_cell(ConfusionCounters self, Py_ssize_t i, Py_ssize_t j, int kind_i, int kind_j, int64_t whole,
                           uint64_t part) except -1:
    """Count a sample of the classes i and j."""
    if self.spare <= 0:
        find_spare(self, 1)
    if (whole | <int64_t> part) != 0:
        if not weight_fits(self, whole):
            check_weight(self, whole)
        if part != 0:
            make_fractional(self)
        add_cell(self, i, j, whole, part)
        self.totals[i].type_counts[kind_i] += 1
        self.totals[j].type_counts[kind_j] += 1
    self.n += 1
    self.spare -= 1
    return 0


cdef inline void uncount_samples(ConfusionCounters self, int64_t n, int64_t weighted) noexcept:
    """Subtract numbers of samples. States written before `weighted` was counted have too small a number of these."""
    self.n -= n
    if self.weighted != 0:
        self.weighted = min(max(self.weighted - weighted, 0), self.n)


cdef inline int64_t place_of(ConfusionCounters self, int32_t code, list labels, int64_t[:] places,
                             str argument, bint counted) except -2:
    """Return 4 times the index of the label of a code, plus its kind; -1 for a new one that is only to be checked."""
    if places[code] < 0:
        label = self.label_index.admitted(labels[code], argument, None)
        if counted:
            places[code] = 4 * intern_label(self, label) + numeric_kind(label)
    return places[code]


cdef inline bint count_quickly(ConfusionCounters self, object y_true, object y_pred, object w) except -1:
    """Count a sample; return False, and change nothing, if that needs a section or Python code."""
    cdef IdentityCacheEntry *t
    cdef IdentityCacheEntry *p
    cdef int64_t whole = 1
    cdef uint64_t part = 0
    if w is not ONE:
        if type(w) is not float and type(w) is not int:
            return False
        split_number(w, &whole, &part)
    if self.holder != 0:
        return False
    t, p = cache_entry(self.label_index, y_true), cache_entry(self.label_index, y_pred)
    if t.label == <PyObject *> y_true and p.label == <PyObject *> y_pred:
        count_cell(self, t.index, p.index, t.kind, p.kind, whole, part)
        if w is not ONE:
            self.weighted += whole != 1 or part != 0
        return True
    return count_objects(self, y_true, y_pred, whole, part)


cdef class ConfusionCounters(ConfusionAggregates):
    """Exact counts of (true label, predicted label).

    A class whose totals are zero and whose label is not fixed is *empty*: no aggregate shows it, and its index is
    released once there are many empty classes. So labels that left a window cost nothing.
    """

    def __cinit__(self, labels=None, other=None, **unknown):  # which `__init__` refuses
        self.label_index = LabelIndex.__new__(LabelIndex, labels, other)
        self.ordered_at = -1
        clear_labels(self)

    @property
    def class_names(self):
        """What keys of scores name."""
        return self.label_index.class_names()

    @property
    def fixed_labels(self):
        """The fixed labels, None if there are none."""
        return self.label_index.fixed_labels

    @property
    def other(self):
        """The label that stands for those outside the fixed ones; None if there is none."""
        return self.label_index.other

    def allow_binary_only(self):
        """Refuse every new label but 0 and 1, False and True; for a metric whose `pos_label` is the default."""
        self.label_index.binary = True

    @property
    def _binary_only(self):
        """Whether new labels must be 0 or 1, False or True."""
        return self.label_index.binary

    def _admit(self, label, str argument, position=None):
        """The canonical label to count for `label`: itself, or `other` if it is outside the fixed set."""
        return self.label_index.admitted(label, argument, position)

    def appearances(self):
        """How often each number that is no fixed label appeared as bool, int and float: three counts each."""
        self.refresh()
        return [] if self.used == 0 else self.label_index.type_counts(self.order, self.classes, self.totals.type_counts,
                                                                      sizeof(Totals))

    cdef int refresh(self) except -1:
        """Update the order of the classes, without empty ones. A stretch that reads may follow."""
        cdef Py_ssize_t a, live = 0
        cdef const int64_t *ranking
        if self.holder != 0:
            self.wait_reading()
        if self.ordered_at != self.label_index.changes:
            self.enter_reading()
            try:
                self.label_index.sort()
                set_order(self, self.label_index.ranking, self.label_index.ranked)
                self.ordered_at = self.label_index.changes
            finally:
                self.leave()
        elif self.empty_classes == 0:
            return 0
        self.empty_classes = 0
        ranking = self.label_index.ranking
        for a in range(self.label_index.ranked):
            if ranking[a] >= self.label_index.fixed and is_empty(self, ranking[a]):
                self.empty_classes += 1
            else:
                self.order[live] = ranking[a]
                live += 1
        self.classes = live
        return 0

    @property
    def labels(self):
        """The labels of the classes: as given if they were fixed, else numbers, text, bytes, tuples, each by value."""
        cdef Py_ssize_t a
        self.enter_reading()
        try:
            self.refresh()
            return tuple([shown_label(self, self.order[a]) for a in range(self.classes)])
        finally:
            self.leave()

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or None
            The predicted label, or scores, the largest of which is predicted. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores, classes : object, optional
            Not for labels: anything but None raises an error that names the classes which take scores.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a score is no finite number.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if y_pred is MISSING or scores is not MISSING or classes is not None:
            self.count(y_true, chosen_labels(self, y_pred, scores, classes), w)
        else:
            self.count(y_true, y_pred, w)

    cdef int count_prediction(self, object y_true, object y_pred, object w) except -1:
        return self.count(y_true, y_pred, w)

    cdef int count(self, object y_true, object y_pred, object w) except -1:
        if not count_quickly(self, y_true, y_pred, w):
            self.count_slowly(y_true, y_pred, w)
        return 0

    cdef bint try_count(self, object y_true, object y_pred, object w) except -1:
        """Count a sample; return False, and change nothing, if that needs a section or Python code."""
        return count_quickly(self, y_true, y_pred, w)

    @cython.final
    cdef int count_slowly(self, object y_true, object y_pred, object w) except -1:
        """Count a sample of any labels and weight."""
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        if w is not ONE:
            split(w, &whole, &part)
        truth = self.label_index.admitted(y_true, "y_true", None)
        predicted = self.label_index.admit_prediction(y_pred, y_true)
        if self.holder != 0:
            self.wait()
        return count_admitted(self, truth, predicted, y_true, y_pred, whole, part)

    def _count_coded(self, tuple truth, tuple predicted, const int64_t[:] rows, samples=None, wholes=None, parts=None):
        """Count some rows of two columns of codes, as `update` counts their samples; after an error, only some of them.

        truth, predicted: codes, -1 for a missing label; the label of each code; an array that is -1 for each code, in
        which indices are noted meanwhile. samples: how many samples each row stands for, above 0; 1 if it is None.
        wholes, parts: the weights of all rows; `samples` if there are none.
        """
        cdef const int32_t[:] t = truth[0], p = predicted[0]
        cdef int64_t[:] t_places = truth[2], p_places = predicted[2]
        cdef list t_labels = truth[1], p_labels = predicted[1]
        cdef const int64_t[:] times = samples, whole_parts = wholes
        cdef const uint64_t[:] fractions = parts
        cdef bint repeated = samples is not None, weighted = wholes is not None, fractional = parts is not None
        cdef int64_t n, whole, i, j
        cdef bint counted
        cdef uint64_t part
        cdef Py_ssize_t r, row
        self.enter()
        try:
            for r in range(rows.shape[0]):
                row = rows[r]
                n = times[row] if repeated else 1
                whole = whole_parts[row] if weighted else n
                part = fractions[row] if fractional else 0
                counted = p[row] >= 0 and (whole | <int64_t> part) != 0
                i = place_of(self, t[row], t_labels, t_places, "y_true", counted)
                j = -1 if p[row] < 0 else place_of(self, p[row], p_labels, p_places, "y_pred", counted)
                if n > self.spare:
                    find_spare(self, n)
                self.spare -= n
                if p[row] < 0:
                    self.abstained += n
                    continue
                if counted:
                    check_weight(self, whole)
                    if part != 0:
                        make_fractional(self)
                    add_cell(self, i >> 2, j >> 2, whole, part)
                    self.totals[i >> 2].type_counts[i & 3] += n
                    self.totals[j >> 2].type_counts[j & 3] += n
                self.n += n
                self.weighted += n if whole != n or part != 0 else 0
        finally:
            for r in range(rows.shape[0]):
                t_places[t[rows[r]]] = -1
                if p[rows[r]] >= 0:
                    p_places[p[rows[r]]] = -1
            self.leave()

    def revert(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or None
            The predicted label, or scores, the largest of which is predicted. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores, classes : object, optional
            Not for labels: anything but None raises an error that names the classes which take scores.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.

        Notes
        -----
        The counts show a missing update if a cell would fall below 0, or if fewer samples than occupied cells would be
        left. They do not show that a cell has the weight from samples of other weights.
        """
        self.uncount(y_true, chosen_labels(self, y_pred, scores, classes), w)

    cdef int uncount(self, object y_true, object y_pred, object w) except -1:
        cdef LabelSample s
        truth = self.label_index.admitted(y_true, "y_true", None)  # what is the caller's is read before the stretch
        predicted = self.label_index.admit_prediction(y_pred, y_true)
        w = plain_weight(w)
        if self.holder != 0:
            self.wait()
        self.read_sample(truth, predicted, w, True, &s)
        self.apply_sample(&s)
        return 0

    @cython.final
    cdef int read_sample(self, object y_true, object y_pred, object w, bint reverts, LabelSample *s) except -1:
        """Read a sample to be counted or reverted, check it, and reserve memory for it; in a section."""
        s.whole, s.part, s.reverts, s.abstains = 1, 0, reverts, False
        if w is not ONE:
            split_number(w, &s.whole, &s.part)
        s.i, s.j = known_index(self.label_index, y_true, &s.kind_i), -1
        if s.i >= 0:
            s.j = known_index(self.label_index, y_pred, &s.kind_j)
        if s.j < 0:
            truth = self.label_index.admitted(y_true, "y_true", None)
            predicted = self.label_index.admit_prediction(y_pred, y_true)
            if not reverts:
                return place_admitted(self, truth, predicted, y_true, y_pred, s)
            s.abstains = predicted is None
            s.kind_i, s.kind_j = numeric_kind(truth), numeric_kind(predicted)
            if not s.abstains:
                s.i, s.j = self.label_index.find(truth), self.label_index.find(predicted)
        elif not reverts:
            if self.spare <= 0:
                find_spare(self, 1)
            check_weight(self, s.whole)
        if s.i >= 0 and s.j >= 0 and (s.whole | <int64_t> s.part) != 0:
            find_place(self, s)
        if reverts and not can_revert(self, s):
            raise not_counted((y_true, y_pred, w), f"y_true={y_true!r}, y_pred={y_pred!r}, w={w!r}")
        return 0

    @cython.final
    cdef void apply_sample(self, const LabelSample *s) noexcept:
        """Count or revert a sample that was read."""
        cdef bint in_cell = (s.whole | <int64_t> s.part) != 0
        if s.reverts:
            if s.abstains:
                self.abstained -= 1
                return
            if in_cell:
                take_at(self, s.at, s.i, s.j, s.whole, s.part)
                remove_types(self, s.i, s.kind_i, 1)
                remove_types(self, s.j, s.kind_j, 1)
                reclaim(self)
            uncount_samples(self, 1, s.whole != 1 or s.part != 0)
            return
        self.spare -= 1
        if s.abstains:
            self.abstained += 1
            return
        if in_cell:
            add_at(self, s.at, s.i, s.j, s.whole, s.part)
            self.totals[s.i].type_counts[s.kind_i] += 1
            self.totals[s.j].type_counts[s.kind_j] += 1
        self.n += 1
        self.weighted += s.whole != 1 or s.part != 0

    def _update_step(self, y_true, y_pred, w):
        """Return the step that counts a sample."""
        return sample_step(self, y_true, y_pred, w, False)

    def _revert_step(self, y_true, y_pred, w):
        """Return the step that takes back a sample."""
        return sample_step(self, y_true, y_pred, w, True)

    def _pairs_step(self, list truth not None, list predicted not None, w):
        """Return the step that counts pairs of labels of one weight; no two pairs are the same cell."""
        cdef PairsStep step = PairsStep.__new__(PairsStep)
        step.target, step.truth, step.predicted, step.w = self, truth, predicted, w
        step.memory = bytearray(len(truth) * sizeof(LabelSample))
        return step

    def _cells_step(self, list truth, list predicted, cells, label_counts, int64_t n, int64_t abstained,
                    int64_t weighted):
        """Return the step that counts a checked batch.

        cells: rows, columns, whole parts, fractions or None; rows and columns index the two lists of canonical labels.
        label_counts: appearances of each true and of each predicted label. weighted: samples with a weight other than
        1.
        """
        cdef CellsStep step = CellsStep.__new__(CellsStep)
        step.target, step.truth, step.predicted = self, truth, predicted
        step.row, step.column, step.whole, step.part = cells
        step.count_row, step.count_column = label_counts
        step.n, step.abstained, step.weighted = n, abstained, weighted
        return step

    def _merge_step(self, other):
        """Return the step that adds the counts of another state."""
        check_same(self, other, "merge")
        return merge_step(self, other, None)

    def _reset_step(self):
        """Return the step that forgets every sample."""
        return Swap(self, emptied_twin(self))

    def _refill(self, list labels, bytes cells, list appearances, int64_t n, int64_t abstained, int64_t weighted):
        """Fill an empty state with decoded counts; raise ValueError for counts that no stream of samples produces."""
        cdef Py_ssize_t i, at = 0, kind
        if not (0 <= n <= MOST_SAMPLES and 0 <= abstained <= MOST_SAMPLES):
            raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
        if len(labels) > 1 and ordering(labels) != list(range(len(labels))):
            raise ValueError("labels in the order of report")
        if len(labels) > 2 * len(cells):
            raise ValueError("a count for every label")
        reserve_classes(self, self.used + len(labels), True)
        for label in labels:
            if type(label) is not str and repr(canonical(label)) != repr(label):
                raise ValueError("labels in their plain form")
            if intern_label(self, label) != self.used - 1 or self.used != self.label_index.fixed + at + 1:
                raise ValueError("every label once")
            at += 1
        read_cells(self, cells, self.label_index.fixed + len(labels))
        at = 0
        for i in range(self.label_index.fixed, self.used):
            label = self.label_index.names[i]
            if is_empty(self, i):
                raise ValueError("a count for every label")
            if numeric_kind(label) == 3:
                continue
            if at + 3 > len(appearances):
                raise ValueError("three counts of appearances for every number")
            for kind in range(3):
                self.totals[i].type_counts[kind] = appearances[at + kind]
                if self.totals[i].type_counts[kind] < 0:
                    raise ValueError("counts of appearances that are not negative")
            at += 3
            if type(shown_label(self, i)) is not type(label):
                raise ValueError("every number in the narrowest type in which it appeared")
        if at != len(appearances):
            raise ValueError("appearances of the labels only")
        if n < self.live:
            raise ValueError("a sample for every cell")
        if not 0 <= weighted <= n:
            raise ValueError("no more samples with a weight other than 1 than samples")
        self.n, self.abstained, self.weighted, self.spare = n, abstained, weighted, 0

    def merge(self, other):
        """Add the counts of another state.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        WeightError
            If the sum of all weights would reach 2**63.

        Notes
        -----
        Fixed labels may be in another order in the other state; here they keep theirs.
        """
        commit_steps([self._merge_step(other)])
        return self

    def _add_renamed(self, ConfusionCounters other, dict renamed):
        """Add the counts of another state to an empty one, where some labels get other names, several perhaps one."""
        commit_steps([merge_step(self, other, renamed)])

    def subtract(self, other):
        """Take the counts of another state out of this one.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        WeightError
            If the other state has samples that this one does not have. Nothing changes then.
        """
        check_same(self, other, "subtract")
        self.enter_merging(other)
        try:
            subtract_state(self, other)
        finally:
            self.leave_merging(other)
        return self

    def copy(self):
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        self.enter_reading()
        try:
            self.refresh()  # so that the labels are sorted once, for this state and its copies
            return duplicate(self)
        finally:
            self.leave()

    def reset(self):
        """Forget every sample; the configuration stays."""
        commit_steps([self._reset_step()])

    def _merge_load(self):
        """Bounds of what a merge adds up: the sum of weights, samples or appearances, abstentions."""
        return self.mass + (self.mass_part != 0), max(self.n, largest_type_count(self)), self.abstained

    @property
    def weight(self):
        """The sum of all weights."""
        return self.total if self.fractions == NULL or self.mass_part == 0 else float(self.total)

    @property
    def correct(self):
        """The weight of the samples whose prediction was right."""
        return self.hits if self.fractions == NULL or self.hit_part == 0 else float(self.hits)

    def one_vs_rest(self, label):
        """Return the two-by-two table of a class against the rest.

        Parameters
        ----------
        label : Label
            The class. One that was never seen has no samples.

        Returns
        -------
        table
            Counts of two classes: 0 is the class, 1 is the rest.
        """
        name = label if plain(label) and type(label) is not float else canonical(label)
        if self.holder != 0:
            self.wait_reading()
        return against_rest(self, self.label_index.find(name))


cdef int clear_labels(ConfusionCounters self) except -1:
    """Remove all labels but the fixed ones; the cells are empty."""
    self.label_index.clear()
    self.empty_classes = 0
    reserve_classes(self, self.label_index.used)
    self.used = self.label_index.used
    return 0


cdef Py_ssize_t intern_label(ConfusionCounters self, object label) except -1:
    """Return the index of an admitted label, a new one if it has none."""
    cdef Py_ssize_t i = self.label_index.find(label)
    if i >= 0:
        return i
    reserve_classes(self, self.label_index.next_index() + 1)
    i = self.label_index.add(label)
    self.used = self.label_index.used
    return i


cdef void remove_types(ConfusionCounters self, Py_ssize_t i, int kind, int64_t times) noexcept:
    """Remove appearances of class i; a class without weight has none."""
    if is_empty(self, i):
        memset(self.totals[i].type_counts, 0, sizeof(self.totals[i].type_counts))
        self.empty_classes += i >= self.label_index.fixed
    else:
        remove_type(self.totals[i].type_counts, kind, times)


cdef void reclaim(ConfusionCounters self) noexcept:
    """Release the indices of empty classes once there are many."""
    cdef Py_ssize_t i
    if self.empty_classes < 64 or self.empty_classes * 2 < self.label_index.used - self.label_index.vacant:
        return
    for i in range(self.label_index.fixed, self.used):
        if self.label_index.names[i] is not None and is_empty(self, i):
            self.label_index.remove(i)
    self.empty_classes = 0


cdef object map_indices(ConfusionCounters self, ConfusionCounters other, dict renamed):
    """Map every index of `other` to the index of the same, or the renamed, label here; -1 for an empty row."""
    cdef Py_ssize_t b, new = 0
    cdef list names = other.label_index.names
    at = np.full(other.used, -1, np.int64)
    cdef int64_t[::1] to = at
    for b in range(other.used):
        if names[b] is not None and not is_empty(other, b):
            to[b] = self.label_index.find(renamed.get(names[b], names[b]) if renamed else names[b])
            new += to[b] < 0
    if new == 0:
        return at
    reserve_classes(self, self.used + max(new - self.label_index.vacant, 0), True)
    for b in range(other.used):
        if to[b] < 0 and names[b] is not None and not is_empty(other, b):
            to[b] = intern_label(self, renamed.get(names[b], names[b]))
    return at


cdef int64_t largest_type_count(ConfusionCounters self) noexcept:
    """The largest type count."""
    return 0 if self.used == 0 else most_type_count(self.totals.type_counts, sizeof(Totals), self.used)


cdef object shown_label(ConfusionCounters self, Py_ssize_t i):
    """The label of class i, a number in the narrowest type in which it was seen."""
    return self.label_index.shown(i, self.totals[i].type_counts)


cdef bint count_objects(ConfusionCounters self, object y_true, object y_pred, int64_t whole, uint64_t part) except -1:
    """Count a sample, not both of whose objects are cached; return False, and change nothing, if that needs Python
    code. A method, so that no compiler makes it a part of `count`, which would be slower."""
    cdef int kind_i, kind_j
    cdef Py_ssize_t i = known_index(self.label_index, y_true, &kind_i)
    cdef Py_ssize_t j = -1 if i < 0 else known_index(self.label_index, y_pred, &kind_j)
    if j >= 0:
        if self.spare & 15 == 0:  # `spare` counts down, so all objects that are used again are cached at last
            self.label_index.cache_put(y_true, i, kind_i)
            self.label_index.cache_put(y_pred, j, kind_j)
        count_cell(self, i, j, kind_i, kind_j, whole, part)
        self.weighted += whole != 1 or part != 0
        return True
    if not plain(y_true) or not (plain(y_pred) or y_pred is None):
        return False
    truth, predicted = y_true, y_pred
    if (self.label_index.fixed_labels is not None or self.label_index.binary or type(y_true) is float
            or type(y_pred) is float):
        truth = self.label_index.admitted(y_true, "y_true", None)
        predicted = self.label_index.admit_prediction(y_pred, y_true)
    count_admitted(self, truth, predicted, y_true, y_pred, whole, part)
    return True


cdef int count_admitted(ConfusionCounters self, object truth, object predicted, object y_true, object y_pred,
                        int64_t whole, uint64_t part) except -1:
    """Count a sample of admitted labels, None for an abstention; a stretch."""
    cdef LabelSample s
    s.whole, s.part, s.reverts = whole, part, False
    place_admitted(self, truth, predicted, y_true, y_pred, &s)
    self.apply_sample(&s)
    return 0


cdef int find_spare(ConfusionCounters self, int64_t more) except -1:
    """Update `spare`; raise WeightError if it is less than `more`."""
    self.spare = samples_left(self.n, self.abstained, largest_type_count(self), 2)
    if more > self.spare:
        refuse_samples(more, MOST_SAMPLES - self.spare)
    return 0


cdef int check_more(ConfusionCounters self, int64_t n, int64_t abstained, int64_t times) except -1:
    """Raise WeightError if a number of samples, abstentions or appearances of a label would overflow."""
    check_samples(n, self.n)
    check_samples(abstained, self.abstained)
    if times > INT64_MAX - largest_type_count(self):
        refuse_samples(times, largest_type_count(self))
    return 0


cdef int find_place(ConfusionCounters self, LabelSample *s) except -1:
    """Set the position of the cell of a sample, and reserve memory for its weight."""
    if s.part != 0:
        make_fractional(self)
    s.at = cell_index(self, s.i, s.j)
    return 0


cdef int place_admitted(ConfusionCounters self, object truth, object predicted, object y_true, object y_pred,
                        LabelSample *s) except -1:
    """Check a sample of admitted labels that is to be counted, reserve memory, and cache the objects given."""
    s.abstains = predicted is None
    if self.spare <= 0:
        find_spare(self, 1)
    if s.abstains or (s.whole | <int64_t> s.part) == 0:
        return 0
    check_weight(self, s.whole)
    s.kind_i, s.kind_j = numeric_kind(truth), numeric_kind(predicted)
    s.i, s.j = intern_label(self, truth), intern_label(self, predicted)
    self.label_index.cache_put(y_true, s.i, s.kind_i)
    self.label_index.cache_put(y_pred, s.j, s.kind_j)
    return find_place(self, s)


cdef bint can_revert(ConfusionCounters self, const LabelSample *s) except -1:
    """Whether the counts allow that there was such a sample: as many are left as there are cells with a weight."""
    cdef bint spare = self.n > self.live
    if s.abstains:
        return self.abstained > 0
    if (s.whole | <int64_t> s.part) == 0:
        return spare
    return (s.i >= 0 and s.j >= 0 and holds_weight(self, s.at, s.whole, s.part)
            and (spare or is_all(self, s.at, s.whole, s.part)))


cdef object place_labels(ConfusionCounters self, list labels, used):
    """Return the index of every label that is used, -1 for the others."""
    cdef Py_ssize_t a
    needed, at = np.zeros(len(labels), bool), np.full(len(labels), -1, np.int64)
    needed[used] = True
    for a in np.flatnonzero(needed).tolist():
        at[a] = intern_label(self, labels[a])
    return at


cdef object place_cells(ConfusionCounters self, const int64_t[:] to_row, const int64_t[:] to_column, rows, columns):
    """Return the positions of cells; those that are new in a hash are added without weight."""
    cdef const int64_t[:] row = rows, column = columns
    cdef Py_ssize_t r, n = row.shape[0]
    positions = np.empty(n, np.int64)
    cdef int64_t[::1] place = positions
    if self.table.key != NULL:
        make_room(self, to_row, to_column, row, column)
    if self.table.key == NULL:
        for r in range(n):
            place[r] = to_row[row[r]] * self.width + to_column[column[r]]
        return positions
    for r in range(n):
        prefetch(self.totals + to_row[row[r]])  # which are added to soon
        prefetch(self.totals + to_column[column[r]])
        place[r] = map_put(&self.table, cell_key(to_row[row[r]], to_column[column[r]]))
    return positions


cdef int make_room(ConfusionCounters self, const int64_t[:] to_row, const int64_t[:] to_column, const int64_t[:] row,
                   const int64_t[:] column) except -1:
    """Reserve memory in the hash for the cells that are new, or move it into a square that is not much larger."""
    cdef Py_ssize_t r, n = row.shape[0], new = 0
    self.lookups += n
    if self.used <= min(DENSE_CLASSES, 2 * self.lookups // max(self.used, 1)):
        return make_square(self)
    if map_has_room(&self.table, n, quarters_for(self.used)):
        return 0
    for r in range(n):
        new += not map_has(&self.table, cell_key(to_row[row[r]], to_column[column[r]]))
    if map_has_room(&self.table, new, quarters_for(self.used)):
        return 0
    if self.used <= DENSE_CLASSES and self.used * self.used <= 4 * slots_for(self.live + new, self.used):
        return make_square(self)
    if map_reserve(&self.table, new, quarters_for(self.used)) < 0:
        raise MemoryError(f"no memory for {new} more cells")
    return 0


cdef int check_same(ConfusionCounters self, other, str verb) except -1:
    if not isinstance(other, ConfusionCounters):
        raise other_kind("ConfusionMatrix", other, verb)
    cdef ConfusionCounters o = other
    cdef LabelIndex mine = self.label_index, theirs = o.label_index
    if mine.fixed_labels is theirs.fixed_labels and mine.other is theirs.other:
        return 0
    same = {"labels": same_labels(mine.fixed_labels, theirs.fixed_labels),
            "other": mine.other is theirs.other or same_labels((mine.other,), (theirs.other,))}
    if not all(same.values()):
        options = ({"labels": each.fixed_labels, "other": each.other} for each in (self, o))
        raise options_differ(*[{name: each[name] for name in same if not same[name]} for each in options],
                             ("labels", "other"))
    return 0


cdef void add_totals(ConfusionCounters self, ConfusionCounters o, const int64_t[::1] to) noexcept:
    """Add the totals of the classes of another state."""
    cdef Py_ssize_t a
    cdef Totals *t
    cdef Totals *c
    cdef Fractions *f
    for a in range(to.shape[0]):
        if to[a] < 0:
            continue
        t, c = self.totals + to[a], o.totals + a
        t.actual += c.actual
        t.predicted += c.predicted
        t.diagonal += c.diagonal
        if o.fractions != NULL:
            f = o.fractions + a
            add_fixed(<uint64_t *> &t.actual, &self.fractions[to[a]].actual, 0, f.actual)
            add_fixed(<uint64_t *> &t.predicted, &self.fractions[to[a]].predicted, 0, f.predicted)
            add_fixed(<uint64_t *> &t.diagonal, &self.fractions[to[a]].diagonal, 0, f.diagonal)
    add_fixed(<uint64_t *> &self.mass, &self.mass_part, o.mass, o.mass_part)
    add_fixed(<uint64_t *> &self.hit, &self.hit_part, o.hit, o.hit_part)


cdef int subtract_state(ConfusionCounters self, ConfusionCounters other) except -1:
    cdef ConfusionCounters o = duplicate(other) if other is self else other
    cdef Py_ssize_t a, r, kind, emptied = 0
    cdef uint64_t f = 0
    to_array = np.array([self.label_index.index.get(name, -1) for name in o.label_index.names], np.int64)
    rows, columns, wholes, parts = export_cells(o)
    if len(rows) and min(to_array[rows].min(), to_array[columns].min()) < 0:
        raise not_contained()
    cdef const int64_t[::1] to = to_array, row = rows, column = columns, whole = wholes
    cdef const uint64_t[::1] part = parts
    if parts is not None:
        make_fractional(self)
    cdef const int64_t[::1] place = place_cells(self, to, to, rows, columns)
    for r in range(row.shape[0]):
        f = 0 if parts is None else part[r]
        emptied += is_all(self, place[r], whole[r], f)
        if not holds_weight(self, place[r], whole[r], f):
            raise not_contained()
    if self.abstained < o.abstained or self.n - o.n < self.live - emptied:
        raise not_contained()
    for r in range(row.shape[0]):  # from here on nothing fails
        take_at(self, place[r], to[row[r]], to[column[r]], whole[r], 0 if part is None else part[r])
    for a in range(to.shape[0]):
        if to[a] >= 0:
            for kind in range(3):
                remove_types(self, to[a], kind, o.totals[a].type_counts[kind])
    uncount_samples(self, o.n, o.weighted)
    self.abstained -= o.abstained
    reclaim(self)
    return 0


cdef ConfusionCounters duplicate(ConfusionCounters self):
    cdef ConfusionCounters twin = type(self).__new__(type(self), self.label_index.fixed_labels,
                                                     self.label_index.other)
    clear_cells(twin)
    copy_cells(twin, self)
    twin.label_index.copy_from(self.label_index)
    twin.empty_classes = self.empty_classes
    if self.ordered_at == self.label_index.changes:
        set_order(twin, self.label_index.ranking, self.label_index.ranked)
        twin.ordered_at = twin.label_index.changes
    twin.n, twin.abstained, twin.weighted, twin.spare = self.n, self.abstained, self.weighted, self.spare
    return twin


cdef ConfusionCounters emptied_twin(ConfusionCounters self):
    """Return a state of the same configuration that has counted nothing."""
    cdef ConfusionCounters twin = type(self).__new__(type(self), self.label_index.fixed_labels,
                                                     self.label_index.other)
    twin.label_index.binary = self.label_index.binary
    return twin


cdef dict score_arguments(object scores, object classes):
    """Return the optional arguments of a prediction that were given."""
    return {name: value for name, value in (("scores", scores), ("classes", classes))
            if value is not None and value is not MISSING}


cdef class UpdateBase(Guarded):
    """Base class of metrics: passes samples to its state. A Python method would cost more than the counting itself."""

    def __cinit__(self, *args, **kwargs):
        self._unit_folds = {}
        self._attach(ConfusionCounters.__new__(ConfusionCounters))

    def _attach(self, Guarded state not None):
        """Pass samples to this state from now on."""
        self.state = state
        self.counts = state if isinstance(state, ConfusionCounters) else None

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None, unit=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction: a label, or for metrics of scores the scores, a single number being that of `pos_label`.
            None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            For metrics of scores: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if self._sample_rule is not None:
            if self._sample_rule.ignores(y_true):
                return
            y_pred = by_rule(self, y_pred, scores)
        if y_pred is MISSING or scores is not MISSING or classes is not None or unit is not None:
            update_named(self, y_true, chosen_prediction(self, y_pred, scores, classes), w, classes, unit)
        elif self.counts is not None:
            self.counts.count(y_true, y_pred, w)
        else:
            (<Guarded> self.state).count_prediction(y_true, y_pred, w)

    def revert(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None, unit=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            For metrics of scores: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.
        """
        if self._sample_rule is not None:
            if self._sample_rule.ignores(y_true):
                return
            y_pred = by_rule(self, y_pred, scores)
        if unit is not None or self._unit_folds:
            self._revert_unit(unit, y_true, chosen_prediction(self, y_pred, scores, classes), w,
                              score_arguments(None, classes))
        else:
            self.state.revert(y_true, chosen_prediction(self, y_pred, scores, classes), w,
                              **score_arguments(None, classes))

    def _read(self, function):
        """Return the value of a function of the state, called while no other thread can change it."""
        cdef Guarded state = self.state
        state.enter_reading()
        try:
            return function(state)
        finally:
            state.leave()


cdef object by_rule(UpdateBase self, object y_pred, object scores):
    """Return the prediction that is counted for what was given; LabelError if it must not be missing."""
    if y_pred is MISSING and scores is MISSING:
        return y_pred
    given = None if y_pred is MISSING else y_pred
    predicted = self._sample_rule.predicted(given, None if scores is MISSING else scores)
    return y_pred if predicted is given else predicted


cdef int update_named(UpdateBase self, object y_true, object y_pred, object w, object classes, object unit) except -1:
    """Count one sample whose arguments are more than truth, prediction and weight."""
    if unit is not None:
        self._update_unit(unit, y_true, y_pred, w, score_arguments(None, classes))
    elif classes is None:
        (<Guarded> self.state).count_prediction(y_true, y_pred, w)
    else:
        self.state.update(y_true, y_pred, w, classes=classes)
    return 0


cdef object chosen_prediction(UpdateBase self, object y_pred, object scores, object classes):
    """Return the prediction that was given: a label, or scores by either argument."""
    if self.counts is not None:
        return chosen_labels(self, y_pred, scores, classes)
    return chosen_scores(self, y_pred, scores)


cdef class SetUpdateBase(UpdateBase):
    """Base class of metrics that may also count scores."""

    def _attach_scored(self, scored):
        """Pass samples also to these states of scores; None if there are none."""
        self.scored = scored

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None, unit=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction: a label, or a mapping from label to score, or if scores are counted a number, the score of
            `pos_label`. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            Scores beside a prediction that is not their largest.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if self._sample_rule is not None:
            if self._sample_rule.ignores(y_true):
                return
            y_pred = by_rule(self, y_pred, scores)
        if y_pred is MISSING:
            if scores is MISSING:
                raise no_prediction(self, self.scored is not None)
            self.update(y_true, None, w, scores=scores, classes=classes, unit=unit)
        elif scores is None:
            self.update(y_true, y_pred, w, classes=classes, unit=unit)
        elif unit is not None:
            self._update_unit(unit, y_true, y_pred, w, score_arguments(scores, classes))
        elif self.scored is None and scores is MISSING and classes is None:
            self.counts.count(y_true, y_pred, w)
        else:
            self._update_scored(y_true, y_pred, w, None if scores is MISSING else scores, classes)

    def revert(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None, unit=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction: a label, or a mapping from label to score, or if scores are counted a number, the score of
            `pos_label`. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            Scores beside a prediction that is not their largest.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.
        """
        if self._sample_rule is not None:
            if self._sample_rule.ignores(y_true):
                return
            y_pred = by_rule(self, y_pred, scores)
        if y_pred is MISSING:
            if scores is MISSING:
                raise no_prediction(self, self.scored is not None)
            y_pred = None
        if unit is not None or self._unit_folds:
            self._revert_unit(unit, y_true, y_pred, w, score_arguments(scores, classes))
        elif self.scored is None and (scores is MISSING or scores is None) and classes is None:
            self.counts.revert(y_true, y_pred, w)
        else:
            self._revert_scored(y_true, y_pred, w, None if scores is MISSING else scores, classes)
