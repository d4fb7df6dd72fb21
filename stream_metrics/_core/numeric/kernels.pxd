from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.list cimport PyList_GET_ITEM
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint16_t, uint64_t, uintptr_t

from stream_metrics._core.numeric.texts cimport hash_text, is_hashed, is_short_text, same_text

cdef void *allocate(Py_ssize_t count, Py_ssize_t size) except NULL nogil
cdef object vector(Py_ssize_t n, int kind)
cdef uint64_t HASH_SEED  # random, so that no input can be made to collide


cdef class Guarded:
    cdef unsigned long holder  # the thread whose section is open, 0 if none is
    cdef int readings          # how deep its sections are nested if they only read, 0 if it writes
    cdef int waiting           # threads that wait
    cdef bint woken            # whether one of these was woken and has not run yet
    cdef long forks            # forks of the process before the fields above were last written
    cdef void *gate            # a lock that waiting threads block on; NULL until one waits

    cdef int enter(self) except -1
    cdef int enter_reading(self) except -1
    cdef int enter_merging(self, Guarded other) except -1
    cdef void leave(self) noexcept
    cdef void leave_merging(self, Guarded other) noexcept
    cdef int wait(self) except -1
    cdef int wait_reading(self) except -1
    cdef int count_prediction(self, object y_true, object y_pred, object w) except -1


cdef class Step:
    cdef Guarded target       # what is changed
    cdef Guarded source       # what is read, or None
    cdef public bint inside   # whether the caller has opened their section; otherwise `commit` does

    cdef int prepare(self) except -1
    cdef void apply(self) noexcept
    cdef void abandon(self) noexcept

cdef int commit_steps(list steps) except -1
cdef void exchange(Guarded target, Guarded twin) noexcept


cdef object no_prediction(object owner, bint scored)
cpdef object chosen_scores(object owner, object y_pred, object scores)
cpdef object chosen_labels(object owner, object y_pred, object scores, object classes)


cdef bint read_number(object value, double *x) except -1
cpdef list row_values(object scores)


cdef inline bint to_double(object value, double *x) except -1:
    """Read a number, rounded to the nearest double; False if the value is none."""
    if PyFloat_Check(value):
        x[0] = PyFloat_AS_DOUBLE(value)
        return True
    return read_number(value, x)


cdef extern from * nogil:
    """
    #define MOST_SAMPLES (INT64_MAX - 2)
    """
    # the largest number of samples, and of abstentions: 2^63 - 3
    const int64_t MOST_SAMPLES

cdef int split(object weight, int64_t *whole, uint64_t *part) except -1
cdef bint split_some(object weight, int64_t *whole, uint64_t *part) except -1
cdef object plain_weight(object weight)
cdef object sum_overflow(object more, object have, str limit, object position)
cdef int refuse_samples(int64_t more, int64_t have) except -1
cdef object not_counted(object got, str but)
cdef object not_contained()


cdef inline int split_number(object weight, int64_t *whole, uint64_t *part) except -1:
    """Split one weight as `split` does; an int, of which most weights are, without a call of another module."""
    cdef int overflow = 0
    if PyLong_CheckExact(weight):
        whole[0], part[0] = PyLong_AsLongLongAndOverflow(weight, &overflow), 0
        if overflow == 0 and <uint64_t> whole[0] < <uint64_t> 1 << 62:
            return 0
    return split(weight, whole, part)


cdef inline int check_samples(int64_t more, int64_t have) except -1:
    """Raise WeightError if the number of samples would overflow; neither number is negative."""
    return refuse_samples(more, have) if more > MOST_SAMPLES - have else 0


