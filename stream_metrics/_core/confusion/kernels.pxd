from libc.stdint cimport int64_t, uint64_t
from stream_metrics._core.numeric.kernels cimport Guarded, LabelIndex
from stream_metrics._core.numeric.openmap cimport CounterMap

cdef struct Totals:
    int64_t actual, predicted, diagonal
    int64_t type_counts[4]  # appearances as bool, int, float and any other type; the last is never read
    int64_t unused  # pads the struct to one cache line

cdef struct Fractions:
    uint64_t actual, predicted, diagonal

cdef class Cells(Guarded):
    cdef Totals *totals
    cdef Fractions *fractions
    cdef CounterMap table  # its `key` is NULL, and its arrays are a square, unless it is a hash
    cdef Py_ssize_t used, capacity  # classes, and those that `totals` has room for
    cdef Py_ssize_t width  # of a row of the square; 0 if there is none
    cdef int64_t lookups   # of cells in the hash
    cdef Py_ssize_t live  # cells with a weight
    cdef int64_t mass, hit  # the sum of all cells, and of the diagonal
    cdef uint64_t mass_part, hit_part
    cdef Py_ssize_t fractional_cells  # cells whose weight has a fraction


cdef int check_weight(Cells self, int64_t whole) except -1 nogil


cdef inline bint weight_fits(Cells cells, int64_t whole) noexcept nogil:
    """Whether a weight leaves the sum of all weights below 2^63 - 1: then no smaller sum can overflow."""
    return whole < <int64_t> 0x7FFFFFFFFFFFFFFF - cells.mass


cdef class ConfusionAggregates(Cells):
    cdef int64_t *order  # indices of the classes in the order of report
    cdef Py_ssize_t classes

    cdef int refresh(self) except -1

cdef struct LabelSample:
    Py_ssize_t i, j, at  # the classes and the position of the cell; not set for a sample that is in no cell
    int kind_i, kind_j
    int64_t whole
    uint64_t part
    bint abstains, reverts

cdef class ConfusionCounters(ConfusionAggregates):
    cdef LabelIndex label_index
    cdef int64_t ordered_at   # `label_index.changes` when `order` was updated
    cdef Py_ssize_t empty_classes   # known classes without weight whose label is not fixed
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly int64_t weighted  # known samples whose weight was not 1
    cdef int64_t spare  # a lower bound of the samples that can be counted before a counter is full

    cdef int count(self, object y_true, object y_pred, object w) except -1
    cdef bint try_count(self, object y_true, object y_pred, object w) except -1
    cdef int count_slowly(self, object y_true, object y_pred, object w) except -1
    cdef int uncount(self, object y_true, object y_pred, object w) except -1
    cdef int read_sample(self, object y_true, object y_pred, object w, bint reverts, LabelSample *s) except -1
    cdef void apply_sample(self, const LabelSample *s) noexcept

cdef class UpdateBase(Guarded):
    cdef readonly object state
    cdef ConfusionCounters counts  # the state if it counts labels, else None
    cdef public dict _unit_folds  # by number, the state of each fold of units; see `metrics.base`
    cdef public object _prototype  # the empty state that each fold copies; None until it is needed
    cdef public object _sample_rule  # which samples are left out, and what a missing prediction is; None: the default

cdef class SetUpdateBase(UpdateBase):
    cdef readonly object scored
