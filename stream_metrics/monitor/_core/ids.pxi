"""A table of ids in 13 bytes a slot: a 64-bit hash, a mark, and the generation in which the id came.

Two of n ids are taken for one with a probability of n**2 / 2**65: less than one in 90,000 for twenty million. Old
generations are left where they are until the table is built again, and are not found.
"""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint32_t

from stream_metrics._core.numeric.hashing cimport splitmix64

cdef enum:
    LEAST_SLOTS = 1024


cdef uint64_t hash_of(object key) except? 0:
    """Return the hash of an id, the same in every process; equal ids have equal hashes."""
    cdef Py_ssize_t size = 0
    cdef const char* at
    cdef uint64_t hashed, word
    cdef long long number
    if PyUnicode_CheckExact(key):
        try:
            at = PyUnicode_AsUTF8AndSize(key, &size)
        except UnicodeEncodeError:
            return hash_of(key.encode("utf-8", "surrogatepass"))
        hashed = splitmix64(1)
    elif PyBytes_CheckExact(key):
        at, size, hashed = PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key), splitmix64(2)
    elif type(key) is int or type(key) is bool:
        try:
            number = key
        except OverflowError:
            return hash_of(b"int " + str(key).encode())
        hashed = splitmix64(splitmix64(3) ^ <uint64_t> number)
        return hashed + (hashed == 0)
    else:
        return hash_of(b"other " + encoded(key))
    while size > 0:
        word = 0
        memcpy(&word, at, min(size, 8))
        hashed = splitmix64(hashed ^ word) + <uint64_t> min(size, 8)
        at, size = at + 8, size - 8
    hashed = splitmix64(hashed)
    return hashed + (hashed == 0)  # 0 is an empty slot


def id_hash(key):
    """Return the hash of an id, a whole number from 1 to 2**64 - 1."""
    return hash_of(key)


cdef class IdTable:
    """Marks of ids by hash; those of generations before `oldest` are gone."""

    cdef uint64_t* hashes
    cdef uint32_t* generations
    cdef uint8_t* marks
    cdef Py_ssize_t slots, used
    cdef public uint32_t oldest

    def __cinit__(self):
        self.hashes, self.generations, self.marks = NULL, NULL, NULL
        self.slots = self.used = 0
        self.oldest = 0

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        PyMem_RawFree(self.hashes)
        PyMem_RawFree(self.generations)
        PyMem_RawFree(self.marks)

    cpdef int mark(self, object key) except -2:
        """Return the mark of an id, -1 if it is not there."""
        cdef Py_ssize_t at
        cdef uint64_t hashed
        if self.used == 0:
            return -1
        hashed = hash_of(key)
        at = self.find(hashed)
        return self.marks[at] if self.hashes[at] == hashed and self.generations[at] >= self.oldest else -1

    def generation(self, uint64_t hashed):
        """Return the generation of a hash, None if it is not there."""
        cdef Py_ssize_t at
        if self.used == 0:
            return None
        at = self.find(hashed)
        there = self.hashes[at] == hashed and self.generations[at] >= self.oldest
        return self.generations[at] if there else None

    def put(self, uint64_t hashed, int mark, uint32_t generation):
        """Have an id, the newest."""
        cdef Py_ssize_t at
        if 2 * (self.used + 1) > self.slots:
            self.rebuild()
        at = self.find(hashed)
        self.used += self.hashes[at] == 0
        self.hashes[at], self.marks[at], self.generations[at] = hashed, <uint8_t> mark, generation

    cdef Py_ssize_t find(self, uint64_t hashed) noexcept:
        """Return the slot of a hash, or the empty one where it belongs."""
        cdef Py_ssize_t mask = self.slots - 1, at = <Py_ssize_t> (hashed >> 1) & mask
        while self.hashes[at] != 0 and self.hashes[at] != hashed:
            at = (at + 1) & mask
        return at

    cdef int rebuild(self) except -1:
        """Make room: leave out what is gone, and double the table if that is not enough."""
        cdef uint64_t* hashes = self.hashes
        cdef uint32_t* generations = self.generations
        cdef uint8_t* marks = self.marks
        cdef Py_ssize_t slots = self.slots, alive = 0, more = LEAST_SLOTS, i, at
        for i in range(slots):
            alive += hashes[i] != 0 and generations[i] >= self.oldest
        while more < 3 * (alive + 1):
            more *= 2
        cdef uint64_t* new_hashes = <uint64_t*> PyMem_RawCalloc(more, sizeof(uint64_t))
        cdef uint32_t* new_generations = <uint32_t*> PyMem_RawCalloc(more, sizeof(uint32_t))
        cdef uint8_t* new_marks = <uint8_t*> PyMem_RawCalloc(more, 1)
        if new_hashes == NULL or new_generations == NULL or new_marks == NULL:
            PyMem_RawFree(new_hashes)
            PyMem_RawFree(new_generations)
            PyMem_RawFree(new_marks)
            raise MemoryError()
        self.hashes, self.generations, self.marks = new_hashes, new_generations, new_marks
        self.slots, self.used = more, alive
        for i in range(slots):
            if hashes[i] != 0 and generations[i] >= self.oldest:
                at = self.find(hashes[i])
                self.hashes[at], self.generations[at], self.marks[at] = hashes[i], generations[i], marks[i]
        PyMem_RawFree(hashes)
        PyMem_RawFree(generations)
        PyMem_RawFree(marks)
        return 0
