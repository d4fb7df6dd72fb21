from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from stream_metrics._core.bottom cimport Bottom, bottom_ready, fraction_t

ctypedef uint32_t cell_t  # the number of a cell, of which there are at most 2^24
ctypedef int32_t code_t   # the number of a label in a batch

cdef extern from *:
    """
    #define RANK_MIXED UINT64_MAX
    #define RANK_ZERO ((uint64_t) 1 << 63)
    #define RANK_ONE (((uint64_t) 1 << 63) + ((uint64_t) 1075 << 52))
    """
    const uint64_t MIXED "RANK_MIXED"  # no score has this code
    const uint64_t ZERO "RANK_ZERO"    # the code of 0
    const uint64_t ONE "RANK_ONE"      # the code of 1

cdef enum:
    SHIFT = 20  # moments leave out the lowest bits of a code
    WIDE = 52   # up to this level 1 is the start of a cell

cdef struct Column:
    Py_ssize_t buckets, size  # most cells; hashes in a sample
    Py_ssize_t groups, held, room
    int level
    int bits              # of the number of slots
    bint sorted           # whether `order` holds
    bint above            # beyond level WIDE, where the cell of 1 holds smaller scores too: whether any score is above 1
    cell_t *slot          # cell number + 1, by hash of the key
    uint64_t *record      # per cell: key, sole code or MIXED, then per group: whole weight, moment
    fraction_t *tail      # per cell and group: the fractions of weight and moment; NULL while all weights are whole
    cell_t *order         # the cells by key
    uint64_t *sum         # per group: whole weight, fraction of all cells; kept at level 0 only
    Bottom *sample        # per group, from level 1 on
    uint64_t *scratch     # for pruning samples

cdef void column_add(Column *c, uint64_t code, Py_ssize_t group, int64_t whole, fraction_t part) noexcept nogil
cdef bint column_holds(Column *c, uint64_t code, Py_ssize_t group, int64_t whole, fraction_t part) noexcept nogil
cdef bint column_is_all(Column *c, uint64_t code, Py_ssize_t group, int64_t whole, fraction_t part) noexcept nogil
cdef void column_take(Column *c, uint64_t code, Py_ssize_t group, int64_t whole, fraction_t part) noexcept nogil
cdef void column_absorb(Column *c, const Column *o, const int64_t *to) noexcept nogil
cdef bint above_one(const Column *c) noexcept nogil
cdef Py_ssize_t column_cell(Column *c, uint64_t key, uint64_t sole) noexcept nogil
cdef void column_put(Column *c, Py_ssize_t cell, Py_ssize_t group, int64_t whole, uint64_t moment, fraction_t part, fraction_t low) noexcept nogil


cdef inline uint64_t *record_of(const Column *c, Py_ssize_t cell) noexcept nogil:
    return c.record + cell * (2 + 2 * c.groups)


cdef inline fraction_t *tail_of(const Column *c, Py_ssize_t cell) noexcept nogil:
    return c.tail + cell * 2 * c.groups


cdef inline Py_ssize_t place(const Column *c, uint64_t key) noexcept nogil:
    """Where the search for a key starts."""
    return <Py_ssize_t> ((key * <uint64_t> 0x9E3779B97F4A7C15) >> (64 - c.bits))


cdef inline Py_ssize_t find(const Column *c, uint64_t key) noexcept nogil:
    """The slot of a key: of its cell, or free."""
    cdef Py_ssize_t at = place(c, key), mask = (<Py_ssize_t> 1 << c.bits) - 1, width = 2 + 2 * c.groups
    while c.slot[at] != 0 and c.record[(<Py_ssize_t> c.slot[at] - 1) * width] != key:
        at = (at + 1) & mask
    return at


cdef inline bint occupied(const Column *c, Py_ssize_t cell, Py_ssize_t group) noexcept nogil:
    return record_of(c, cell)[2 + 2 * group] != 0 or (c.tail != NULL and tail_of(c, cell)[2 * group] != 0)


cdef inline bint column_ready(const Column *c, uint64_t code, Py_ssize_t group, bint fractional) noexcept nogil:
    """Whether one more score needs no memory."""
    if group >= c.groups or c.held >= c.room or (fractional and c.tail == NULL):
        return False
    if c.level == 0:
        return c.held < c.buckets or c.slot[find(c, code)] != 0
    return bottom_ready(c.sample + group, fractional)
