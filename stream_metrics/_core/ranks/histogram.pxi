"""One column of a rank sketch: weights by (cell of the score, group), with a moment, a single code, and a sample per
group.

A cell is a prefix of the score's code: all codes with the same `code >> level`. The level is the *smallest* at which at
most `buckets` cells are occupied. Since the number of occupied cells never rises with the level and never falls when
samples are added, a part of a stream never has a higher level than the whole, a pass never overshoots, and the state is
a function of the multiset of samples alone. (Coarsening further than needed, to coarsen less often, would depend on
when the budget was hit.) At level 0 every cell is one code: everything is exact, samples can be taken back, and nothing
is sampled.

Single code: while all samples of a cell have one code they are tied, which the cell alone does not show. The codes of
the largest scores saturate, so their cells count as mixed. Moment: the sum of weight * (code >> 20), modulo 2^64, from
which the mean place of a group in the cell follows. Weights are whole numbers and fractions in units of 2^-64; the
fractions have arrays of their own, once there are any.

Counting cannot fail: memory is reserved before it (`histogram_memory.pxi`), and coarsening works in place. So an update
that fails has changed nothing.
"""

ctypedef uint32_t cell_t  # the number of a cell, at most 2^24

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

cdef struct ScoreHistogram:
    Py_ssize_t buckets, size  # most cells; hashes in a sample
    Py_ssize_t groups, used, capacity
    int level
    int bits              # of the number of slots
    bint sorted           # whether `order` is up to date
    # beyond level WIDE, where the cell of 1 holds smaller scores too: whether any score is above 1
    bint above
    cell_t *slot          # cell number + 1, by hash of the key
    uint64_t *record      # per cell: key, single code or MIXED, then per group: whole weight, moment
    fraction_t *fractions  # per cell and group: the fractions of weight and moment; NULL while all weights are whole
    cell_t *order         # the cells by key
    uint64_t *sum         # per group: whole weight, fraction of all cells; kept at level 0 only
    BottomKSample *sample        # per group, from level 1 on
    uint64_t *scratch     # for pruning samples

cdef struct Entry:
    Py_ssize_t class_index
    uint64_t code
    int kind
    bint is_all      # of a sample to be reverted: whether it has all the weight of the score
    Py_ssize_t slot  # of the score in its column


cdef inline uint64_t *record_of(const ScoreHistogram *c, Py_ssize_t cell) noexcept nogil:
    return c.record + cell * (2 + 2 * c.groups)


cdef inline fraction_t *fractions_of(const ScoreHistogram *c, Py_ssize_t cell) noexcept nogil:
    return c.fractions + cell * 2 * c.groups


cdef inline Py_ssize_t place(const ScoreHistogram *c, uint64_t key) noexcept nogil:
    """Where the search for a key starts."""
    return <Py_ssize_t> ((key * <uint64_t> 0x9E3779B97F4A7C15) >> (64 - c.bits))


cdef inline Py_ssize_t find_above(const ScoreHistogram *c, uint64_t key, int by) noexcept nogil:
    """Return the slot of a cell with this key `by` levels up, or the free slot for it."""
    cdef Py_ssize_t at = place(c, key), mask = (<Py_ssize_t> 1 << c.bits) - 1, width = 2 + 2 * c.groups
    while c.slot[at] != 0 and c.record[(<Py_ssize_t> c.slot[at] - 1) * width] >> by != key:
        at = (at + 1) & mask
    return at


cdef inline Py_ssize_t find(const ScoreHistogram *c, uint64_t key) noexcept nogil:
    """Return the slot of a cell, or the free slot for it."""
    return find_above(c, key, 0)


cdef inline bint occupied(const ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t group) noexcept nogil:
    return record_of(c, cell)[2 + 2 * group] != 0 or (c.fractions != NULL and fractions_of(c, cell)[2 * group] != 0)


cdef inline bint histogram_ready(const ScoreHistogram *c, uint64_t code, Py_ssize_t group,
                                 bint fractional) noexcept nogil:
    """Whether one more score needs no memory."""
    cdef const BottomKSample *s
    if group >= c.groups or c.used >= c.capacity or (fractional and c.fractions == NULL):
        return False
    if c.level == 0:
        return c.used < c.buckets or c.slot[find(c, code)] != 0
    s = c.sample + group
    return (2 * s.used + 2 <= s.slots or s.slots >= 2 * s.size) and not (fractional and s.part == NULL)


