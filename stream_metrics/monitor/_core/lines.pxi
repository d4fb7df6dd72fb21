"""Lines to records, as the monitor reads them from files.

Records are not tracked by the garbage collector, since they cannot be part of a cycle. They are many and live
for a while, which otherwise has it look at everything there is, again and again.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject, PyTypeObject
from libc.string cimport memchr


cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void* op)


def cut(bytes data not None, str topic, long long offset, type record not None):
    """Return a record (topic, 0, offset, next, None, None, line) of every line that is not empty; the last one has
    an end.

    The first byte is at `offset`; `next` is where the next such record starts, or the end.
    """
    cdef const char* start = PyBytes_AS_STRING(data)
    cdef const char* at = start
    cdef const char* end = start + PyBytes_GET_SIZE(data)
    cdef const char* stop
    cdef long long first = offset
    cdef list records = []
    cdef bytes line, previous = None
    while at < end:
        stop = <const char*> memchr(at, c"\n", end - at)
        if stop == NULL:
            stop = end
        line = PyBytes_FromStringAndSize(at, stop - at)
        if stop > at and (at[0] > 0x20 or at[0] < 0 or not line.isspace()):
            if previous is not None:
                records.append(new_record(record, topic, first, offset + (at - start), previous))
            previous, first = line, offset + (at - start)
        at = stop + 1
    if previous is not None:
        records.append(new_record(record, topic, first, offset + (end - start), previous))
    return records


cdef object new_record(type record, str topic, long long offset, long long following, bytes line):
    """Return a tuple of a type that is derived from it."""
    cdef tuple given = ((topic, 0, offset, following, None, None, line),)
    item = (<PyTypeObject*> tuple).tp_new(record, <PyObject*> given, NULL)
    PyObject_GC_UnTrack(<void*> item)
    return item
