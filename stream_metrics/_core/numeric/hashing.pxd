# Hashes of 64-bit keys.
from libc.stdint cimport uint64_t


cdef inline uint64_t splitmix64(uint64_t x) noexcept nogil:
    """The finalizer of splitmix64: a bijection, so a hash stands for its key."""
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t inverse_splitmix64(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 31) ^ (x >> 62)) * <uint64_t> 0x319642B2D24D8EC3
    x = (x ^ (x >> 27) ^ (x >> 54)) * <uint64_t> 0x96DE1B173F119089
    return x ^ (x >> 30) ^ (x >> 60)


cdef inline Py_ssize_t home_slot(uint64_t key, uint64_t seed, Py_ssize_t slots) noexcept nogil:
    """Return the slot where an open-addressing table looks for a key first; `slots` is a power of two."""
    cdef uint64_t product = (key ^ seed) * <uint64_t> 0x9E3779B97F4A7C15
    return <Py_ssize_t> ((product ^ (product >> 32)) & <uint64_t> (slots - 1))
