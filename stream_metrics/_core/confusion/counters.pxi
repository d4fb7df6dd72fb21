"""The confusion counters: samples become cells, one by one, in batches, and from other states."""

from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint64_t

import numpy as np

from stream_metrics._core.numeric.kernels cimport Guarded
from stream_metrics._core.numeric.kernels cimport MOST_SAMPLES, check_samples, refuse_samples, split
from stream_metrics.errors import MergeError, WeightError
from stream_metrics.labels.label import canonical, ordering

cdef object ONE = 1


cdef object shape(object labels):
    """The types of labels, in tuples as deep as theirs: what equality of labels leaves open."""
    return tuple([shape(label) for label in labels]) if isinstance(labels, tuple) else type(labels)


cdef inline int count_cell(ConfusionCounters self, Py_ssize_t i, Py_ssize_t j, int form_i, int form_j, int64_t whole,
                           uint64_t part) except -1:
    """Count a sample of the classes i and j."""
    if self.spare <= 0:
        self.look_for_room(1)
    if (whole | <int64_t> part) != 0:
        self.check_room(whole)
        if part != 0:
            self.make_fractional()
        self.add(i, j, whole, part)
        self.totals[i].seen[form_i] += 1
        self.totals[j].seen[form_j] += 1
    self.n += 1
    self.spare -= 1
    return 0


cdef inline void forget_samples(ConfusionCounters self, int64_t n, int64_t weighted) noexcept:
    """Count fewer samples. Bytes written before `weighted` was counted hold fewer of those than there are."""
    self.n -= n
    if self.weighted != 0:
        self.weighted = min(max(self.weighted - weighted, 0), self.n)


cdef int count_labels(ConfusionCounters self, object truth, object predicted, object y_true, object y_pred, int64_t whole,
                      uint64_t part) except -1:
    """Count a sample of admitted labels, None for an abstention, and remember the objects that were given; a stretch."""
    cdef Py_ssize_t i, j
    if self.spare <= 0:
        self.look_for_room(1)
    if predicted is None:
        self.abstained += 1
        self.spare -= 1
        return 0
    if (whole | <int64_t> part) == 0:
        self.n += 1
        self.weighted += 1
        self.spare -= 1
        return 0
    self.check_room(whole)
    i, j = self.intern(truth), self.intern(predicted)
    self.remember(y_true, i, form_of(truth))
    self.remember(y_pred, j, form_of(predicted))
    count_cell(self, i, j, form_of(truth), form_of(predicted), whole, part)
    self.weighted += whole != 1 or part != 0
    return 0


cdef inline bint count_quickly(ConfusionCounters self, object y_true, object y_pred, object w) except -1:
    """Count a sample if that takes no section and no Python code; False, and no change, if it would."""
    cdef Known *t
    cdef Known *p
    cdef int64_t whole = 1
    cdef uint64_t part = 0
    if w is not ONE:
        if type(w) is not float and type(w) is not int:
            return False
        split(w, &whole, &part)
    if self.holder != 0:
        return False
    t, p = slot(self, y_true), slot(self, y_pred)
    if t.label == <PyObject *> y_true and p.label == <PyObject *> y_pred:
        count_cell(self, t.index, p.index, t.form, p.form, whole, part)
        if w is not ONE:
            self.weighted += whole != 1 or part != 0
        return True
    if not plain(y_true) or not (plain(y_pred) or y_pred is None):
        return False
    truth, predicted = y_true, y_pred
    if self.fixed_labels is not None or type(y_true) is float or type(y_pred) is float:
        truth = self.admitted(y_true, "y_true", None)
        predicted = None if y_pred is None else self.admitted(y_pred, "y_pred", None)
    count_labels(self, truth, predicted, y_true, y_pred, whole, part)
    return True


cdef inline bint uncount_cell(ConfusionCounters self, Py_ssize_t i, Py_ssize_t j, int form_i, int form_j, int64_t whole,
                              uint64_t part, bint only_look) except -1:
    """Take a sample back, unless `only_look`; False, and no change, if there is none. An index is -1 if the label has none.

    No fewer samples may be left than cells with a weight.
    """
    cdef bint spare = self.n > self.live
    if (whole | <int64_t> part) == 0:
        if spare and not only_look:
            forget_samples(self, 1, 1)
        return spare
    if i < 0 or j < 0 or not (spare or self.is_all(i, j, whole, part)) or not self.holds(i, j, whole, part):
        return False
    if not only_look:
        self.take(i, j, whole, part)
        self.unsee(i, form_i, 1)
        self.unsee(j, form_j, 1)
        self.settle()
        forget_samples(self, 1, whole != 1 or part != 0)
    return True


