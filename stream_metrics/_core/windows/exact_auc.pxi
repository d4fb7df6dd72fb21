"""The area under the ROC curve of scores that are added and removed, read at no cost.

The codes of own and of rest lie in two sorted arrays. Adding or removing a score changes the number of ordered pairs
by its rank in the other array; the number is an integer, and the area one division. Finding a rank takes a binary
search, moving codes one `memmove`. At ten thousand scores both take about as long; a balanced tree, which moves
nothing, would miss the cache at every step.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memmove


cdef inline Py_ssize_t below(const Codes *side, uint64_t code) noexcept nogil:
    """Count the smaller codes; without a branch that depends on the codes, which a processor could not predict."""
    cdef const uint64_t *base = side.code
    cdef Py_ssize_t n = side.used, half
    if n == 0:
        return 0
    while n > 1:
        half = n >> 1
        base += half * (base[half - 1] < code)
        n -= half
    return (base - side.code) + (base[0] < code)


cdef class ExactAuc:
    """Sorted codes of own and rest, and the pairs in order between them."""

    def __dealloc__(self):
        PyMem_RawFree(self.side[0].code)
        PyMem_RawFree(self.side[1].code)

    cdef int reserve(self, bint own) except -1:
        """Reserve memory for one more code."""
        cdef Codes *mine = &self.side[own]
        cdef Py_ssize_t capacity = max(<Py_ssize_t> 16, 2 * mine.capacity)
        cdef uint64_t *code
        if mine.used < mine.capacity:
            return 0
        code = <uint64_t *> PyMem_RawCalloc(capacity, sizeof(uint64_t))
        if code == NULL:
            raise MemoryError("no memory for the scores of a window")
        if mine.used:
            memcpy(code, mine.code, mine.used * sizeof(uint64_t))
        PyMem_RawFree(mine.code)
        mine.code, mine.capacity = code, capacity
        return 0

    cdef int64_t pairs(self, uint64_t code, bint own) noexcept:
        """Twice the pairs in order that one score makes with the other side, and once the tied ones."""
        cdef Codes *other = &self.side[not own]
        cdef int64_t smaller = below(other, code), upto = smaller
        if smaller < other.used and other.code[smaller] == code:
            upto = below(other, code + 1)  # no code is the largest integer
        return smaller + upto if own else 2 * other.used - smaller - upto

    cdef void insert(self, uint64_t code, bint own) noexcept:
        """Add a score; memory is reserved."""
        cdef Codes *mine = &self.side[own]
        cdef Py_ssize_t at = below(mine, code)
        self.twice += self.pairs(code, own)
        memmove(mine.code + at + 1, mine.code + at, (mine.used - at) * sizeof(uint64_t))
        mine.code[at] = code
        mine.used += 1

    cdef void remove(self, uint64_t code, bint own) noexcept:
        """Remove a score that was added."""
        cdef Codes *mine = &self.side[own]
        cdef Py_ssize_t at = below(mine, code)
        self.twice -= self.pairs(code, own)
        mine.used -= 1
        memmove(mine.code + at, mine.code + at + 1, (mine.used - at) * sizeof(uint64_t))

    cdef void clear(self) noexcept:
        self.side[0].used, self.side[1].used, self.twice = 0, 0, 0

    cdef double area(self, int scale, int shift) noexcept:
        """scale * area + shift, NAN without own or without rest; both integers are below 2^53, so it is rounded
        once."""
        cdef int64_t twice_all = 2 * <int64_t> self.side[0].used * self.side[1].used
        return <double> (scale * self.twice + shift * twice_all) / <double> twice_all if twice_all else NAN
