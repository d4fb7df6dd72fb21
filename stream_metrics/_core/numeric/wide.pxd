# Loss terms and their sums as integers in units of 2^-104, and the arithmetic that makes a term the same on every
# machine.
#
# A probability is stored as a multiple of 2^-52, so its square is a whole number of units and a sum of squares does not
# depend on the order of the classes. The logarithm is computed here because the C library's differs between systems
# (and between processors on one system) in the last bit, and a revert on another machine could not undo such a bit.
# It needs only the four basic operations, which IEEE 754 fixes; the build forbids fusing them.
cimport cython
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from stream_metrics._core.numeric.fixed cimport Fixed, add_product

cdef struct Term:  # the loss of one sample of weight 1, not negative, below 2^21
    uint64_t high, low

cdef struct Wide:  # a sum of terms times weights, below 2^87
    int64_t high
    uint64_t middle, low


cdef inline Term as_term(double x) noexcept nogil:
    """Round to the nearest unit, exactly from 2^-52 on; 40, 32 and 32 bits at a time, so that no branch depends on
    them."""
    cdef Term term
    cdef int64_t high, middle
    x *= 1099511627776.0  # 2^40
    high = <int64_t> x
    x = (x - <double> high) * 4294967296.0  # 2^32
    middle = <int64_t> x
    x = (x - <double> middle) * 4294967296.0
    x = (x + 4503599627370496.0) - 4503599627370496.0  # adding 2^52 rounds to a whole number
    term.high, term.low = <uint64_t> high, (<uint64_t> middle << 32) + <uint64_t> <int64_t> x
    return term


cdef inline Term times(Term term, int64_t whole, uint64_t part, uint64_t *top) noexcept nogil:
    """Multiply by a weight and round to the nearest unit, exactly for a whole weight; bits from 2^128 on go to
    `top`."""
    cdef uint64_t high = 0, middle = 0, low = 0, above = 0, unit = 0, below = 0
    cdef Term product
    add_product(&middle, &low, term.low, <uint64_t> whole)
    add_product(&high, &middle, term.high, <uint64_t> whole)
    if part != 0:
        add_product(&unit, &below, term.low, part)
        add_product(&above, &unit, term.high, part)
        unit += below >> 63
        above += unit < (below >> 63)
        low += unit
        above += low < unit
        middle += above
        high += middle < above
    top[0] = high
    product.high, product.low = middle, low
    return product


cdef inline void plus_wide(Wide *sum, uint64_t high, uint64_t middle, uint64_t low) noexcept nogil:
    cdef uint64_t carry
    sum.low += low
    carry = sum.low < low
    sum.middle += carry
    carry = sum.middle < carry
    sum.middle += middle
    carry += sum.middle < middle
    sum.high = <int64_t> (<uint64_t> sum.high + high + carry)


cdef inline void minus_wide(Wide *sum, uint64_t high, uint64_t middle, uint64_t low) noexcept nogil:
    plus_wide(sum, ~high + ((middle | low) == 0), ~middle + (low == 0), 0 - low)


cdef inline void plus_fixed(Fixed *sum, int64_t whole, uint64_t part) noexcept nogil:
    sum.part += part
    sum.whole += whole + (sum.part < part)


cdef inline void minus_fixed(Fixed *sum, int64_t whole, uint64_t part) noexcept nogil:
    plus_fixed(sum, -whole - (part != 0), 0 - part)


cdef inline uint64_t quantize52(double p) noexcept nogil:
    """A probability in [0, 1] as a multiple of 2^-52, rounded to the nearest: the bits of 1 + p beyond those of 1."""
    cdef uint64_t bits
    p += 1.0
    memcpy(&bits, &p, 8)
    return bits - <uint64_t> 0x3FF0000000000000


cdef inline double sqrt_units(Term squares) noexcept nogil:
    """The square root of a sum of squares, in units of 2^-52."""
    cdef double low = <double> <int64_t> (squares.low >> 32) * 4294967296.0
    low = low + <double> <int64_t> (squares.low & <uint64_t> 0xFFFFFFFF)
    return sqrt(<double> <int64_t> squares.high * 18446744073709551616.0 + low)


@cython.cdivision(True)
cdef inline double neg_log(double p) noexcept nogil:
    """-ln p for p in [2^-52, 1], within 1 ulp.

    p = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]; ln(1 + f) = 2 artanh(s), s = f/(2 + f), by its power series,
    arranged so that the leading term is f itself: 2s = f - s f (the arrangement of Sun's fdlibm). ln 2 is split so that
    k times its head is exact.
    """
    cdef uint64_t bits, above
    cdef double f, s, z, w, v, series, half, k
    memcpy(&bits, &p, 8)
    above = bits - <uint64_t> 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
    k = <double> (<int64_t> above >> 52)
    bits -= above & <uint64_t> 0xFFF0000000000000
    memcpy(&f, &bits, 8)
    f -= 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    v = w * w
    series = z * (((2.0 / 3 + z * (2.0 / 5)) + w * (2.0 / 7 + z * (2.0 / 9)))
                  + v * (((2.0 / 11 + z * (2.0 / 13)) + w * (2.0 / 15 + z * (2.0 / 17)))
                         + v * (2.0 / 19 + z * (2.0 / 21))))
    half = 0.5 * f * f
    return ((half - (s * (half + series) + k * 1.90821492927058770002e-10)) - f) - k * 6.93147180369123816490e-01


cdef inline object fixed_units(Fixed sum):
    return (<object> sum.whole << 64) | sum.part


cdef inline object wide_units(Wide sum):
    return (<object> sum.high << 128) | (<object> sum.middle << 64) | sum.low


cdef inline int read_fixed(object number, Fixed *sum) except -1:
    if not 0 <= number < 1 << 127:
        raise ValueError("weights from 0 to 2**63")
    sum.whole, sum.part = number >> 64, number & 0xFFFFFFFFFFFFFFFF
    return 0


cdef inline int read_wide(object number, Wide *sum) except -1:
    if not 0 <= number < 1 << 191:
        raise ValueError("sums from 0 to 2**87")
    sum.high, sum.middle, sum.low = number >> 128, (number >> 64) & 0xFFFFFFFFFFFFFFFF, number & 0xFFFFFFFFFFFFFFFF
    return 0
