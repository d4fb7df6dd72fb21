from stream_metrics._core.cells cimport Cells

cdef int read_cells(Cells table, bytes stream, Py_ssize_t classes) except -1
