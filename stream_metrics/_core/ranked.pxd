from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.bottom cimport fraction_t
from stream_metrics._core.guard cimport Guarded
from stream_metrics._core.rank_column cimport Column

cdef struct Class:
    int64_t whole      # weight of the samples that are truly of the class
    fraction_t part    # its fraction, in units of 2^-64
    int64_t seen[3]    # appearances of its label as bool, as int and as float
    Column *column     # its scores, or NULL while all were 0

cdef class Ranked(Guarded):
    cdef readonly Py_ssize_t buckets
    cdef readonly Py_ssize_t sample
    cdef readonly object pos_label
    cdef readonly bint pairs
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly int64_t rounded  # samples whose weight was rounded to a multiple of 2^-64
    cdef dict index
    cdef list names, free
    cdef Class *classes
    cdef object recent     # the label that was looked up last, and the index of its class, -1 if there is none
    cdef Py_ssize_t recent_at, pos_at
    cdef Py_ssize_t used, room
    cdef int64_t mass      # the whole parts of all weights; never above 2^63 - 3
    cdef fraction_t mass_part
    cdef int64_t epoch     # how often everything was forgotten
    cdef int64_t spare     # samples that may come before any counter of samples can be full; a lower bound

    cdef Py_ssize_t find(self, object label) except -2
    cdef Py_ssize_t intern(self, object label) except -1
    cdef bint empty(self, Py_ssize_t i) noexcept
    cdef int release(self, Py_ssize_t i) except -1
    cdef int drop_empty(self) except -1
    cdef int check_mass(self, int64_t whole, fraction_t part) except -1
    cdef int check_units(self, object units) except -1
    cdef void add_mass(self, int64_t whole, fraction_t part) noexcept
    cdef list live(self)
    cdef object shown(self, Py_ssize_t i)
    cdef int forget(self) except -1
    cdef int64_t most_seen(self) noexcept
    cdef int look_for_room(self, int64_t more) except -1
    cdef int check_labels(self, labels) except -1


cdef inline int form_of(object label):
    """Which counter of appearances a label has: 0 bool, 1 int, 2 float, 3 anything else."""
    kind = type(label)
    return 3 if kind is str else 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3