cdef inline Py_ssize_t append_cell(ScoreHistogram *c, Py_ssize_t at, uint64_t key, uint64_t single_code) noexcept nogil:
    """Add a cell in a free slot; memory is reserved."""
    cdef uint64_t *record = record_of(c, c.used)
    memset(record, 0, 8 * (2 + 2 * c.groups))
    if c.fractions != NULL:
        memset(c.fractions + 2 * c.groups * c.used, 0, 16 * c.groups)
    record[0], record[1] = key, single_code
    c.used += 1
    c.slot[at] = <cell_t> c.used
    c.sorted = False
    return c.used - 1


cdef inline void add_to_cell(ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t group, int64_t whole, uint64_t moment,
                             fraction_t part,
                             fraction_t low) noexcept nogil:
    """Add a weight (whole, part) and a moment (moment, low) to a group of a cell."""
    cdef uint64_t *t = record_of(c, cell) + 2 + 2 * group
    cdef fraction_t *fractions
    if part | low:
        fractions = c.fractions + 2 * (c.groups * cell + group)
        add_fixed(t, fractions, <uint64_t> whole, part)
        add_fixed(t + 1, fractions + 1, moment, low)
    else:
        t[0] += <uint64_t> whole
        t[1] += moment
    if c.level == 0:
        add_fixed(c.sum + 2 * group, c.sum + 2 * group + 1, <uint64_t> whole, part)


cdef Py_ssize_t histogram_cell(ScoreHistogram *c, uint64_t key, uint64_t single_code) noexcept nogil:
    """Return the cell of a key, a new one if there is none; memory is reserved."""
    cdef Py_ssize_t at = find(c, key), cell = <Py_ssize_t> c.slot[at] - 1
    if cell < 0:
        return append_cell(c, at, key, single_code)
    if record_of(c, cell)[1] != single_code:
        record_of(c, cell)[1] = MIXED
    return cell


cdef void histogram_add(ScoreHistogram *c, uint64_t code, Py_ssize_t group, int64_t whole,
                        fraction_t part) noexcept nogil:
    """Count a weight; memory is reserved."""
    cdef uint64_t key = code >> c.level, shifted = code >> SHIFT, moment, low = 0, hash
    cdef Py_ssize_t at = find(c, key), cell = <Py_ssize_t> c.slot[at] - 1
    cdef uint64_t *record
    if cell < 0:
        cell = append_cell(c, at, key, MIXED if code <= 1 or code >= MIXED - 1 else code)
    record = record_of(c, cell)
    if record[1] != code and record[1] != MIXED:
        record[1] = MIXED
    if part == 0 and c.level > 0:
        record[2 + 2 * group] += <uint64_t> whole
        record[3 + 2 * group] += <uint64_t> whole * shifted
    else:
        moment = <uint64_t> whole * shifted
        if part:
            add_product(&moment, &low, part, shifted)
        add_to_cell(c, cell, group, whole, moment, part, low)
    if c.level > 0:
        hash = splitmix64(code)
        if hash <= c.sample[group].threshold:
            bottom_add(c.sample + group, hash, whole, part, c.scratch)
        if code > ONE and c.level > WIDE:
            c.above = True
    if c.used > c.buckets:
        coarsen_to_fit(c)


cdef bint histogram_holds(const ScoreHistogram *c, Entry *entry, Py_ssize_t group, int64_t whole,
                          fraction_t part) noexcept nogil:
    """Whether a score has at least this weight, at level 0; sets its slot, and whether this is all of its weight."""
    cdef Py_ssize_t cell, g
    cdef const uint64_t *record
    cdef uint64_t have, have_part
    if c.used == 0 or group >= c.groups:
        return False
    entry.slot = find(c, entry.code)
    cell = <Py_ssize_t> c.slot[entry.slot] - 1
    if cell < 0:
        return False
    record = record_of(c, cell) + 2
    have = record[2 * group]
    have_part = 0 if c.fractions == NULL else fractions_of(c, cell)[2 * group]
    entry.is_all = have == <uint64_t> whole and have_part == part
    for g in range(c.groups):
        entry.is_all = entry.is_all and (g == group or not occupied(c, cell, g))
    return at_least(have, have_part, <uint64_t> whole, part)


