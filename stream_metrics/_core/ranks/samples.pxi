"""Counters of a rank sketch: the weight of every true class, and a column of cells for every score.

A class without a score has score 0, and a score of 0 enters no cell: the zeros of a class are what its total exceeds
its cells by, so stated and absent zeros are the same and cost nothing. A column comes into being with its first other
score. With `pairs`, a column counts every true class apart (which one-vs-one measures need); without, its own class and
the rest.

A sample is read into entries on the stack, without a call into Python if its labels are known and its values plain;
then memory is reserved; then it is counted, which cannot fail. All that follows the last call into Python is a stretch
of `Guarded`.
"""

cimport cython
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.numeric.fixed cimport add_fixed, take_fixed
from stream_metrics._core.numeric.scores cimport encode
from stream_metrics._core.numeric.kernels cimport numeric_kind, remove_type, split_some
from stream_metrics.errors import WeightError
from stream_metrics.labels.label import canonical

cdef enum:
    FEW = 32  # scores that fit on the stack

cdef object UNIT_WEIGHT = 1

cdef inline bint at_least(uint64_t whole, uint64_t part, uint64_t other, uint64_t other_part) noexcept:
    return whole > other or (whole == other and part >= other_part)


cdef class RankSamples(Ranked):
    """Exact, mergeable counts of (score column, score cell, true class)."""

    def update(self, y_true, scores, w=1, classes=None):
        """Count one sample.

        Parameters
        ----------
        y_true : Label
            The true label.
        scores : mapping from Label to float or float or sequence of float or None
            Scores: by label, of `pos_label`, or in the order of `classes`. A class without a score has score 0. None or
            {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
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
        self.count(y_true, scores, w, classes)

    cdef int count(self, object y_true, object scores, object w, object classes) except -1:
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
            self.look_for_room(1)
        i = self.known_class(y_true)
        if i >= 0 and classes is None:
            n = self.glance(scores, entry)
        if n < 0:
            return self.update_slowly(y_true, scores, whole, part, rounded, classes)
        if whole | part:
            self.count_sample(i, numeric_kind(y_true), entry, n, whole, part)
        self.n += 1
        self.rounded += rounded
        self.spare -= 1
        return 0

    @cython.final
    cdef Py_ssize_t known_class(self, object label) except -2:
        """The index of a plain label that is known, else -1; the object that came last and `pos_label` are not looked
        up."""
        cdef Py_ssize_t i
        if label is self.pos_label:
            if self.pos_at < 0:
                self.pos_at = self.find(label)
            return self.pos_at
        if label is self.recent or not known(label):
            return self.recent_at if label is self.recent else -1
        i = self.find(label)
        if i >= 0:
            self.recent, self.recent_at = label, i
        return i

    cdef Py_ssize_t glance(self, object scores, Entry *entry) except -2:
        """Read the scores if they are a float or a dict of floats by known labels; -1 if they are anything else."""
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0, n = 0
        cdef double x
        if type(scores) is float:
            x = scores
            entry.column = self.known_class(self.pos_label)
            entry.code, entry.form = encode(x), 3
            return 1 if entry.column >= 0 and isfinite(x) else -1
        if type(scores) is not dict or len(<dict> scores) > FEW or not scores:
            return -1
        while PyDict_Next(<dict> scores, &at, &key, &value):
            if type(<object> value) is not float or not known(<object> key):
                return -1
            x = <double> <object> value
            entry[n].column = self.find(<object> key)
            entry[n].code, entry[n].form = encode(x), numeric_kind(<object> key)
            if not isfinite(x) or (entry[n].column < 0 and (x != 0.0 or entry[n].form == 2)):
                return -1
            n += x != 0.0
        return n

    cdef int update_slowly(self, object y_true, object scores, int64_t whole, fraction_t part, bint rounded,
                           object classes) except -1:
        """Count a sample with a label that is new or a value that is not plain."""
        cdef Entry near[FEW]
        cdef Entry *entry = near
        cdef Py_ssize_t i, n, at
        truth = canonical(y_true, "y_true")
        labels, values = read_scores(scores, self.pos_label, classes, None)
        if self.holder != 0:
            self.wait()
        if labels is None:
            self.abstained += 1
            self.spare -= 1
            return 0
        n = len(labels)
        if whole | part:
            if n > FEW:
                entry = <Entry *> PyMem_RawCalloc(n, sizeof(Entry))
                if entry == NULL:
                    raise MemoryError("no memory for the scores of a sample")
            try:
                i = self.intern(truth)
                for at in range(n):
                    self.note(entry + at, labels[at], values[at], True)
                self.count_sample(i, numeric_kind(truth), entry, n, whole, part)
            except BaseException:
                self.drop_empty()
                raise
            finally:
                if entry != near:
                    PyMem_RawFree(entry)
        self.n += 1
        self.rounded += rounded
        self.spare -= 1
        return 0

    cdef int note(self, Entry *entry, object label, double x, bint new) except -1:
        """Note a score; a label that is not `new` gets no index."""
        entry.code, entry.form = encode(x), numeric_kind(label)
        if label is None:
            label = self.pos_label  # implied: its type does not count
        entry.column = self.intern(label) if new and entry.code != ZERO else self.find(label)
        return 0

    cdef int count_sample(self, Py_ssize_t i, int form, Entry *entry, Py_ssize_t n, int64_t whole,
                          fraction_t part) except -1:
        """Count a sample: first all that can fail, then all that cannot."""
        cdef Py_ssize_t at
        cdef Column *c
        self.check_mass(whole, part)
        for at in range(n):
            if entry[at].code != ZERO:
                c = self.classes[entry[at].column].column
                if c == NULL or not column_ready(c, entry[at].code, i if self.pairs else i == entry[at].column,
                                                 part != 0):
                    self.reserve(entry[at].column, i if self.pairs else i == entry[at].column, part != 0)
        for at in range(n):
            if entry[at].code != ZERO:
                column_add(self.classes[entry[at].column].column, entry[at].code,
                           i if self.pairs else i == entry[at].column, whole, part)
                if entry[at].form < 3:
                    self.classes[entry[at].column].seen[entry[at].form] += 1
        if form < 3:
            self.classes[i].seen[form] += 1
        self.weigh_class(i, whole, part)
        return 0

    cdef void weigh_class(self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept:
        cdef Class *c = self.classes + i
        add_fixed(<uint64_t *> &c.whole, &c.part, <uint64_t> whole, part)
        self.add_mass(whole, part)

    cdef Column *own_column(self, Py_ssize_t j) except NULL:
        if self.classes[j].column == NULL:
            self.classes[j].column = column_new(self.buckets, self.sample)
            if self.classes[j].column == NULL:
                raise MemoryError("no memory for a column of scores")
        return self.classes[j].column

    cdef int reserve(self, Py_ssize_t j, Py_ssize_t group, bint fractional) except -1:
        """Make room for one more score in column j."""
        cdef Column *c = self.own_column(j)
        if (column_reserve(c, self.groups(), 1, fractional) < 0 or column_reserve_sample(c, group, 1) < 0):
            raise MemoryError("no memory for a column of scores")
        return 0

    cdef Py_ssize_t groups(self) noexcept:
        return self.used if self.pairs else 2

    def revert(self, y_true, scores, w=1, classes=None):
        """Undo one `update` with the same arguments, possible while every column is exact.

        Parameters
        ----------
        y_true : Label
            The true label.
        scores : mapping from Label to float or float or sequence of float or None
            Scores: by label, of `pos_label`, or in the order of `classes`. A class without a score has score 0. None or
            {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
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
        self.take_back(y_true, scores, w, classes, False)

    def check_revert(self, y_true, scores, w=1, classes=None):
        """Raise what `revert` would."""
        self.take_back(y_true, scores, w, classes, True)

    cdef int take_back(self, object y_true, object scores, object w, object classes, bint only_look) except -1:
        cdef int64_t whole = 1
        cdef fraction_t part = 0
        cdef Py_ssize_t j
        cdef bint rounded = split_some(w, &whole, &part)
        truth = canonical(y_true, "y_true")
        labels, values = read_scores(scores, self.pos_label, classes, None)
        if self.holder != 0:
            self.wait()
        for j in range(self.used):
            if self.classes[j].column != NULL and self.classes[j].column.level > 0:
                raise WeightError("Expected to revert while every score is exact, but got a column at level "
                                  f"{self.classes[j].column.level}; a larger `buckets` keeps more scores exact")
        if labels is None:
            possible = self.abstained > 0
            self.abstained -= possible and not only_look
        else:
            possible = self.rounded >= rounded and self.n > self.rounded - rounded
            if whole | part:
                possible = possible and self.take_sample(truth, labels, values, whole, part, only_look)
            else:
                possible = possible and self.n > self.needed(-1, NULL, 0, 0, 0)
            if possible and not only_look:
                self.n -= 1
                self.rounded -= rounded
        if not possible:
            raise WeightError(
                "Expected to revert a sample that was counted, "
                f"but got y_true={y_true!r}, scores={scores!r}, w={w!r}")
        return 0

    cdef Py_ssize_t needed(self, Py_ssize_t i, Entry *entry, Py_ssize_t n, int64_t whole, fraction_t part) noexcept:
        """The samples that there are at least without this one (of class i, -1 for none): one for each true class
        with a
        weight, and in every column one for each cell."""
        cdef Py_ssize_t j, at, cells, most = 0, classes = 0
        cdef Class *c
        for j in range(self.used):
            c = self.classes + j
            classes += (c.whole != 0 or c.part != 0) and not (j == i and c.whole == whole and c.part == part)
            if c.column == NULL:
                continue
            cells = c.column.held
            for at in range(n):
                if entry[at].column == j:
                    cells -= column_is_all(c.column, entry[at].code, i if self.pairs else i == j, whole, part)
            most = max(most, cells)
        return max(most, classes)

    cdef bint take_sample(self, object truth, list labels, list values, int64_t whole, fraction_t part,
                          bint only_look) except -1:
        """Take a sample back if everything that it added is there, unless `only_look`."""
        cdef Py_ssize_t i = self.find(truth), at, n = 0
        cdef Entry *entry
        cdef bint possible
        if i < 0:
            return False
        entry = <Entry *> PyMem_RawCalloc(max(len(labels), 1), sizeof(Entry))
        if entry == NULL:
            raise MemoryError("no memory for the scores of a sample")
        try:
            for at in range(len(labels)):
                self.note(entry + n, labels[at], values[at], False)
                n += entry[n].code != ZERO
            possible = self.holds(i, entry, n, whole, part) and self.n > self.needed(i, entry, n, whole, part)
            if possible and not only_look:
                for at in range(n):
                    column_take(self.classes[entry[at].column].column, entry[at].code,
                                i if self.pairs else i == entry[at].column, whole, part)
                self.unweigh_class(i, whole, part)
                for at in range(n):
                    self.unsee(entry[at].column, entry[at].form)
                self.unsee(i, numeric_kind(truth))
            return possible
        finally:
            PyMem_RawFree(entry)

    cdef bint holds(self, Py_ssize_t i, Entry *entry, Py_ssize_t n, int64_t whole, fraction_t part) noexcept:
        """Whether the class has the weight, the columns the scores, and every other column as many scores of 0."""
        cdef Column *column
        cdef Py_ssize_t at, j, group
        cdef uint64_t zeros, zeros_part
        if not at_least(self.classes[i].whole, self.classes[i].part, whole, part):
            return False
        for j in range(self.used):
            column = self.classes[j].column
            group = i if self.pairs else i == j
            at = 0
            while at < n and entry[at].column != j:
                at += 1
            if at < n:
                if column == NULL or not column_holds(column, entry[at].code, group, whole, part):
                    return False
            elif column != NULL and group < column.groups:
                zeros, zeros_part = <uint64_t> self.classes[i].whole, self.classes[i].part
                if not self.pairs and i != j:
                    zeros, zeros_part = <uint64_t> self.mass, self.mass_part
                    take_fixed(&zeros, &zeros_part, <uint64_t> self.classes[j].whole, self.classes[j].part)
                take_fixed(&zeros, &zeros_part, column.sum[2 * group], column.sum[2 * group + 1])
                if not at_least(zeros, zeros_part, <uint64_t> whole, part):
                    return False
        for at in range(n):
            if entry[at].column < 0:
                return False
        return True

    cdef void unweigh_class(self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept:
        cdef Class *c = self.classes + i
        take_fixed(<uint64_t *> &c.whole, &c.part, <uint64_t> whole, part)
        take_fixed(<uint64_t *> &self.mass, &self.mass_part, <uint64_t> whole, part)

    cdef int unsee(self, Py_ssize_t i, int form) except -1:
        """Take an appearance back, from another form where `form` has none; a class that is empty is given up."""
        if self.label_index.names[i] is None:
            return 0
        if self.empty(i):
            return self.release(i)
        remove_type(self.classes[i].seen, form, 1)
        return 0
