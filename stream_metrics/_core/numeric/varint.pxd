# Whole numbers as bytes: seven bits a byte, lowest first, the high bit set on all but the last byte.
from libc.stdint cimport uint8_t, uint64_t


cdef inline Py_ssize_t write_varint(uint8_t *out, uint64_t x) noexcept nogil:
    cdef Py_ssize_t at = 0
    while x >= 128:
        out[at] = <uint8_t> (x & 127) | 128
        x >>= 7
        at += 1
    out[at] = <uint8_t> x
    return at + 1


cdef inline int read_varint(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint64_t *x) except -1:
    cdef Py_ssize_t place = at[0]
    if place < size and data[place] < 128:
        x[0] = data[place]
        at[0] = place + 1
        return 0
    return read_long_varint(data, size, at, x)


cdef inline int read_long_varint(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint64_t *x) except -1:
    cdef Py_ssize_t place = at[0]
    cdef int shift = 0
    cdef uint64_t byte = 128, sum = 0
    while byte >= 128:
        if place >= size:
            raise ValueError("a whole number at the end, but the last one is cut short")
        byte = data[place]
        place += 1
        if shift == 63 and byte > 1:
            raise ValueError("every number below 2**64, but one is larger")
        sum |= (byte & 127) << shift
        shift += 7
    if byte == 0 and shift > 7:
        raise ValueError("every number in its shortest form, but one is padded")
    x[0] = sum
    at[0] = place
    return 0
