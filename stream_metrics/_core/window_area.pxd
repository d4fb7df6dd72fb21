from libc.stdint cimport int64_t, uint64_t

cdef struct Codes:
    uint64_t *code  # ascending
    Py_ssize_t held, room

cdef class WindowArea:
    cdef Codes side[2]  # the rest, its own
    cdef int64_t twice  # twice the pairs of own above rest, and once the tied ones

    cdef int reserve(self, bint own) except -1
    cdef int64_t pairs(self, uint64_t code, bint own) noexcept
    cdef void insert(self, uint64_t code, bint own) noexcept
    cdef void remove(self, uint64_t code, bint own) noexcept
    cdef void clear(self) noexcept
    cdef double area(self, int scale, int shift) noexcept
