from libc.stdint cimport int64_t

from stream_metrics._core.rank_column cimport Column

cdef Column *column_new(Py_ssize_t buckets, Py_ssize_t size) noexcept nogil
cdef void column_free(Column *c) noexcept nogil
cdef Column *column_copy(const Column *source) noexcept nogil
cdef Py_ssize_t column_bytes(const Column *c) noexcept nogil
cdef int column_reserve(Column *c, Py_ssize_t groups, Py_ssize_t extra, bint fractional) noexcept nogil
cdef int column_sampling(Column *c) noexcept nogil
cdef int column_reserve_sample(Column *c, Py_ssize_t group, Py_ssize_t extra) noexcept nogil
cdef int column_reserve_for(Column *c, const Column *o, const int64_t *to, Py_ssize_t groups) noexcept nogil
cdef void column_drop_samples(Column *c) noexcept nogil
