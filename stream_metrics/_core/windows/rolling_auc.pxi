"""A rolling window whose answer is the ROC area of one class.

`ExactAuc` is the only state until something other than the area is read; the inner state is then built from the ring. A
sample that the area cannot count (weighted, or with a score whose code others share) is *not rankable*; while one is in
the window, the inner state counts. Switching takes time proportional to the window, and happens at most twice in the
time in which all samples of the window are replaced.
"""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport Py_EQ, PyObject_RichCompareBool
from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport uint64_t

from stream_metrics._core.numeric.kernels cimport numeric_kind, plain
from stream_metrics._core.numeric.scores cimport encode

# 1 and this are the codes of very large scores, each shared by many
cdef uint64_t LAST = <uint64_t> 0xFFFFFFFFFFFFFFFE
cdef enum:
    NOT_RANKABLE = 0
    ABSTAINED = 1
    SCORED = 2


cdef inline bint is_bit(object label):
    if label is True or label is False:
        return True
    return (type(label) is int or type(label) is float) and (label == 0 or label == 1)


cdef bint are_bits(dict scores) except -1:
    """Whether all labels of scores are 0 and 1, or False and True."""
    for label in scores:
        if not is_bit(label):
            return False
    return True


cdef inline bint is_one(object w):
    return w is UNIT_WEIGHT or ((type(w) is int or type(w) is float) and w == UNIT_WEIGHT)


cdef class RollingAucBase(RollingUpdateBase):
    """Base class of rolling windows that counts in an area instead of the inner state if `get` is an area."""

    def _set_auc(self, positive, int scale, int shift, double instead):
        """Make `get` return scale * area + shift of the scores of `positive`, or `instead` if that is undefined."""
        self.area = ExactAuc.__new__(ExactAuc)
        self.positive, self.scale, self.shift, self.instead = positive, scale, shift, instead
        self.not_rankable = 0

    def _is_auc(self):
        """Whether `get` is an area while all samples are rankable."""
        return self.area is not None

    cdef int read(self, object truth, object predicted, uint64_t *code, bint *own) except -1:
        """Read a sample for the area: NOT_RANKABLE, ABSTAINED, or SCORED with a code."""
        cdef PyObject *value
        cdef double x = 0.0
        if not plain(truth) or (type(truth) is float and not isfinite(<double> truth)):
            return NOT_RANKABLE
        if predicted is None:
            return ABSTAINED
        # what else there may be is for the state, which may refuse it
        if type(predicted) is float and type(self.positive) is not bool and type(truth) is not type(self.positive) and (
                numeric_kind(truth) not in (0, 1) or numeric_kind(self.positive) not in (0, 1)):
            return NOT_RANKABLE
        if type(self.positive) is bool and not (
                is_bit(truth) and (type(predicted) is not dict or are_bits(<dict> predicted))):
            return NOT_RANKABLE
        if type(predicted) is float:
            x = <double> predicted
        elif type(predicted) is dict and are_clean(<dict> predicted):
            value = PyDict_GetItemWithError(<dict> predicted, self.positive)
            if value != NULL:
                x = <double> <object> value
        else:
            return NOT_RANKABLE
        code[0] = encode(x)
        if not isfinite(x) or code[0] == 1 or code[0] == LAST:
            return NOT_RANKABLE
        own[0] = truth is self.positive or PyObject_RichCompareBool(truth, self.positive, Py_EQ)
        return SCORED

    cdef int count_in_auc(self, object truth, object predicted, object weight) except -1:
        """Count a sample in the area if all samples are rankable; a stretch."""
        cdef uint64_t code = 0, old_code = 0
        cdef bint own = False, old_own = False, full
        cdef int kind, old_kind = ABSTAINED
        cdef Sample old
        if self.area is None or self.not_rankable or not is_one(weight):
            return False
        kind = self.read(truth, predicted, &code, &own)
        if kind == NOT_RANKABLE:
            return False
        ring_reserve(&self.ring)
        self.area.reserve(own)
        full = self.ring.held >= self.ring.window
        if full:
            old = self.ring.sample[self.ring.head]
            old_kind = self.read(<object> old.truth, <object> old.predicted, &old_code, &old_own)
            ring_take_oldest(&self.ring)
        if old_kind == SCORED:
            self.area.remove(old_code, old_own)
        if kind == SCORED:
            self.area.insert(code, own)
        ring_push(&self.ring, truth, predicted, UNIT_WEIGHT)
        if full:
            release(old)
        self.live = None
        return True

    cdef bint is_not_rankable(self, object truth, object predicted, object weight) except -1:
        cdef uint64_t code
        cdef bint own
        return not is_one(weight) or self.read(truth, predicted, &code, &own) == NOT_RANKABLE

    cdef int after_count(self, tuple old, object truth, object predicted, object weight) except -1:
        if self.area is None:
            return 0
        if old is not None:
            self.not_rankable -= self.is_not_rankable(old[0], old[1], old[2])
        self.not_rankable += self.is_not_rankable(truth, predicted, weight)
        return self.fill_area()

    cdef int fill_area(self) except -1:
        """Count the samples of the window in the area, if all are rankable."""
        cdef Py_ssize_t k
        cdef uint64_t code = 0
        cdef bint own = False
        cdef Sample *s
        self.area.clear()
        if self.not_rankable:
            return 0
        for k in range(self.ring.held):
            s = self.ring.sample + (self.ring.head + k) % self.ring.capacity
            if self.read(<object> s.truth, <object> s.predicted, &code, &own) == SCORED:
                self.area.reserve(own)
                self.area.insert(code, own)
        return 0

    cdef bint one_by_one(self):
        """Whether samples are not counted by the state."""
        return self.area is not None

    cdef int refill(self, live, list samples) except -1:
        if self.area is None:
            return RollingUpdateBase.refill(self, live, samples)
        ring_clear(&self.ring)
        self.not_rankable, self.live = 0, live
        for truth, predicted, weight in samples:
            ring_push(&self.ring, truth, predicted, weight)
            self.not_rankable += self.is_not_rankable(truth, predicted, weight)
        return self.fill_area()

    cdef int copy_to(self, RollingUpdateBase twin) except -1:
        if self.area is not None:
            (<RollingAucBase> twin)._set_auc(self.positive, self.scale, self.shift, self.instead)
        return RollingUpdateBase.copy_to(self, twin)

    def get(self):
        """Return the current value of the samples in the window.

        Returns
        -------
        float or dict
            What `get` of `inner` returns.
        """
        cdef double area
        self.enter_reading()
        try:
            if self.area is None or self.not_rankable:
                return self.current().get()
            area = self.area.area(self.scale, self.shift)
        finally:
            self.leave()
        return area if area == area else self.instead

    @property
    def n(self):
        """The number of samples in the window that were counted."""
        self.enter_reading()
        try:
            if self.area is None or self.not_rankable:
                return self.current().n
            return self.area.side[0].used + self.area.side[1].used
        finally:
            self.leave()

    @property
    def abstained(self):
        """The number of samples in the window without a prediction."""
        self.enter_reading()
        try:
            if self.area is None or self.not_rankable:
                return self.current().abstained
            return self.ring.held - self.area.side[0].used - self.area.side[1].used
        finally:
            self.leave()
