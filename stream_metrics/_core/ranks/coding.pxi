"""The encoding of a score histogram.

    column  = level  mode  cells  cell*  sample*            mode 1 if fractions follow every weight, else 0
    cell    = gap  [pure  [place]]  groups  (weight [moment])*
    sample  = hashes  (gap weight)*                         one for each group, from level 1 on
    weight  = whole part [fraction]

All are whole numbers as in `varint.pxd`, cells by key, groups in the order of report. A fraction has as many binary
places as the sketch says, 20 if it says nothing. 64 is added to the level if a score above 1 lies in the cell of 1, and
no cell shows it. `pure` and what follows from it are left out at level 0, where every cell is one code: `pure` is 1 if
the cell holds one code only, which is then `place` codes above its first; `groups` is the set of groups with a weight,
a bit for each; the moment, less that of as many codes at the start of the cell, is written for cells that are not pure
(with its fraction if the mode is 1). Columns are refused as they are read unless they are what would be written;
everything else of a state is written again and compared.
"""

cdef enum:
    ABOVE = 64  # added to the level
    COARSE_PLACES = 20  # binary places of fractions, unless the bytes give the number


cdef inline Py_ssize_t put_fraction(uint8_t *out, uint64_t part, int places) noexcept:
    return write_varint(out, part >> (64 - places))


cdef inline int get_fraction(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint64_t *part,
                             int places) except -1:
    read_varint(data, size, at, part)
    if places < 64 and part[0] >> places:
        raise ValueError("every fraction below 1")
    part[0] <<= 64 - places
    return 0


cdef bytes pack_weights(list weights, int places):
    """Encode pairs of a whole part and a fraction."""
    cdef uint8_t number[24]
    cdef Py_ssize_t size
    out = []
    for whole, part in weights:
        size = write_varint(number, whole)
        size += put_fraction(number + size, part, places)
        out.append((<char *> number)[:size])
    return b"".join(out)


cdef list read_weights(bytes stream, Py_ssize_t count, int places):
    cdef const uint8_t *data = <const uint8_t *> <const char *> stream
    cdef Py_ssize_t at = 0
    cdef uint64_t whole, part
    out = []
    for _ in range(count):
        read_varint(data, len(stream), &at, &whole)
        get_fraction(data, len(stream), &at, &part, places)
        if whole > <uint64_t> INT64_MAX:
            raise ValueError("every weight below 2**63")
        out.append((whole, part))
    if at != len(stream):
        raise ValueError("a weight for every label and nothing else")
    return out


cdef bint histogram_within(ScoreHistogram *c, Py_ssize_t group, uint64_t whole, uint64_t part) noexcept:
    """Whether the weight of a group over all cells is at most (whole, part)."""
    cdef Py_ssize_t cell
    cdef uint64_t sum = 0, parts = 0
    if group < c.groups:
        for cell in range(c.used):
            add_fixed(&sum, &parts, record_of(c, cell)[2 + 2 * group], 0 if c.fractions == NULL
                      else fractions_of(c, cell)[2 * group])
            if sum > whole:
                return False
    return sum < whole or parts <= part


cdef uint64_t fraction_bits(ScoreHistogram *c) noexcept:
    """The union of the bits of all fractions."""
    cdef Py_ssize_t at, g
    cdef uint64_t bits = 0
    if c == NULL or c.used == 0:
        return 0
    if c.fractions != NULL:
        for at in range(2 * c.groups * c.used):
            bits |= c.fractions[at]
    if c.level > 0:
        for g in range(c.groups):
            bottom_prune(c.sample + g, c.scratch)
            if c.sample[g].part != NULL:
                for at in range(c.sample[g].slots):
                    bits |= c.sample[g].part[at]
    return bits


cdef bytes pack_histogram(ScoreHistogram *c, const int64_t[::1] groups, int places):
    """Encode the cells; `groups` lists the groups in the order of report."""
    cdef Py_ssize_t size = 0, most
    cdef uint8_t *out
    cdef uint64_t bits = fraction_bits(c)
    if c == NULL or c.used == 0:
        return b""
    sort_cells(c)
    most = 64 + c.used * (35 + 40 * c.groups) + (0 if c.level == 0 else c.groups * (10 + 30 * c.size))
    out = <uint8_t *> allocate(most, 1)
    try:
        size = pack_cells(c, groups, places if bits else 0, out)
        return (<char *> out)[:size]
    finally:
        PyMem_RawFree(out)