cdef void histogram_remove(ScoreHistogram *c, const Entry *entry, Py_ssize_t group, int64_t whole,
                           fraction_t part) noexcept nogil:
    """Undo `histogram_add` at level 0 for a score that `histogram_holds`."""
    cdef Py_ssize_t cell = <Py_ssize_t> c.slot[entry.slot] - 1
    cdef uint64_t *t
    cdef uint64_t shifted, moment, low = 0
    cdef fraction_t none[2]
    cdef fraction_t *fractions = none
    take_fixed(c.sum + 2 * group, c.sum + 2 * group + 1, <uint64_t> whole, part)
    if entry.is_all:
        remove_cell(c, entry.slot, cell)
        return
    t = record_of(c, cell) + 2 + 2 * group
    shifted = record_of(c, cell)[0] >> SHIFT
    moment = <uint64_t> whole * shifted
    none[0], none[1] = 0, 0
    if c.fractions != NULL:
        fractions = fractions_of(c, cell) + 2 * group
    add_product(&moment, &low, part, shifted)
    take_fixed(t, fractions, <uint64_t> whole, part)
    take_fixed(t + 1, fractions + 1, moment, low)


cdef void remove_cell(ScoreHistogram *c, Py_ssize_t at, Py_ssize_t cell) noexcept nogil:
    """Remove a cell; the last one takes its number."""
    cdef Py_ssize_t mask = (<Py_ssize_t> 1 << c.bits) - 1, last = c.used - 1, to = at, home
    c.slot[at] = 0
    while True:  # close the gap in the index
        to = (to + 1) & mask
        if c.slot[to] == 0:
            break
        home = place(c, record_of(c, <Py_ssize_t> c.slot[to] - 1)[0])
        if ((to - home) & mask) >= ((to - at) & mask):
            c.slot[at], c.slot[to] = c.slot[to], 0
            at = to
    if cell != last:
        c.slot[find(c, record_of(c, last)[0])] = <cell_t> cell + 1
        memcpy(record_of(c, cell), record_of(c, last), 8 * (2 + 2 * c.groups))
        if c.fractions != NULL:
            memcpy(c.fractions + 2 * c.groups * cell, c.fractions + 2 * c.groups * last, 16 * c.groups)
    c.used = last
    c.sorted = False


cdef void start_samples(ScoreHistogram *c) noexcept nogil:
    """Start the samples from the exact cells of level 0."""
    cdef Py_ssize_t cell, g
    cdef uint64_t *record
    for cell in range(c.used):
        record = record_of(c, cell)
        for g in range(c.groups):
            if occupied(c, cell, g):
                bottom_add(c.sample + g, splitmix64(record[0]), <int64_t> record[2 + 2 * g],
                           0 if c.fractions == NULL else c.fractions[2 * (c.groups * cell + g)], c.scratch)


cdef void coarsen_to_fit(ScoreHistogram *c) noexcept nogil:
    """Raise the level to the smallest at which there are at most `buckets` cells."""
    cdef int low = 0, high = 1, middle
    if c.level == 0:
        start_samples(c)
    while distinct_cells(c, high) > c.buckets:
        low, high = high, min(2 * high, 63 - c.level)
    while high - low > 1:
        middle = (low + high) // 2
        if distinct_cells(c, middle) > c.buckets:
            low = middle
        else:
            high = middle
    coarsen(c, high)


cdef Py_ssize_t distinct_cells(ScoreHistogram *c, int by) noexcept nogil:
    """Count the cells `by` levels up; destroys the index."""
    cdef Py_ssize_t cell, at, n = 0
    memset(c.slot, 0, (<size_t> 1 << c.bits) * sizeof(cell_t))
    for cell in range(c.used):
        at = find_above(c, record_of(c, cell)[0] >> by, by)
        if c.slot[at] == 0:
            c.slot[at] = <cell_t> cell + 1
            n += 1
    return n


