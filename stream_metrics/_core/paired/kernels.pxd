from libc.stdint cimport int64_t, uint64_t
from stream_metrics._core.numeric.kernels cimport Guarded, LabelIndex
from stream_metrics._core.numeric.openmap cimport CounterMap

cdef extern from * nogil:
    """
    #define MOST_LABELS ((Py_ssize_t) (1 << 18) - 1)
    """
    const Py_ssize_t MOST_LABELS  # that the key of a cell can distinguish

cdef struct PairedClass:
    int64_t type_counts[4]  # appearances as bool, int, float and any other type; the last is never read
    bint counted     # whether a sample has the label

cdef struct PairedSample:
    int64_t index[3]  # of the labels; they and `at` are not set for a sample that is in no cell
    int kind[3]
    Py_ssize_t at     # the position of the cell
    int64_t whole
    uint64_t part
    bint keyed
    int alone         # which abstention it is; -1 for none

cdef class PairedCounts(Guarded):
    cdef CounterMap table
    cdef LabelIndex label_index
    cdef PairedClass *classes
    cdef Py_ssize_t capacity        # of `classes`
    cdef readonly int64_t n
    cdef readonly int64_t keyed     # samples that came with a unit
    cdef readonly int64_t weighted  # samples whose weight is not 1
    cdef int64_t alone[3]           # abstentions: of the first model only, of the second only, of both
    cdef readonly Py_ssize_t folds
    cdef bint aside                 # whether samples go through `_update`, which counts their scores too
    cdef int64_t mass
    cdef public dict _scored        # by fold, the states of the scores of both models; see `states.joint`
    cdef int64_t spare              # a lower bound of the samples that can be counted before a counter is full

    cdef int reserve(self, Py_ssize_t classes) except -1
    cdef Py_ssize_t intern(self, object label) except -1
    cdef bint is_class(self, Py_ssize_t i) noexcept
    cdef int64_t largest_type_count(self) noexcept
    cdef list order(self)
    cdef int check_weight(self, int64_t whole) except -1
    cdef int find_spare(self, int64_t more) except -1
    cdef int64_t absent_samples(self) noexcept
    cdef int check_labels(self, list labels) except -1
    cdef int start(self) except -1
    cdef int make_fractional(self) except -1
    cdef Py_ssize_t place(self, uint64_t key) except -1
    cdef void add_at(self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept
    cdef int count(self, object y_true, object pred_a, object pred_b, object w, Py_ssize_t fold) except -1
    cdef int count_new(self, object y_true, object pred_a, object pred_b, int64_t whole, uint64_t part,
                       Py_ssize_t fold) except -1
    cdef int read_sample(self, object y_true, object pred_a, object pred_b, list labels, int64_t whole, uint64_t part,
                         Py_ssize_t fold, PairedSample *s) except -1
    cdef void apply_sample(self, const PairedSample *s) noexcept
    cdef int check_sums(self, PairedCounts o) except -1
    cdef int add_batch(self, list labels, codes, fold, wholes, parts) except -1
    cdef tuple in_order(self)
    cdef int locate(self, object given, object label) except -1
    cdef void add_types(self, int64_t i, int64_t kind, int64_t times) noexcept
