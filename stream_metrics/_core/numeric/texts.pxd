# Short ASCII texts by their bytes: hashed and compared sooner than Python does with an object that it has not hashed.
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_GET_LENGTH
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

cdef extern from * nogil:
    """
    #define SM_IS_HASHED(text) (((PyASCIIObject *) (text))->hash != -1)
    #define SM_BYTES(text) ((const uint8_t *) ((PyASCIIObject *) (text) + 1))
    """
    bint PyUnicode_IS_COMPACT_ASCII(PyObject *text)
    bint is_hashed "SM_IS_HASHED"(PyObject *text)  # whether Python knows the hash of a text
    const uint8_t *bytes_of "SM_BYTES"(PyObject *text)  # of a compact ASCII text

cdef enum:
    SHORT = 64  # bytes


cdef inline bint is_short_text(object label) noexcept:
    return (PyUnicode_CheckExact(label) and PyUnicode_IS_COMPACT_ASCII(<PyObject *> label)
            and PyUnicode_GET_LENGTH(label) <= SHORT)


cdef inline uint64_t last_word(const uint8_t *data, Py_ssize_t size) noexcept nogil:
    """Return 1 to 8 bytes as a number that is different for different bytes of the same size."""
    cdef uint64_t word
    cdef uint32_t first, last
    if size == 8:
        memcpy(&word, data, 8)
        return word
    if size >= 4:  # the two halves may overlap
        memcpy(&first, data, 4)
        memcpy(&last, data + size - 4, 4)
        return first | (<uint64_t> last << 32)
    return data[0] | (<uint64_t> data[size >> 1] << 8) | (<uint64_t> data[size - 1] << 16)


cdef inline uint64_t hash_bytes(const uint8_t *data, Py_ssize_t size) noexcept nogil:
    cdef uint64_t state = <uint64_t> 0x9E3779B97F4A7C15 ^ <uint64_t> size, word
    while size > 8:
        memcpy(&word, data, 8)
        state = (state ^ word) * <uint64_t> 0xBF58476D1CE4E5B9
        state ^= state >> 29
        data += 8
        size -= 8
    if size:
        state = (state ^ last_word(data, size)) * <uint64_t> 0xBF58476D1CE4E5B9
        state ^= state >> 29
    state *= <uint64_t> 0x94D049BB133111EB
    return state ^ (state >> 32)


cdef inline uint64_t hash_text(PyObject *text) noexcept:
    """Return the hash of a short text."""
    return hash_bytes(bytes_of(text), PyUnicode_GET_LENGTH(<object> text))


cdef inline bint same_bytes(const uint8_t *x, const uint8_t *y, Py_ssize_t size) noexcept nogil:
    cdef uint64_t one, other
    while size > 8:
        memcpy(&one, x, 8)
        memcpy(&other, y, 8)
        if one != other:
            return False
        x += 8
        y += 8
        size -= 8
    return size == 0 or last_word(x, size) == last_word(y, size)


cdef inline bint same_text(PyObject *a, PyObject *b) noexcept:
    """Whether two short texts are equal."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(<object> a)
    return size == PyUnicode_GET_LENGTH(<object> b) and same_bytes(bytes_of(a), bytes_of(b), size)