cdef inline int64_t samples_left(int64_t n, int64_t abstained, int64_t type_count, int64_t per_sample) noexcept:
    """Return how many samples fit before a counter is full; a sample adds at most `per_sample` to a type count."""
    return min(MOST_SAMPLES - max(n, abstained), (INT64_MAX - type_count) // per_sample)


cdef enum:
    LONGEST = 1 << 20  # `labels.LONGEST`

ctypedef uint16_t short_index_t  # an index + 1, 0 for none

cdef struct IdentityCacheEntry:
    PyObject *label
    int32_t index
    int32_t kind

cdef class LabelIndex:
    cdef IdentityCacheEntry *cache
    cdef short_index_t *texts  # behind the cache, half as many: the indices of short texts
    cdef int cache_bits
    cdef Py_ssize_t cached  # entries of the cache
    cdef Py_ssize_t used    # indices ever assigned, from 0; some may be free again
    cdef Py_ssize_t fixed   # number of fixed labels, which have the first indices
    cdef dict index
    cdef list names             # by index, None where one is free again
    cdef Py_ssize_t vacant      # how many are free again
    cdef Py_ssize_t lowest      # none below this one is
    cdef int64_t changes, sorted_at  # changes of the set of labels; their number when it was last sorted
    cdef int64_t *ranking  # the indices of all labels, sorted
    cdef Py_ssize_t ranked
    cdef readonly object fixed_labels
    cdef readonly object other
    cdef object names_of_keys  # what keys of scores name, None until it is needed
    cdef bint binary  # whether new labels must be 0 or 1, False or True

    cdef int clear(self) except -1
    cdef int cache_put(self, object label, Py_ssize_t index, int kind) except -1
    cdef Py_ssize_t find(self, object label) except -2
    cdef Py_ssize_t next_index(self) except -1
    cdef Py_ssize_t add(self, object label) except -1
    cdef void remove(self, Py_ssize_t i) noexcept
    cdef object admitted(self, object label, str argument, object position)
    cdef object class_names(self)
    cdef object admit_prediction(self, object y_pred, object y_true)
    cdef int copy_from(self, LabelIndex other) except -1
    cdef int sort(self) except -1
    cdef object shown(self, Py_ssize_t i, const int64_t *type_counts)
    cdef list type_counts(self, const int64_t *order, Py_ssize_t classes, const int64_t *first, Py_ssize_t stride)

cdef bint is_short(object number) noexcept
cpdef tuple classes_beside(tuple classes, object truth, object position=*)
cpdef object by_class(object scores, object truth, object names, object position=*)
cdef object numeric_kinds(list labels)
cdef int64_t most_type_count(const int64_t *first, Py_ssize_t stride, Py_ssize_t classes) noexcept


cdef inline bint may_be_named(dict scores, object truth):
    """Whether keys of scores may name numbers beside a true label; False takes no time."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0
    return type(truth) is not str and PyDict_Next(scores, &at, &key, &value) and PyUnicode_Check(<object> key)


cdef inline IdentityCacheEntry *cache_entry(LabelIndex labels, object label) noexcept:
    """The entry of an object: one of two neighbours, the second if the first has another object."""
    cdef uint64_t mixed = <uint64_t> <uintptr_t> <PyObject *> label * <uint64_t> 0x9E3779B97F4A7C15
    cdef IdentityCacheEntry *first = labels.cache + (mixed >> (64 - labels.cache_bits))
    if first.label == <PyObject *> label:
        return first
    return labels.cache + ((mixed >> (64 - labels.cache_bits)) ^ 1)


cdef inline Py_ssize_t text_place(LabelIndex labels, PyObject *text) noexcept:
    """Where a short text is in `texts`: here, or in the neighbour at the place ^ 1."""
    return <Py_ssize_t> (hash_text(text) & ((<uint64_t> 1 << (labels.cache_bits - 1)) - 1))


cdef inline bint is_text(LabelIndex labels, Py_ssize_t index, PyObject *text) noexcept:
    return index >= 0 and same_text(PyList_GET_ITEM(labels.names, index), text)


cdef inline Py_ssize_t index_of_text(LabelIndex labels, object label) noexcept:
    """The index of a label that is a new object of a short text; -1 if it is another one, or not known.

    A text that was hashed before is -1 too: it is probably used again, so it should be cached.
    """
    cdef Py_ssize_t place, index
    if not is_short_text(label) or is_hashed(<PyObject *> label):
        return -1
    place = text_place(labels, <PyObject *> label)
    index = <Py_ssize_t> labels.texts[place] - 1
    if is_text(labels, index, <PyObject *> label):
        return index
    index = <Py_ssize_t> labels.texts[place ^ 1] - 1
    return index if is_text(labels, index, <PyObject *> label) else -1


cdef inline Py_ssize_t known_index(LabelIndex labels, object label, int *kind) noexcept:
    """The index of a cached object, or of a new object of a cached text, and its kind; -1 for others."""
    cdef IdentityCacheEntry *entry = cache_entry(labels, label)
    if entry.label == <PyObject *> label:
        kind[0] = entry.kind
        return entry.index
    kind[0] = 3
    return index_of_text(labels, label)


cdef inline int numeric_kind(object label):
    """Which type count a label has: 0 bool, 1 int, 2 float, 3 anything else."""
    kind = type(label)
    return 3 if kind is str else 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3


cdef inline void remove_type(int64_t *type_counts, int kind, int64_t times) noexcept:
    """Remove appearances as one type, and from another type if that one has too few."""
    cdef int other
    cdef int64_t some
    if kind == 3:
        return
    for other in range(3):
        some = min(times, type_counts[(kind + other) % 3])
        type_counts[(kind + other) % 3] -= some
        times -= some


cdef inline bint plain(object label):
    """Whether an object is a canonical label: of a plain type, and not too long. A float may still not be finite."""
    kind = type(label)
    if kind is str:
        return PyUnicode_GET_LENGTH(label) <= LONGEST
    if kind is int:
        return is_short(label)
    return kind is bool or kind is float or (kind is bytes and PyBytes_GET_SIZE(label) <= LONGEST)
