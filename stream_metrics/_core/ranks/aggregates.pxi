"""Reading a column: its sorted cells, the weights and mean places of two groups of classes, and their samples.

The order of the cells stays valid until a cell is added or removed, that of a sample until a code is. So reading after
every sample needs no sorting.
"""

cnp.import_array()

cdef double UNIT = 2.0**-64  # the largest rounding error of a weight


cdef int sort_cells(ScoreHistogram *c) except -1:
    """Update `order`."""
    cdef Py_ssize_t cell
    cdef bint ascending = True
    cdef Keyed *by
    if c.sorted or c.used == 0:
        return 0
    for cell in range(c.used):  # as cells are read from bytes
        c.order[cell] = <cell_t> cell
        ascending = ascending and (cell == 0 or record_of(c, cell)[0] > record_of(c, cell - 1)[0])
    if ascending:
        c.sorted = True
        return 0
    by = <Keyed *> allocate(c.used, sizeof(Keyed))
    for cell in range(c.used):
        by[cell].key, by[cell].place = record_of(c, cell)[0], cell
    qsort(by, c.used, sizeof(Keyed), by_key)
    for cell in range(c.used):
        c.order[cell] = <cell_t> by[cell].place
    PyMem_RawFree(by)
    c.sorted = True
    return 0


cdef struct Keyed:
    uint64_t key
    int64_t place


cdef int by_key(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const Keyed *> a).key, y = (<const Keyed *> b).key
    return (x > y) - (x < y)


cdef object numbers(list values):
    cdef Py_ssize_t at
    array = vector(len(values), cnp.NPY_INT64)
    for at in range(len(values)):
        (<int64_t *> cnp.PyArray_DATA(array))[at] = values[at]
    return array


cdef object pairs(Py_ssize_t n, int kind):
    cdef cnp.npy_intp size[2]
    size[0], size[1] = n, 2
    return cnp.PyArray_SimpleNew(2, size, kind)


cdef object in_units(object wholes, object parts, int places, bint wide):
    """Weights as integer numbers of units of 2^-places, Python integers if `wide`; `parts` may be None."""
    kind = object if wide else np.int64
    units = wholes.astype(kind) << places
    return units if parts is None else units + (parts >> np.uint64(64 - places)).astype(kind)


cdef int places_of(uint64_t bits) noexcept:
    """Return the number of binary places of a fraction with these bits: 0, or 20 to 64."""
    cdef int places = 64 if bits else 0
    while places > 20 and not bits >> (64 - places) & 1:
        places -= 1
    return places


cdef struct SampledCode:
    uint64_t hash  # first, for `by_key`
    uint64_t code
    int64_t whole
    uint64_t part


cdef int by_code(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const SampledCode *> a).code, y = (<const SampledCode *> b).code
    return (x > y) - (x < y)


cdef Py_ssize_t merge_samples(SampledCode *sampled, Py_ssize_t n, Py_ssize_t size) noexcept nogil:
    """Merge the samples of several classes, sorted by code: the smallest hashes, each once."""
    cdef Py_ssize_t at, merged = 0
    qsort(sampled, n, sizeof(SampledCode), by_key)
    for at in range(n):
        if merged and sampled[merged - 1].hash == sampled[at].hash:
            add_fixed(<uint64_t *> &sampled[merged - 1].whole, &sampled[merged - 1].part, <uint64_t> sampled[at].whole,
                      sampled[at].part)
        elif merged == size:
            break
        else:
            sampled[merged] = sampled[at]
            merged += 1
    qsort(sampled, merged, sizeof(SampledCode), by_code)
    return merged


cdef Py_ssize_t copy_samples(ScoreHistogram *c, const int64_t *groups, Py_ssize_t count,
                             SampledCode *sampled) noexcept nogil:
    """Copy the samples of some groups, each sorted by code."""
    cdef Py_ssize_t n = 0, k, i, at
    cdef BottomKSample *s
    for k in range(count):
        if groups[k] < c.groups:
            s = c.sample + groups[k]
            for i in range(s.used):
                at = s.order[i]
                sampled[n].hash, sampled[n].code = s.at[at].hash, inverse_splitmix64(s.at[at].hash)
                sampled[n].whole = s.at[at].whole
                sampled[n].part = 0 if s.part == NULL else s.part[at]
                n += 1
    return n


cdef Keyed *sorted_sample(const BottomKSample *s, bint by_code) except NULL:
    """Return the slots of a sample, by code or by hash; the caller frees them."""
    cdef Py_ssize_t at, n = 0
    cdef Keyed *by = <Keyed *> allocate(max(s.used, 1), sizeof(Keyed))
    for at in range(s.slots):
        if s.at[at].hash != 0:
            by[n].key, by[n].place = inverse_splitmix64(s.at[at].hash) if by_code else s.at[at].hash, at
            n += 1
    qsort(by, n, sizeof(Keyed), by_key)
    return by


