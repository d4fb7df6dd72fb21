"""The joint counters of two models: samples become cells of (fold, true label, prediction of one, prediction of the
other).

Two confusion matrices do not show how often both models are right about the same sample, and the uncertainty of a
difference depends on that. So a cell is a triple of labels. A cube of K classes would be nearly empty, so occupied
cells are in a hash; a key has the fold in its 10 highest bits and three label indices of 18 bits each.

The caller assigns folds; the last one, number `folds`, has the samples that belong to none.
"""

cimport cython
from collections.abc import Mapping

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from stream_metrics._core.numeric.kernels cimport (
    by_class,
    HASH_SEED, MOST_SAMPLES, Guarded, IdentityCacheEntry, LabelIndex, Step, cache_entry, check_samples, commit_steps,
    most_type_count, numeric_kind, numeric_kinds, plain, refuse_samples, samples_left, split, sum_overflow,
)
from stream_metrics._core.numeric.openmap cimport (
    CounterMap, map_create, map_find, map_free, map_has, map_has_room, map_is_zero, map_put, map_reserve,
)
from stream_metrics.errors import LabelError
from stream_metrics.labels.label import canonical, is_missing, most_likely

cdef object ONE = 1
cdef int64_t LARGEST = 0x7FFFFFFFFFFFFFFF
cdef Py_ssize_t MOST_FOLDS = 1022
cdef Py_ssize_t FIRST_SLOTS = 256


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
    int kind[3]
    Py_ssize_t at     # the position of the cell
    int64_t whole
    uint64_t part
    bint keyed
    int alone         # which abstention it is; -1 for none


cdef inline uint64_t key_of(Py_ssize_t fold, int64_t i, int64_t j, int64_t k) noexcept nogil:
    """The key of a cell, never 0."""
    return ((<uint64_t> (fold + 1)) << 54) | (<uint64_t> i << 36) | (<uint64_t> j << 18) | <uint64_t> k


cdef object too_many_labels(Py_ssize_t labels):
    return LabelError(subject=f"at most {MOST_LABELS} labels", expected="where two models are compared", got=labels)


