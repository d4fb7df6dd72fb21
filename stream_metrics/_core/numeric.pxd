from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check

cdef object as_number(object value)
cdef bint read_number(object value, double *x) except -1
cpdef list row_values(object scores)


cdef inline bint to_double(object value, double *x) except -1:
    """Read a number, rounded to the nearest double; False if the value is none."""
    if PyFloat_Check(value):
        x[0] = PyFloat_AS_DOUBLE(value)
        return True
    return read_number(value, x)
