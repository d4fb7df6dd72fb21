"""Records to the columns that the monitor's join takes: parsed, checked, scores cut to bytes, one record after another.

Each record is dealt with while it is in the cache, and what was parsed of it is freed before the next. Only plain
events are known here: ids that are text or whole numbers, times in seconds, labels that are text, whole numbers or
truth values, and scores by class. Everything else goes, record by record, to a function in Python, to the same end.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_Append, PyList_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_CheckExact
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from stream_metrics._core.numeric.kernels cimport plain


cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* op)

cdef enum:
    MOST_NAMES = 10_000  # of labels and groups that are known as one object


cdef class Reader:
    """Reads records into columns.

    `parse` makes a value of bytes; `names` are the spellings of each field in a mapping, or `fields` is a function that
    finds the seven of them in a value. `unusual(record, now, latest)` returns an event as a tuple, or None, for what is
    not plain. `shape(keys, text)` returns the classes that keys of scores stand for, or None; text tells whether the
    labels beside them are. `labels` are those that are fixed, if any. `low` and `high` bound scores; without
    `keeps_scores` the scores of an event that has a prediction are ignored. A weight is 0, or
    from `lightest` to `heaviest`.
    """

    cdef object parse, fields, unusual, shape, missing, allowed, id_, time_, scores_, weight_, group_
    cdef double low, high, earliest, lightest, heaviest
    cdef bint keeps_scores, shape_text
    cdef tuple truth_, prediction_, labels, shape_names, shape_classes
    cdef dict memo

    def __init__(
            self, parse, tuple names, fields, unusual, shape, missing, tuple labels, bint keeps_scores,
            double low, double high, double earliest, double lightest, double heaviest):
        self.parse, self.fields, self.unusual, self.shape, self.missing = parse, fields, unusual, shape, missing
        self.labels, self.keeps_scores, self.low, self.high = labels, keeps_scores, low, high
        self.earliest, self.lightest, self.heaviest = earliest, lightest, heaviest
        self.allowed = frozenset(labels) if labels else None
        (self.id_,), (self.time_,), self.truth_, self.prediction_ = names[:4]
        (self.scores_,), (self.weight_,), (self.group_,) = names[4:]
        self.shape_names = self.shape_classes = ()
        self.shape_text, self.memo = False, {}

    def read(self, list records, double now, double latest):
        """Return nine columns: id, time, truth, prediction, scores, weight, group, classes, origin."""
        cdef list ids = [], times = [], truths = [], predictions = [], scores = [], weights = [], groups = [], sets = []
        cdef list origins = []
        cdef object record, event, origin
        for record in records:
            event = self.event(<tuple> record, now, latest)
            if event is None:
                event = self.unusual(record, now, latest)
                if event is None:
                    continue
            PyList_Append(ids, (<tuple> event)[0])
            PyList_Append(times, (<tuple> event)[1])
            PyList_Append(truths, (<tuple> event)[2])
            PyList_Append(predictions, (<tuple> event)[3])
            PyList_Append(scores, (<tuple> event)[4])
            PyList_Append(weights, (<tuple> event)[5])
            PyList_Append(groups, (<tuple> event)[6])
            PyList_Append(sets, (<tuple> event)[7])
            origin = (<tuple> record)[:3]
            PyObject_GC_UnTrack(<void*> origin)  # text and numbers
            PyList_Append(origins, origin)
        return ids, times, truths, predictions, scores, weights, groups, sets, origins

    cdef object event(self, tuple record, double now, double latest):
        """Return a plain event as a tuple, None if it is not plain."""
        cdef object missing = self.missing, value, time
        try:
            value = self.parse(record[6])
            if self.fields is not None:
                key, time, truth, prediction, scores, weight, group = self.fields(value)
        except Exception:  # whatever it is, it comes again when the record is read in the other way
            return None
        if self.fields is None:
            if not PyDict_CheckExact(value):
                return None
            key = item(<dict> value, self.id_, missing)
            time = item(<dict> value, self.time_, None)
            truth = item_of(<dict> value, self.truth_, missing)
            prediction = item_of(<dict> value, self.prediction_, missing)
            scores = item(<dict> value, self.scores_, None)
            weight = item(<dict> value, self.weight_, None)
            group = item(<dict> value, self.group_, None)
        if time is None or time is missing:
            time = now if record[4] is None else record[4]
        if PyLong_CheckExact(time) and self.earliest < time <= latest:
            time = float(time)
        if not PyFloat_CheckExact(time) or not self.earliest < PyFloat_AS_DOUBLE(time) <= latest:
            return None
        return self.checked(
            key, time, missing if truth is None else truth, prediction, None if scores is missing else scores,
            None if weight is missing else weight, None if group is missing else group)

    cdef object checked(
            self, object key, object time, object truth, object prediction, object scores, object weight, object group):
        """Return an event as a tuple, what is not said being as the join has it; None if it is not plain."""
        cdef object missing = self.missing, classes = None
        if not (PyUnicode_CheckExact(key) or PyLong_CheckExact(key)):
            return None
        if not self.is_label(truth) or not self.is_label(prediction):
            return None
        if weight is not None and not self.is_weight(weight) or group is not None and not is_plain(group):
            return None
        if scores is not None:
            if prediction is missing or prediction is None:
                if not self.keeps_scores:
                    return None
                prediction = None
            if not self.keeps_scores:
                scores = None
            elif PyDict_CheckExact(scores):
                scores = self.cells(<dict> scores, truth if prediction is None else prediction)
                classes = self.shape_classes
            elif PyList_CheckExact(scores) and self.labels:
                scores = self.row(<list> scores)
                classes = self.labels
            elif not self.within(scores):
                return None
            if scores is None and self.keeps_scores:
                return None
        if prediction is missing and truth is missing:
            return None
        return key, time, self.one(truth), self.one(prediction), scores, weight, self.one(group), classes

    cdef bint is_label(self, object label) except -1:
        """Whether a truth or a prediction may be counted, or is not said."""
        if label is self.missing or label is None:
            return True
        return is_plain(label) and (self.allowed is None or label in self.allowed)

    cdef object one(self, object label):
        """Return equal text as one object, by which the counters know it faster."""
        if not PyUnicode_CheckExact(label):
            return label
        known = item(self.memo, label, None)
        if known is None:
            if PyDict_Size(self.memo) >= MOST_NAMES:
                self.memo.clear()
            known = self.memo[label] = label
        return known

    cdef bint is_weight(self, object weight) except -1:
        return (PyFloat_CheckExact(weight) or PyLong_CheckExact(weight)) and (
            weight == 0 or self.lightest <= weight <= self.heaviest)

    cdef bint within(self, object score) except -1:
        return (PyFloat_CheckExact(score) or PyLong_CheckExact(score)) and self.low <= score <= self.high

    cdef bytes cells(self, dict scores, object hint):
        """Return scores as bytes, in the order of `shape_classes`; None if they are not plain."""
        cdef bint text = self.allowed is not None or hint is self.missing or PyUnicode_CheckExact(hint)
        cdef bytes data = None if text != self.shape_text else self.in_shape(scores)
        if data is not None:
            return data
        names = tuple(scores)
        classes = self.shape(names, text)
        if classes is None:
            return None
        self.shape_names, self.shape_classes, self.shape_text = names, classes, text
        return self.in_shape(scores)

    cdef bytes in_shape(self, dict scores):
        cdef Py_ssize_t n = PyTuple_GET_SIZE(self.shape_names), i
        if n == 0 or PyDict_Size(scores) != n:
            return None
        data = PyBytes_FromStringAndSize(NULL, 8 * n)
        for i in range(n):
            if self.put(PyBytes_AS_STRING(data) + 8 * i, item(scores, self.shape_names[i], None)):
                return None
        return data

    cdef bytes row(self, list scores):
        """Return scores of the labels as bytes; None if they are not plain."""
        cdef Py_ssize_t n = PyTuple_GET_SIZE(self.labels), i
        if len(scores) != n:
            return None
        data = PyBytes_FromStringAndSize(NULL, 8 * n)
        for i in range(n):
            if self.put(PyBytes_AS_STRING(data) + 8 * i, scores[i]):
                return None
        return data

    cdef int put(self, char* at, object value) except -1:
        """Write a score, and return whether it is not plain."""
        cdef double score
        cdef uint64_t bits
        cdef int i
        if PyFloat_CheckExact(value):
            score = PyFloat_AS_DOUBLE(value)
            if not self.low <= score <= self.high:
                return 1
        elif self.within(value):
            score = PyLong_AsDouble(value)
        else:
            return 1
        memcpy(&bits, &score, 8)
        for i in range(8):  # little-endian
            at[i] = <char> (bits >> (8 * i))
        return 0


cdef inline object item(dict table, object key, object default):
    cdef PyObject* value = PyDict_GetItemWithError(table, key)
    return default if value is NULL else <object> value


cdef inline object item_of(dict table, tuple keys, object default):
    """Return the item of the first key that there is."""
    cdef PyObject* value
    for key in keys:
        value = PyDict_GetItemWithError(table, key)
        if value is not NULL:
            return <object> value
    return default


cdef inline bint is_plain(object label):
    return plain(label) and not PyFloat_CheckExact(label) and not PyBytes_CheckExact(label)
