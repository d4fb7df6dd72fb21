"""Fast path of the join: a prediction waits, a label meets a prediction that waits, or both come together.

These three are compiled, since nearly every event is one of them. The joiner does everything else in Python, in the
order of events, and lets entries expire. A joined pair is appended to columns, which are counted together, and stored
as bytes among the joined ones.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Contains, PyDict_DelItem, PyDict_GetItemWithError, PyDict_SetItem, PyDict_Size
from cpython.list cimport PyList_Append
from cpython.ref cimport PyObject

from msgspec.msgpack import Decoder, Encoder

from stream_metrics.wire import decoded, encoded, read_big_int

cdef enum:
    PREDICTION = 0
    JOINED = 2
    MOST_SHARED = 10_000  # texts that are kept to be shared

cdef object encode = Encoder().encode
cdef object decode = Decoder(tuple, ext_hook=read_big_int).decode


cdef bytes entry_bytes(tuple entry):
    """Return an entry as bytes, as `wire.encoded` would; that one is slower."""
    try:
        return encode(entry)
    except (UnicodeEncodeError, OverflowError, TypeError):
        return encoded(entry)


cdef tuple entry_of(bytes body):
    """Return the entry that was written, the lists in it not yet tuples."""
    try:
        return decode(body)
    except UnicodeDecodeError:
        return decoded(body)


cdef long long first(bytes body) except -1:
    """Return the first item of an entry, a whole number that is not negative."""
    cdef const unsigned char* at = <const unsigned char*> PyBytes_AS_STRING(body)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef int tag = at[1] if size > 1 else 0xFF, width = 1 << (tag & 3), i
    cdef long long number = 0
    if tag < 0x80:
        return tag
    if not 0xCC <= tag <= 0xCF or size < 2 + width:
        raise ValueError(f"Expected an entry, but got {body!r:.60}")
    for i in range(width):
        number = number << 8 | at[2 + i]
    return number


def first_of(body: bytes) -> int:
    """Return the first item of an entry, a whole number that is not negative."""
    return first(body)


cdef class Joins:
    """Joins events of one partition; `joiner` handles all other events, `missing` marks an absent value.

    An entry whose event was numbered below `logged` is in the log; when it meets its label, its id goes to `removed`.

    `keys`, `bodies` and `columns` are of the pairs that are to be counted: ids, what is remembered of them, and truths,
    predictions, scores, weights, groups, times of prediction and label, origins, classes.
    """

    cdef object joiner, missing
    cdef dict shared
    cdef public long long logged
    cdef list removed
    cdef list truths, predictions, scores, weights, groups, predicted, labelled, origins, classes
    cdef readonly list keys, bodies
    cdef readonly tuple columns

    def __init__(self, joiner, missing, list removed):
        self.joiner, self.missing, self.shared = joiner, missing, {}
        self.removed, self.logged = removed, 0
        self.keys, self.bodies, self.truths, self.predictions, self.scores, self.weights = [], [], [], [], [], []
        self.groups, self.predicted, self.labelled, self.origins, self.classes = [], [], [], [], []
        self.columns = (
            self.truths, self.predictions, self.scores, self.weights, self.groups, self.predicted, self.labelled,
            self.origins, self.classes)

    def clear(self):
        """Forget the pairs, which have been counted."""
        for column in (self.keys, self.bodies, *self.columns):
            column.clear()

    cpdef int add(
            self, long long number, object key, object truth, object prediction, object scores, object weight,
            object group, object predicted, object labelled, object origin, object classes, dict done) except -1:
        """Put a joined pair into `done` and among those that are to be counted."""
        weight = 1 if weight is None else weight
        body = entry_bytes((number, JOINED, truth, prediction, scores, weight, group, predicted, labelled, classes))
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

    def run(self, tuple events, long long number, Votes votes, counts):
        """Take one event after another; return the times of new predictions, and how many came alone, as labels, as
        both."""
        cdef list ids = events[0], times = events[1], truths = events[2], predictions = events[3], scores = events[4]
        cdef list weights = events[5], groups = events[6], sets = events[7], origins = events[8], predicted = []
        cdef dict waiting = self.joiner.waiting.entries, done = self.joiner.done.entries
        cdef dict prefetched = self.joiner.prefetched()
        cdef long long alone = 0, labels = 0, both = 0
        cdef Py_ssize_t i, room = self.joiner.waiting.capacity(), room_done = self.joiner.done.capacity()
        cdef double watermark, edge = self.joiner.edge()
        cdef IdTable known = self.joiner.ids.table
        cdef tuple entry
        cdef object key, truth, prediction, body, missing = self.missing
        for i in range(len(ids)):
            key, truth, prediction = ids[i], truths[i], predictions[i]
            watermark = votes.see(times[i])
            if watermark >= edge and watermark > -INFINITY:
                edge = self.joiner.advance(watermark, number + i)
            body = lookup(waiting, key)
            entry = None if body is None or prediction is not missing else self.prediction(<bytes> body)
            if entry is not None:
                PyDict_DelItem(waiting, key)
                if first(<bytes> body) < self.logged:
                    PyList_Append(self.removed, key)
                self.meet(number + i, key, truth, entry, weights[i], groups[i], times[i], origins[i], done)
                labels += 1
            elif (prediction is missing or body is not None or PyDict_Contains(done, key)
                    or PyDict_Contains(prefetched, key) or known.mark(key) >= 0):
                row = key, times[i], truth, prediction, scores[i], weights[i], groups[i], sets[i]
                predicted += self.joiner.handle_event(row, number + i, origins[i], counts)
                continue
            elif truth is missing:
                PyDict_SetItem(waiting, key, entry_bytes(
                    (number + i, PREDICTION, times[i], prediction, scores[i], weights[i], groups[i], sets[i])))
                PyList_Append(predicted, times[i])
                alone += 1
                if PyDict_Size(waiting) > room:
                    room = self.joiner.evict_overflow(number + i)
                continue
            else:
                self.add(
                    number + i, key, truth, prediction, scores[i], weights[i], groups[i], times[i], times[i],
                    origins[i], sets[i], done)
                PyList_Append(predicted, times[i])
                both += 1
            if PyDict_Size(done) > room_done:
                room_done = self.joiner.evict_overflow_done()
        return predicted, alone, labels, both

    cdef tuple prediction(self, bytes body):
        """Return an entry that waits if it is a prediction, else None."""
        try:
            entry = entry_of(body)
        except ValueError:
            return None
        return entry if entry[1] == PREDICTION else None

    cdef object one(self, object value):
        """Return the first of equal texts, so that one object stands for a label; lists become tuples."""
        cdef PyObject* shared
        if type(value) is list:
            return tuple([self.one(item) for item in <list> value])
        if type(value) is not str:
            return value
        shared = PyDict_GetItemWithError(self.shared, value)
        if shared is not NULL:
            return <object> shared
        if PyDict_Size(self.shared) >= MOST_SHARED:
            self.shared.clear()
        self.shared[value] = value
        return value

    cdef int meet(
            self, long long number, object key, object truth, tuple entry, object weight, object group, object time,
            object origin, dict done) except -1:
        """Join a label to the prediction that waits for it."""
        weight = weight if entry[5] is None else entry[5]
        group = group if entry[6] is None else self.one(entry[6])
        return self.add(
            number, key, truth, self.one(entry[3]), self.one(entry[4]), weight, group, entry[2], time, origin,
            self.one(entry[7]), done)


cdef inline object lookup(dict table, object key):
    """Return the value of a key, or None."""
    cdef PyObject* value = PyDict_GetItemWithError(table, key)
    return None if value is NULL else <object> value
