"""The joint counters of two models: samples become cells of (fold, true label, prediction of one, prediction of the
other).

Two confusion matrices do not show how often both models are right about the same sample, and the uncertainty of a
difference depends on that. So a cell is a triple of labels. A cube of K classes would be nearly empty, so occupied
cells are in a hash; a key has the fold in its 10 highest bits and three label indices of 18 bits each.

The caller assigns folds; the last one, number `folds`, has the samples that belong to none.
"""

cimport cython

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

import numpy as np

from stream_metrics._core.numeric.kernels cimport (
    HASH_SEED, MOST_SAMPLES, Guarded, IdentityCacheEntry, LabelIndex, Step, cache_entry, check_samples, commit_steps,
    most_type_count, numeric_kind, numeric_kinds, refuse_samples, samples_left, split, sum_overflow,
)
from stream_metrics._core.numeric.openmap cimport (
    CounterMap, map_create, map_find, map_free, map_has, map_has_room, map_is_zero, map_put, map_reserve,
)
from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.labels.label import canonical

cdef object ONE = 1
cdef int64_t LARGEST = 0x7FFFFFFFFFFFFFFF
cdef Py_ssize_t MOST_FOLDS = 1022
cdef Py_ssize_t FIRST_SLOTS = 64


cdef extern from * nogil:
    """
    #define MOST_LABELS ((Py_ssize_t) (1 << 18) - 1)
    """
    const Py_ssize_t MOST_LABELS  # that the key of a cell can distinguish

cdef struct PairedClass:
    int64_t type_counts[4]  # appearances as bool, int, float and any other type; the last is never read
    bint counted     # whether a sample has the label

cdef struct PairedSample:
    int64_t index[3]  # of the labels; they and `at` are not set for a sample that is in no cell
    int64_t kind[3]
    Py_ssize_t at     # the position of the cell
    int64_t whole
    uint64_t part
    Py_ssize_t fold   # `folds` for a sample without a unit
    int alone         # which abstention it is; -1 for none


cdef inline uint64_t key_of(Py_ssize_t fold, int64_t i, int64_t j, int64_t k) noexcept nogil:
    """The key of a cell, never 0."""
    return ((<uint64_t> (fold + 1)) << 54) | (<uint64_t> i << 36) | (<uint64_t> j << 18) | <uint64_t> k


cdef inline PairedSample start_sample(object w, Py_ssize_t fold) except *:
    """Return a sample of a weight, whose labels were not read yet."""
    cdef PairedSample s
    s.whole, s.part, s.fold, s.alone = 1, 0, fold, -1
    if w is not ONE:
        split(w, &s.whole, &s.part)
    return s