cdef Py_ssize_t pack_cells(ScoreHistogram *c, const int64_t[::1] groups, int places, uint8_t *out) except -1:
    cdef Py_ssize_t size, at, cell, k
    cdef uint64_t previous = 0, mask
    cdef uint64_t *record
    size = write_varint(out, c.level + (ABOVE if c.above and not above_one(c) else 0))
    size += write_varint(out + size, places > 0)
    size += write_varint(out + size, c.used)
    for at in range(c.used):
        cell = c.order[at]
        record = record_of(c, cell)
        size += write_varint(out + size, record[0] - previous)
        previous = record[0]
        if c.level > 0:
            size += write_varint(out + size, record[1] != MIXED)
            if record[1] != MIXED:
                size += write_varint(out + size, record[1] - (record[0] << c.level))
        mask = 0
        for k in range(groups.shape[0]):
            if groups[k] < c.groups and occupied(c, cell, groups[k]):
                mask |= <uint64_t> 1 << k
        size += write_varint(out + size, mask)
        for k in range(groups.shape[0]):
            if mask >> k & 1:
                size += pack_group(c, cell, groups[k], places, out + size)
    if c.level > 0:
        for k in range(groups.shape[0]):
            size += pack_sample(c, groups[k], places, out + size)
    return size


cdef Py_ssize_t pack_group(ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t g, int places, uint8_t *out) noexcept:
    cdef uint64_t *record = record_of(c, cell)
    cdef uint64_t base = (record[0] << c.level) >> SHIFT, whole = record[2 + 2 * g], part = 0
    cdef uint64_t moment = record[3 + 2 * g], low = 0, start = whole * base, start_low = 0
    cdef Py_ssize_t size = write_varint(out, whole)
    if places:
        if c.fractions != NULL:
            part, low = fractions_of(c, cell)[2 * g], fractions_of(c, cell)[2 * g + 1]
        size += put_fraction(out + size, part, places)
    if c.level > 0 and record[1] == MIXED:
        add_product(&start, &start_low, part, base)
        take_fixed(&moment, &low, start, start_low)
        size += write_varint(out + size, moment)
        if places:
            size += put_fraction(out + size, low, places)
    return size


cdef Py_ssize_t pack_sample(ScoreHistogram *c, Py_ssize_t g, int places, uint8_t *out) except -1:
    cdef Py_ssize_t at, i, size
    cdef uint64_t previous = 0
    cdef Keyed *by
    cdef BottomKSample *s = c.sample + g
    if g >= c.groups:
        return write_varint(out, 0)
    by = sorted_sample(s, False)
    size = write_varint(out, s.used)
    for i in range(s.used):
        at = by[i].place
        size += write_varint(out + size, s.at[at].hash - previous)
        previous = s.at[at].hash
        size += write_varint(out + size, <uint64_t> s.at[at].whole)
        if places:
            size += put_fraction(out + size, 0 if s.part == NULL else s.part[at], places)
    PyMem_RawFree(by)
    return size


cdef int read_histogram(ScoreHistogram *c, bytes stream, Py_ssize_t groups, int places) except -1:
    """Fill an empty histogram; raise ValueError for bytes that no stream of samples produces."""
    cdef const uint8_t *data = <const uint8_t *> <const char *> stream
    cdef Py_ssize_t size = len(stream), at = 0, k
    cdef uint64_t level, mode, cells, above, key = 0, mixed_cells = 0
    read_varint(data, size, &at, &level)
    read_varint(data, size, &at, &mode)
    read_varint(data, size, &at, &cells)
    above, level = level & ABOVE, level & ~<uint64_t> ABOVE
    if level > 63 or mode > 1 or cells == 0 or cells > <uint64_t> c.buckets or cells > <uint64_t> size:
        raise ValueError("a level below 64, a mode of 0 or 1, and from 1 cell to the number of buckets")
    if histogram_reserve(c, groups, cells, mode == 1) < 0 or (level > 0 and histogram_sampling(c) < 0):
        raise MemoryError("no memory for a column of scores")
    c.level = <int> level
    if mode == 0:
        places = 0
    for k in range(<Py_ssize_t> cells):
        mixed_cells += read_cell(c, data, size, &at, &key, k == 0, places)
    if level > 0:
        if cells + mixed_cells <= <uint64_t> c.buckets:
            raise ValueError("a level that was needed")
        for k in range(groups):
            decode_sample(c, k, data, size, &at, places)
    if at != size:
        raise ValueError("nothing after the last number of a column")
    if c.level > WIDE:
        c.above = above_one(c)
        if above and not c.above:
            at = <Py_ssize_t> c.slot[find(c, ONE >> c.level)] - 1
            c.above = at >= 0 and record_of(c, at)[1] == MIXED
    if above and (not c.above or above_one(c)):
        raise ValueError("a cell that may hold a score above 1, and only if no cell shows it")
    if mode != (fraction_bits(c) != 0):
        raise ValueError("fractions where any is not 0, and nowhere else")
    return 0


