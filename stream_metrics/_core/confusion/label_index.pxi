"""Labels and indices: which class of a table a label is, and under which label a class is reported.

One dict maps a label to its index. In front of it a small table remembers by identity the label objects met last, because
streams repeat the same few objects: a hit costs one comparison and needs neither hash nor dict. The table keeps a
reference to each object, so an address cannot come to mean another label.

A class whose totals are zero and that belongs to no fixed set is *dormant*: it is in no reading, and its index is given
back once dormant classes are many. So labels that left a window cost nothing.

What a number was seen as (bool, int, float) is counted per class and undone when samples are, so the label shown is a
function of what is counted, whatever the order in which it came.
"""

from collections.abc import Mapping

from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

import numpy as np

from stream_metrics.errors import LabelError
from stream_metrics.labels.label import LARGEST_INT, LONGEST as LONGEST_LABEL, canonical, most_likely, ordering, unique

cdef int FIRST_KNOWN = 8  # bits: 256 places, 4 kB
cdef int MOST_KNOWN = 18  # 4 MB
cdef tuple FORMS = (bool, int, float)
assert LONGEST == LONGEST_LABEL


cdef bint is_short(object number) noexcept:
    """Whether an int is short enough for a label."""
    cdef int overflow = 0
    PyLong_AsLongLongAndOverflow(number, &overflow)
    return overflow == 0 or number.bit_length() <= LARGEST_INT


