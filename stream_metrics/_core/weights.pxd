from libc.stdint cimport int64_t, uint64_t

cdef int split(object weight, int64_t *whole, uint64_t *part) except -1
cdef bint split_some(object weight, int64_t *whole, uint64_t *part) except -1
cdef object plain_weight(object weight)
