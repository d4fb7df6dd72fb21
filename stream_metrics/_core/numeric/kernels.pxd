from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from libc.stdint cimport int64_t, uint64_t

cdef class Guarded:
    cdef unsigned long holder  # the thread whose section is open, 0 if none is
    cdef int readings          # how deep its sections are nested if they only read, 0 if it writes
    cdef int waiting           # threads that wait
    cdef bint woken            # one of these was woken and has not run yet
    cdef long forks            # forks of the process before the fields above were last written
    cdef void *gate            # what the others wait at; NULL until one has to

    cdef int enter(self) except -1
    cdef int enter_reading(self) except -1
    cdef int enter_merging(self, Guarded other) except -1
    cdef void leave(self) noexcept
    cdef void leave_merging(self, Guarded other) noexcept
    cdef int wait(self) except -1
    cdef int wait_reading(self) except -1
    cdef int renew(self) noexcept
    cdef int sleep(self) except -1
    cdef int refuse(self) except -1


cdef object as_number(object value)
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
    const int64_t MOST_SAMPLES  # the most samples, and the most abstentions, that are counted, written and read: 2^63 - 3

cdef int split(object weight, int64_t *whole, uint64_t *part) except -1
cdef bint split_some(object weight, int64_t *whole, uint64_t *part) except -1
cdef object plain_weight(object weight)
cdef int refuse_samples(int64_t more, int64_t have) except -1


cdef inline int check_samples(int64_t more, int64_t have) except -1:
    """Refuse more samples than there is room for; neither number is negative."""
    return refuse_samples(more, have) if more > MOST_SAMPLES - have else 0