cdef bint read_cell(ScoreHistogram *c, const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint64_t *key, bint first,
                    int places) except -1:
    """Read a cell; return whether it may contain several codes."""
    cdef uint64_t gap, pure = 1, place = 0, mask, single_code, base
    cdef Py_ssize_t g, cell
    read_varint(data, size, at, &gap)
    if (gap == 0 and not first) or key[0] + gap < gap or (key[0] + gap) > MIXED >> c.level:
        raise ValueError("cells in ascending order")
    key[0] += gap
    base = key[0] << c.level
    if c.level > 0:
        read_varint(data, size, at, &pure)
        if pure:
            read_varint(data, size, at, &place)
    single_code = base + place
    if pure > 1 or place >> c.level or (pure and (single_code == ZERO or single_code == 0 or single_code == MIXED)):
        raise ValueError("codes of scores other than 0")
    if single_code == 1 or single_code == MIXED - 1:
        if c.level > 0 and pure:
            raise ValueError("no saturated code alone")
        pure = 0
    cell = histogram_cell(c, key[0], single_code if pure else MIXED)
    read_varint(data, size, at, &mask)
    if mask == 0 or (c.groups < 64 and mask >> c.groups):
        raise ValueError("a weight of a class in every cell")
    for g in range(c.groups):
        if mask >> g & 1:
            read_group(c, cell, g, data, size, at, single_code if pure else base, pure != 0, places)
    return not pure


cdef inline int read_group(ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t g, const uint8_t *data, Py_ssize_t size,
                           Py_ssize_t *at,
                           uint64_t code, bint pure, int places) except -1:
    """Read the weight and the moment of a group in a cell; the moment is stored relative to that of `code`."""
    cdef uint64_t whole, part = 0, moment = 0, low = 0, start, start_low = 0
    read_varint(data, size, at, &whole)
    if places:
        get_fraction(data, size, at, &part, places)
    if whole > <uint64_t> INT64_MAX or (whole | part) == 0:
        raise ValueError("every weight from above 0 to below 2**63")
    if c.level > 0 and not pure:
        read_varint(data, size, at, &moment)
        if places:
            get_fraction(data, size, at, &low, places)
        if c.level <= SHIFT and (moment | low):
            raise ValueError("a moment that its cell can have")
    start = whole * (code >> SHIFT)
    if places:
        add_product(&start, &start_low, part, code >> SHIFT)
        add_fixed(&moment, &low, start, start_low)
    else:
        moment += start
    add_to_cell(c, cell, g, <int64_t> whole, moment, part, low)
    return 0


cdef int decode_sample(ScoreHistogram *c, Py_ssize_t g, const uint8_t *data, Py_ssize_t size, Py_ssize_t *at,
                       int places) except -1:
    """Read a sample and check it against the cells: a subset of their codes, and all of them if it is not full."""
    cdef uint64_t hashes, gap, hash = 0, code, whole, part = 0
    cdef Py_ssize_t _entry, cell
    cdef uint64_t[:, ::1] seen = np.zeros((c.used, 2), np.uint64)  # whole weight, fraction of the samples of a cell
    read_varint(data, size, at, &hashes)
    if hashes > <uint64_t> c.size or hashes > <uint64_t> size:
        raise ValueError("no more hashes than a sample has")
    if bottom_reserve(c.sample + g, hashes, places > 0) < 0:
        raise MemoryError("no memory for a sample")
    for _entry in range(<Py_ssize_t> hashes):
        read_varint(data, size, at, &gap)
        read_varint(data, size, at, &whole)
        if places:
            get_fraction(data, size, at, &part, places)
        if gap == 0 or hash + gap < gap or whole > <uint64_t> INT64_MAX or (whole | part) == 0:
            raise ValueError("hashes in ascending order, each with a weight")
        hash += gap
        code = inverse_splitmix64(hash)
        cell = <Py_ssize_t> c.slot[find(c, code >> c.level)] - 1
        if cell < 0 or code == ZERO or (record_of(c, cell)[1] != MIXED and record_of(c, cell)[1] != code):
            raise ValueError("samples of the codes that are in the cells")
        add_fixed(&seen[cell, 0], &seen[cell, 1], whole, part)
        if above_cell(c, cell, g, seen[cell, 0], seen[cell, 1]) > 0:
            raise ValueError("samples that agree with the cells")
        bottom_add(c.sample + g, hash, <int64_t> whole, part, c.scratch)
    for cell in range(c.used):
        if above_cell(c, cell, g, seen[cell, 0], seen[cell, 1]) < 0 and (
                hashes < <uint64_t> c.size or ((seen[cell, 0] | seen[cell, 1]) and record_of(c, cell)[1] != MIXED)):
            raise ValueError("samples that agree with the cells")
    return 0


