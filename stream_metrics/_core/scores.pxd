# The score code: a monotone map from doubles to 64-bit integers, and the hash of a code.
#
# Written without branches: on unsorted scores a wrong guess of the branch costs more than the whole code.
from libc.math cimport fabs
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef enum:
    OCTAVE_BITS = 52


cdef inline uint64_t bits(double x) noexcept nogil:
    cdef uint64_t b
    memcpy(&b, &x, 8)
    return b


cdef inline uint64_t encode(double x) noexcept nogil:
    """A code from 1 to 2^64 - 2 that rises with the score; code(-x) is the complement of code(x), code(0) is 2^63.

    The magnitude is a float prefix around 0, mirrored around 1/2 and again around 1:
    bits(a) up to 1/2, 2 bits(1/2) - bits(1-a) below 1, bits(a-1) + 105 octaves from 1 to 3/2, bits(a) + 103.5 beyond.
    """
    cdef double a = fabs(x), centre
    cdef uint64_t octave = <uint64_t> 1 << OCTAVE_BITS, b, one = <uint64_t> 0x3FF0000000000000
    cdef uint64_t negative = 0 - <uint64_t> (x < 0.0), high = 0 - <uint64_t> (a > 0.5)
    cdef uint64_t above = 0 - <uint64_t> (a >= 1.0), far = 0 - <uint64_t> (a > 1.5)
    cdef uint64_t least = 970 * octave & above & ~far, most = (3889 * (octave >> 1)) - 2
    one &= high & ~far
    memcpy(&centre, &one, 8)
    b = bits(fabs(a - centre))
    b = b if b > least else least
    b = b if b < most else most
    b = (b ^ (high & ~above)) + (high & ~above & (2044 * octave + 1)) + (above & ~far & 105 * octave) + (far & 207 * (octave >> 1))
    return (b + (<uint64_t> 1 << 63)) ^ negative


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    """The splitmix64 finaliser: a bijection, so a hash stands for its code."""
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t unmixed(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 31) ^ (x >> 62)) * <uint64_t> 0x319642B2D24D8EC3
    x = (x ^ (x >> 27) ^ (x >> 54)) * <uint64_t> 0x96DE1B173F119089
    return x ^ (x >> 30) ^ (x >> 60)
