"""Fast path of the join: a prediction waits, a label meets a prediction that waits, or both come together.

These three are compiled, since nearly every event is one of them. The joiner does everything else in Python, in the order
of events, and lets entries expire. A joined pair is appended to columns, which are counted together, and stored as bytes
among the joined ones.
"""

from cpython.dict cimport PyDict_Contains, PyDict_DelItem, PyDict_GetItemWithError, PyDict_SetItem, PyDict_Size
from cpython.list cimport PyList_Append
from cpython.ref cimport PyObject


cdef enum:
    PREDICTION = 0
    JOINED = 2
    WAITING = 8  # items of a prediction that waits
    ITEMS = 10  # of a joined pair as it is remembered


cdef class Joins:
    """Joins events of one partition; `joiner` handles all other events, `missing` marks an absent value.

    An entry whose event was numbered below `logged` is in the log; when it meets its label, its id goes to `removed`.

    `keys`, `bodies` and `columns` are of the pairs that are to be counted: ids, what is remembered of them, and truths,
    predictions, scores, weights, groups, times of prediction and label, origins, classes.
    """

    cdef object joiner, missing
    cdef Writer writer
    cdef Parts parts
    cdef public long long logged
    cdef list removed
    cdef list truths, predictions, scores, weights, groups, predicted, labelled, origins, classes
    cdef readonly list keys, bodies
    cdef readonly tuple columns

    def __init__(self, joiner, missing, list removed):
        self.joiner, self.missing, self.writer = joiner, missing, Writer()
        self.parts, self.removed, self.logged = Parts(), removed, 0
        self.keys, self.bodies, self.truths, self.predictions, self.scores, self.weights = [], [], [], [], [], []
        self.groups, self.predicted, self.labelled, self.origins, self.classes = [], [], [], [], []
        self.columns = (
            self.truths, self.predictions, self.scores, self.weights, self.groups, self.predicted, self.labelled,
            self.origins, self.classes)

    def clear(self):
        """Forget the pairs, which have been counted."""
        for column in (self.keys, self.bodies, *self.columns):
            column.clear()

    cdef object packed(
            self, long long number, object truth, object prediction, object scores, object weight, object group,
            object predicted, object labelled, object classes):
        """Return a pair as it is remembered."""
        cdef Writer writer = self.writer
        writer.used = 0
        writer.head(ITEMS, 0x90, 16, 0)
        writer.whole(number)
        writer.whole(JOINED)
        if (writer.put(truth) or writer.put(prediction) or writer.put(scores) or writer.put(weight) or writer.put(group)
                or writer.put(predicted) or writer.put(labelled) or writer.put(classes)):
            return self.joiner.packer.one(
                (number, JOINED, truth, prediction, scores, weight, group, predicted, labelled, classes))
        return writer.taken()

    cpdef int add(
            self, long long number, object key, object truth, object prediction, object scores, object weight, object group,
            object predicted, object labelled, object origin, object classes, dict done) except -1:
        """Put a joined pair into `done` and among those that are to be counted."""
        weight = 1 if weight is None else weight
        body = self.packed(number, truth, prediction, scores, weight, group, predicted, labelled, classes)
        PyDict_SetItem(done, key, body)
        PyList_Append(self.keys, key)
        PyList_Append(self.bodies, body)
        PyList_Append(self.truths, truth)
        PyList_Append(self.predictions, prediction)
        PyList_Append(self.scores, scores)
        PyList_Append(self.weights, weight)
        PyList_Append(self.groups, group)
        PyList_Append(self.predicted, predicted)
        PyList_Append(self.labelled, labelled)
        PyList_Append(self.origins, origin)
        PyList_Append(self.classes, classes)
        return 0

    def run(self, tuple events, long long number, double watermark, counts):
        """Take one event after another; return the times of new predictions, and how many came alone, as labels, as both."""
        cdef list ids = events[0], times = events[1], truths = events[2], predictions = events[3], scores = events[4]
        cdef list weights = events[5], groups = events[6], sets = events[7], origins = events[8], made = []
        cdef dict waiting = self.joiner.waiting.entries, done = self.joiner.done.entries, near = self.joiner.prefetched()
        cdef long long alone = 0, labels = 0, both = 0
        cdef Py_ssize_t i, room = self.joiner.waiting.capacity(), room_done = self.joiner.done.capacity()
        cdef double time, edge = self.joiner.edge()
        cdef object key, truth, prediction, body, entry, missing = self.missing
        for i in range(len(ids)):
            key, truth, prediction, time = ids[i], truths[i], predictions[i], times[i]
            if time > watermark:
                watermark = time
                if time >= edge:
                    edge = self.joiner.advance(time, number + i)
            body = found(waiting, key)
            entry = None if body is None or prediction is not missing else self.prediction(<bytes> body)
            if entry is not None:
                PyDict_DelItem(waiting, key)
                if first(<bytes> body) < self.logged:
                    PyList_Append(self.removed, key)
                self.meet(number + i, key, truth, <tuple> entry, weights[i], groups[i], times[i], origins[i], done)
                labels += 1
            elif prediction is missing or body is not None or PyDict_Contains(done, key) or PyDict_Contains(near, key):
                row = key, times[i], truth, prediction, scores[i], weights[i], groups[i], sets[i]
                made += self.joiner.handle_event(row, number + i, origins[i], counts)
                continue
            elif truth is missing:
                PyDict_SetItem(waiting, key, self.alone(
                    number + i, times[i], prediction, scores[i], weights[i], groups[i], sets[i]))
                PyList_Append(made, times[i])
                alone += 1
                if PyDict_Size(waiting) > room:
                    room = self.joiner.evict_overflow(number + i)
                continue
            else:
                self.add(
                    number + i, key, truth, prediction, scores[i], weights[i], groups[i], times[i], times[i], origins[i],
                    sets[i], done)
                PyList_Append(made, times[i])
                both += 1
            if PyDict_Size(done) > room_done:
                room_done = self.joiner.evict_overflow_done()
        return made, watermark, alone, labels, both

    cdef object prediction(self, bytes body):
        """Return an entry that waits if it is a prediction and plain, else None."""
        try:
            entry = self.parts.entry(body)
        except ValueError:
            return None
        return entry if entry[1] == PREDICTION else None

    cdef bytes alone(
            self, long long number, object time, object prediction, object scores, object weight, object group, object classes):
        """Return a prediction as it waits."""
        cdef Writer writer = self.writer
        writer.used = 0
        writer.head(WAITING, 0x90, 16, 0)
        writer.whole(number)
        writer.whole(PREDICTION)
        if (writer.put(time) or writer.put(prediction) or writer.put(scores) or writer.put(weight) or writer.put(group)
                or writer.put(classes)):
            return self.joiner.packer.one((number, PREDICTION, time, prediction, scores, weight, group, classes))
        return writer.taken()

    cdef int meet(
            self, long long number, object key, object truth, tuple entry, object weight, object group, object time,
            object origin, dict done) except -1:
        """Join a label to the prediction that waits for it."""
        weight = weight if entry[5] is None else entry[5]
        group = group if entry[6] is None else entry[6]
        return self.add(number, key, truth, entry[3], entry[4], weight, group, entry[2], time, origin, entry[7], done)


cdef inline object found(dict table, object key):
    """Return the value of a key, or None."""
    cdef PyObject* value = PyDict_GetItemWithError(table, key)
    return None if value is NULL else <object> value
