from libc.stdint cimport int64_t

from stream_metrics._core.cells cimport Cells
from stream_metrics._core.fixed cimport Fixed

cdef struct Form:
    bint exact
    int64_t n[4]
    double x[4]
    double span  # the sum of the absolute coefficients

cdef class Readings(Cells):
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
    cdef Readings against_rest(self, Py_ssize_t i)
