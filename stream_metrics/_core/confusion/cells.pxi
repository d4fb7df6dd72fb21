"""Exact counters of pairs of class indices: a table of cells, and the totals of every class.

A counter is a 128-bit fixed-point number: a signed 64-bit whole part and, once some weight had a fraction, an unsigned
64-bit part in units of 2^-64. Adding and subtracting such numbers is exact, so states form a commutative group: no
order of updates, merges and reverts can leave a residue. There are no fraction arrays while all weights are whole.

Cells are a square array, or a hash of the occupied ones where that takes at most half as much memory. Up to SMALL
classes they are always a square, beyond DENSE_CLASSES always a hash. In between, a hash becomes a square once it was
used half as often as the square has cells, because a cell of a square is found sooner. A square turns into a hash only
when classes are added, so that a sample of known classes never waits for it. Which of both it is shows in no result.

A class's totals fill one cache line, so that one sample touches at most three lines.
"""

cdef Py_ssize_t SMALL = 32            # 8 kB of cells
cdef Py_ssize_t DENSE_CLASSES = 1024  # 8 MB of cells
cdef Py_ssize_t FIRST_SLOTS = 64
cdef Py_ssize_t MANY_SLOTS = 1024     # 16 kB; smaller hashes grow faster

cdef enum:
    PATIENCE = 1024  # how often a cell is found in a hash between looks at how often that was; a power of two


cdef void *extended(void *block, Py_ssize_t old, Py_ssize_t count, Py_ssize_t size) except NULL:
    """Return a block of counters with more of them, which are 0; MemoryError leaves it as it was."""
    cdef void *longer = PyMem_RawRealloc(block, count * size)
    if longer == NULL:
        raise MemoryError(f"no memory for {count} counters of {size} bytes")
    memset(<char *> longer + old * size, 0, (count - old) * size)
    return longer


cdef inline Py_ssize_t with_slack(Py_ssize_t classes, Py_ssize_t share) noexcept nogil:
    """A larger number of classes, so that not every class that comes alone moves all others."""
    return (classes + 3) & ~3 if classes <= 16 else classes + classes // share


cdef inline int quarters_for(Py_ssize_t classes) noexcept nogil:
    """How many quarters of the slots of a hash may be occupied: fewer where a square would take more memory."""
    return 2 if classes <= DENSE_CLASSES else 3


cdef inline Py_ssize_t slots_for(Py_ssize_t cells, Py_ssize_t classes) noexcept nogil:
    """The slots of a hash that holds so many cells of so many classes."""
    cdef Py_ssize_t slots = FIRST_SLOTS
    while slots * quarters_for(classes) < (cells + 1) * 4:
        slots *= 2
    return slots


cdef inline Py_ssize_t scattered(Py_ssize_t slot, Py_ssize_t slots) noexcept nogil:
    """The position of the value of a slot, where the slots are taken in another order.

    In their own order keys would crowd the first slots of another hash, since all hashes of a process are alike.
    """
    return 2 * <Py_ssize_t> ((<uint64_t> slot * <uint64_t> 0x9E3779B97F4A7C15 + 1) & <uint64_t> (slots - 1)) + 1


