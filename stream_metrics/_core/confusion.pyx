# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The confusion counters: labels become indices, samples become cells.

One dict maps a label to its index. In front of it a small table remembers by identity the label objects met last, because
streams repeat the same few objects: a hit costs one comparison and needs neither hash nor dict. The table keeps a
reference to each object, so an address cannot come to mean another label.

A class whose totals are zero and that belongs to no fixed set is *dormant*: it is in no reading, and its index is given
back once dormant classes are many. So labels that left a window cost nothing.

What a number was seen as (bool, int, float) is counted per class and undone by `revert`, so the label shown is a
function of what is counted, whatever the order in which it came.
"""

cimport cython
from collections.abc import Mapping

from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t
from libc.string cimport memset

import numpy as np

from stream_metrics._core.cells cimport Cells, Totals, empty, place
from stream_metrics._core.coding cimport read_cells
from stream_metrics._core.readings cimport Readings
from stream_metrics._core.weights cimport split
from stream_metrics.errors import LabelError, MergeError, WeightError
from stream_metrics.labels import canonical, most_likely, ordering, unique

cdef object ONE = 1
cdef int FIRST_KNOWN = 8  # bits: 256 places, 4 kB
cdef int MOST_KNOWN = 18  # 4 MB
cdef tuple FORMS = (bool, int, float)

cdef struct Known:
    PyObject *label
    int32_t index
    int32_t form

cdef struct Pair:
    Py_ssize_t i, j
    int form_i, form_j
    bint abstained


cdef inline int form_of(object label):
    """Which counter of appearances a label has: 0 bool, 1 int, 2 float, 3 anything else."""
    kind = type(label)
    return 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3


cdef inline bint plain(object label):
    """Whether the object is of a type that is a label as it stands (but for a float that is not finite)."""
    kind = type(label)
    return kind is str or kind is int or kind is bool or kind is bytes or kind is float


@cython.auto_pickle(False)
cdef class ConfusionCounters(Readings):
    """Exact counts of (true label, predicted label)."""

    cdef Known *known
    cdef int known_bits
    cdef Py_ssize_t fixed, dormant
    cdef dict index
    cdef list names, free
    cdef bint stale
    cdef object sorted_indices
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly object fixed_labels
    cdef readonly object other

    def __cinit__(self, labels=None, other=None):
        if other is not None and labels is None:
            raise LabelError(f"Expected `other` only together with `labels`, but got {other!r} alone")
        self.fixed_labels = None if labels is None else unique(labels)
        self.other = None if other is None else canonical(other, "other")
        self.start()

    def __dealloc__(self):
        self.drop_known()

    # ---- labels ---------------------------------------------------------------------------------------------------------

    cdef int start(self) except -1:
        self.index, self.names, self.free = {}, [], []
        self.n, self.abstained, self.dormant, self.fixed, self.stale = 0, 0, 0, 0, True
        self.forget_known(FIRST_KNOWN)
        if self.fixed_labels is not None:
            for label in self.fixed_labels:
                self.intern(label)
            self.fixed = len(self.fixed_labels)
        return 0

    cdef void drop_known(self) noexcept:
        cdef Py_ssize_t a
        if self.known != NULL:
            for a in range(<Py_ssize_t> 1 << self.known_bits):
                if self.known[a].label != NULL:
                    Py_DECREF(<object> self.known[a].label)
            PyMem_RawFree(self.known)
            self.known = NULL

    cdef int forget_known(self, int bits) except -1:
        """Replace the table of known objects by an empty one of 2^bits places."""
        cdef Known *fresh = <Known *> PyMem_RawCalloc(<size_t> 1 << bits, sizeof(Known))
        if fresh == NULL:
            raise MemoryError("no memory for the table of known labels")
        self.drop_known()
        self.known, self.known_bits = fresh, bits
        return 0

    cdef inline Known *slot(self, object label) noexcept:
        """Where the object is remembered: one of two neighbours, the second if the first holds another."""
        cdef uint64_t mixed = <uint64_t> <uintptr_t> <PyObject *> label * <uint64_t> 0x9E3779B97F4A7C15
        cdef Known *first = self.known + (mixed >> (64 - self.known_bits))
        if first.label == <PyObject *> label:
            return first
        return self.known + ((mixed >> (64 - self.known_bits)) ^ 1)

    cdef int remember(self, object label, Py_ssize_t index, int form) except -1:
        cdef Known *second = self.slot(label)
        cdef Known *first = self.known + ((second - self.known) ^ 1)
        cdef Known *known = first if first.label == NULL else second
        cdef PyObject *old = known.label
        if not plain(label) or second.label == <PyObject *> label:
            return 0
        Py_INCREF(label)
        known.label, known.index, known.form = <PyObject *> label, index, form
        if old != NULL:
            Py_DECREF(<object> old)
        return 0

    cdef Py_ssize_t intern(self, object label) except -1:
        """The index of a label that is canonical and allowed, new if need be."""
        cdef PyObject *found = PyDict_GetItemWithError(self.index, label)
        cdef Py_ssize_t i
        if found != NULL:
            return <Py_ssize_t> <object> found
        if self.free:
            i = self.free[len(self.free) - 1]
        else:
            i = self.used
            self.reserve(i + 1)
        self.index[label] = i
        if self.free:
            self.free.pop()
            self.names[i] = label
        else:
            self.names.append(label)
            self.used += 1
        self.stale = True
        if len(self.names) >> (self.known_bits - 3) and self.known_bits < MOST_KNOWN:
            self.forget_known(self.known_bits + 2)
        return i

    cpdef object admit(self, object label, str argument, position=None):
        """The canonical label to count for `label`: itself, or `other` if it is outside the fixed set."""
        if not plain(label) or type(label) is float:
            label = canonical(label, argument, position)
        if self.fixed_labels is None or label in self.index:
            return label
        if self.other is not None:
            return self.other
        at = "" if position is None else f" at position {position}"
        raise LabelError(f"Expected `{argument}`{at} to be one of the fixed labels {list(self.fixed_labels)}, but got {label!r}")

    cdef int resolve(self, object y_true, object y_pred, bint counts, Pair *pair) except -1:
        """Find the cell of a sample; labels that are new get an index only if the sample `counts`."""
        cdef PyObject *found
        truth = self.admit(y_true, "y_true")
        pair.i, pair.j, pair.form_i, pair.form_j = -1, -1, form_of(truth), 3
        pair.abstained = False
        if plain(y_pred):
            predicted = self.admit(y_pred, "y_pred")
        elif y_pred is None or (isinstance(y_pred, Mapping) and not y_pred):
            pair.abstained = True
            return 0
        else:
            predicted = self.admit(most_likely(y_pred) if isinstance(y_pred, Mapping) else y_pred, "y_pred")
        pair.form_j = form_of(predicted)
        if counts:
            pair.i, pair.j = self.intern(truth), self.intern(predicted)
            self.remember(y_true, pair.i, pair.form_i)
            self.remember(y_pred, pair.j, pair.form_j)
            return 0
        found = PyDict_GetItemWithError(self.index, truth)
        pair.i = -1 if found == NULL else <Py_ssize_t> <object> found
        found = PyDict_GetItemWithError(self.index, predicted)
        pair.j = -1 if found == NULL else <Py_ssize_t> <object> found
        return 0

    # ---- one sample -----------------------------------------------------------------------------------------------------

    def update(self, y_true, y_pred, w=1):
        """Count one sample of weight `w`; a prediction of None or {} is an abstention, a mapping of scores its largest."""
        cdef Known *t = self.slot(y_true)
        cdef Known *p = self.slot(y_pred)
        cdef Pair pair
        cdef int64_t whole = 1
        cdef uint64_t part = 0
        if w is not ONE:
            split(w, &whole, &part)
        if t.label == <PyObject *> y_true and p.label == <PyObject *> y_pred:
            pair.i, pair.j, pair.form_i, pair.form_j = t.index, p.index, t.form, p.form
        else:
            self.check_room(whole)
            self.resolve(y_true, y_pred, (whole | <int64_t> part) != 0, &pair)
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
        self.resolve(y_true, y_pred, False, &pair)
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

    cdef void unsee(self, Py_ssize_t i, int form, int64_t count) noexcept:
        """Take appearances of class i back, from another form where `form` has too few; a class without weight has none."""
        cdef Totals *c = self.totals + i
        cdef int other
        cdef int64_t have
        if empty(self, i):
            memset(c.seen, 0, sizeof(c.seen))
            self.dormant += i >= self.fixed
            return
        if form == 3:
            return
        for other in range(3):
            have = min(count, c.seen[(form + other) % 3])
            c.seen[(form + other) % 3] -= have
            count -= have

    cdef int settle(self) except -1:
        """Give back the indices of dormant classes once they are many."""
        cdef Py_ssize_t i
        if self.dormant < 64 or self.dormant * 2 < len(self.index):
            return 0
        for i in range(self.fixed, self.used):
            name = self.names[i]
            if name is not None and empty(self, i):
                del self.index[name]
                self.names[i] = None
                self.free.append(i)
        self.dormant, self.stale = 0, True
        self.forget_known(self.known_bits)
        return 0

    # ---- tables ---------------------------------------------------------------------------------------------------------

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

    def appearances(self):
        """How often each label that is a number and not fixed was seen as bool, as int and as float: three counts each."""
        cdef Py_ssize_t a, i, form
        self.refresh()
        out = []
        for a in range(self.classes):
            i = self.order[a]
            if i >= self.fixed and form_of(self.names[i]) < 3:
                for form in range(3):
                    out.append(self.totals[i].seen[form])
        return out

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

    cdef list mapping(self, ConfusionCounters other):
        """For every index of `other` the index here of the same label, or -1 if it counts nothing."""
        cdef Py_ssize_t b
        return [-1 if name is None or empty(other, b) else self.intern(name) for b, name in enumerate(other.names)]

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
        Cells.clear(twin)
        twin.copy_cells(self)
        twin.index, twin.names, twin.free = self.index.copy(), self.names.copy(), self.free.copy()
        twin.n, twin.abstained, twin.dormant = self.n, self.abstained, self.dormant
        return twin

    def reset(self):
        """Forget every sample; the configuration stays."""
        Cells.clear(self)
        self.start()

    # ---- readings -------------------------------------------------------------------------------------------------------

    cdef int refresh(self) except -1:
        """Sort the labels again if there are new ones, and leave dormant classes out."""
        cdef Py_ssize_t i, live = 0
        cdef const int64_t[::1] indices
        if not self.stale and self.dormant == 0:
            return 0
        if self.stale:
            names = [(name, i) for i, name in enumerate(self.names) if name is not None and i >= self.fixed]
            order = ordering([name for name, _ in names])
            self.set_order(list(range(self.fixed)) + [names[a][1] for a in order])
            self.sorted_indices = np.array([self.order[i] for i in range(self.classes)], np.int64)
        indices = self.sorted_indices
        self.dormant = 0
        for i in range(indices.shape[0]):
            if indices[i] >= self.fixed and empty(self, indices[i]):
                self.dormant += 1
            else:
                self.order[live] = indices[i]
                live += 1
        self.classes = live
        self.stale = False
        return 0

    cdef object shown(self, Py_ssize_t i):
        """The label of class i, a number in the narrowest type in which it was seen."""
        cdef Py_ssize_t form
        name = self.names[i]
        if i >= self.fixed and not isinstance(name, (str, bytes, tuple)):
            for form in range(3):
                if self.totals[i].seen[form] > 0:
                    return FORMS[form](name)
        return name

    @property
    def labels(self):
        """The labels of the classes: as given if they were fixed, else numbers, text, bytes, tuples, each by value."""
        cdef Py_ssize_t a
        self.refresh()
        return tuple([self.shown(self.order[a]) for a in range(self.classes)])

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
        cdef PyObject *found = PyDict_GetItemWithError(self.index, label if plain(label) else canonical(label))
        return self.against_rest(-1 if found == NULL else <Py_ssize_t> <object> found)
