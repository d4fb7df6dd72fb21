from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.rank_column cimport Column

cdef uint64_t fraction_bits(Column *c) noexcept
cdef bytes pack_column(Column *c, const int64_t[::1] groups, int places)
cdef bytes pack_weights(list weights, int places)
cdef list read_weights(bytes stream, Py_ssize_t count, int places)
cdef int read_column(Column *c, bytes stream, Py_ssize_t groups, int places) except -1
cdef bint column_within(Column *c, Py_ssize_t group, uint64_t whole, uint64_t part) noexcept