cdef inline bint absent(object predicted):
    """Whether a prediction is an abstention."""
    if plain(predicted):
        return type(predicted) is float and predicted != predicted
    return predicted is None or (not predicted if isinstance(predicted, Mapping) else is_missing(predicted))


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

    def _configure(self, labels, folds, aside):
        """Become empty, with these fixed labels (None if there are none) and that many folds; `aside`: see `update`."""
        if type(folds) is not int or not 2 <= folds <= MOST_FOLDS:
            raise ValueError(f"Expected `folds` to be a whole number from 2 to {MOST_FOLDS}, but got {folds!r}")
        cdef LabelIndex label_index = LabelIndex.__new__(LabelIndex, labels)
        self.reserve(label_index.used)
        self.label_index = label_index
        if self.classes != NULL:
            memset(self.classes, 0, self.capacity * sizeof(PairedClass))
        self.folds, self.aside = folds, aside
        self.start()

    cdef int start(self) except -1:
        map_free(&self.table)
        if map_create(&self.table, FIRST_SLOTS, False, HASH_SEED) < 0:
            raise MemoryError("no memory for the first cells")
        self.n, self.keyed, self.weighted, self.mass, self.spare = 0, 0, 0, 0, 0
        self.alone[0], self.alone[1], self.alone[2] = 0, 0, 0
        return 0

    cdef int count(self, object y_true, object pred_a, object pred_b, object w, Py_ssize_t fold) except -1:
        """Count one sample in a fold."""
        cdef IdentityCacheEntry *t
        cdef IdentityCacheEntry *a
        cdef IdentityCacheEntry *b
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        if w is not ONE:
            split(w, &whole, &part)
        if self.holder != 0:
            self.wait()
        if self.spare <= 0:
            self.find_spare(1)
        t, a, b = cache_entry(self.label_index, y_true), cache_entry(self.label_index,
                                                                     pred_a), cache_entry(self.label_index, pred_b)
        if (t.label != <PyObject *> y_true or a.label != <PyObject *> pred_a or b.label != <PyObject *> pred_b
                or (whole | <int64_t> part) == 0):
            return self.count_new(y_true, pred_a, pred_b, whole, part, fold)
        self.check_weight(whole)
        if part != 0:
            self.make_fractional()
        self.add_at(self.place(key_of(fold, t.index, a.index, b.index)), whole, part)
        self.classes[t.index].type_counts[t.kind] += 1
        self.classes[a.index].type_counts[a.kind] += 1
        self.classes[b.index].type_counts[b.kind] += 1
        self.mass += whole + (part != 0)
        self.weighted += whole != 1 or part != 0
        self.keyed += fold != self.folds
        self.n += 1
        self.spare -= 1
        return 0

    def __dealloc__(self):
        map_free(&self.table)
        PyMem_RawFree(self.classes)

    cdef int make_fractional(self) except -1:
        """Add a fraction part to every counter."""
        if self.table.fraction == NULL:
            self.table.fraction = <uint64_t *> PyMem_RawCalloc(2 * self.table.slots, sizeof(uint64_t))
            if self.table.fraction == NULL:
                raise MemoryError(f"no memory for {self.table.slots} cells")
        return 0

    cdef Py_ssize_t place(self, uint64_t key) except -1:
        """Return the position of a cell, which is added without weight if it is new."""
        cdef Py_ssize_t at = map_find(&self.table, key, 2)
        if at < 0:
            raise MemoryError(f"no memory for more than {self.table.occupied} cells")
        return at

    cdef void add_at(self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept:
        """Count a checked weight; the fractions exist if `part` is not 0."""
        if self.table.fraction != NULL:
            self.table.fraction[at] += part
            whole += self.table.fraction[at] < part
        self.table.value[at] += whole

    cdef int reserve(self, Py_ssize_t classes) except -1:
        """Reserve memory for `classes` classes; on failure nothing has changed."""
        cdef Py_ssize_t capacity = max(self.capacity, 8)
        cdef PairedClass *larger
        if classes <= self.capacity:
            return 0
        if classes > MOST_LABELS:
            raise too_many_labels(classes)
        while capacity < classes:
            capacity *= 2
        larger = <PairedClass *> PyMem_RawCalloc(capacity, sizeof(PairedClass))
        if larger == NULL:
            raise MemoryError(f"no memory for {capacity} labels")
        if self.capacity:
            memcpy(larger, self.classes, self.capacity * sizeof(PairedClass))
        PyMem_RawFree(self.classes)
        self.classes, self.capacity = larger, capacity
        return 0

    cdef Py_ssize_t intern(self, object label) except -1:
        """Return the index of an admitted label, a new one if it has none."""
        cdef Py_ssize_t i = self.label_index.find(label)
        if i < 0:
            self.reserve(self.label_index.next_index() + 1)
            i = self.label_index.add(label)
        return i

    cdef bint is_class(self, Py_ssize_t i) noexcept:
        """Whether a label is shown: it is fixed, or a sample has it."""
        return i < self.label_index.fixed or self.classes[i].counted

    cdef int64_t largest_type_count(self) noexcept:
        """The largest type count."""
        return 0 if self.capacity == 0 else most_type_count(self.classes.type_counts, sizeof(PairedClass),
                                                            self.label_index.used)

    cdef list order(self):
        """The indices of the classes in the order of report; in a section."""
        cdef Py_ssize_t a
        self.label_index.sort()
        return [self.label_index.ranking[a] for a in range(self.label_index.ranked)
                if self.is_class(self.label_index.ranking[a])]

    cdef int check_weight(self, int64_t whole) except -1:
        if whole >= LARGEST - 1 - self.mass:
            raise sum_overflow(whole, self.mass, "2**63 - 1", None)
        return 0

    cdef int64_t absent_samples(self) noexcept:
        return self.alone[0] + self.alone[1] + self.alone[2]

    cdef int find_spare(self, int64_t more) except -1:
        """Update `spare`; raise WeightError if it is less than `more`."""
        self.spare = samples_left(self.n, self.absent_samples(), self.largest_type_count(), 3)
        if more > self.spare:
            refuse_samples(more, MOST_SAMPLES - self.spare)
        return 0

    cdef int check_labels(self, list labels) except -1:
        """Raise LabelError for more canonical, distinct labels than the keys of cells can distinguish."""
        cdef Py_ssize_t n = len(self.label_index.names)
        if n + len(labels) > MOST_LABELS:
            n += sum([label not in self.label_index.index for label in labels])
            if n > MOST_LABELS:
                raise too_many_labels(n)
        return 0

    cdef int count_new(self, object y_true, object pred_a, object pred_b, int64_t whole, uint64_t part,
                       Py_ssize_t fold) except -1:
        """Count a sample with a label that is not cached, or of weight 0."""
        cdef PairedSample s
        cdef list labels = self._checked(y_true, pred_a, pred_b)
        if self.holder != 0:
            self.wait()
        self.read_sample(y_true, pred_a, pred_b, labels, whole, part, fold, &s)
        self.apply_sample(&s)
        return 0

    cdef int read_sample(self, object y_true, object pred_a, object pred_b, list labels, int64_t whole, uint64_t part,
                         Py_ssize_t fold, PairedSample *s) except -1:
        """Check a sample of admitted labels, None for an abstention, and reserve memory; runs no Python code."""
        cdef Py_ssize_t at
        s.whole, s.part, s.keyed, s.alone = whole, part, fold != self.folds, -1
        if self.spare <= 0:
            self.find_spare(1)
        if labels[1] is None or labels[2] is None:
            s.alone = 2 if labels[1] is None and labels[2] is None else labels[1] is not None
            return 0
        self.check_weight(whole)
        if (whole | <int64_t> part) == 0:
            return 0
        if len(self.label_index.names) + 3 > MOST_LABELS:
            self.check_labels(list({*labels}))
        if part != 0:
            self.make_fractional()
        s.index[0] = self.locate(y_true, labels[0])
        s.index[1] = self.locate(pred_a, labels[1])
        s.index[2] = self.locate(pred_b, labels[2])
        for at in range(3):
            s.kind[at] = numeric_kind(labels[at])
        s.at = self.place(key_of(fold, s.index[0], s.index[1], s.index[2]))
        return 0

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
        self.keyed += s.keyed
        self.n += 1

    cdef int locate(self, object given, object label) except -1:
        """Return the index of an admitted label, a new one if it has none, and cache the object given for it."""
        cdef Py_ssize_t i = self.intern(label)
        self.label_index.cache_put(given, i, numeric_kind(label))
        return i

    def _checked(self, y_true, pred_a, pred_b):
        """The labels to count for a sample, None for an abstention; LabelError or ScoreError for what is none."""
        labels = [self.label_index.admitted(y_true, "y_true", None)]
        for name, predicted in (("pred_a", pred_a), ("pred_b", pred_b)):
            if absent(predicted):
                labels.append(None)
                continue
            if not plain(predicted) and isinstance(predicted, Mapping):
                predicted = most_likely(by_class(predicted, y_true, self.label_index.class_names()), name)
            labels.append(self.label_index.admitted(predicted, name, None))
        return labels

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

    def _sample_step(self, y_true, pred_a, pred_b, w, Py_ssize_t fold, bint inside=False):
        """Return the step that counts one sample in a fold, `folds` for none."""
        cdef PairedStep step = PairedStep.__new__(PairedStep)
        split(w, &step.whole, &step.part)
        step.labels = self._checked(y_true, pred_a, pred_b)
        step.target, step.fold, step.inside = self, fold, inside
        return step

    def _admit(self, label, str argument, position=None):
        """The canonical label to count for `label`; LabelError if it is none, or outside the fixed labels."""
        return self.label_index.admitted(label, argument, position)

    def _commit(self, list labels, codes, fold, wholes, parts):
        """Count a batch that was checked.

        labels: three lists of admitted labels; codes: three arrays that index them, -1 for an abstention; fold: the
        fold of each row; wholes, parts: the weights, None for 1 and for no fractions.
        """
        cdef PairedCounts batch = PairedCounts()
        batch._configure(self.label_index.fixed_labels, self.folds, self.aside)
        batch.add_batch(labels, codes, fold, wholes, parts)
        commit_steps([self._merge_step(batch)])

    cdef int add_batch(self, list labels, codes, fold, wholes, parts) except -1:
        cdef const int64_t[::1] t = codes[0], a = codes[1], b = codes[2], folds = fold, whole = wholes
        cdef const uint64_t[::1] part = parts
        cdef bint fractional = parts is not None, weights = wholes is not None
        cdef Py_ssize_t r, rows = t.shape[0]
        cdef int64_t w = 1
        cdef uint64_t f = 0
        total = rows if wholes is None else sum(wholes.tolist()) + (0 if parts is None else len(parts))
        if total >= LARGEST - 1 - self.mass:
            raise sum_overflow(total, self.mass, "2**63 - 1", None)
        if rows > self.spare:
            self.find_spare(rows)
        if len(self.label_index.names) + sum(map(len, labels)) > MOST_LABELS:
            counts = (codes[1] >= 0) & (codes[2] >= 0)
            if weights:
                counts &= (wholes != 0) if parts is None else (wholes != 0) | (parts != 0)
            used = {names[code] for names, of in zip(labels, codes) for code in np.unique(of[counts]).tolist()}
            self.check_labels([*used])
        if fractional:
            self.make_fractional()
        at = [np.full(len(names) + 1, -1, np.int64) for names in labels]
        cdef int64_t[::1] to_t = at[0], to_a = at[1], to_b = at[2]
        cdef const int64_t[::1] kind_t = numeric_kinds(labels[0]), kind_a = numeric_kinds(labels[1])
        cdef const int64_t[::1] kind_b = numeric_kinds(labels[2])
        for r in range(rows):
            if a[r] < 0 or b[r] < 0:
                self.alone[2 if a[r] < 0 and b[r] < 0 else a[r] >= 0] += 1
                continue
            if weights:
                w, f = whole[r], part[r] if fractional else 0
            self.n += 1
            self.keyed += folds[r] != self.folds
            self.weighted += w != 1 or f != 0
            if w == 0 and f == 0:
                continue
            if to_t[t[r]] < 0:
                to_t[t[r]] = self.intern(labels[0][t[r]])
            if to_a[a[r]] < 0:
                to_a[a[r]] = self.intern(labels[1][a[r]])
            if to_b[b[r]] < 0:
                to_b[b[r]] = self.intern(labels[2][b[r]])
            self.add_at(self.place(key_of(folds[r], to_t[t[r]], to_a[a[r]], to_b[b[r]])), w, f)
            self.add_types(to_t[t[r]], kind_t[t[r]], 1)
            self.add_types(to_a[a[r]], kind_a[a[r]], 1)
            self.add_types(to_b[b[r]], kind_b[b[r]], 1)
            self.mass += w + (f != 0)
        self.spare -= rows
        return 0

    cdef void add_types(self, int64_t i, int64_t kind, int64_t times) noexcept:
        self.classes[i].counted = True
        self.classes[i].type_counts[kind] += times

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
        step.target, step.source, step.inside = self, other, inside
        return step

    def _twin(self):
        """An independent table with the same configuration and counts; called in a section."""
        cdef PairedCounts twin = PairedCounts()
        twin._configure(self.label_index.fixed_labels, self.folds, self.aside)
        commit_steps([twin._merge_step(self, True)])
        return twin

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
        self.enter_reading()
        try:
            return self.in_order()
        finally:
            self.leave()

    cdef tuple in_order(self):
        cdef Py_ssize_t at, r = 0
        cdef uint64_t key
        place = np.full(max(self.label_index.used, 1), -1, np.int64)
        order = self.order()
        place[order] = np.arange(len(order))
        cdef const int64_t[::1] to = place
        columns = np.empty((5, self.table.occupied), np.int64)
        parts = None if self.table.fraction == NULL else np.empty(self.table.occupied, np.uint64)
        cdef int64_t[:, ::1] out = columns
        cdef uint64_t[::1] part = parts
        for at in range(0, 2 * self.table.slots, 2):
            key = self.table.key[at]
            if key == 0 or map_is_zero(&self.table, at + 1):
                continue
            out[0, r] = <int64_t> (key >> 54) - 1
            out[1, r], out[2, r], out[3, r] = to[(key >> 36) & 0x3FFFF], to[(key >> 18) & 0x3FFFF], to[key & 0x3FFFF]
            out[4, r] = self.table.value[at + 1]
            if parts is not None:
                part[r] = self.table.fraction[at + 1]
            r += 1
        columns = columns[:, :r]
        by = np.lexsort(columns[3::-1])
        columns = columns[:, by]
        if parts is not None:
            parts = parts[by]
        return (*columns, parts if parts is not None and parts.any() else None)

    def _refill(self, list labels, appearances, counters, cells):
        """Fill an empty table with decoded counts; raise ValueError for counts that no stream of samples produces."""
        cdef Py_ssize_t i, at = 0, kind, fixed = self.label_index.fixed
        folds, t, a, b, wholes, parts = cells
        for label in labels:
            if repr(canonical(label)) != repr(label) or self.intern(label) != self.label_index.used - 1:
                raise ValueError("every label once, in its plain form")
        mass, total = counters[0], sum(wholes)
        _, n, keyed, weighted, *alone = counters
        if not (0 <= n <= MOST_SAMPLES and min(alone) >= 0 and sum(alone) <= MOST_SAMPLES
                and 0 <= min(keyed, weighted) <= max(keyed, weighted) <= n):
            raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
        if not all(0 <= x <= LARGEST for x in appearances):
            raise ValueError("counts of appearances that are not negative")
        if any(x < 0 for column in cells for x in column) or not max(total,
                                                                     n - weighted) <= mass <= min(total + weighted,
                                                                                                  LARGEST - 2):
            raise ValueError("weights that add up, below 2**63")
        units = sum([fold < self.folds for fold in folds])
        if units > keyed or len(folds) - units > n - keyed:
            raise ValueError("a sample for every cell")
        if any(parts):
            self.make_fractional()
        for fold, i_t, i_a, i_b, whole, part in zip(folds, t, a, b, wholes, parts):
            if not (0 <= fold <= self.folds and 0 <= part < 1 << 64 and max(i_t, i_a, i_b) < self.label_index.used):
                raise ValueError("cells of the labels and folds there are")
            self.add_at(self.place(key_of(fold, i_t, i_a, i_b)), whole, part)
            for i in (i_t, i_a, i_b):
                self.classes[i].counted = True
        for i in range(fixed, self.label_index.used):
            if numeric_kind(self.label_index.names[i]) == 3:
                continue
            if at + 3 > len(appearances):
                raise ValueError("three counts of appearances for every number")
            for kind in range(3):
                self.classes[i].type_counts[kind] = appearances[at]
                at += 1
        if at != len(appearances):
            raise ValueError("appearances of the labels only")
        self.mass = mass
        self.n, self.keyed, self.weighted, self.alone[0], self.alone[1], self.alone[2] = counters[1:]
        self.spare = 0

    @property
    def _mass(self):
        """An upper bound of the sum of all weights: whole parts, and 1 for each sample whose weight has a fraction."""
        return self.mass


@cython.final
cdef class PairedStep(Step):
    """One sample, whose labels were admitted."""

    cdef list labels
    cdef int64_t whole
    cdef uint64_t part
    cdef Py_ssize_t fold
    cdef PairedSample sample

    cdef int prepare(self) except -1:
        return (<PairedCounts> self.target).read_sample(self.labels[0], self.labels[1], self.labels[2], self.labels,
                                                        self.whole, self.part, self.fold, &self.sample)

    cdef void apply(self) noexcept:
        (<PairedCounts> self.target).apply_sample(&self.sample)


@cython.final
cdef class PairedMergeStep(Step):
    """The counts of another state of the same configuration."""

    cdef PairedCounts other
    cdef const int64_t[::1] to     # the index here of each label there, or -1
    cdef int64_t[::1] place        # the position here of each slot there

    cdef int prepare(self) except -1:
        cdef PairedCounts counts = self.target, o = self.source
        cdef Py_ssize_t b, new = 0
        o = self.other = o._twin() if o is counts else o
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
