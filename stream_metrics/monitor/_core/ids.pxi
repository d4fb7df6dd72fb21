"""A table of ids in 13 to 19 bytes each, and 0.1 MB: a 64-bit hash, a mark, and the generation in which the id came.

Two of n ids are taken for one with a probability of n**2 / 2**65: less than one in 90,000 for twenty million.

The table has 256 parts, by the first bits of the hash. In a part the records are in the order of their hashes, each at
the slot where its hash belongs or behind it. So a search ends early where the part is nearly full, and a part is spread
over more slots in place: there is never a second copy, and no event waits for more than one part. Old generations are
left where they are until their part is spread again, and are not found.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memmove, memset

from stream_metrics._core.numeric.hashing cimport splitmix64

ctypedef uint32_t generation_t  # the number of the span of time in which an id was last seen
ctypedef uint16_t age_t  # the same, from the base of a part

cdef enum:
    PARTS = 256
    LEAST_SLOTS = 16
    BEHIND = 16  # records behind the last slot
    MOST_AGE = 65_535

cdef packed struct IdRecord:
    uint64_t hashed  # 0 if it is empty
    age_t age
    uint8_t mark

cdef struct IdPart:
    IdRecord* records  # in the order of their hashes; the last one is empty
    Py_ssize_t room, slots, used
    generation_t base


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


cdef inline Py_ssize_t slot_of(uint64_t hashed, Py_ssize_t slots) noexcept nogil:
    """Return the slot where a hash belongs: a larger hash of the same part belongs there or behind."""
    return <Py_ssize_t> ((hashed << 8 >> 32) * <uint64_t> slots >> 32)


cdef inline IdRecord* record_of(IdPart* part, uint64_t hashed) noexcept nogil:
    """Return the record of a hash, or the one in front of which it belongs."""
    cdef IdRecord* record = part.records + slot_of(hashed, part.slots)
    while record.hashed - 1 < hashed - 1:  # an empty one is above all hashes
        record += 1
    return record


cdef class IdTable:
    """Marks of ids by hash; those of generations before `oldest`, which never falls, are gone."""

    cdef IdPart[PARTS] parts
    cdef Py_ssize_t used
    cdef public generation_t oldest

    def __cinit__(self):
        memset(self.parts, 0, sizeof(self.parts))
        self.used = self.oldest = 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(PARTS):
            PyMem_RawFree(self.parts[i].records)

    def __sizeof__(self):
        cdef Py_ssize_t i, room = 0
        for i in range(PARTS):
            room += self.parts[i].room
        return object.__sizeof__(self) + room * <Py_ssize_t> sizeof(IdRecord)

    cdef inline IdRecord* alive(self, uint64_t hashed) noexcept:
        """Return the record of a hash, NULL if it is not there."""
        cdef IdPart* part = &self.parts[hashed >> 56]
        if part.used == 0:
            return NULL
        cdef IdRecord* record = record_of(part, hashed)
        return record if record.hashed == hashed and part.base + record.age >= self.oldest else NULL

    cpdef int mark(self, object key) except -2:
        """Return the mark of an id, -1 if it is not there."""
        if self.used == 0:
            return -1
        cdef IdRecord* record = self.alive(hash_of(key))
        return -1 if record is NULL else record.mark

    def generation(self, uint64_t hashed):
        """Return the generation of a hash, None if it is not there."""
        cdef IdRecord* record = self.alive(hashed)
        return None if record is NULL else self.parts[hashed >> 56].base + record.age

    def put(self, uint64_t hashed, uint8_t mark, generation_t generation):
        """Add an id, or renew it."""
        self.write(hashed, mark, generation)

    def put_many(self, const uint64_t[::1] hashes, const uint8_t[::1] marks, generation_t generation):
        """Add ids of one generation, in order, or renew them."""
        cdef Py_ssize_t i
        if hashes.shape[0] != marks.shape[0]:
            raise ValueError(f"Expected as many marks as hashes, {hashes.shape[0]}, but got {marks.shape[0]}")
        for i in range(hashes.shape[0]):
            self.write(hashes[i], marks[i], generation)

    cdef int write(self, uint64_t hashed, uint8_t mark, generation_t generation) except -1:
        """Add an id, or renew it; if memory runs out, nothing has changed."""
        cdef IdPart* part = &self.parts[hashed >> 56]
        cdef IdRecord* record
        cdef IdRecord* end
        if hashed == 0 or generation < self.oldest:
            raise ValueError(f"Expected a hash and a generation from {self.oldest}, but got {hashed}, {generation}")
        if 20 * (part.used + 1) > 17 * part.slots or generation - part.base > MOST_AGE:
            self.spread(part)
        if generation - part.base > MOST_AGE:
            raise ValueError(f"Expected at most {MOST_AGE + 1} generations, but got {generation} after {part.base}")
        record = end = record_of(part, hashed)
        if record.hashed != hashed:
            while end.hashed != 0:
                end += 1
            if end == part.records + part.room - 1:
                self.resize(part, part.room + max(part.room // 8, <Py_ssize_t> BEHIND))
                return self.write(hashed, mark, generation)
            memmove(record + 1, record, (end - record) * sizeof(IdRecord))
            part.used += 1
            self.used += 1
        record.hashed, record.mark, record.age = hashed, mark, <age_t> (generation - part.base)
        return 0

    cdef int resize(self, IdPart* part, Py_ssize_t room) except -1:
        """Set the room of a part, in records; new ones are empty."""
        records = <IdRecord*> PyMem_RawRealloc(part.records, room * sizeof(IdRecord))
        if records is NULL:
            raise MemoryError()
        part.records = records
        if room > part.room:
            memset(records + part.room, 0, (room - part.room) * sizeof(IdRecord))
        part.room = room
        return 0

    cdef int spread(self, IdPart* part) except -1:
        """Remove old ids, and spread the others over five thirds as many slots."""
        cdef generation_t gone = self.oldest - part.base
        cdef Py_ssize_t alive = part.used, last = -1, i, to, empty, slots, room
        if gone > 0:
            alive = 0
            for i in range(part.room):
                alive += part.records[i].age >= gone  # which an empty one is not
        slots = 5 * alive // 3 + LEAST_SLOTS
        if slots <= part.slots <= slots + slots // 16:
            slots, room = part.slots, part.room
        else:
            room = self.gather(part, gone, slots)
        for i in range(part.room):  # each moves to the front, if at all
            if part.records[i].hashed != 0 and part.records[i].age >= gone:
                to = max(last + 1, slot_of(part.records[i].hashed, slots))
                part.records[to] = part.records[i]
                part.records[to].age -= <age_t> gone
                for empty in range(last + 1, to):
                    part.records[empty].hashed = part.records[empty].age = 0
                last = to
        memset(part.records + last + 1, 0, (part.room - last - 1) * sizeof(IdRecord))
        self.used -= part.used - alive
        part.slots, part.used, part.base = slots, alive, self.oldest
        if room < part.room:
            self.resize(part, room)
        return 0

    cdef Py_ssize_t gather(self, IdPart* part, generation_t gone, Py_ssize_t slots) except -1:
        """Move the records that are not gone to the back of a part, which gets room for so many slots; return the room
        that it needs."""
        cdef Py_ssize_t last = -1, i, to, room
        for i in range(part.room):
            if part.records[i].hashed != 0 and part.records[i].age >= gone:
                last = max(last + 1, slot_of(part.records[i].hashed, slots))
        room = max(slots, last + 1) + BEHIND
        if room > part.room:
            self.resize(part, room)
        to = part.room
        for i in range(part.room - 1, -1, -1):
            if part.records[i].hashed != 0 and part.records[i].age >= gone:
                to -= 1
                part.records[to] = part.records[i]
        memset(part.records, 0, to * sizeof(IdRecord))
        return room
