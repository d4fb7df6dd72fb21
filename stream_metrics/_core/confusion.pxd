from libc.stdint cimport int64_t

from stream_metrics._core.guard cimport Guarded
from stream_metrics._core.indexed cimport Indexed

cdef class ConfusionCounters(Indexed):
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly int64_t weighted  # samples whose weight was not 1, as far as they are known
    cdef int64_t spare  # samples that may come before any counter of samples can be full; a lower bound

    cdef int check_samples(self, int64_t n, int64_t abstained, int64_t seen) except -1
    cdef int look_for_room(self, int64_t more) except -1
    cdef int count(self, object y_true, object y_pred, object w) except -1
    cdef bint try_count(self, object y_true, object y_pred, object w) except -1
    cdef int count_slowly(self, object y_true, object y_pred, object w) except -1
    cdef int uncount(self, object y_true, object y_pred, object w) except -1
    cdef int take_back(self, object y_true, object y_pred, object w, bint only_look) except -1
    cdef int add_batch(self, list truth, list predicted, cells, seen, int64_t n, int64_t abstained, int64_t weighted) except -1
    cdef int add_state(self, ConfusionCounters other) except -1
    cdef int take_state(self, ConfusionCounters other) except -1
    cdef ConfusionCounters twin(self)
    cdef object place_labels(self, list labels, used)
    cdef int see(self, const int64_t[:] at, const int64_t[:] forms, const int64_t[:] counts) except -1
    cdef int add_all(self, const int64_t[:] to_row, const int64_t[:] to_column, rows, columns, wholes, parts) except -1
    cdef int check_same(self, other, str verb) except -1
    cdef void add_square(self, ConfusionCounters o, const int64_t[::1] to) noexcept
    cdef Py_ssize_t take_all(self, const int64_t[::1] to, tuple cells, bint only_look) except -2

cdef class Feed(Guarded):
    cdef readonly object state
    cdef ConfusionCounters counts  # the state, if it is one of labels
    cdef public dict _folds  # by number, what has counted the samples of each fold of units; see `states.folds`
    cdef public object _empty  # what has counted nothing, of which each fold has a copy; None until it is needed

cdef class SetFeed(Feed):
    cdef readonly object scored
