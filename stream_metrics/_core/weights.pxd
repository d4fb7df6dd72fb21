from libc.stdint cimport int64_t, uint64_t

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