cdef class PairedCounts(Guarded):
    """Exact counts of (fold, true label, prediction of one model, prediction of the other)."""

    cdef CounterMap table
    cdef LabelIndex label_index
    cdef PairedClass *classes
    cdef Py_ssize_t capacity        # of `classes`
    cdef readonly int64_t n
    cdef readonly int64_t keyed     # samples that came with a unit
    cdef readonly int64_t weighted  # samples whose weight is not 1
    cdef int64_t alone[3]           # abstentions: of the first model only, of the second only, of both
    cdef readonly Py_ssize_t folds
    cdef bint aside                 # whether samples go through `_update`, which counts their scores too
    cdef int64_t mass
    cdef public dict _scored        # by fold, the states of the scores of both models; see `states.joint`
    cdef int64_t spare              # a lower bound of the samples that can be counted before a counter is full

    def __cinit__(self, *args, **kwargs):
        self.label_index, self._scored = LabelIndex.__new__(LabelIndex), {}

    def __dealloc__(self):
        map_free(&self.table)
        PyMem_RawFree(self.classes)

    def _configure(self, labels, folds, aside):
        """Set the fixed labels (None if there are none), the number of folds and `aside`, which `update` reads.

        Nothing was counted yet.
        """
        if type(folds) is not int or not 2 <= folds <= MOST_FOLDS:
            raise ValueError(f"Expected `folds` to be a whole number from 2 to {MOST_FOLDS}, but got {folds!r}")
        self.label_index = LabelIndex.__new__(LabelIndex, labels)
        self.reserve(self.label_index.used)
        self.folds, self.aside = folds, aside
        map_free(&self.table)
        if map_create(&self.table, FIRST_SLOTS, False, HASH_SEED) < 0:
            raise MemoryError("no memory for the first cells")

    cdef PairedCounts empty(self):
        """Return counters of the same configuration."""
        cdef PairedCounts counts = PairedCounts()
        counts._configure(self.label_index.fixed_labels, self.folds, self.aside)
        return counts

    cdef int make_fractional(self) except -1:
        """Add a fraction part to every counter."""
        if self.table.fraction == NULL:
            self.table.fraction = <uint64_t *> PyMem_RawCalloc(2 * self.table.slots, sizeof(uint64_t))
            if self.table.fraction == NULL:
                raise MemoryError(f"no memory for {self.table.slots} cells")
        return 0

    @cython.final
    cdef void add_at(self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept:
        """Count a checked weight; the fractions exist if `part` is not 0."""
        if self.table.fraction != NULL:
            self.table.fraction[at] += part
            whole += self.table.fraction[at] < part
        self.table.value[at] += whole

    @cython.final
    cdef void add_types(self, int64_t i, int64_t kind, int64_t times) noexcept:
        self.classes[i].counted = True
        self.classes[i].type_counts[kind] += times

    cdef int reserve(self, Py_ssize_t classes) except -1:
        """Reserve memory for `classes` classes; on failure nothing has changed."""
        cdef Py_ssize_t capacity = max(self.capacity, 8)
        cdef PairedClass *longer
        if classes > MOST_LABELS:
            expected = "where two models are compared"
            raise LabelError(subject=f"at most {MOST_LABELS} labels", expected=expected, got=classes)
        if classes <= self.capacity:
            return 0
        while capacity < classes:
            capacity *= 2
        longer = <PairedClass *> PyMem_RawRealloc(self.classes, capacity * sizeof(PairedClass))
        if longer == NULL:
            raise MemoryError(f"no memory for {capacity} labels")
        memset(longer + self.capacity, 0, (capacity - self.capacity) * sizeof(PairedClass))
        self.classes, self.capacity = longer, capacity
        return 0

    cdef Py_ssize_t intern(self, object label) except -1:
        """Return the index of an admitted label, a new one if it has none."""
        cdef Py_ssize_t i = self.label_index.find(label)
        if i < 0:
            self.reserve(self.label_index.next_index() + 1)
            i = self.label_index.add(label)
        return i

    cdef int64_t largest_type_count(self) noexcept:
        """The largest type count."""
        return 0 if self.capacity == 0 else most_type_count(self.classes.type_counts, sizeof(PairedClass),
                                                            self.label_index.used)

    cdef list order(self):
        """The indices of the classes in the order of report: of fixed labels, and of those that a sample has; in a
        section."""
        cdef Py_ssize_t a
        self.label_index.sort()
        return [self.label_index.ranking[a] for a in range(self.label_index.ranked)
                if a < self.label_index.fixed or self.classes[self.label_index.ranking[a]].counted]

    cdef int check_weight(self, int64_t whole) except -1:
        if whole >= LARGEST - 1 - self.mass:
            raise sum_overflow(whole, self.mass, "2**63 - 1", None)
        return 0

    cdef int64_t absent_samples(self) noexcept:
        return self.alone[0] + self.alone[1] + self.alone[2]

    cdef int check_spare(self) except -1:
        """Raise WeightError if no sample more can be counted."""
        if self.spare <= 0:
            self.spare = samples_left(self.n, self.absent_samples(), self.largest_type_count(), 3)
            if self.spare <= 0:
                refuse_samples(1, MOST_SAMPLES - self.spare)
        return 0

    cdef int read_labels(self, object y_true, object pred_a, object pred_b, bint waits, PairedSample *s) except -1:
        """Read the labels of a sample, and find their indices unless it is an abstention or has no weight.

        Outside a section it `waits` for a stretch.
        """
        cdef Py_ssize_t at
        given, labels = (y_true, pred_a, pred_b), [self.label_index.admitted(y_true, "y_true", None)]
        for name, predicted in (("pred_a", pred_a), ("pred_b", pred_b)):
            try:
                labels.append(self.label_index.admit_prediction(predicted, y_true))
            except StreamMetricsError as error:
                raise error.with_argument(name) if error.argument == "y_pred" else error from None
        if waits and self.holder != 0:
            self.wait()
        if labels[1] is None or labels[2] is None:
            s.alone = 2 if labels[1] is labels[2] else labels[1] is not None
        elif (s.whole | <int64_t> s.part) != 0:
            self.check_labels(labels)
            for at in range(3):
                s.index[at], s.kind[at] = self.intern(labels[at]), numeric_kind(labels[at])
                self.label_index.cache_put(given[at], s.index[at], s.kind[at])
        return 0

    @cython.final
    cdef int find_place(self, PairedSample *s) except -1:
        """Check a sample whose labels were read, and reserve memory for its cell."""
        self.check_spare()
        if s.alone >= 0:
            return 0
        self.check_weight(s.whole)
        if s.part != 0:
            self.make_fractional()
        if (s.whole | <int64_t> s.part) != 0:
            s.at = self.place(key_of(s.fold, s.index[0], s.index[1], s.index[2]))
        return 0

    @cython.final
    cdef Py_ssize_t place(self, uint64_t key) except -1:
        """Return the position of a cell, which is added without weight if it is new."""
        cdef Py_ssize_t at = map_find(&self.table, key, 2)
        if at < 0:
            raise MemoryError(f"no memory for more than {self.table.occupied} cells")
        return at

    @cython.final
    cdef void apply_sample(self, const PairedSample *s) noexcept:
        """Count a sample for which memory was reserved."""
        cdef int at
        self.spare -= 1
        if s.alone >= 0:
            self.alone[s.alone] += 1
            return
        if (s.whole | <int64_t> s.part) != 0:
            self.add_at(s.at, s.whole, s.part)
            for at in range(3):
                self.add_types(s.index[at], s.kind[at], 1)
            self.mass += s.whole + (s.part != 0)
        self.weighted += s.whole != 1 or s.part != 0
        self.keyed += s.fold != self.folds
        self.n += 1

    cdef int check_labels(self, list labels) except -1:
        """Raise LabelError for more canonical labels than the keys of cells can distinguish."""
        cdef Py_ssize_t n = len(self.label_index.names)
        if n + len(labels) > MOST_LABELS:
            self.reserve(n + len({label for label in labels if label not in self.label_index.index}))
        return 0

    def update(self, y_true, pred_a, pred_b, w=1, *, classes=None, unit=None):
        """Count one sample of both models.

        Parameters
        ----------
        y_true : Label
            The true label.
        pred_a : Label or mapping from Label to float or float or None
            Prediction of the first model: a label, a mapping of scores, or if scores are counted a number, the score of
            `pos_label`. None or {} is an abstention.
        pred_b : Label or mapping from Label to float or float or None
            Prediction of the second model.
        w : int or float, default 1
            Weight of the sample, >= 0.
        classes : sequence of Label, optional
            The classes that sequences of scores belong to.
        unit : Label, optional
            What samples that depend on each other have in common: a customer, a session, an hour.

        Raises
        ------
        LabelError
            If a label is not allowed.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.

        Notes
        -----
        Nothing is counted if an argument is refused.
        """
        if unit is None and classes is None and not self.aside:
            self.count(y_true, pred_a, pred_b, w, self.folds)
        else:
            self._update(y_true, pred_a, pred_b, w, unit, classes)

    def _count(self, y_true, pred_a, pred_b, w, Py_ssize_t fold):
        """Count one sample in a fold, `folds` for none."""
        self.count(y_true, pred_a, pred_b, w, fold)

    @cython.final
    cdef int count(self, object y_true, object pred_a, object pred_b, object w, Py_ssize_t fold) except -1:
        cdef PairedSample s = start_sample(w, fold)
        cdef IdentityCacheEntry *t
        cdef IdentityCacheEntry *a
        cdef IdentityCacheEntry *b
        if self.holder != 0:
            self.wait()
        t, a = cache_entry(self.label_index, y_true), cache_entry(self.label_index, pred_a)
        b = cache_entry(self.label_index, pred_b)
        if t.label == <PyObject *> y_true and a.label == <PyObject *> pred_a and b.label == <PyObject *> pred_b:
            s.index[0], s.index[1], s.index[2] = t.index, a.index, b.index
            s.kind[0], s.kind[1], s.kind[2] = t.kind, a.kind, b.kind
        else:
            self.read_labels(y_true, pred_a, pred_b, True, &s)
        self.find_place(&s)
        self.apply_sample(&s)
        return 0

    def _sample_step(self, y_true, pred_a, pred_b, w, Py_ssize_t fold):
        """Return the step that counts one sample in a fold; called in a section."""
        cdef PairedStep step = PairedStep.__new__(PairedStep)
        step.target, step.inside, step.sample = self, True, start_sample(w, fold)
        step.given = (y_true, pred_a, pred_b)
        return step

    def _admit(self, label, str argument, position=None):
        """The canonical label to count for `label`; LabelError if it is none, or outside the fixed labels."""
        return self.label_index.admitted(label, argument, position)

    def _count_rows(self, list labels, codes, fold, wholes, parts):
        """Count a batch whose labels were admitted.

        labels: three lists of labels; codes: three arrays that index them, -1 for an abstention; fold: the fold of each
        row; wholes, parts: the weights, None for 1 and for no fractions.
        """
        cdef const int64_t[::1] t = codes[0], a = codes[1], b = codes[2], folds = fold, whole = wholes
        cdef const uint64_t[::1] part = parts
        cdef PairedCounts batch = self.empty()
        cdef const int64_t[::1] to_t, to_a, to_b
        to_t, to_a, to_b = [batch._places(*each) for each in zip(labels, codes)]
        cdef const int64_t[::1] kind_t, kind_a, kind_b
        kind_t, kind_a, kind_b = [numeric_kinds(names) for names in labels]
        cdef PairedSample s = start_sample(ONE, self.folds)
        cdef Py_ssize_t r
        for r in range(t.shape[0]):
            s.fold, s.alone = folds[r], -1
            if wholes is not None:
                s.whole, s.part = whole[r], 0 if parts is None else part[r]
            if a[r] < 0 or b[r] < 0:
                s.alone = 2 if a[r] == b[r] else a[r] >= 0
            else:
                s.index[0], s.index[1], s.index[2] = to_t[t[r]], to_a[a[r]], to_b[b[r]]
                s.kind[0], s.kind[1], s.kind[2] = kind_t[t[r]], kind_a[a[r]], kind_b[b[r]]
            batch.find_place(&s)
            batch.apply_sample(&s)
        commit_steps([self._merge_step(batch)])

    def _places(self, list labels, codes):
        """Return the index of each label that a code stands for, -1 for the others."""
        cdef Py_ssize_t code
        used, places = np.zeros(len(labels) + 1, bool), np.full(len(labels) + 1, -1, np.int64)
        used[codes] = True  # that of -1 is at the end
        for code in np.flatnonzero(used[:len(labels)]).tolist():
            places[code] = self.intern(labels[code])
        return places

    cdef int check_sums(self, PairedCounts o) except -1:
        """Raise WeightError or LabelError if the counts of another state of the same configuration cannot be added."""
        if o.mass:
            self.check_weight(o.mass)
        check_samples(o.n, self.n)
        check_samples(o.absent_samples(), self.absent_samples())
        if o.largest_type_count() > LARGEST - self.largest_type_count():
            refuse_samples(o.largest_type_count(), self.largest_type_count())
        self.check_labels([name for b, name in enumerate(o.label_index.names) if o.classes[b].counted])
        return 0

    def _merge_step(self, PairedCounts other, bint inside=False):
        """Return the step that adds the counts of another state of the same configuration."""
        cdef PairedMergeStep step = PairedMergeStep.__new__(PairedMergeStep)
        step.target, step.source, step.inside, step.other = self, other, inside, other
        return step

    @property
    def labels(self):
        """The labels: as given if they were fixed, else numbers, text, bytes, tuples, each by value."""
        self.enter_reading()
        try:
            return self._shown_labels()
        finally:
            self.leave()

    def _shown_labels(self):
        """The labels; in a section."""
        return tuple([self.label_index.shown(i, self.classes[i].type_counts) for i in self.order()])

    @property
    def class_names(self):
        """What keys of scores name."""
        return self.label_index.class_names()

    @property
    def fixed_labels(self):
        """The labels that were fixed, None if they were not."""
        return self.label_index.fixed_labels

    @property
    def abstentions(self):
        """The numbers of samples without a prediction of the first model only, of the second only, of both."""
        return (self.alone[0], self.alone[1], self.alone[2])

    @property
    def abstained(self):
        """The number of samples without a prediction of one of the models; they are in no comparison."""
        return self.absent_samples()

    def _merge_load(self):
        """Bounds of what a merge adds up: the sum of weights, samples or appearances, abstentions."""
        return self.mass, max(self.n, self.largest_type_count()), self.absent_samples()

    def _appearances(self):
        cdef Py_ssize_t kind
        return [self.classes[i].type_counts[kind] for i in self.order() if i >= self.label_index.fixed
                and numeric_kind(self.label_index.names[i]) < 3 for kind in range(3)]

    def cells(self):
        """The occupied cells in order: folds, true labels, predictions of both models, whole parts, fractions.

        Fractions are None if all weights are whole. Labels are given by their places in `labels`; the fold `folds`
        has the samples without a unit.
        """
        cdef Py_ssize_t at, r = 0
        cdef uint64_t key
        cdef int64_t[::1] to
        cdef int64_t[:, ::1] out
        cdef uint64_t[::1] part
        self.enter_reading()
        try:
            order = self.order()
            place = np.full(max(self.label_index.used, 1), -1, np.int64)
            place[order] = np.arange(len(order))
            columns, parts = np.empty((5, self.table.occupied), np.int64), np.zeros(self.table.occupied, np.uint64)
            to, out, part = place, columns, parts
            for at in range(0, 2 * self.table.slots, 2):
                key = self.table.key[at]
                if key == 0 or map_is_zero(&self.table, at + 1):
                    continue
                out[0, r] = <int64_t> (key >> 54) - 1
                out[1, r], out[2, r] = to[(key >> 36) & 0x3FFFF], to[(key >> 18) & 0x3FFFF]
                out[3, r], out[4, r] = to[key & 0x3FFFF], self.table.value[at + 1]
                part[r] = 0 if self.table.fraction == NULL else self.table.fraction[at + 1]
                r += 1
        finally:
            self.leave()
        by = np.lexsort(columns[3::-1, :r])
        return (*columns[:, by], parts[by] if parts[:r].any() else None)

    def _refill(self, list labels, appearances, counters, cells):
        """Fill an empty table with decoded counts; raise ValueError for counts that no stream of samples produces."""
        cdef Py_ssize_t i, kind
        mass, n, keyed, weighted, *alone = counters
        written = iter(appearances)
        if repr([*map(canonical, labels)]) != repr(labels):
            raise ValueError("labels in their plain form")
        if not (0 <= n <= MOST_SAMPLES and min(alone) >= 0 and sum(alone) <= MOST_SAMPLES
                and 0 <= min(keyed, weighted) <= max(keyed, weighted) <= n):
            raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
        if not all(0 <= x <= LARGEST for x in appearances):
            raise ValueError("counts of appearances that are not negative")
        columns, parts = np.array(cells[:5], np.int64), np.array(cells[5], np.uint64)
        names = [*(self.label_index.fixed_labels or ()), *labels]
        if columns.min(initial=0) < 0 or columns[0].max(initial=0) > self.folds or columns[1:4].max(
                initial=-1) >= len(names):
            raise ValueError("cells of the labels and folds there are")
        total, units = sum(cells[4]), int((columns[0] < self.folds).sum())
        if not max(total, n - weighted) <= mass <= min(total + weighted, LARGEST - 2):
            raise ValueError("weights that add up, below 2**63")
        if units > keyed or columns.shape[1] - units > n - keyed:
            raise ValueError("a sample for every cell")
        self._count_rows([names] * 3, columns[1:4], columns[0], columns[4], parts if parts.any() else None)
        for i in range(self.label_index.used):
            for kind in range(4):
                self.classes[i].type_counts[kind] = 0
        for i in self.order():
            if i >= self.label_index.fixed and numeric_kind(self.label_index.names[i]) < 3:
                for kind in range(3):
                    self.classes[i].type_counts[kind] = next(written, 0)
        self.mass, self.n, self.keyed, self.weighted, self.spare = mass, n, keyed, weighted, 0
        self.alone[0], self.alone[1], self.alone[2] = alone

    @property
    def _mass(self):
        """An upper bound of the sum of all weights: whole parts, and 1 for each sample whose weight has a fraction."""
        return self.mass


@cython.final
cdef class PairedStep(Step):
    """One sample."""

    cdef tuple given
    cdef PairedSample sample

    cdef int prepare(self) except -1:
        cdef PairedCounts counts = self.target
        counts.read_labels(self.given[0], self.given[1], self.given[2], False, &self.sample)
        return counts.find_place(&self.sample)

    cdef void apply(self) noexcept:
        (<PairedCounts> self.target).apply_sample(&self.sample)


@cython.final
cdef class PairedMergeStep(Step):
    """The counts of another state of the same configuration, which is not the one that they are added to."""

    cdef PairedCounts other
    cdef const int64_t[::1] to     # the index here of each label there, or -1
    cdef int64_t[::1] place        # the position here of each slot there

    cdef int prepare(self) except -1:
        cdef PairedCounts counts = self.target, o = self.other
        cdef Py_ssize_t b, new = 0
        counts.check_sums(o)
        if o.table.fraction != NULL:
            counts.make_fractional()
        self.to = to = np.full(o.label_index.used, -1, np.int64)
        for b in range(o.label_index.used):
            if o.classes[b].counted:
                to[b] = counts.intern(o.label_index.names[b])
        for b in range(o.table.slots):
            new += self.has_cell(b) and not map_has(&counts.table, self.key(b))
        if not map_has_room(&counts.table, new, 2) and map_reserve(&counts.table, new, 2) < 0:
            raise MemoryError(f"no memory for {new} more cells")
        self.place = np.empty(o.table.slots, np.int64)
        for b in range(o.table.slots):
            if self.has_cell(b):
                self.place[b] = map_put(&counts.table, self.key(b))
        return 0

    cdef bint has_cell(self, Py_ssize_t slot) noexcept:
        return self.other.table.key[2 * slot] != 0 and not map_is_zero(&self.other.table, 2 * slot + 1)

    cdef uint64_t key(self, Py_ssize_t slot) noexcept:
        """Return the key here of a cell there."""
        cdef uint64_t key = self.other.table.key[2 * slot]
        return key_of(<Py_ssize_t> (key >> 54) - 1, self.to[(key >> 36) & 0x3FFFF], self.to[(key >> 18) & 0x3FFFF],
                      self.to[key & 0x3FFFF])

    cdef void apply(self) noexcept:
        cdef PairedCounts counts = self.target, o = self.other
        cdef Py_ssize_t b, kind
        for b in range(o.table.slots):
            if self.has_cell(b):
                counts.add_at(self.place[b], o.table.value[2 * b + 1],
                              0 if o.table.fraction == NULL else o.table.fraction[2 * b + 1])
        for b in range(self.to.shape[0]):
            if self.to[b] >= 0:
                for kind in range(4):
                    counts.add_types(self.to[b], kind, o.classes[b].type_counts[kind])
        counts.mass += o.mass
        counts.n += o.n
        counts.keyed += o.keyed
        counts.weighted += o.weighted
        for b in range(3):
            counts.alone[b] += o.alone[b]
        counts.spare = 0


@cython.final
cdef class ScoredStep(Step):
    """Other states of scores of a comparison, by fold, which the caller has locked."""

    cdef PairedCounts owner
    cdef dict scored

    def __init__(self, PairedCounts owner not None, dict scored not None):
        self.owner, self.scored = owner, scored

    cdef void apply(self) noexcept:
        self.owner._scored, self.scored = self.scored, self.owner._scored