cdef int sort_sample(BottomKSample *s) except -1:
    """Update the order of a sample."""
    cdef Py_ssize_t at
    cdef Keyed *by
    if s.sorted:
        return 0
    if s.order == NULL:
        s.order = <slot_t *> allocate(s.size, sizeof(slot_t))
    by = sorted_sample(s, True)
    for at in range(s.used):
        s.order[at] = <slot_t> by[at].place
    PyMem_RawFree(by)
    s.sorted = True
    return 0


cdef tuple read_sample(ScoreHistogram *c, const int64_t *groups, Py_ssize_t count):
    """Return the merged sample of some groups by code: codes, whole weights, fractions or None, share of all codes."""
    cdef Py_ssize_t n = 0, at, k
    cdef SampledCode *sampled
    cdef uint64_t most = 0
    cdef uint64_t bits = 0
    if c == NULL or c.level == 0:
        return vector(0, cnp.NPY_UINT64), vector(0, cnp.NPY_INT64), None, 1.0
    for k in range(count):
        if groups[k] < c.groups:
            bottom_prune(c.sample + groups[k], c.scratch)
            sort_sample(c.sample + groups[k])
            n += c.sample[groups[k]].used
    sampled = <SampledCode *> allocate(max(n, 1), sizeof(SampledCode))
    try:
        n = copy_samples(c, groups, count, sampled)
        if count > 1:
            n = merge_samples(sampled, n, c.size)
        codes, wholes = vector(n, cnp.NPY_UINT64), vector(n, cnp.NPY_INT64)
        for at in range(n):
            most = max(most, sampled[at].hash)
            bits |= sampled[at].part
            (<uint64_t *> cnp.PyArray_DATA(codes))[at] = sampled[at].code
            (<int64_t *> cnp.PyArray_DATA(wholes))[at] = sampled[at].whole
        parts = vector(n, cnp.NPY_UINT64) if bits else None
        for at in range(n if bits else 0):
            (<uint64_t *> cnp.PyArray_DATA(parts))[at] = sampled[at].part
        return codes, wholes, parts, 1.0 if n < c.size else <double> most / 18446744073709551616.0
    finally:
        PyMem_RawFree(sampled)


cdef inline double mean_place(const ScoreHistogram *c, const uint64_t *record, uint64_t whole, uint64_t fraction,
                              uint64_t moment, uint64_t low, double scale) noexcept nogil:
    """Return the mean place in a cell of a weight, given its moment; NAN if it is unknown."""
    cdef uint64_t base = (record[0] << c.level) >> SHIFT, start = whole * base, start_low = 0
    cdef double span
    if scale == 0.0 or record[1] != MIXED:
        return NAN
    if fraction:
        add_product(&start, &start_low, fraction, base)
    take_fixed(&moment, &low, start, start_low)
    span = unsigned_double(whole, fraction) * scale
    return unsigned_double(moment, low) / span if 0.0 < span < 18446744073709551616.0 else NAN


cdef inline double sum_groups(ScoreHistogram *c, Py_ssize_t cell, const int64_t *groups, Py_ssize_t n, double scale,
                              int64_t *count, uint64_t *part) noexcept nogil:
    """Sum the weights of some groups in a cell; return their mean place in the cell, NAN if it is unknown."""
    cdef Py_ssize_t at, g
    cdef uint64_t *record = record_of(c, cell)
    cdef uint64_t whole = 0, fraction = 0, moment = 0, low = 0
    for at in range(n):
        g = groups[at]
        if g < c.groups:
            if c.fractions == NULL:
                whole += record[2 + 2 * g]
                moment += record[3 + 2 * g]
            else:
                add_fixed(&whole, &fraction, record[2 + 2 * g], fractions_of(c, cell)[2 * g])
                add_fixed(&moment, &low, record[3 + 2 * g], fractions_of(c, cell)[2 * g + 1])
    count[0], part[0] = <int64_t> whole, fraction
    return mean_place(c, record, whole, fraction, moment, low, scale)


cdef inline double scale_of(const ScoreHistogram *c) noexcept nogil:
    """Return the width of a cell in units of moments, 0 if moments do not resolve it."""
    return 0.0 if c.level <= SHIFT else ldexp(1.0, c.level - SHIFT)


cdef Py_ssize_t read_cells(ScoreHistogram *c, const int64_t *rest, Py_ssize_t many, const int64_t *own, Py_ssize_t few,
                           uint64_t *key, uint64_t *single_code, double *offset, int64_t *count, uint64_t *part,
                           uint64_t *bits) noexcept nogil:
    """Read the sorted cells that have a weight on either side; return their number."""
    cdef Py_ssize_t at, n = 0
    cdef uint64_t *record
    cdef double scale = scale_of(c)
    for at in range(c.used):
        record = record_of(c, c.order[at])
        offset[2 * n] = sum_groups(c, c.order[at], rest, many, scale, count + 2 * n, part + 2 * n)
        offset[2 * n + 1] = sum_groups(c, c.order[at], own, few, scale, count + 2 * n + 1, part + 2 * n + 1)
        key[n], single_code[n] = record[0], record[0] if c.level == 0 else record[1]
        bits[0] |= part[2 * n] | part[2 * n + 1]
        n += (count[2 * n] | count[2 * n + 1]) != 0 or (part[2 * n] | part[2 * n + 1]) != 0
    return n


