from libc.stdint cimport int64_t

from stream_metrics._core.cells cimport Cells

cdef struct Form:
    bint exact
    int64_t n[4]
    double x[4]
    double span  # the sum of the absolute coefficients

cdef class Readings(Cells):
    cdef int64_t *order  # indices of the classes in the order of report
    cdef Py_ssize_t classes

    cdef int set_order(self, const int64_t[::1] indices) except -1
    cdef int refresh(self) except -1
    cdef object product(self, bint left_actual, bint right_actual)
    cdef object column(self, int which)
    cdef double evaluate(self, Form *form, Py_ssize_t i, bint *zero) noexcept nogil
    cdef tuple ordered_square(self)
    cdef Readings against_rest(self, Py_ssize_t i)
