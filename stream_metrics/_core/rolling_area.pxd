from libc.stdint cimport uint64_t

from stream_metrics._core.rolling cimport RollingFeed
from stream_metrics._core.window_area cimport WindowArea

cdef class AreaFeed(RollingFeed):
    cdef WindowArea area   # of the scores in the window while none is odd; None where it is not asked for
    cdef object positive
    cdef int scale, shift
    cdef double instead
    cdef Py_ssize_t odd    # samples in the window that the area cannot take

    cdef int read(self, object truth, object predicted, uint64_t *code, bint *own) except -1
    cdef bint is_odd(self, object truth, object predicted, object weight) except -1
    cdef int fill_area(self) except -1