cdef class ConfusionCounters(Indexed):
    """Exact counts of (true label, predicted label)."""

    def update(self, y_true, y_pred, w=1):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or None
            The predicted label, or scores, the largest of which is predicted. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.

        Raises
        ------
        LabelError
            If a label is none, or outside the fixed labels.
        ScoreError
            If a score is no finite number.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        self.count(y_true, y_pred, w)

    cdef int count(self, object y_true, object y_pred, object w) except -1:
        if not count_quickly(self, y_true, y_pred, w):
            self.count_slowly(y_true, y_pred, w)
        return 0

    cdef bint try_count(self, object y_true, object y_pred, object w) except -1:
        """Count a sample if that takes no section and no Python code; False, and no change, if it would."""
        return count_quickly(self, y_true, y_pred, w)

    cdef int count_slowly(self, object y_true, object y_pred, object w) except -1:
        """Count a sample of any labels and weight."""
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        if w is not ONE:
            split(w, &whole, &part)
        truth, predicted = self.admitted(y_true, "y_true", None), self.admit_prediction(y_pred)
        if self.holder != 0:
            self.wait()
        return count_labels(self, truth, predicted, y_true, y_pred, whole, part)

    cdef int look_for_room(self, int64_t more) except -1:
        """Find out how many samples can come; WeightError if these are fewer than `more`."""
        cdef int64_t room = MOST_SAMPLES - max(self.n, self.abstained)
        self.spare = min(room, (INT64_MAX - self.most_seen()) // 2)  # a sample may be seen twice as one class
        if more > self.spare:
            refuse_samples(more, MOST_SAMPLES - self.spare)
        return 0

    cdef int check_samples(self, int64_t n, int64_t abstained, int64_t seen) except -1:
        """Refuse more samples, abstentions or appearances of a label than there is room for."""
        check_samples(n, self.n)
        check_samples(abstained, self.abstained)
        if seen > INT64_MAX - self.most_seen():
            refuse_samples(seen, self.most_seen())
        return 0

    def revert(self, y_true, y_pred, w=1):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or None
            The predicted label, or scores, the largest of which is predicted. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.

        Notes
        -----
        The counts show a missing update if a cell would fall below 0, or if fewer samples than occupied cells would be
        left. They do not show that a cell has the weight from samples of other weights.
        """
        self.uncount(y_true, y_pred, w)

    def _check_revert(self, y_true, y_pred, w=1):
        """Raise what `revert` would."""
        self.take_back(y_true, y_pred, w, True)

    cdef int uncount(self, object y_true, object y_pred, object w) except -1:
        return self.take_back(y_true, y_pred, w, False)

    cdef int take_back(self, object y_true, object y_pred, object w, bint only_look) except -1:
        cdef Known *t
        cdef Known *p
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        cdef bint possible
        if w is not ONE:
            split(w, &whole, &part)
        if self.holder != 0:
            self.wait()
        t, p = slot(self, y_true), slot(self, y_pred)
        if t.label == <PyObject *> y_true and p.label == <PyObject *> y_pred:
            possible = uncount_cell(self, t.index, p.index, t.form, p.form, whole, part, only_look)
        else:
            truth, predicted = self.admitted(y_true, "y_true", None), self.admit_prediction(y_pred)
            if self.holder != 0:
                self.wait()
            if predicted is None:
                possible = self.abstained > 0
                self.abstained -= possible and not only_look
            else:
                possible = uncount_cell(self, self.find_label(truth), self.find_label(predicted), form_of(truth),
                                        form_of(predicted), whole, part, only_look)
        if not possible:
            raise WeightError("Expected to revert a sample that was counted, "
                              f"but got y_true={y_true!r}, y_pred={y_pred!r}, w={w!r}")
        return 0

    def _commit(self, list truth, list predicted, cells, seen, int64_t n, int64_t abstained, int64_t weighted):
        """Count a batch that was checked: cells = (rows, columns, whole parts, fraction parts or None) index the two lists of
        canonical labels; seen = (appearances of each true label, of each predicted label); of the n samples `weighted` have a
        weight other than 1."""
        self.enter()
        try:
            self.add_batch(truth, predicted, cells, seen, n, abstained, weighted)
        finally:
            self.leave()

    cdef int add_batch(self, list truth, list predicted, cells, seen, int64_t n, int64_t abstained, int64_t weighted) except -1:
        rows, columns, wholes, parts = cells
        near = wholes.sum(dtype=np.float64) > 2.0**62  # then an int64 sum could overflow
        total = int(wholes.sum(dtype=object if near else np.int64)) + (0 if parts is None else len(parts))
        if total >= 0x7FFFFFFFFFFFFFFF - self.mass:
            raise WeightError(f"Expected the sum of all weights to stay below 2**63 - 1, but got {total} on top of {self.mass}")
        if n + abstained >= self.spare:
            self.check_samples(n, abstained, int(seen[0].max(initial=0)) + int(seen[1].max(initial=0)))
        to_row, to_column = self.place_labels(truth, rows), self.place_labels(predicted, columns)
        forms_true = np.array([form_of(label) for label in truth], np.int64)
        forms_predicted = np.array([form_of(label) for label in predicted], np.int64)
        if parts is not None:
            self.make_fractional()
        self.add_all(to_row, to_column, rows, columns, wholes, parts)
        self.see(to_row, forms_true, seen[0])
        self.see(to_column, forms_predicted, seen[1])
        self.n += n
        self.abstained += abstained
        self.weighted += weighted
        self.spare = max(self.spare - n - abstained, 0)
        return 0

    cdef object place_labels(self, list labels, used):
        """The index of every label that is used, -1 for the others."""
        cdef Py_ssize_t a
        needed, at = np.zeros(len(labels), bool), np.full(len(labels), -1, np.int64)
        needed[used] = True
        for a in np.flatnonzero(needed).tolist():
            at[a] = self.intern(labels[a])
        return at

    cdef int see(self, const int64_t[:] at, const int64_t[:] forms, const int64_t[:] counts) except -1:
        cdef Py_ssize_t a
        for a in range(at.shape[0]):
            if at[a] >= 0:
                self.totals[at[a]].seen[forms[a]] += counts[a]
        return 0

    cdef int add_all(self, const int64_t[:] to_row, const int64_t[:] to_column, rows, columns, wholes, parts) except -1:
        cdef const int64_t[:] row = rows, column = columns, whole = wholes
        cdef const uint64_t[:] part = parts
        cdef bint fractional = parts is not None
        cdef Py_ssize_t r
        for r in range(row.shape[0]):
            self.add(to_row[row[r]], to_column[column[r]], whole[r], part[r] if fractional else 0)
        return 0

    def _refill(self, list labels, bytes cells, list appearances, int64_t n, int64_t abstained, int64_t weighted):
        """Fill an empty state with what was read of another; ValueError names what cannot have been counted."""
        cdef Py_ssize_t i, at = 0, form
        if not (0 <= n <= MOST_SAMPLES and 0 <= abstained <= MOST_SAMPLES):
            raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
        if len(labels) > 1 and ordering(labels) != list(range(len(labels))):
            raise ValueError("labels in the order of report")
        if len(labels) > 2 * len(cells):
            raise ValueError("a count for every label")
        for label in labels:
            if type(label) is not str and repr(canonical(label)) != repr(label):
                raise ValueError("labels in their plain form")
            if self.intern(label) != self.used - 1 or self.used != self.fixed + at + 1:
                raise ValueError("every label once")
            at += 1
        read_cells(self, cells, self.fixed + len(labels))
        at = 0
        for i in range(self.fixed, self.used):
            label = self.names[i]
            if empty(self, i):
                raise ValueError("a count for every label")
            if form_of(label) == 3:
                continue
            if at + 3 > len(appearances):
                raise ValueError("three counts of appearances for every number")
            for form in range(3):
                self.totals[i].seen[form] = appearances[at + form]
                if self.totals[i].seen[form] < 0:
                    raise ValueError("counts of appearances that are not negative")
            at += 3
            if type(self.shown(i)) is not type(label):
                raise ValueError("every number in the narrowest type in which it appeared")
        if at != len(appearances):
            raise ValueError("appearances of the labels only")
        if n < self.live:
            raise ValueError("a sample for every cell")
        if not 0 <= weighted <= n:
            raise ValueError("no more samples with a weight other than 1 than samples")
        self.n, self.abstained, self.weighted, self.spare = n, abstained, weighted, 0

    cdef int check_same(self, other, str verb) except -1:
        if not isinstance(other, ConfusionCounters):
            raise MergeError(f"Expected to {verb} a ConfusionMatrix, but got {type(other).__name__}")
        cdef ConfusionCounters o = other
        for name, mine, theirs in (("labels", self.fixed_labels, o.fixed_labels), ("other", self.other, o.other)):
            if mine is not theirs and (mine != theirs or shape(mine) != shape(theirs)):
                raise MergeError(f"Expected `{name}` to be the same in both states, but got {mine!r} and {theirs!r}")
        return 0

    def _check_merge(self, other):
        """Raise what `merge` would, MergeError or WeightError."""
        self.check_same(other, "merge")
        cdef ConfusionCounters o = other
        if o.mass != 0 or o.mass_part != 0:
            self.check_room(o.mass)
        self.check_samples(o.n, o.abstained, o.most_seen())

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
        WeightError
            If the sum of all weights would reach 2**63.
        """
        self.check_same(other, "merge")
        self.enter_merging(other)
        try:
            self._check_merge(other)
            self.add_state(other)
        finally:
            self.leave_merging(other)
        return self

    cdef int add_state(self, ConfusionCounters other) except -1:
        cdef ConfusionCounters o = other.twin() if other is self else other
        cdef Py_ssize_t a, form
        cdef const int64_t[::1] to
        if o.fractions != NULL:
            self.make_fractional()
        to = self.mapping(o)
        if self.key != NULL or o.key != NULL or self.fractions != NULL:
            rows, columns, wholes, parts = o.export()
            self.add_all(to, to, rows, columns, wholes, parts)
        else:
            self.add_square(o, to)
        for a in range(to.shape[0]):
            if to[a] >= 0:
                for form in range(3):
                    self.totals[to[a]].seen[form] += o.totals[a].seen[form]
        self.n += o.n
        self.abstained += o.abstained
        self.weighted += o.weighted
        self.spare = 0
        return 0

    cdef void add_square(self, ConfusionCounters o, const int64_t[::1] to) noexcept:
        """Add the square array of another state to the one here, whole weights only."""
        cdef Py_ssize_t a, b, n = to.shape[0]
        cdef bint identity = True
        cdef int64_t *source
        cdef int64_t *target
        for a in range(n):
            identity = identity and to[a] == a
        for a in range(n):
            if to[a] < 0:
                continue
            source, target = o.value + a * o.capacity, self.value + to[a] * self.capacity
            if identity:
                for b in range(n):
                    self.live += target[b] == 0 and source[b] != 0
                    target[b] += source[b]
            else:
                for b in range(n):
                    if to[b] >= 0:
                        self.live += target[to[b]] == 0 and source[b] != 0
                        target[to[b]] += source[b]
            self.totals[to[a]].actual += o.totals[a].actual
            self.totals[to[a]].predicted += o.totals[a].predicted
            self.totals[to[a]].diagonal += o.totals[a].diagonal
        self.mass += o.mass
        self.hit += o.hit

    def subtract(self, other):
        """Take the counts of another state out of this one.

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
        WeightError
            If the other state has samples that this one does not have. Nothing changes then.
        """
        self.check_same(other, "subtract")
        self.enter_merging(other)
        try:
            self.take_state(other)
        finally:
            self.leave_merging(other)
        return self

    cdef int take_state(self, ConfusionCounters other) except -1:
        cdef ConfusionCounters o = other.twin() if other is self else other
        cdef Py_ssize_t a, form, emptied
        cdef const int64_t[::1] to = np.array([self.index.get(name, -1) for name in o.names], np.int64)
        cells = o.export()
        emptied = self.take_all(to, cells, True)
        if emptied < 0 or self.abstained < o.abstained or self.n - o.n < self.live - emptied:
            raise WeightError("Expected to subtract a state whose samples are all counted here, but got one that holds others")
        self.take_all(to, cells, False)
        for a in range(to.shape[0]):
            if to[a] >= 0:
                for form in range(3):
                    self.unsee(to[a], form, o.totals[a].seen[form])
        forget_samples(self, o.n, o.weighted)
        self.abstained -= o.abstained
        self.settle()
        return 0

    cdef Py_ssize_t take_all(self, const int64_t[::1] to, tuple cells, bint only_look) except -2:
        """How many cells are empty once this is taken, -1 if some cell holds less; take it unless `only_look`."""
        cdef const int64_t[:] row = cells[0], column = cells[1], whole = cells[2]
        cdef const uint64_t[:] part = cells[3]
        cdef bint fractional = cells[3] is not None
        cdef Py_ssize_t r, emptied = 0
        cdef uint64_t want = 0
        for r in range(row.shape[0]):
            if fractional:
                want = part[r]
            if to[row[r]] < 0 or to[column[r]] < 0 or not self.holds(to[row[r]], to[column[r]], whole[r], want):
                return -1
            emptied += self.is_all(to[row[r]], to[column[r]], whole[r], want)
            if not only_look:
                self.take(to[row[r]], to[column[r]], whole[r], want)
        return emptied

    def copy(self):
        """Return an independent state.

        Returns
        -------
        Self
            An independent state with the same configuration and counts.
        """
        self.enter_reading()
        try:
            self.refresh()  # so that neither this one nor its copies sort the same labels again
            return self.twin()
        finally:
            self.leave()

    cdef ConfusionCounters twin(self):
        cdef ConfusionCounters twin = type(self).__new__(type(self), self.fixed_labels, self.other)
        Cells.clear(twin)
        twin.copy_cells(self)
        twin.adopt(self)
        twin.n, twin.abstained, twin.weighted, twin.spare = self.n, self.abstained, self.weighted, self.spare
        return twin

    def reset(self):
        """Forget every sample; the configuration stays."""
        self.enter()
        try:
            Cells.clear(self)
            self.start()
            self.n, self.abstained, self.weighted, self.spare = 0, 0, 0, 0
        finally:
            self.leave()

    def _load(self):
        """Bounds of what a merge adds up: the sum of weights, samples or appearances, abstentions."""
        return self.mass + (self.mass_part != 0), max(self.n, self.most_seen()), self.abstained

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
        return self.against_rest(self.find_label(name))


cdef class Feed(Guarded):
    """What passes samples on to its state: a method in Python around the state's own would cost more than counting."""

    def __cinit__(self, *args, **kwargs):
        self._folds = {}
        self._attach(ConfusionCounters.__new__(ConfusionCounters))

    def _attach(self, state not None):
        """Feed this state from now on."""
        self.state = state
        self.counts = state if isinstance(state, ConfusionCounters) else None

    def update(self, y_true, y_pred, w=1, *, unit=None):
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
        if unit is not None:
            self._update_unit(unit, y_true, y_pred, w, {})
        elif self.counts is not None:
            self.counts.count(y_true, y_pred, w)
        else:
            self.state.update(y_true, y_pred, w)

    def revert(self, y_true, y_pred, w=1, *, unit=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction.
        w : int or float, default 1
            Weight of the sample, >= 0.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.
        """
        if unit is not None or self._folds:
            self._revert_unit(unit, y_true, y_pred, w, {})
        else:
            self.state.revert(y_true, y_pred, w)

    def _read(self, function):
        """What a function reads of the state, at one moment."""
        cdef Guarded state = self.state
        state.enter_reading()
        try:
            return function(state)
        finally:
            state.leave()


cdef dict beside(object scores, object classes):
    """What is given beside a prediction."""
    return {name: value for name, value in (("scores", scores), ("classes", classes)) if value is not None}


cdef class SetFeed(Feed):
    """A feed that also takes scores, where they are kept."""

    def _attach_scored(self, scored):
        """Feed these states of scores beside the state of labels; None if there are none."""
        self.scored = scored

    def update(self, y_true, y_pred=None, w=1, *, scores=None, classes=None, unit=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction: a label, or a mapping from label to score, or where scores are kept a number, the score of
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
        if unit is not None:
            self._update_unit(unit, y_true, y_pred, w, beside(scores, classes))
        elif self.scored is None and scores is None and classes is None:
            self.counts.count(y_true, y_pred, w)
        else:
            self._update_scored(y_true, y_pred, w, scores, classes)

    def revert(self, y_true, y_pred=None, w=1, *, scores=None, classes=None, unit=None):
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : Label
            The true label.
        y_pred : Label or mapping from Label to float or float or None
            The prediction: a label, or a mapping from label to score, or where scores are kept a number, the score of
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
        if unit is not None or self._folds:
            self._revert_unit(unit, y_true, y_pred, w, beside(scores, classes))
        elif self.scored is None and scores is None and classes is None:
            self.counts.revert(y_true, y_pred, w)
        else:
            self._revert_scored(y_true, y_pred, w, scores, classes)
