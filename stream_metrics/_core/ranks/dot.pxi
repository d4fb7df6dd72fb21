"""The sum of products as NumPy computes it: compiled estimates are those of formulas on arrays, to the last bit."""

cdef extern from *:
    """
    #include <numpy/arrayobject.h>

    static double rank_dot(const double *a, const double *b, npy_intp n)
    {
        static PyArray_DotFunc *dot = NULL;
        double sum = 0.0;
        if (dot == NULL) {
            PyArray_Descr *kind = PyArray_DescrFromType(NPY_DOUBLE);
            dot = PyDataType_GetArrFuncs(kind)->dotfunc;
            Py_DECREF(kind);
        }
        dot((void *) a, sizeof(double), (void *) b, sizeof(double), &sum, n, NULL);
        return sum;
    }
    """
    double dot "rank_dot"(const double *a, const double *b, Py_ssize_t n)