cdef bint above_one(const ScoreHistogram *c) noexcept nogil:
    """Whether the cells show a score above 1; conclusive up to level WIDE."""
    cdef Py_ssize_t cell
    cdef uint64_t *record
    for cell in range(c.used):
        record = record_of(c, cell)
        if record[0] << c.level >= ONE and record[1] != ONE or record[1] > ONE and record[1] != MIXED:
            return True
    return False


cdef void coarsen(ScoreHistogram *c, int by) noexcept nogil:
    """Raise the level of the cells, in place."""
    cdef Py_ssize_t cell, at, g, n = c.used, width = 2 + 2 * c.groups
    cdef fraction_t part = 0, low = 0
    cdef uint64_t *record
    cdef uint64_t key
    memset(c.slot, 0, (<size_t> 1 << c.bits) * sizeof(cell_t))
    if c.level <= WIDE < c.level + by:
        c.above = above_one(c)
    c.used, c.sorted = 0, False
    c.level += by
    for cell in range(n):
        record = record_of(c, cell)
        key = record[0] >> by
        at = find(c, key)
        if c.slot[at] != 0:
            at = histogram_cell(c, key, record[1])
            for g in range(c.groups):
                if c.fractions != NULL:
                    part, low = fractions_of(c, cell)[2 * g], fractions_of(c, cell)[2 * g + 1]
                add_to_cell(c, at, g, <int64_t> record[2 + 2 * g], record[3 + 2 * g], part, low)
            continue
        if c.used != cell:
            memcpy(record_of(c, c.used), record, 8 * width)
            if c.fractions != NULL:
                memcpy(c.fractions + 2 * c.groups * c.used, c.fractions + 2 * c.groups * cell, 16 * c.groups)
        record_of(c, c.used)[0] = key
        c.used += 1
        c.slot[at] = <cell_t> c.used


cdef inline void sum_up(uint64_t *record, const uint64_t *more, const int64_t *to, Py_ssize_t groups) noexcept nogil:
    """Add the whole weights and moments of a cell to another."""
    cdef Py_ssize_t g
    for g in range(groups):
        if to[g] >= 0:
            record[2 + 2 * to[g]] += more[2 + 2 * g]
            record[3 + 2 * to[g]] += more[3 + 2 * g]


cdef void histogram_absorb(ScoreHistogram *c, const ScoreHistogram *o, const int64_t *to) noexcept nogil:
    """Add another histogram, whose groups `to` maps to groups here; `histogram_reserve_for` has reserved memory."""
    cdef Py_ssize_t cell, g, at, into
    cdef const uint64_t *record
    cdef fraction_t part = 0, low = 0
    cdef bint plain = o.level > 0 and o.fractions == NULL
    if o.level > c.level:
        if c.level == 0:
            start_samples(c)
        coarsen(c, o.level - c.level)
    for cell in range(o.used):
        record = record_of(o, cell)
        into = histogram_cell(c, record[0] >> (c.level - o.level), record[1])
        if plain:
            sum_up(record_of(c, into), record, to, o.groups)
        for g in range(0 if plain else o.groups):
            if not occupied(o, cell, g):
                continue
            if o.fractions != NULL:
                part, low = o.fractions[2 * (o.groups * cell + g)], o.fractions[2 * (o.groups * cell + g) + 1]
            add_to_cell(c, into, to[g], <int64_t> record[2 + 2 * g], record[3 + 2 * g], part, low)
            if o.level == 0 and c.level > 0:
                bottom_add(c.sample + to[g], splitmix64(record[0]), <int64_t> record[2 + 2 * g], part, c.scratch)
        if c.used > c.buckets:
            coarsen_to_fit(c)
    if o.level > 0:
        for g in range(o.groups):
            for at in range(o.sample[g].slots):
                if o.sample[g].at[at].hash != 0:
                    part = 0 if o.sample[g].part == NULL else o.sample[g].part[at]
                    bottom_add(c.sample + to[g], o.sample[g].at[at].hash, o.sample[g].at[at].whole, part, c.scratch)
    if c.level > WIDE:
        c.above = c.above or (o.above if o.level > WIDE else above_one(o))
