# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The confusion counters: samples become cells, one by one, in batches, and from other states."""

cimport cython

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from stream_metrics._core.cells cimport Cells, empty, place
from stream_metrics._core.coding cimport read_cells
from stream_metrics._core.indexed cimport Indexed, Known, Pair, form_of, plain, slot
from stream_metrics._core.weights cimport split
from stream_metrics.errors import MergeError, WeightError
from stream_metrics.labels import canonical, ordering

cdef object ONE = 1


@cython.auto_pickle(False)
cdef class ConfusionCounters(Indexed):
    """Exact counts of (true label, predicted label)."""

    cdef readonly int64_t n
    cdef readonly int64_t abstained

    def update(self, y_true, y_pred, w=1):
        """Count one sample of weight `w`; a prediction of None or {} is an abstention, a mapping of scores its largest."""
        cdef Known *t
        cdef Known *p
        cdef Pair pair
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        if w is not ONE:
            split(w, &whole, &part)
        t, p = slot(self, y_true), slot(self, y_pred)
        if t.label == <PyObject *> y_true and p.label == <PyObject *> y_pred:
            pair.i, pair.j, pair.form_i, pair.form_j = t.index, p.index, t.form, p.form
        else:
            self.resolve(y_true, y_pred, (whole | <int64_t> part) != 0, whole, &pair)
            if pair.abstained:
                self.abstained += 1
                return
        if (whole | <int64_t> part) != 0:
            self.check_room(whole)
            if part != 0:
                self.make_fractional()
            self.add(pair.i, pair.j, whole, part)
            self.totals[pair.i].seen[pair.form_i] += 1
            self.totals[pair.j].seen[pair.form_j] += 1
        self.n += 1

    def revert(self, y_true, y_pred, w=1):
        """Undo one `update` with the same arguments; WeightError, and no change, if there was none."""
        cdef Pair pair
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        cdef bint possible
        split(w, &whole, &part)
        self.resolve(y_true, y_pred, False, whole, &pair)
        if pair.abstained:
            possible = self.abstained > 0
            self.abstained -= possible
        elif (whole | <int64_t> part) == 0:
            possible = self.n > 0
            self.n -= possible
        else:
            possible = self.n > 0 and pair.i >= 0 and pair.j >= 0 and self.take(pair.i, pair.j, whole, part)
            if possible:
                self.n -= 1
                self.unsee(pair.i, pair.form_i, 1)
                self.unsee(pair.j, pair.form_j, 1)
                self.settle()
        if not possible:
            raise WeightError(f"Expected to revert a sample that was counted, but got y_true={y_true!r}, y_pred={y_pred!r}, w={w!r}")

    def commit(self, list truth, list predicted, cells, seen, int64_t n, int64_t abstained):
        """Count a batch that was checked: cells = (rows, columns, whole parts, fraction parts or None) index the two lists of
        canonical labels; seen = (appearances of each true label, of each predicted label)."""
        rows, columns, wholes, parts = cells
        cdef const int64_t[:] row = rows, column = columns, whole = wholes
        cdef const uint64_t[:] part = parts
        cdef Py_ssize_t r, i
        near = wholes.sum(dtype=np.float64) > 2.0**62  # then an int64 sum could overflow
        total = int(wholes.sum(dtype=object if near else np.int64)) + (0 if parts is None else len(parts))
        if total >= 0x7FFFFFFFFFFFFFFF - self.mass:
            raise WeightError(f"Expected the sum of all weights to stay below 2**63 - 1, but got {total} on top of {self.mass}")
        used_true, used_predicted = np.zeros(len(truth), bool), np.zeros(len(predicted), bool)
        used_true[rows], used_predicted[columns] = True, True
        at_true = np.array([self.intern(x) if use else -1 for x, use in zip(truth, used_true.tolist())], np.int64)
        at_predicted = np.array([self.intern(x) if use else -1 for x, use in zip(predicted, used_predicted.tolist())], np.int64)
        cdef const int64_t[:] to_row = at_true, to_column = at_predicted
        if parts is not None:
            self.make_fractional()
        for r in range(row.shape[0]):
            self.add(to_row[row[r]], to_column[column[r]], whole[r], 0 if parts is None else part[r])
        for labels, at, counts in ((truth, to_row, seen[0]), (predicted, to_column, seen[1])):
            for r in range(len(labels)):
                i = at[r]
                if i >= 0:
                    self.totals[i].seen[form_of(labels[r])] += counts[r]
        self.n += n
        self.abstained += abstained

    def restore(self, list labels, bytes cells, list appearances, int64_t n, int64_t abstained):
        """Fill an empty state with what was read of another; ValueError names what cannot have been counted."""
        cdef Py_ssize_t i, at = 0, form
        if n < 0 or abstained < 0:
            raise ValueError("no negative number of samples")
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
        self.n, self.abstained = n, abstained

    cdef int check_same(self, other, str verb) except -1:
        if not isinstance(other, ConfusionCounters):
            raise MergeError(f"Expected to {verb} a ConfusionMatrix, but got {type(other).__name__}")
        cdef ConfusionCounters o = other
        for name, mine, theirs in (("labels", self.fixed_labels, o.fixed_labels), ("other", self.other, o.other)):
            if mine != theirs or repr(mine) != repr(theirs):
                raise MergeError(f"Expected `{name}` to be the same in both states, but got {mine!r} and {theirs!r}")
        return 0

    def merge(self, other):
        """Add another state's counts to this one and return this one; MergeError if the configurations differ."""
        self.check_same(other, "merge")
        cdef ConfusionCounters o = other.copy() if other is self else other
        cdef Py_ssize_t a, b, n = o.used, form
        cdef bint identity = True
        cdef int64_t *to
        cdef int64_t *source
        cdef int64_t *target
        self.check_room(o.mass)
        if o.fractions != NULL:
            self.make_fractional()
        to_array = np.array(self.mapping(o), np.int64)
        cdef int64_t[::1] to_view = to_array
        to = &to_view[0] if n else NULL
        if self.key != NULL or o.key != NULL or self.fractions != NULL:
            rows, columns, wholes, parts = o.export()
            self.add_all(to_array[rows], to_array[columns], wholes, parts)
        else:
            for a in range(n):
                identity = identity and to[a] == a
            for a in range(n):
                if to[a] < 0:
                    continue
                source, target = o.value + a * o.capacity, self.value + to[a] * self.capacity
                if identity:
                    for b in range(n):
                        target[b] += source[b]
                else:
                    for b in range(n):
                        if to[b] >= 0:
                            target[to[b]] += source[b]
                self.totals[to[a]].actual += o.totals[a].actual
                self.totals[to[a]].predicted += o.totals[a].predicted
                self.totals[to[a]].diagonal += o.totals[a].diagonal
            self.mass += o.mass
            self.hit += o.hit
        for a in range(n):
            if to[a] >= 0:
                for form in range(3):
                    self.totals[to[a]].seen[form] += o.totals[a].seen[form]
        self.n += o.n
        self.abstained += o.abstained
        return self

    cdef int add_all(self, rows, columns, wholes, parts) except -1:
        cdef const int64_t[:] row = rows, column = columns, whole = wholes
        cdef const uint64_t[:] part = parts
        cdef Py_ssize_t r
        for r in range(row.shape[0]):
            self.add(row[r], column[r], whole[r], 0 if parts is None else part[r])
        return 0

    def subtract(self, other):
        """Take another state's counts out of this one and return this one; WeightError, and no change, if it holds more."""
        self.check_same(other, "subtract")
        cdef ConfusionCounters o = other.copy() if other is self else other
        cdef Py_ssize_t r, at
        cdef int form
        cdef uint64_t have, want
        indices = {b: self.index.get(name, -1) for b, name in enumerate(o.names) if name is not None}
        rows, columns, wholes, parts = o.export()
        cells = [(indices[a], indices[b], w) for a, b, w in zip(rows.tolist(), columns.tolist(), wholes.tolist())]
        possible = self.n >= o.n and self.abstained >= o.abstained
        for r, (i, j, w) in enumerate(cells):
            want = 0 if parts is None else parts[r]
            if not possible or i < 0 or j < 0:
                possible = False
                break
            at = place(self, i, j)
            have = 0 if self.fraction == NULL else self.fraction[at]
            possible = self.value[at] > w or (self.value[at] == w and have >= want)
        if not possible:
            raise WeightError("Expected to subtract a state whose samples are all counted here, but got one that holds others")
        for r, (i, j, w) in enumerate(cells):
            self.take(i, j, w, 0 if parts is None else parts[r])
        for b, i in indices.items():
            if i >= 0:
                for form in range(3):
                    self.unsee(i, form, o.totals[<Py_ssize_t> b].seen[form])
        self.n -= o.n
        self.abstained -= o.abstained
        self.settle()
        return self

    def copy(self):
        """Return an independent state with the same counts."""
        cdef ConfusionCounters twin = type(self)(self.fixed_labels, self.other)
        self.refresh()  # so that neither this one nor its copies sort the same labels again
        Cells.clear(twin)
        twin.copy_cells(self)
        twin.adopt(self)
        twin.n, twin.abstained = self.n, self.abstained
        return twin

    def reset(self):
        """Forget every sample; the configuration stays."""
        Cells.clear(self)
        self.start()
        self.n, self.abstained = 0, 0

    @property
    def weight(self):
        """The sum of all weights."""
        return self.total if self.fractions == NULL or self.mass_part == 0 else float(self.total)

    @property
    def correct(self):
        """The weight of the samples whose prediction was right."""
        return self.hits if self.fractions == NULL or self.hit_part == 0 else float(self.hits)

    def one_vs_rest(self, label):
        """The two-by-two table of one class, 0, against the rest, 1; a label that was never seen has no samples."""
        cdef PyObject *found = PyDict_GetItemWithError(self.index, label if plain(label) and type(label) is not float else canonical(label))
        return self.against_rest(-1 if found == NULL else <Py_ssize_t> <object> found)