cdef tuple group_numbers(RankCounters self, Py_ssize_t j, object own, object rest):
    """Return the groups to compare, the rest and its own, as arrays."""
    if not self.paired:
        if own is not None or rest is not None:
            problem = f"got {len(self.label_index.index)}" if self.pairs else "got pairs=False"
            raise ValueError(f"Expected pairs=True and at most {MOST_PAIRED} classes to compare one class with "
                             f"another, but {problem}")
        return numbers([0]), numbers([1])
    i = j if own is None else find_class(self, own)
    if rest is None:
        others = [g for g in range(self.used) if g != i and self.label_index.names[g] is not None]
        return numbers(others), numbers([i] if i >= 0 else [])
    other = find_class(self, rest)
    if other == i and i >= 0:
        raise ValueError(f"Expected `rest` to be another class than {own!r}, but got {rest!r}")
    return numbers([other] if other >= 0 else []), numbers([i] if i >= 0 else [])


cdef tuple read_column(RankCounters self, object label, object own, object rest):
    cdef Py_ssize_t j, n = 0
    cdef ScoreHistogram *c
    j = find_class(self, label)
    rest_groups, own_groups = group_numbers(self, j, own, rest)
    c = self.classes[j].histogram if j >= 0 else NULL
    cdef const int64_t *theirs = <const int64_t *> cnp.PyArray_DATA(rest_groups)
    cdef const int64_t *mine = <const int64_t *> cnp.PyArray_DATA(own_groups)
    cdef Py_ssize_t many = len(rest_groups), few = len(own_groups), cells = 0 if c == NULL else c.used
    keys, single_codes = vector(cells, cnp.NPY_UINT64), vector(cells, cnp.NPY_UINT64)
    offsets = pairs(cells, cnp.NPY_DOUBLE)
    counts, parts = pairs(cells, cnp.NPY_INT64), pairs(cells, cnp.NPY_UINT64)
    cdef uint64_t bits = 0
    cdef int places
    cdef bint above = c != NULL and (c.above if c.level > WIDE else above_one(c))
    if cells:
        sort_cells(c)
        n = read_cells(c, theirs, many, mine, few, <uint64_t *> cnp.PyArray_DATA(keys),
                       <uint64_t *> cnp.PyArray_DATA(single_codes),
                       <double *> cnp.PyArray_DATA(offsets), <int64_t *> cnp.PyArray_DATA(counts),
                       <uint64_t *> cnp.PyArray_DATA(parts), &bits)
        if n < cells:
            keys, single_codes, offsets = keys[:n], single_codes[:n], offsets[:n]
            counts, parts = counts[:n], parts[:n]
    rest_codes, rest_wholes, rest_parts, rest_tau = read_sample(c, theirs, many)
    own_codes, own_wholes, own_parts, own_tau = read_sample(c, mine, few)
    whole_totals, part_totals = group_totals(self, j, rest_groups, own_groups)
    level = 0 if c == NULL else c.level
    totals = numbers(whole_totals)
    bits |= <uint64_t> (part_totals[0] | part_totals[1])
    for some in (rest_parts, own_parts):
        bits |= 0 if some is None else <uint64_t> np.bitwise_or.reduce(some, initial=np.uint64(0))
    places = places_of(bits)
    if places:
        part_totals = np.array(part_totals, np.uint64)
        wide = places > 61 or (sum(whole_totals) + 2) >> (63 - places) > 0
        totals, counts = in_units(totals, part_totals, places, wide), in_units(counts, parts, places, wide)
        rest_wholes, own_wholes = (in_units(rest_wholes, rest_parts, places, wide),
                                   in_units(own_wholes, own_parts, places, wide))
    return (level, keys, single_codes, counts, offsets, totals, (rest_codes, own_codes), (rest_wholes, own_wholes),
            (rest_tau, own_tau),
            <object> 1 << places, self.rounded * UNIT, above, self.weight / <double> self.n if places else 1.0)


cdef tuple group_totals(RankCounters self, Py_ssize_t j, object rest_groups, object own_groups):
    """Return the weights of rest and own, zeros included: whole parts, fractions in units of 2^-64."""
    cdef Py_ssize_t side
    cdef uint64_t more, more_part
    cdef uint64_t whole[2]
    cdef uint64_t part[2]
    whole[0], whole[1], part[0], part[1] = <uint64_t> self.mass, 0, self.mass_part, 0
    if self.paired or j >= 0:
        for side, groups in enumerate((rest_groups, own_groups)):
            whole[side], part[side] = 0, 0
            for g in groups.tolist():
                weigh_group(self, j, g, &more, &more_part)
                add_fixed(whole + side, part + side, more, more_part)
    return [whole[0], whole[1]], [part[0], part[1]]