cdef inline int above_cell(ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t g, uint64_t whole, uint64_t part) noexcept:
    """Whether a weight is above (1), below (-1) or equal to (0) that of a group in a cell."""
    cdef uint64_t have = record_of(c, cell)[2 + 2 * g]
    cdef uint64_t rest = 0 if c.fractions == NULL else fractions_of(c, cell)[2 * g]
    return (whole > have) - (whole < have) if whole != have else (part > rest) - (part < rest)


cdef tuple pack_counters(RankCounters self, bint with_columns):
    cdef Py_ssize_t i
    order = report_order(self)
    cdef uint64_t bits = 0
    for i in range(self.used):
        bits |= self.classes[i].part | fraction_bits(self.classes[i].histogram)
    cdef int places = max(places_of(bits), COARSE_PLACES)  # of all fractions
    groups = np.array(order if self.paired else [0, 1], np.int64)
    weights = []
    columns = []
    for i in order:
        weights.append((self.classes[i].whole, self.classes[i].part))
        if with_columns:
            columns.append(pack_histogram(self.classes[i].histogram, groups, places))
    fine = [(places, self.rounded)] if places > COARSE_PLACES or self.rounded else []
    labels = [shown_label(self, i, False) for i in order]
    return labels, self.appearances(), pack_weights(weights, places), columns, *fine


cdef int restore_counters(RankCounters self, list labels, appearances, bytes weights, columns, int64_t n,
                          int64_t abstained, int places, int64_t rounded) except -1:
    """Fill an empty state with decoded counts; raise ValueError for counts that no stream of samples produces."""
    cdef Py_ssize_t i, kind, at = 0
    if not (0 <= n <= MOST_SAMPLES and 0 <= abstained <= MOST_SAMPLES and 0 <= rounded <= n):
        raise ValueError(f"numbers of samples from 0 to {MOST_SAMPLES}")
    if not COARSE_PLACES <= places <= 64:
        raise ValueError("fractions of 20 to 64 binary places")
    totals = read_weights(weights, len(labels), places)
    self.paired = self.pairs and len(labels) <= most_paired
    for label in labels:
        intern_class(self, canonical(label))
    if self.used != len(labels) or len(columns) != len(labels):
        raise ValueError("every label once, with a column")
    check_units(self, sum([whole * UNITS + part for whole, part in totals]))
    if len(appearances) != 3 * len([label for label in labels if numeric_kind(label) < 3]):
        raise ValueError("three counts of appearances for every number")
    for i in range(self.used):
        weigh_class(self, i, totals[i][0], totals[i][1])
    for i in range(self.used):
        if columns[i]:
            read_histogram(own_histogram(self, i), columns[i], group_count(self), places)
            check_column(self, i)
        if numeric_kind(labels[i]) < 3:
            for kind in range(3):
                self.classes[i].type_counts[kind] = appearances[at + kind]
                if self.classes[i].type_counts[kind] < 0:
                    raise ValueError("counts of appearances that are not negative")
            at += 3
        if is_empty_class(self, i):
            raise ValueError("a count for every label")
    if n < least_samples(self):
        raise ValueError("a sample for every true class, and for every cell of a column")
    self.n, self.abstained, self.rounded = n, abstained, rounded
    return 0


cdef int check_column(RankCounters self, Py_ssize_t j) except -1:
    """Check that no class has more weight in a column than in total."""
    cdef Py_ssize_t g
    cdef uint64_t whole, part
    for g in range(group_count(self)):
        weigh_group(self, j, g, &whole, &part)
        if not histogram_within(self.classes[j].histogram, g, whole, part):
            raise ValueError("no more weight in a column than its classes have")
    return 0
