# 128-bit arithmetic on C integers, portable: not every compiler has a 128-bit type.
from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint64_t

cdef struct Fixed:
    int64_t whole
    uint64_t part


cdef inline void add_product(uint64_t *high, uint64_t *low, uint64_t a, uint64_t b) noexcept nogil:
    """Add a * b to the 128-bit number (high, low)."""
    cdef uint64_t ll = (a & <uint64_t> 0xFFFFFFFF) * (b & <uint64_t> 0xFFFFFFFF), lh = (a & <uint64_t> 0xFFFFFFFF) * (b >> 32), hl = (a >> 32) * (b & <uint64_t> 0xFFFFFFFF)
    cdef uint64_t middle = (ll >> 32) + (lh & <uint64_t> 0xFFFFFFFF) + (hl & <uint64_t> 0xFFFFFFFF)
    cdef uint64_t bottom = (ll & <uint64_t> 0xFFFFFFFF) | (middle << 32)
    low[0] += bottom
    high[0] += (a >> 32) * (b >> 32) + (lh >> 32) + (hl >> 32) + (middle >> 32) + (low[0] < bottom)


cdef inline void add_multiple(Fixed *sum, int64_t factor, int64_t whole, uint64_t part) noexcept nogil:
    """Add factor * (whole, part)."""
    cdef uint64_t high = 0, low = 0, size = <uint64_t> (factor if factor >= 0 else -factor)
    add_product(&high, &low, part, size)
    high += <uint64_t> whole * size
    if factor < 0:
        low = 0 - low
        high = ~high + (low == 0)
    sum.part += low
    sum.whole = <int64_t> (<uint64_t> sum.whole + high + (sum.part < low))


cdef inline double as_double(Fixed value) noexcept nogil:
    """The nearest double: 64 leading bits, the last one set if anything follows, are rounded once."""
    cdef uint64_t whole = <uint64_t> value.whole, part = value.part, leading
    cdef int bits = 0, free
    if value.part == 0:
        return <double> value.whole
    if value.whole < 0:
        whole, part = ~whole, 0 - part
    frexp(<double> whole, &bits)
    free = 64 - bits if bits < 64 else 0
    if whole == 0:
        leading = part
    elif free == 0:
        leading = whole | 1
    else:
        leading = (whole << free) | (part >> (64 - free)) | ((part << free) != 0)
    return ldexp(<double> leading, -free) if value.whole >= 0 else -ldexp(<double> leading, -free)
