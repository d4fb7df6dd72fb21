from libc.stdint cimport int64_t, uint32_t, uint64_t

from stream_metrics._core.fixed cimport add_fixed

ctypedef uint64_t fraction_t  # of a weight or moment, in units of 2^-64
ctypedef uint32_t slot_t      # the place of a hash, of which there are at most 2^25

cdef struct Held:
    uint64_t hash
    int64_t whole

cdef struct Bottom:
    Py_ssize_t size   # how many hashes are kept
    Py_ssize_t held
    Py_ssize_t slots  # a power of two, at most `fullest(size)`; 0 while there is no memory
    uint64_t bound    # no hash above it can be among the smallest
    Held *at
    fraction_t *part    # fractions of the weights, or NULL while all are whole
    slot_t *order       # room for `size` slots by code, once they were read; they hold while `sorted`
    bint sorted

cdef Py_ssize_t fullest(Py_ssize_t size) noexcept nogil
cdef int bottom_reserve(Bottom *s, Py_ssize_t extra, bint fractional) noexcept nogil
cdef void bottom_free(Bottom *s) noexcept nogil
cdef void bottom_clear(Bottom *s) noexcept nogil
cdef void bottom_prune(Bottom *s, uint64_t *scratch) noexcept nogil
cdef int bottom_copy(Bottom *s, const Bottom *source) noexcept nogil


cdef inline bint bottom_ready(const Bottom *s, bint fractional) noexcept nogil:
    """Whether one more hash needs no memory."""
    return (2 * s.held + 2 <= s.slots or s.slots >= 2 * s.size) and not (fractional and s.part == NULL)


cdef inline void bottom_add(Bottom *s, uint64_t hash, int64_t whole, fraction_t part, uint64_t *scratch) noexcept nogil:
    """Add to the weight of a hash; `bottom_reserve` has made room. `scratch` has room for `fullest(size)` hashes."""
    cdef Py_ssize_t at, mask = s.slots - 1
    if hash > s.bound:
        return
    at = <Py_ssize_t> hash & mask
    while s.at[at].hash != hash:
        if s.at[at].hash == 0:
            s.at[at].hash = hash
            s.held += 1
            s.sorted = False
            break
        at = (at + 1) & mask
    if part:
        add_fixed(<uint64_t *> &s.at[at].whole, s.part + at, <uint64_t> whole, part)
    else:
        s.at[at].whole += whole
    if 4 * s.held >= 3 * s.slots:
        bottom_prune(s, scratch)