cdef class Indexed(Readings):
    """A table of counters whose classes have labels, open or fixed."""

    def __cinit__(self, labels=None, other=None):
        if other is not None and labels is None:
            raise LabelError(f"Expected `other` only together with `labels`, but got {other!r} alone")
        self.fixed_labels = None if labels is None else unique(labels)
        self.other = None if other is None else canonical(other, "other")
        self.start()

    def __dealloc__(self):
        self.drop_known()
        PyMem_RawFree(self.ranking)

    cdef int start(self) except -1:
        self.index, self.names, self.free = {}, [], []
        self.dormant, self.fixed = 0, 0
        self.changes += 1
        self.forget_known(FIRST_KNOWN)
        if self.fixed_labels is not None:
            for label in self.fixed_labels:
                self.intern(label)
            self.fixed = len(self.fixed_labels)
        return 0

    cdef void drop_known(self) noexcept:
        if self.known != NULL:
            self.drop_labels()
            PyMem_RawFree(self.known)
            self.known = NULL

    cdef void drop_labels(self) noexcept:
        cdef Py_ssize_t a
        for a in range(<Py_ssize_t> 1 << self.known_bits):
            if self.known[a].label != NULL:
                Py_DECREF(<object> self.known[a].label)
        memset(self.known, 0, (<size_t> 1 << self.known_bits) * sizeof(Known))

    cdef int forget_known(self, int bits) except -1:
        """Replace the table of known objects by an empty one of 2^bits places."""
        cdef Known *fresh = <Known *> PyMem_RawCalloc(<size_t> 1 << bits, sizeof(Known))
        if fresh == NULL:
            raise MemoryError("no memory for the table of known labels")
        self.drop_known()
        self.known, self.known_bits = fresh, bits
        return 0

    cdef int remember(self, object label, Py_ssize_t index, int form) except -1:
        cdef Known *second = slot(self, label)
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
            i = self.free.pop()
        else:
            i = self.used
            self.reserve(i + 1)
            self.names.append(None)
            self.used += 1
        self.index[label] = i  # if this fails, an index is lost and nothing else
        self.names[i] = label
        self.changes += 1
        if len(self.names) >> (self.known_bits - 3) and self.known_bits < MOST_KNOWN:
            self.forget_known(self.known_bits + 2)
        return i

    def admit(self, label, str argument, position=None):
        """The canonical label to count for `label`: itself, or `other` if it is outside the fixed set."""
        return self.admitted(label, argument, position)

    cdef object admitted(self, object label, str argument, object position):
        """As `admit`; a label that is plain, and not refused, is admitted without running Python code."""
        if type(label) is float and isfinite(<double> label):
            label = <double> label + 0.0  # -0.0 becomes 0.0
        elif not plain(label) or type(label) is float:
            label = canonical(label, argument, position)
        if self.fixed_labels is None or self.index.get(label, self.fixed) < self.fixed:
            return label
        if self.other is not None:
            return self.other  # also for a label that equals it: then its type must not depend on what came before
        raise LabelError(argument=argument, position=position, expected=f"to be one of the fixed labels {list(self.fixed_labels)}", got=label,
                         but=f"got {label!r}")

    cdef object admit_prediction(self, object y_pred):
        """The canonical label to count for a prediction: a label, or the largest of a mapping; None for an abstention."""
        if y_pred is None:
            return None
        if plain(y_pred):
            return self.admitted(y_pred, "y_pred", None)
        soft = type(y_pred) is dict or isinstance(y_pred, Mapping)  # the first is nearly always and takes no time
        if soft and not y_pred:
            return None
        return self.admitted(most_likely(y_pred) if soft else y_pred, "y_pred", None)

    cdef Py_ssize_t find_label(self, object label) except -2:
        """The index of a canonical label, -1 if it has none."""
        cdef PyObject *found = PyDict_GetItemWithError(self.index, label)
        return -1 if found == NULL else <Py_ssize_t> <object> found

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
        self.dormant = 0
        self.changes += 1
        self.drop_labels()
        return 0

    cdef object mapping(self, Indexed other):
        """For every index of `other` the index here of the same label, or -1 if it counts nothing."""
        cdef Py_ssize_t b
        at = np.full(len(other.names), -1, np.int64)
        cdef int64_t[::1] to = at
        for b in range(len(other.names)):
            name = other.names[b]
            if name is not None and not empty(other, b):
                to[b] = self.intern(name)
        return at

    cdef int64_t most_seen(self) noexcept:
        """The largest counter of appearances."""
        cdef Py_ssize_t i, form
        cdef int64_t most = 0
        for i in range(self.used):
            for form in range(3):
                most = max(most, self.totals[i].seen[form])
        return most

    def appearances(self):
        """How often each label that is a number and not fixed was seen as bool, as int and as float: three counts each."""
        cdef Py_ssize_t a, i, form
        out = []
        self.refresh()
        for a in range(self.classes):
            i = self.order[a]
            if i >= self.fixed and form_of(self.names[i]) < 3:
                for form in range(3):
                    out.append(self.totals[i].seen[form])
        return out

    cdef int adopt(self, Indexed other) except -1:
        """Take over the labels of a table of the same configuration, and their order if it is up to date."""
        self.index, self.names, self.free = other.index.copy(), other.names.copy(), other.free.copy()
        self.dormant = other.dormant
        self.changes += 1
        if other.sorted_at == other.changes:
            self.set_ranking(other.ranking, other.ranked)
            self.sorted_at = self.changes
        return 0

    cdef int set_ranking(self, const int64_t *ranking, Py_ssize_t ranked) except -1:
        """Note the sorted indices of all labels."""
        cdef int64_t *twin = <int64_t *> PyMem_RawCalloc(max(ranked, 1), sizeof(int64_t))
        if twin == NULL:
            raise MemoryError(f"no memory for the order of {ranked} classes")
        if ranked:
            memcpy(twin, ranking, ranked * sizeof(int64_t))
        PyMem_RawFree(self.ranking)
        self.ranking, self.ranked = twin, ranked
        return self.set_order(ranking, ranked)

    cdef int refresh(self) except -1:
        """Sort the labels again if there are new ones, and leave dormant classes out. A stretch may follow that reads."""
        cdef Py_ssize_t a, live = 0
        if self.holder != 0:
            self.wait_reading()
        if self.sorted_at != self.changes:
            self.sort_labels()
        elif self.dormant == 0:
            return 0
        self.dormant = 0
        for a in range(self.ranked):
            if self.ranking[a] >= self.fixed and empty(self, self.ranking[a]):
                self.dormant += 1
            else:
                self.order[live] = self.ranking[a]
                live += 1
        self.classes = live
        return 0

    cdef int sort_labels(self) except -1:
        cdef Py_ssize_t a
        cdef const int64_t[::1] indices
        self.enter_reading()
        try:
            names = [(name, i) for i, name in enumerate(self.names) if name is not None and i >= self.fixed]
            order = ordering([name for name, _ in names])
            indices = np.array(list(range(self.fixed)) + [names[a][1] for a in order] + [0], np.int64)
            self.set_ranking(&indices[0], self.fixed + len(names))
            self.sorted_at = self.changes
        finally:
            self.leave()
        return 0

    cdef object shown(self, Py_ssize_t i):
        """The label of class i, a number in the narrowest type in which it was seen."""
        cdef Py_ssize_t form
        name = self.names[i]
        if i >= self.fixed and not isinstance(name, (str, bytes, tuple)):
            for form in range(3):
                if self.totals[i].seen[form] > 0:
                    return FORMS[form](name)
            return int(name) if name == int(name) else name
        return name

    @property
    def labels(self):
        """The labels of the classes: as given if they were fixed, else numbers, text, bytes, tuples, each by value."""
        cdef Py_ssize_t a
        self.enter_reading()
        try:
            self.refresh()
            return tuple([self.shown(self.order[a]) for a in range(self.classes)])
        finally:
            self.leave()
