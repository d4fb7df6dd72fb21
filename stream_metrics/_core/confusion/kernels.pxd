from libc.stdint cimport int64_t, uint64_t
from stream_metrics._core.numeric.fixed cimport Fixed
from stream_metrics._core.numeric.kernels cimport Guarded, LabelIndex, Step
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

    cdef int reserve(self, Py_ssize_t classes, bint exactly=*) except -1
    cdef bint few(self, Py_ssize_t cells, Py_ssize_t classes) noexcept nogil
    cdef int resize_totals(self, Py_ssize_t capacity) except -1
    cdef int resize_square(self, Py_ssize_t width) except -1
    cdef CounterMap new_square(self, Py_ssize_t width) except * nogil
    cdef int make_sparse(self, Py_ssize_t classes) except -1
    cdef int make_square(self) except -1 nogil
    cdef int expect(self, Py_ssize_t cells, bint distinct=*) except -1
    cdef int enlarge(self) except -1 nogil
    cdef int make_fractional(self) except -1
    cdef Py_ssize_t cell_slots(self) noexcept nogil
    cdef Py_ssize_t find(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int add(self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1 nogil
    cdef void add_at(self, Py_ssize_t at, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) noexcept nogil
    cdef void take_at(self, Py_ssize_t at, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) noexcept nogil
    cdef bint holds(self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept
    cdef bint is_all(self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept
    cdef int check_weight(self, int64_t whole) except -1 nogil
    cdef void copy_cells(self, Cells other) except *
    cdef void clear(self) noexcept
    cdef tuple export(self, bint in_slots=*)


cdef inline Py_ssize_t cell_index(Cells cells, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
    """Return the position of the cell (i, j) in `value`; a hash adds it if it is new."""
    if cells.table.key == NULL:
        return i * cells.width + j
    return cells.find(i, j)


cdef inline bint is_empty(Cells cells, Py_ssize_t i) noexcept nogil:
    """Whether class i has neither true nor predicted weight."""
    cdef Totals *c = cells.totals + i
    if c.actual | c.predicted:
        return False
    return cells.fractions == NULL or (cells.fractions[i].actual | cells.fractions[i].predicted) == 0


cdef inline bint weight_fits(Cells cells, int64_t whole) noexcept nogil:
    """Whether a weight leaves the sum of all weights below 2^63 - 1: then no smaller sum can overflow."""
    return whole < <int64_t> 0x7FFFFFFFFFFFFFFF - cells.mass


cdef struct Form:
    bint exact
    int64_t n[4]
    double x[4]
    double span  # the sum of the absolute coefficients

cdef class ConfusionAggregates(Cells):
    cdef int64_t *order  # indices of the classes in the order of report
    cdef Py_ssize_t classes

    cdef int set_order(self, const int64_t *indices, Py_ssize_t n) except -1
    cdef int refresh(self) except -1
    cdef object product(self, bint left_actual, bint right_actual)
    cdef object column(self, int which)
    cdef Fixed form_value(self, Form *form, Py_ssize_t i) noexcept nogil
    cdef object form_units(self, Form *form, Py_ssize_t i)
    cdef double form_double(self, Form *form, Py_ssize_t i) noexcept nogil
    cdef double ratio(self, Form *top, Form *bottom, Py_ssize_t i) except? -1
    cdef object square(self)
    cdef tuple in_order(self)
    cdef tuple exact_totals(self)
    cdef tuple ordered_square(self)
    cdef tuple in_order_of(self, const int64_t *place, rows, columns, wholes, parts)
    cdef ConfusionAggregates against_rest(self, Py_ssize_t i)


cdef int read_cells(Cells table, bytes stream, Py_ssize_t classes) except -1


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

    cdef int clear_labels(self) except -1
    cdef Py_ssize_t intern(self, object label) except -1
    cdef void remove_types(self, Py_ssize_t i, int kind, int64_t times) noexcept
    cdef void reclaim(self) noexcept
    cdef object map_indices(self, ConfusionCounters other, dict renamed)
    cdef int64_t largest_type_count(self) noexcept
    cdef object shown(self, Py_ssize_t i)
    cdef int check_more(self, int64_t n, int64_t abstained, int64_t times) except -1
    cdef int find_spare(self, int64_t more) except -1
    cdef int count(self, object y_true, object y_pred, object w) except -1
    cdef bint try_count(self, object y_true, object y_pred, object w) except -1
    cdef bint _count_objects(self, object y_true, object y_pred, int64_t whole, uint64_t part) except -1
    cdef int count_slowly(self, object y_true, object y_pred, object w) except -1
    cdef int uncount(self, object y_true, object y_pred, object w) except -1
    cdef int read_sample(self, object y_true, object y_pred, object w, bint reverts, LabelSample *s) except -1
    cdef int place_admitted(self, object truth, object predicted, object y_true, object y_pred,
                            LabelSample *s) except -1
    cdef int count_admitted(self, object truth, object predicted, object y_true, object y_pred, int64_t whole,
                            uint64_t part) except -1
    cdef int find_place(self, LabelSample *s) except -1
    cdef bint can_revert(self, const LabelSample *s) except -1
    cdef void apply_sample(self, const LabelSample *s) noexcept
    cdef int subtract_state(self, ConfusionCounters other) except -1
    cdef ConfusionCounters twin(self)
    cdef ConfusionCounters _emptied(self)
    cdef object place_labels(self, list labels, used)
    cdef object place_cells(self, const int64_t[:] to_row, const int64_t[:] to_column, rows, columns)
    cdef int make_room(self, const int64_t[:] to_row, const int64_t[:] to_column, const int64_t[:] row,
                       const int64_t[:] column) except -1
    cdef int check_same(self, other, str verb) except -1
    cdef void add_totals(self, ConfusionCounters o, const int64_t[::1] to) noexcept

cdef class UpdateBase(Guarded):
    cdef readonly object state
    cdef ConfusionCounters counts  # the state if it counts labels, else None
    cdef public dict _unit_folds  # by number, the state of each fold of units; see `metrics.folds`
    cdef public object _prototype  # the empty state that each fold copies; None until it is needed
    cdef public object _sample_rule  # which samples are left out, and what a missing prediction is; None: the default

    cdef object by_rule(self, object y_pred, object scores)
    cdef int update_named(self, object y_true, object y_pred, object w, object classes, object unit) except -1
    cdef object chosen(self, object y_pred, object scores, object classes)

cdef class SetUpdateBase(UpdateBase):
    cdef readonly object scored

cdef class LinearRatio:
    cdef Form top, bottom
    cdef object label

cdef class ReadingBase(UpdateBase):
    cdef public LinearRatio _linear_ratio  # None if the value is no ratio of two linear forms
