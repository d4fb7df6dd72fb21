# 128-bit arithmetic on C integers, portable: not every compiler has a 128-bit type.
from libc.math cimport frexp, ldexp
from libc.stdint cimport int64_t, uint64_t

cdef struct Fixed:
    int64_t whole
    uint64_t part


cdef inline void add_product(uint64_t *high, uint64_t *low, uint64_t a, uint64_t b) noexcept nogil:
    """Add a * b to the 128-bit number (high, low)."""
    cdef uint64_t ll = (a & <uint64_t> 0xFFFFFFFF) * (b & <uint64_t> 0xFFFFFFFF)
    cdef uint64_t lh = (a & <uint64_t> 0xFFFFFFFF) * (b >> 32), hl = (a >> 32) * (b & <uint64_t> 0xFFFFFFFF)
    cdef uint64_t middle = (ll >> 32) + (lh & <uint64_t> 0xFFFFFFFF) + (hl & <uint64_t> 0xFFFFFFFF)
    cdef uint64_t bottom = (ll & <uint64_t> 0xFFFFFFFF) | (middle << 32)
    low[0] += bottom
    high[0] += (a >> 32) * (b >> 32) + (lh >> 32) + (hl >> 32) + (middle >> 32) + (low[0] < bottom)


cdef inline void add_fixed(uint64_t *whole, uint64_t *part, uint64_t more, uint64_t more_part) noexcept nogil:
    """Add a whole number and a fraction in units of 2^-64."""
    part[0] += more_part
    whole[0] += more + (part[0] < more_part)


cdef inline void take_fixed(uint64_t *whole, uint64_t *part, uint64_t less, uint64_t less_part) noexcept nogil:
    """Subtract a whole number and a fraction in units of 2^-64."""
    whole[0] -= less + (part[0] < less_part)
    part[0] -= less_part


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


cdef inline double unsigned_double(uint64_t whole, uint64_t part) noexcept nogil:
    """The nearest double: 64 leading bits, the last one set if anything follows, are rounded once."""
    cdef uint64_t leading
    cdef int bits = 0, free
    if part == 0:
        return <double> whole
    frexp(<double> whole, &bits)
    free = 64 - bits if bits < 64 else 0
    if whole == 0:
        return ldexp(<double> part, -64)
    if free == 0:
        leading = whole | 1
    else:
        leading = (whole << free) | (part >> (64 - free)) | ((part << free) != 0)
    return ldexp(<double> leading, -free)


cdef inline double as_double(Fixed value) noexcept nogil:
    """The nearest double."""
    if value.part == 0:
        return <double> value.whole
    if value.whole >= 0:
        return unsigned_double(<uint64_t> value.whole, value.part)
    return -unsigned_double(~<uint64_t> value.whole, 0 - value.part)


cdef inline void normalize(uint64_t *high, uint64_t *low, int *shift) noexcept nogil:
    """Shift a 128-bit number other than 0 to the left until its top bit is set, and add the distance to `shift`."""
    cdef int bits = 0, free
    if high[0] == 0:
        high[0], low[0] = low[0], 0
        shift[0] += 64
    frexp(<double> high[0], &bits)  # one too many where the conversion rounds up to a power of 2
    free = 64 - bits if bits < 64 else 0
    if free:
        high[0] = (high[0] << free) | (low[0] >> (64 - free))
        low[0] <<= free
        shift[0] += free
    if high[0] >> 63 == 0:
        high[0] = (high[0] << 1) | (low[0] >> 63)
        low[0] <<= 1
        shift[0] += 1


cdef inline double quotient(uint64_t high, uint64_t low, uint64_t below_high, uint64_t below_low) noexcept nogil:
    """The nearest double to the quotient of two 128-bit numbers, the second one not 0: 64 bits by long division."""
    cdef uint64_t q = 0, carry = 0
    cdef int shift = 0, below_shift = 0, _bit
    if high == 0 and low == 0:
        return 0.0
    normalize(&high, &low, &shift)
    normalize(&below_high, &below_low, &below_shift)
    for _bit in range(64):
        q <<= 1
        if carry or high > below_high or (high == below_high and low >= below_low):
            high = high - below_high - (low < below_low)
            low -= below_low
            q |= 1
        carry = high >> 63
        high = (high << 1) | (low >> 63)
        low <<= 1
    q |= (carry | high | low) != 0  # at least 63 bits are significant, so the last one may stand for the rest
    return ldexp(<double> q, below_shift - shift - 63)


cdef inline double fixed_quotient(Fixed a, Fixed b) noexcept nogil:
    """The nearest double to a / b, b not 0."""
    cdef bint negative = (a.whole < 0) != (b.whole < 0)
    cdef double value
    if a.whole < 0:
        a.whole, a.part = <int64_t> (~<uint64_t> a.whole + (a.part == 0)), 0 - a.part
    if b.whole < 0:
        b.whole, b.part = <int64_t> (~<uint64_t> b.whole + (b.part == 0)), 0 - b.part
    value = quotient(<uint64_t> a.whole, a.part, <uint64_t> b.whole, b.part)
    return -value if negative else value
