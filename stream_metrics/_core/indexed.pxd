from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_GET_LENGTH
from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t

from stream_metrics._core.readings cimport Readings

cdef enum:
    LONGEST = 1 << 20  # `labels.LONGEST`

cdef struct Known:
    PyObject *label
    int32_t index
    int32_t form

cdef class Indexed(Readings):
    cdef Known *known
    cdef int known_bits
    cdef Py_ssize_t fixed, dormant
    cdef dict index
    cdef list names, free
    cdef int64_t changes, sorted_at  # of the set of labels; the number of changes at which it was sorted last
    cdef int64_t *ranking  # the indices of all labels, sorted; `order` leaves dormant classes out
    cdef Py_ssize_t ranked
    cdef readonly object fixed_labels
    cdef readonly object other

    cdef int start(self) except -1
    cdef void drop_known(self) noexcept
    cdef void drop_labels(self) noexcept
    cdef int forget_known(self, int bits) except -1
    cdef int remember(self, object label, Py_ssize_t index, int form) except -1
    cdef Py_ssize_t intern(self, object label) except -1
    cdef object admitted(self, object label, str argument, object position)
    cdef object admit_prediction(self, object y_pred)
    cdef Py_ssize_t find_label(self, object label) except -2
    cdef void unsee(self, Py_ssize_t i, int form, int64_t count) noexcept
    cdef int settle(self) except -1
    cdef object mapping(self, Indexed other)
    cdef int64_t most_seen(self) noexcept
    cdef int adopt(self, Indexed other) except -1
    cdef int set_ranking(self, const int64_t *ranking, Py_ssize_t ranked) except -1
    cdef int sort_labels(self) except -1
    cdef object shown(self, Py_ssize_t i)


cdef inline Known *slot(Indexed table, object label) noexcept:
    """Where the object is remembered: one of two neighbours, the second if the first holds another."""
    cdef uint64_t mixed = <uint64_t> <uintptr_t> <PyObject *> label * <uint64_t> 0x9E3779B97F4A7C15
    cdef Known *first = table.known + (mixed >> (64 - table.known_bits))
    if first.label == <PyObject *> label:
        return first
    return table.known + ((mixed >> (64 - table.known_bits)) ^ 1)


cdef inline int form_of(object label):
    """Which counter of appearances a label has: 0 bool, 1 int, 2 float, 3 anything else."""
    kind = type(label)
    return 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3


cdef bint is_short(object number) noexcept


cdef inline bint plain(object label):
    """Whether the object is of a type that is a label as it stands, and not too long (but for a float that is not finite)."""
    kind = type(label)
    if kind is str:
        return PyUnicode_GET_LENGTH(label) <= LONGEST
    if kind is int:
        return is_short(label)
    return kind is bool or kind is float or (kind is bytes and PyBytes_GET_SIZE(label) <= LONGEST)
