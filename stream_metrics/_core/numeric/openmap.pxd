# An open-addressing hash of fixed-point counters by a 64-bit key other than 0.
#
# A slot takes 16 bytes, key beside value; fractions have an array of their own once a value has one. Counters that
# return to zero stay until the hash is rebuilt. No result depends on the order of the slots.
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint64_t

from stream_metrics._core.numeric.hashing cimport home_slot

cdef struct CounterMap:
    uint64_t *key       # of slot s at 2 s
    int64_t *value      # the same memory: of slot s at 2 s + 1
    uint64_t *fraction  # at the positions of `value`; NULL while all values are whole
    Py_ssize_t slots    # a power of two
    Py_ssize_t occupied
    uint64_t seed


cdef inline Py_ssize_t probe(const uint64_t *key, uint64_t wanted, Py_ssize_t home, Py_ssize_t slots) noexcept nogil:
    """Return the position of a key, or of the free slot for it, in an array with a key at every other position."""
    cdef Py_ssize_t at = 2 * home
    while key[at] != wanted and key[at] != 0:
        at = (at + 2) & (2 * slots - 1)
    return at


cdef inline int map_create(CounterMap *map, Py_ssize_t slots, bint fractional, uint64_t seed) noexcept nogil:
    """Initialize an empty map; -1 if there is no memory."""
    map.value = <int64_t *> PyMem_RawCalloc(2 * slots, sizeof(int64_t))
    map.fraction = <uint64_t *> PyMem_RawCalloc(2 * slots, sizeof(uint64_t)) if fractional else NULL
    map.key, map.slots, map.occupied, map.seed = <uint64_t *> map.value, slots, 0, seed
    if map.value != NULL and (map.fraction != NULL or not fractional):
        return 0
    map_free(map)
    return -1


cdef inline void map_free(CounterMap *map) noexcept nogil:
    PyMem_RawFree(map.value)
    PyMem_RawFree(map.fraction)
    map.key, map.value, map.fraction, map.slots, map.occupied = NULL, NULL, NULL, 0, 0


cdef inline bint map_is_zero(const CounterMap *map, Py_ssize_t at) noexcept nogil:
    return map.value[at] == 0 and (map.fraction == NULL or map.fraction[at] == 0)


cdef inline int map_move(CounterMap *map, Py_ssize_t slots) noexcept nogil:
    """Move the counters other than zero into a map of so many slots, which hold them; -1 if there is no memory."""
    cdef CounterMap larger
    cdef Py_ssize_t at, to, live = 0
    if map_create(&larger, slots, map.fraction != NULL, map.seed) < 0:
        return -1
    for at in range(1, 2 * map.slots, 2):
        if not map_is_zero(map, at):
            to = probe(larger.key, map.key[at - 1], home_slot(map.key[at - 1], map.seed, slots), slots)
            larger.key[to], larger.value[to + 1] = map.key[at - 1], map.value[at]
            if map.fraction != NULL:
                larger.fraction[to + 1] = map.fraction[at]
            live += 1
    map_free(map)
    larger.occupied = live
    map[0] = larger
    return 0


cdef inline bint map_is_full(const CounterMap *map, int quarters) noexcept nogil:
    """Whether one more key would occupy more than `quarters` quarters of the slots."""
    return (map.occupied + 1) * 4 > map.slots * quarters


cdef inline bint map_has_room(const CounterMap *map, Py_ssize_t more, int quarters) noexcept nogil:
    """Whether so many more keys occupy at most `quarters` quarters of the slots."""
    return (map.occupied + more) * 4 <= map.slots * quarters


cdef inline bint map_has(const CounterMap *map, uint64_t key) noexcept nogil:
    return map.key[probe(map.key, key, home_slot(key, map.seed, map.slots), map.slots)] == key


cdef inline Py_ssize_t map_put(CounterMap *map, uint64_t key) noexcept nogil:
    """Return the position of the value of a key, which is added without value if it is new; there is room for it."""
    cdef Py_ssize_t at = probe(map.key, key, home_slot(key, map.seed, map.slots), map.slots)
    map.occupied += map.key[at] == 0
    map.key[at] = key
    return at + 1


cdef inline int map_reserve(CounterMap *map, Py_ssize_t more, int quarters) noexcept nogil:
    """Have room for so many more keys, without the counters that are zero; -1 if there is no memory."""
    cdef Py_ssize_t at, live = 0, slots = map.slots
    for at in range(1, 2 * map.slots, 2):  # without a branch that depends on the values
        live += (map.value[at] | (0 if map.fraction == NULL else <int64_t> map.fraction[at])) != 0
    while (live + more + 1) * 4 > slots * quarters:
        slots *= 2
    return map_move(map, slots)


cdef inline Py_ssize_t map_find(CounterMap *map, uint64_t key, int quarters) noexcept nogil:
    """Return the position of the value of a key, which is added if it is new; -1 if there is no memory.

    At most `quarters` quarters of the slots are occupied: 3 saves memory, 2 saves probes.
    """
    if map_is_full(map, quarters) and not map_has(map, key) and map_reserve(map, 0, 2) < 0:
        return -1
    return map_put(map, key)
