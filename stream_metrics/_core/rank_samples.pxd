from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.bottom cimport fraction_t
from stream_metrics._core.rank_column cimport Column
from stream_metrics._core.ranked cimport Ranked

cdef struct Entry:
    Py_ssize_t column
    uint64_t code
    int form

cdef class RankSamples(Ranked):
    cdef int count(self, object y_true, object scores, object w, object classes) except -1
    cdef Py_ssize_t known_class(self, object label) except -2
    cdef Py_ssize_t glance(self, object scores, Entry *entry) except -2
    cdef int update_slowly(self, object y_true, object scores, int64_t whole, fraction_t part, bint rounded, object classes) except -1
    cdef int note(self, Entry *entry, object label, double x, bint new) except -1
    cdef int count_sample(self, Py_ssize_t i, int form, Entry *entry, Py_ssize_t n, int64_t whole, fraction_t part) except -1
    cdef void weigh_class(self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept
    cdef Column *own_column(self, Py_ssize_t j) except NULL
    cdef int reserve(self, Py_ssize_t j, Py_ssize_t group, bint fractional) except -1
    cdef Py_ssize_t groups(self) noexcept
    cdef int take_back(self, object y_true, object scores, object w, object classes, bint only_look) except -1
    cdef Py_ssize_t needed(self, Py_ssize_t i, Entry *entry, Py_ssize_t n, int64_t whole, fraction_t part) noexcept
    cdef bint take_sample(self, object truth, list labels, list values, int64_t whole, fraction_t part, bint only_look) except -1
    cdef bint holds(self, Py_ssize_t i, Entry *entry, Py_ssize_t n, int64_t whole, fraction_t part) noexcept
    cdef void unweigh_class(self, Py_ssize_t i, int64_t whole, fraction_t part) noexcept
    cdef int unsee(self, Py_ssize_t i, int form) except -1