cdef inline uint64_t cell_key(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The key of a cell in a hash; never 0."""
    return ((<uint64_t> i << 32) | <uint64_t> j) + 1


cdef inline Py_ssize_t row_of(uint64_t key) noexcept nogil:
    return <Py_ssize_t> ((key - 1) >> 32)


cdef inline Py_ssize_t column_of(uint64_t key) noexcept nogil:
    return <Py_ssize_t> (((key - 1) << 32) >> 32)


cdef inline Py_ssize_t cell_index(Cells cells, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
    """Return the position of the cell (i, j) in `value`; a hash adds it if it is new."""
    if cells.table.key == NULL:
        return i * cells.width + j
    return find_cell(cells, i, j)


cdef inline bint is_empty(Cells cells, Py_ssize_t i) noexcept nogil:
    """Whether class i has neither true nor predicted weight."""
    cdef Totals *c = cells.totals + i
    if c.actual | c.predicted:
        return False
    return cells.fractions == NULL or (cells.fractions[i].actual | cells.fractions[i].predicted) == 0


cdef class Cells(Guarded):
    """Weights by (row, column); the caller assigns the indices, and opens sections where they are needed."""

    def __dealloc__(self):
        PyMem_RawFree(self.totals)
        PyMem_RawFree(self.fractions)
        map_free(&self.table)


cdef int reserve_classes(Cells self, Py_ssize_t classes, bint exactly=False) except -1:
    """Reserve memory for `classes` classes, and unless `exactly` for a few more; on failure nothing has changed."""
    if self.table.key == NULL and classes > self.width:
        if classes > SMALL and (classes > DENSE_CLASSES or are_few(self, self.live, classes)):
            make_sparse(self, classes)
        else:
            resize_square(self, classes if exactly else with_slack(classes, 16))
    if classes > self.capacity:
        resize_totals(self, classes if exactly else with_slack(classes, 8))
    return 0


cdef bint are_few(Cells self, Py_ssize_t cells, Py_ssize_t classes) noexcept nogil:
    """Whether so many occupied cells take less than half as much memory in a hash as in a square."""
    return cells * 11 < classes * classes


cdef int resize_totals(Cells self, Py_ssize_t capacity) except -1:
    cdef Py_ssize_t old = self.capacity
    self.totals = <Totals *> extended(self.totals, old, capacity, sizeof(Totals))
    if self.fractions != NULL:
        self.fractions = <Fractions *> extended(self.fractions, old, capacity, sizeof(Fractions))
    self.capacity = capacity
    return 0


cdef int resize_square(Cells self, Py_ssize_t width) except -1:
    cdef CounterMap old = self.table
    cdef Py_ssize_t i
    self.table = new_square(self, width)
    for i in range(min(self.used, self.width)):
        memcpy(self.table.value + i * width, old.value + i * self.width, self.width * sizeof(int64_t))
        if old.fraction != NULL:
            memcpy(self.table.fraction + i * width, old.fraction + i * self.width, self.width * sizeof(uint64_t))
    self.width = width
    map_free(&old)
    return 0


cdef CounterMap new_square(Cells self, Py_ssize_t width) except * nogil:
    """Return empty cells for `width` classes, with fractions if there are any."""
    cdef CounterMap square
    memset(&square, 0, sizeof(CounterMap))
    square.value = <int64_t *> allocate(width * width, sizeof(int64_t))
    if self.fractions != NULL:
        square.fraction = <uint64_t *> PyMem_RawCalloc(width * width, sizeof(uint64_t))
        if square.fraction == NULL:
            PyMem_RawFree(square.value)
            with gil:
                raise MemoryError(f"no memory for the fractions of {width} classes")
    return square


cdef int make_sparse(Cells self, Py_ssize_t classes) except -1:
    """Move the cells of the square into a hash, which is to have room for so many classes."""
    cdef CounterMap square = self.table, sparse
    cdef Py_ssize_t i, j, at, to, slots = slots_for(self.live, classes), width = self.width
    if map_create(&sparse, slots, self.fractions != NULL, HASH_SEED) < 0:
        raise MemoryError(f"no memory for {slots} cells")
    self.table, self.width, self.lookups = sparse, 0, 0
    for i in range(min(self.used, width)):
        for j in range(min(self.used, width)):
            at = i * width + j
            if not map_is_zero(&square, at):
                to = map_find(&self.table, cell_key(i, j), 3)
                self.table.value[to] = square.value[at]
                if square.fraction != NULL:
                    self.table.fraction[to] = square.fraction[at]
    map_free(&square)
    return 0


cdef int make_square(Cells self) except -1 nogil:
    """Move the cells of the hash into a square."""
    cdef CounterMap sparse = self.table, square = new_square(self, self.used)
    cdef Py_ssize_t at, to
    for at in range(1, 2 * sparse.slots, 2):
        if not map_is_zero(&sparse, at):
            to = row_of(sparse.key[at - 1]) * self.used + column_of(sparse.key[at - 1])
            square.value[to] = sparse.value[at]
            if square.fraction != NULL:
                square.fraction[to] = sparse.fraction[at]
    self.table, self.width = square, self.used
    map_free(&sparse)
    return 0


cdef int expect_cells(Cells self, Py_ssize_t cells, bint distinct=False) except -1:
    """Prepare for so many occupied cells more; unless `distinct`, some may be occupied already."""
    cdef Py_ssize_t slots
    if self.table.key == NULL:
        return 0
    if self.used <= DENSE_CLASSES and not are_few(self, self.live + cells, self.used):
        return make_square(self)
    slots = slots_for(self.live + cells, self.used)
    if distinct and slots > self.table.slots and map_move(&self.table, slots) < 0:
        raise MemoryError(f"no memory for {cells} cells")
    return 0


cdef int enlarge(Cells self) except -1 nogil:
    """Make room in the hash: without its empty cells, or as a larger one, or as a square if that is not twice as
    large."""
    cdef Py_ssize_t slots = self.table.slots
    if self.live * 4 >= slots or self.used > DENSE_CLASSES:
        slots *= 4 if slots < MANY_SLOTS else 2
    if self.used <= DENSE_CLASSES and self.used * self.used <= 4 * slots:
        return make_square(self)
    if (map_reserve(&self.table, 0, 2) if self.used > DENSE_CLASSES else map_move(&self.table, slots)) < 0:
        with gil:
            raise MemoryError(f"no memory for more than {self.table.occupied} cells")
    return 0


cdef int make_fractional(Cells self) except -1:
    """Add a fraction part to every counter."""
    cdef Fractions *fractions
    if self.fractions != NULL:
        return 0
    fractions = <Fractions *> allocate(max(self.capacity, 1), sizeof(Fractions))
    try:
        self.table.fraction = <uint64_t *> allocate(
            max(cell_slots(self), 1), sizeof(uint64_t))
    except MemoryError:
        PyMem_RawFree(fractions)
        raise
    self.fractions = fractions
    return 0


cdef Py_ssize_t cell_slots(Cells self) noexcept nogil:
    """The number of elements of `value`; in a hash, every other one is the key of the next."""
    return 2 * self.table.slots if self.table.key != NULL else self.width * self.width


cdef Py_ssize_t find_cell(Cells self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
    """Return the position of the value of a cell in the hash; adds the cell if it is new.

    The hash may become a square, in which the position is then.
    """
    cdef uint64_t key = cell_key(i, j)
    prefetch(self.totals + i)  # so that their memory is fetched together with that of the cell
    prefetch(self.totals + j)
    cdef Py_ssize_t at = probe(self.table.key, key, home_slot(key, self.table.seed, self.table.slots),
                               self.table.slots)
    self.lookups += 1
    if self.lookups & (PATIENCE - 1) == 0 and self.used <= min(DENSE_CLASSES, 2 * self.lookups // self.used):
        make_square(self)
        return i * self.width + j
    if self.table.key[at] == key:
        return at + 1
    if map_is_full(&self.table, quarters_for(self.used)):
        enlarge(self)
        if self.table.key == NULL:
            return i * self.width + j
        at = probe(self.table.key, key, home_slot(key, self.table.seed, self.table.slots), self.table.slots)
    self.table.key[at] = key
    self.table.occupied += 1
    return at + 1


cdef int check_weight(Cells self, int64_t whole) except -1 nogil:
    """Raise WeightError if the sum of all weights would overflow."""
    if not weight_fits(self, whole):
        with gil:
            raise sum_overflow(whole, self.mass, "2**63 - 1", None)
    return 0


cdef int add_cell(Cells self, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) except -1 nogil:
    """Count a checked weight; the fraction arrays exist if `part` is not zero."""
    add_at(self, cell_index(self, i, j), i, j, whole, part)
    return 0


cdef void add_at(Cells self, Py_ssize_t at, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) noexcept nogil:
    """Count a weight in a cell at a position that `cell_index` has returned, or take back a negative one."""
    if self.fractions == NULL:
        self.live += self.table.value[at] == 0
        self.table.value[at] += whole
        self.live -= self.table.value[at] == 0
        self.totals[i].actual += whole
        self.totals[j].predicted += whole
        self.mass += whole
        if i == j:
            self.totals[i].diagonal += whole
            self.hit += whole
        return
    self.live += (self.table.value[at] | <int64_t> self.table.fraction[at]) == 0
    self.fractional_cells -= self.table.fraction[at] != 0
    add_fixed(<uint64_t *> &self.table.value[at], &self.table.fraction[at], whole, part)
    self.fractional_cells += self.table.fraction[at] != 0
    self.live -= (self.table.value[at] | <int64_t> self.table.fraction[at]) == 0
    add_fixed(<uint64_t *> &self.totals[i].actual, &self.fractions[i].actual, whole, part)
    add_fixed(<uint64_t *> &self.totals[j].predicted, &self.fractions[j].predicted, whole, part)
    add_fixed(<uint64_t *> &self.mass, &self.mass_part, whole, part)
    if i == j:
        add_fixed(<uint64_t *> &self.totals[i].diagonal, &self.fractions[i].diagonal, whole, part)
        add_fixed(<uint64_t *> &self.hit, &self.hit_part, whole, part)


cdef void take_at(Cells self, Py_ssize_t at, Py_ssize_t i, Py_ssize_t j, int64_t whole, uint64_t part) noexcept nogil:
    """Take back a weight that the cell has."""
    add_at(self, at, i, j, -whole - (part != 0), 0 - part)


cdef bint holds_weight(Cells self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept:
    """Whether the cell at a position has at least this weight."""
    cdef uint64_t have = 0 if self.table.fraction == NULL else self.table.fraction[at]
    return self.table.value[at] > whole or (self.table.value[at] == whole and have >= part)


cdef bint is_all(Cells self, Py_ssize_t at, int64_t whole, uint64_t part) noexcept:
    """Whether the cell at a position has exactly this weight."""
    return self.table.value[at] == whole and (0 if self.table.fraction == NULL else self.table.fraction[at]) == part


cdef void copy_cells(Cells self, Cells other) except *:
    """Become a copy of `other`; this table is still empty."""
    cdef Py_ssize_t cells = cell_slots(other)
    if other.capacity == 0:
        return
    self.totals = <Totals *> allocate(other.capacity, sizeof(Totals))
    memcpy(self.totals, other.totals, other.used * sizeof(Totals))
    self.table.value = <int64_t *> allocate(cells, sizeof(int64_t))
    memcpy(self.table.value, other.table.value, cells * sizeof(int64_t))
    if other.table.key != NULL:
        self.table.key = <uint64_t *> self.table.value
    if other.fractions != NULL:
        self.fractions = <Fractions *> allocate(other.capacity, sizeof(Fractions))
        memcpy(self.fractions, other.fractions, other.used * sizeof(Fractions))
        self.table.fraction = <uint64_t *> allocate(cells, sizeof(uint64_t))
        memcpy(self.table.fraction, other.table.fraction, cells * sizeof(uint64_t))
    self.used, self.capacity, self.width, self.lookups = other.used, other.capacity, other.width, other.lookups
    self.table.slots, self.table.occupied = other.table.slots, other.table.occupied
    self.table.seed = other.table.seed
    self.fractional_cells, self.live = other.fractional_cells, other.live
    self.mass, self.mass_part = other.mass, other.mass_part
    self.hit, self.hit_part = other.hit, other.hit_part


cdef void clear_cells(Cells self) noexcept:
    PyMem_RawFree(self.totals)
    PyMem_RawFree(self.fractions)
    map_free(&self.table)
    self.totals, self.fractions = NULL, NULL
    self.used, self.capacity, self.width, self.live, self.lookups = 0, 0, 0, 0, 0
    self.fractional_cells, self.mass, self.mass_part, self.hit, self.hit_part = 0, 0, 0, 0, 0


cdef tuple export_cells(Cells self, const int64_t *order=NULL, Py_ssize_t classes=0, bint in_slots=False):
    """Return the cells with a weight: rows, columns, whole parts, fractions or None.

    Those of a square come row by row, the classes in an order (by index if that is NULL). Those of a hash come by slot
    or in no order, and their classes are indices.
    """
    cdef bint hashed = self.table.key != NULL
    cdef Py_ssize_t s, at, size, a = 0, b = 0, n = 0
    rows, columns = vector(self.live, cnp.NPY_INT64), vector(self.live, cnp.NPY_INT64)
    wholes = vector(self.live, cnp.NPY_INT64)
    parts = None if self.table.fraction == NULL else vector(self.live, cnp.NPY_UINT64)
    cdef int64_t *row = <int64_t *> cnp.PyArray_DATA(rows)
    cdef int64_t *column = <int64_t *> cnp.PyArray_DATA(columns)
    cdef int64_t *whole = <int64_t *> cnp.PyArray_DATA(wholes)
    cdef uint64_t *part = NULL if parts is None else <uint64_t *> cnp.PyArray_DATA(parts)
    if order == NULL:
        classes = min(self.used, self.width)
    size = self.table.slots if hashed else classes * classes
    for s in range(size):
        if hashed:
            at = 2 * s + 1 if in_slots else scattered(s, size)
        else:
            at = a * self.width + b if order == NULL else order[a] * self.width + order[b]
        if not map_is_zero(&self.table, at):
            row[n], column[n], whole[n] = a, b, self.table.value[at]
            if hashed:
                row[n], column[n] = row_of(self.table.key[at - 1]), column_of(self.table.key[at - 1])
            if part != NULL:
                part[n] = self.table.fraction[at]
            n += 1
        b += 1
        if b == classes:
            a, b = a + 1, 0
    return rows, columns, wholes, parts
