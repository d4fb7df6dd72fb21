from libc.stdint cimport uint64_t

cdef class Writer:
    cdef bytearray buffer
    cdef unsigned char* start
    cdef Py_ssize_t used, room
    cdef int grow(self, Py_ssize_t more) except -1
    cdef int head(self, Py_ssize_t n, int small, int most, int code) except -1
    cdef int whole(self, long long value) except -1
    cdef int real(self, double value) except -1
    cdef int put(self, object value) except -1
    cdef bytes taken(self)


cdef class Parts:
    cdef dict memo
    cdef const unsigned char* at
    cdef const unsigned char* end
    cdef tuple entry(self, bytes body)
    cdef const unsigned char* taken(self, Py_ssize_t n) except NULL
    cdef uint64_t number(self, int width) except? 0
    cdef object value(self)
    cdef object text(self, Py_ssize_t n)
    cdef object items(self, int n)
    cdef object one(self, object key, object value)


cdef long long first(bytes body) except -1
