"""The rank sketch as an object: its methods. What they do is in the other files of this folder."""

cdef int64_t epochs = 0  # states that were created


cdef struct Class:
    int64_t whole      # weight of the samples that are truly of the class
    fraction_t part    # its fraction, in units of 2^-64
    int64_t type_counts[3]    # appearances of its label as bool, as int and as float
    ScoreHistogram *histogram     # its scores, or NULL while all were 0
    bint single        # whether a single score was counted beside a sample of the class
    Py_ssize_t entry   # while a sample is reverted: the place of its score for the class, from 1 on; else 0

cdef class RankCounters(Guarded):
    """Exact, mergeable counts of (score column, score cell, true class)."""

    cdef readonly Py_ssize_t buckets
    cdef readonly Py_ssize_t sample
    cdef readonly object pos_label
    cdef readonly bint pairs
    cdef readonly bint paired       # whether pairs are kept: `pairs`, and never more than MOST_PAIRED classes
    cdef readonly bint _needs_pairs  # whether more classes are refused instead
    cdef bint reads_names    # whether keys of scores that are text may name numbers; not if the caller read them
    cdef readonly bint _binary_only  # whether new labels must be 0 or 1, False or True
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly int64_t rounded  # samples whose weight was rounded to a multiple of 2^-64
    cdef LabelIndex label_index
    cdef Class *classes
    cdef Py_ssize_t pos_at  # the index of `pos_label`, or -1
    cdef Py_ssize_t used, capacity
    cdef int64_t mass      # the whole parts of all weights; never above 2^63 - 3
    cdef fraction_t mass_part
    cdef int64_t epoch     # another number in each state, so that a batch is not added to one with other levels
    cdef int64_t spare     # a lower bound of the samples that can be counted before a counter is full

    def __cinit__(self, buckets=1024, sample=512, pos_label=True, pairs=True, **unknown):  # which `__init__` refuses
        self.buckets, self.sample = whole_option(buckets, "buckets", 2, MOST_BUCKETS), whole_option(sample, "sample",
                                                                                                    1, MOST_BUCKETS)
        self.pairs, self.reads_names = pairs, True
        self.pos_label = canonical(pos_label, "pos_label")
        self.label_index = LabelIndex.__new__(LabelIndex)
        self.pos_at, self.paired = -1, self.pairs
        global epochs
        epochs += 1
        self.epoch = epochs

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.used):
            histogram_free(self.classes[i].histogram)
        PyMem_RawFree(self.classes)

    def update(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : mapping from Label to float or float or sequence of float or None
            Scores: by label, of `pos_label`, or in the order of `classes`. A class without a score has score 0. None or
            {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a score is not a finite number.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        if y_pred is MISSING or scores is not MISSING:
            count_one(self, y_true, chosen_scores(self, y_pred, scores), w, classes)
        else:
            count_one(self, y_true, y_pred, w, classes)

    cdef int count_prediction(self, object y_true, object y_pred, object w) except -1:
        return count_one(self, y_true, y_pred, w, None)

    def revert(self, y_true, y_pred=MISSING, w=1, *, scores=MISSING, classes=None):
        """Undo one `update` with the same arguments, possible while every column is exact.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : mapping from Label to float or float or sequence of float or None
            Scores: by label, of `pos_label`, or in the order of `classes`. A class without a score has score 0. None or
            {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float or float or sequence of float, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The classes that a sequence of scores belongs to.

        Raises
        ------
        WeightError
            If a column is no longer exact, or if the counts show that there was no such update. Nothing changes then.

        Notes
        -----
        The counts show a missing update if a weight would fall below 0, or if fewer samples would be left than true
        classes, or than scores in a column.
        """
        if y_pred is MISSING or scores is not MISSING:
            y_pred = chosen_scores(self, y_pred, scores)
        cdef RankSample s
        start_sample(&s, w)
        if classes is not None or not read_plain(self, y_true, y_pred, False, &s):
            commit_sample(self, y_true, y_pred, w, classes, True)
        else:
            check_sample(self, &s, y_true, y_pred, w)
            remove_sample(self, &s)

    def _update_step(self, y_true, y_pred, w):
        """Return the step that counts a sample."""
        return score_step(self, y_true, y_pred, w, False)

    def _revert_step(self, y_true, y_pred, w):
        """Return the step that takes back a sample."""
        return score_step(self, y_true, y_pred, w, True)

    def _merge_step(self, other):
        """Return the step that adds the counts of another state."""
        check_same(self, other)
        return state_step(self, other)

    def _reset_step(self):
        """Return the step that forgets every sample."""
        cdef RankCounters twin = type(self)(self.buckets, self.sample, self.pos_label, self.pairs)
        twin.reads_names, twin._binary_only, twin._needs_pairs = self.reads_names, self._binary_only, self._needs_pairs
        return Swap(self, twin)

    def take_names_as_given(self):
        """Count scores under their keys as they are: the caller has read what they name."""
        self.reads_names = False

    def allow_binary_only(self):
        """Refuse every new label but 0 and 1, False and True; for a metric whose `pos_label` is the default."""
        self._binary_only = True

    def _check_new(self, label, str argument, position=None):
        """Raise LabelError for a new label that is neither 0 nor 1 where others are refused."""
        if self._binary_only and find_class(self, label) < 0:
            check_binary(label, argument, position)

    def require_pairs(self):
        """Refuse more classes than pairs are kept of: the state of a metric that is about pairs only."""
        if self.pairs and not self.paired:
            raise ScoreError(subject=f"at most {MOST_PAIRED} classes",
                             expected="for a metric that compares pairs of classes", got=len(self.label_index.index))
        self._needs_pairs = self.pairs

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
        """
        commit_steps([self._merge_step(other)])
        return self

    def _add_resized(self, RankCounters other):
        """Add the counts of another state to an empty one of other sizes, which the counts allow."""
        commit_steps([state_step(self, other)])

    def copy(self):
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        self.enter_reading()
        try:
            return duplicate(self)
        finally:
            self.leave()

    def reset(self):
        """Forget every sample; the configuration stays."""
        commit_steps([self._reset_step()])

    def pack(self, columns=True):
        """Return the counts in the order of report: labels, type counts, weights, and the columns as bytes.

        If any weight is no multiple of 2^-20 or was rounded: also the number of binary places, and how many were
        rounded.

        Parameters
        ----------
        columns : bool, default True
            Whether to write the columns, or to leave their list empty.
        """
        self.enter_reading()
        try:
            return pack_counters(self, columns)
        finally:
            self.leave()

    def _arrays(self, label, own=None, rest=None):
        """Return the fields of `RankColumn`: level, keys, single codes, weights of rest and own, offsets, totals,
        samples."""
        label = canonical(label)
        own = None if own is None else canonical(own, "own")
        rest = None if rest is None else canonical(rest, "rest")
        self.enter_reading()
        try:
            return read_column(self, label, own, rest)
        finally:
            self.leave()

    def _pairs_against(self, label, rests):
        """Count the pairs of a class with each of others, by its own scores.

        Returns for each twice the pairs in order plus the tied ones, of those whose order is known; the pairs within
        one mixed cell; all pairs; which share of all pairs are within a cell and in order, as the means tell; and its
        standard error. None where the column has to be read: it has fractions, large weights, or samples of both
        classes that show a cell from inside.
        """
        label, rests = canonical(label), [canonical(rest) for rest in rests]
        self.enter_reading()
        try:
            return count_pairs_against(self, label, rests)
        finally:
            self.leave()

    def _merge_load(self):
        """Bounds of what a merge adds up: the sum of weights, samples or appearances, abstentions."""
        return self.mass + (self.mass_part != 0), max(self.n, largest_type_count(self)), self.abstained

    @property
    def labels(self):
        """The labels of the classes: numbers, text, bytes, tuples, each by value."""
        self.enter_reading()
        try:
            return tuple([shown_label(self, i, True) for i in report_order(self)])
        finally:
            self.leave()

    @property
    def weight(self):
        """The sum of all weights."""
        return self.mass if self.mass_part == 0 else unsigned_double(<uint64_t> self.mass, self.mass_part)

    @property
    def _exact(self):
        """Whether every column has all its different scores apart."""
        cdef Py_ssize_t i
        for i in range(self.used):
            if self.classes[i].histogram != NULL and self.classes[i].histogram.level > 0:
                return False
        return True

    def _total_units(self):
        """The sum of all weights, exact, in the smallest unit."""
        return (<object> self.mass << 64) + self.mass_part

    def memory(self):
        """Return the bytes that the columns take, slack and indices included.

        Returns
        -------
        int
            Bytes.
        """
        cdef Py_ssize_t i, total = 0
        for i in range(self.used):
            if self.classes[i].histogram != NULL:
                total += histogram_bytes(self.classes[i].histogram)
        return total

    def appearances(self):
        """How often each label that is a number was seen as bool, as int and as float: three counts each."""
        self.enter_reading()
        try:
            self.label_index.sort()
            if self.used == 0:
                return []
            return self.label_index.type_counts(
                self.label_index.ranking, self.label_index.ranked, self.classes.type_counts, sizeof(Class))
        finally:
            self.leave()

    def _fill(self, list labels, appearances, bytes weights, columns, int64_t n, int64_t abstained, int places,
              int64_t rounded):
        """Fill an empty state with decoded counts; raise ValueError for counts that no stream of samples produces."""
        restore_counters(self, labels, appearances, weights, columns, n, abstained, places, rounded)
