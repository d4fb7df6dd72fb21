"""Batches: columns of labels become codes, pairs of codes become cells. These functions have no state.

Small integers have a fast path: both columns are read once, masked to a few bits, and counted in a table that fits the
first-level cache. Four tables are used in turn, because consecutive samples often hit the same cell, and a store must
finish before the next load from the same address. A pair of numbers from 0 to 15 fits a byte and needs no masks: runs
of pairs are packed, many at a time, and counted from there, in about the time that reading both columns takes. The bits
that the masks remove show, at the end of every block, whether a value was outside the table. Everything runs without
the interpreter's lock on buffers that no other thread changes; the caller adds the result.
"""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SM_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define SM_PREFETCH(p) ((void) 0)
    #endif
    """
    void prefetch "SM_PREFETCH"(const void *p) noexcept nogil

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define SM_RUN 256

    /* Compilers pack 64-bit numbers into bytes in several steps; shifting them into words of two takes a tenth less. */
    static inline uint64_t sm_pack_pairs(const int64_t *t, const int64_t *p, uint8_t *pair)
    {
    #if defined(__GNUC__) || defined(__clang__)
        typedef uint64_t two __attribute__((vector_size(16)));
        two seen = {0, 0}, run[SM_RUN / 16], x;
        for (int side = 0; side < 2; side++, t = p)
            for (int i = 0; i < SM_RUN; i += 16) {
                two packed = {0, 0};
                for (int k = i; k < i + 16; k += 2) {
                    memcpy(&x, t + k, sizeof(two));
                    seen |= x;
                    packed = (packed << 8) + x;
                }
                run[i / 16] = side ? run[i / 16] + packed : packed << 4;
            }
        memcpy(pair, run, SM_RUN);
        return seen[0] | seen[1];
    #else
        uint64_t seen = 0;
        for (int i = 0; i < SM_RUN; i++) {
            seen |= (uint64_t) (t[i] | p[i]);
            pair[i] = (uint8_t) (((uint64_t) t[i] << 4) + (uint64_t) p[i]);
        }
        return seen;
    #endif
    }
    """
    # Puts a run of pairs of numbers from 0 to 15 into bytes, in some order, and returns the bits of all numbers.
    uint64_t pack_pairs "sm_pack_pairs"(const int64_t *t, const int64_t *p, uint8_t *pair) nogil
    const Py_ssize_t RUN "SM_RUN"  # longer and shorter runs are slower

ctypedef fused whole_number:
    int8_t
    int16_t
    int32_t
    int64_t

cdef Py_ssize_t BLOCK = 1 << 20
cdef int FEW_BITS = 5  # up to here four tables share the first-level cache
cdef int MOST_BITS = 10


cdef uint64_t count_pairs(const whole_number *t, const whole_number *p, Py_ssize_t n, whole_number low, int bits,
                          uint32_t *table) noexcept nogil:
    """Count n pairs; return the bits that lay outside the table."""
    cdef uint64_t a, b, outside = 0, mask = (<uint64_t> 1 << bits) - 1
    cdef uint64_t base = <uint64_t> <int64_t> low
    cdef Py_ssize_t i = 0, k, some, size = <Py_ssize_t> 1 << (2 * bits), step = size if bits <= FEW_BITS else 0
    while i < n:
        some = min(4, n - i)
        for k in range(some):
            a, b = <uint64_t> <int64_t> t[i + k] - base, <uint64_t> <int64_t> p[i + k] - base
            outside |= a | b
            table[k * step + (((a & mask) << bits) | (b & mask))] += 1
        i += 4
    return outside & ~mask


cdef uint64_t count_pairs_sixteen(const whole_number *t, const whole_number *p, Py_ssize_t n,
                                  uint32_t *table) noexcept nogil:
    """Count n pairs of numbers from 0 to 15; return the bits that lay outside."""
    cdef uint8_t pair[256]  # RUN
    cdef whole_number outside = 0
    cdef Py_ssize_t i = 0, k
    while i + RUN <= n:
        if whole_number is int64_t:
            outside |= <int64_t> pack_pairs(t + i, p + i, pair)
        else:
            for k in range(RUN):
                outside |= t[i + k]
                pair[k] = <uint8_t> (<uint64_t> t[i + k] << 4)
            for k in range(RUN):
                outside |= p[i + k]
                pair[k] += <uint8_t> p[i + k]
        for k in range(0, RUN, 4):
            table[pair[k]] += 1
            table[256 + <Py_ssize_t> pair[k + 1]] += 1
            table[512 + <Py_ssize_t> pair[k + 2]] += 1
            table[768 + <Py_ssize_t> pair[k + 3]] += 1
        i += RUN
    for k in range(i, n):
        outside |= t[k] | p[k]
        table[<uint8_t> ((<uint64_t> t[k] << 4) + <uint64_t> p[k])] += 1
    return <uint64_t> <int64_t> outside & ~<uint64_t> 15


cdef void extend_range(const whole_number *x, Py_ssize_t n, whole_number *low, whole_number *high) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if x[i] < low[0]:
            low[0] = x[i]
        if x[i] > high[0]:
            high[0] = x[i]


cdef object count_small(const whole_number *t, const whole_number *p, Py_ssize_t n, Py_ssize_t inspected):
    cdef whole_number low = t[0], high = t[0]
    cdef int bits = 1
    cdef uint64_t outside = 0, span
    cdef Py_ssize_t start = 0, i, size
    with nogil:
        extend_range(t, inspected, &low, &high)
        extend_range(p, inspected, &low, &high)
    if low >= 0 and high < 16:
        low, high = 0, 15
    span = <uint64_t> <int64_t> high - <uint64_t> <int64_t> low
    if span >> MOST_BITS:
        return None
    while span >> bits:
        bits += 1
    size = <Py_ssize_t> 1 << (2 * bits)
    if bits > FEW_BITS and size > 16 * n:
        return None
    tables = np.zeros((4 if bits <= FEW_BITS else 1, size), np.uint32)
    totals = np.zeros(size, np.int64)
    cdef uint32_t[:, ::1] table = tables
    cdef int64_t[::1] total = totals
    with nogil:
        while start < n and outside == 0:
            if low == 0 and bits == 4:
                outside = count_pairs_sixteen(t + start, p + start, min(BLOCK, n - start), &table[0, 0])
            else:
                outside = count_pairs(t + start, p + start, min(BLOCK, n - start), low, bits, &table[0, 0])
            start += BLOCK
            if start % (BLOCK << 10) == 0:  # before a 32-bit counter can overflow
                for i in range(size * table.shape[0]):
                    total[i & (size - 1)] += (&table[0, 0])[i]
                memset(&table[0, 0], 0, size * table.shape[0] * sizeof(uint32_t))
    if outside:
        return None
    totals += tables.sum(axis=0, dtype=np.int64)
    return int(low), totals.reshape(1 << bits, 1 << bits)


def count_integers(t, p):
    """Count pairs of two contiguous arrays of one signed integer type whose values lie close together.

    Returns (low, table), where table[a, b] counts the pairs (low + a, low + b), or None if the values are too far
    apart.
    """
    cdef const void *a = cnp.PyArray_DATA(t)
    cdef const void *b = cnp.PyArray_DATA(p)
    cdef Py_ssize_t n = len(t), inspected
    for inspected in ([n] if n <= 4096 else [4096, n]):
        if t.itemsize == 1:
            result = count_small(<const int8_t *> a, <const int8_t *> b, n, inspected)
        elif t.itemsize == 2:
            result = count_small(<const int16_t *> a, <const int16_t *> b, n, inspected)
        elif t.itemsize == 4:
            result = count_small(<const int32_t *> a, <const int32_t *> b, n, inspected)
        else:
            result = count_small(<const int64_t *> a, <const int64_t *> b, n, inspected)
        if result is not None:
            return result
    return None


def encode_bytes(const uint8_t[:, ::1] rows):
    """Number the distinct rows of a table of bytes: (codes, position of the first row of each code)."""
    cdef Py_ssize_t n = rows.shape[0], size = rows.shape[1], slots = 256, r, at, i
    cdef int32_t distinct = 0
    cdef const uint8_t *data = &rows[0, 0]
    codes, firsts = np.empty(n, np.int32), np.empty(256, np.int64)
    table = np.zeros(slots, np.int32)
    cdef int32_t[::1] code = codes, slot = table
    cdef int64_t[::1] first = firsts
    for r in range(n):
        at = hash_bytes(data + r * size, size) & (slots - 1)
        while slot[at] != 0 and memcmp(data + first[slot[at] - 1] * size, data + r * size, size) != 0:
            at = (at + 1) & (slots - 1)
        if slot[at] == 0:
            if distinct == first.shape[0]:
                firsts = np.concatenate([firsts, np.empty(distinct, np.int64)])
                first = firsts
            first[distinct] = r
            distinct += 1
            slot[at] = distinct
            code[r] = distinct - 1
            if distinct * 2 > slots:
                slots *= 4
                table = np.zeros(slots, np.int32)
                slot = table
                for i in range(distinct):
                    at = hash_bytes(data + first[i] * size, size) & (slots - 1)
                    while slot[at] != 0:
                        at = (at + 1) & (slots - 1)
                    slot[at] = i + 1
        else:
            code[r] = slot[at] - 1
    return codes, firsts[:distinct]


def encode_near(const int64_t[::1] numbers, int64_t low, Py_ssize_t span):
    """Number distinct integers as `encode_bytes` does its rows; all are from `low` on and before `low + span`."""
    cdef Py_ssize_t n = numbers.shape[0], r
    cdef int32_t distinct = 0
    codes, firsts, table = np.empty(n, np.int32), np.empty(min(n, span), np.int64), np.full(span, -1, np.int32)
    cdef int32_t[::1] code = codes, number = table
    cdef int64_t[::1] first = firsts
    for r in range(n):
        if number[numbers[r] - low] < 0:
            number[numbers[r] - low] = distinct
            first[distinct] = r
            distinct += 1
        code[r] = number[numbers[r] - low]
    return codes, firsts[:distinct]


cdef object typed_key(object label):
    """A dict key that keeps equal numbers of different types apart."""
    kind = type(label)
    return (kind, label) if kind is bool or kind is float else label


@cython.boundscheck(True)  # the caller may change the list while a label is read
def encode_objects(list values, str argument, bint may_abstain, named=None):
    """Number the distinct labels of a list: (codes, canonical labels); -1 stands for an abstention.

    Mappings of scores become their largest label, after `named` has returned them by class. LabelError and ScoreError
    name the position. Objects are recognised by identity, short texts by their bytes: Python would otherwise hash each
    new text object of a decoder.
    """
    cdef Py_ssize_t n = len(values), r
    cdef PyObject *cached[256]
    cdef PyObject *text[256]
    cdef int32_t cached_code[256], text_code[256]
    cdef Py_ssize_t at, place
    cdef PyObject *known_code
    cdef PyObject *old
    cdef dict index = {}
    cdef list labels = []
    cdef bint soft
    codes = np.empty(n, np.int32)
    cdef int32_t[::1] code = codes
    memset(cached, 0, sizeof(cached))
    memset(text, 0, sizeof(text))
    try:
        for r in range(n):
            value = values[r]
            place, soft = -1, False
            at = (<uintptr_t> <PyObject *> value >> 4) & 255
            if cached[at] == <PyObject *> value:
                code[r] = cached_code[at]
                continue
            kind = type(value)
            if is_short_text(value):
                place = hash_text(<PyObject *> value) & 255
                if text[place] != NULL and same_text(text[place], <PyObject *> value):
                    code[r] = text_code[place]
                    continue
            if (kind is str or kind is int or kind is bytes) and plain(value):
                label = key = value
            elif may_abstain and (value is None or (isinstance(value, Mapping) and not value) or is_missing(value)):
                code[r] = -1
                continue
            else:
                soft = may_abstain and isinstance(value, Mapping)
                if soft:
                    label = most_likely(value if named is None else named(value, r), argument, r)
                else:
                    label = canonical(value, argument, r)
                key = typed_key(label)
            known_code = PyDict_GetItemWithError(index, key)
            if known_code == NULL:
                index[key] = code[r] = len(labels)
                labels.append(label)
            else:
                code[r] = <int32_t> <object> known_code
            if soft:  # whose label depends on the truth beside it
                continue
            Py_INCREF(value)
            old = cached[at]
            cached[at], cached_code[at] = <PyObject *> value, code[r]
            Py_XDECREF(old)
            if place >= 0:
                # the list of labels keeps it alive
                text[place], text_code[place] = <PyObject *> labels[code[r]], code[r]
    finally:
        for at in range(256):
            Py_XDECREF(cached[at])
    return codes, labels


cdef int raise_outside(Py_ssize_t r) except -1 nogil:
    with gil:
        raise LabelError(subject="the codes", position=r, expected="to stand for labels", but="they stand for none")


cdef int mark_codes(const whole_number *x, Py_ssize_t n, int64_t low, Py_ssize_t names, uint8_t *seen) except -1 nogil:
    cdef Py_ssize_t r
    cdef int64_t code
    for r in range(n):
        code = <int64_t> x[r] - low
        if code < -1 or code >= names:
            raise_outside(r)
        seen[code if code >= 0 else names] = 1
    return 0


def codes_that_occur(x, int64_t low, Py_ssize_t names):
    """Return whether a column has each code from 0 to `names` - 1, then whether it has -1; `low` stands for code 0."""
    cdef const void *code = cnp.PyArray_DATA(x)
    cdef Py_ssize_t n = len(x)
    occurs = np.zeros(names + 1, bool)
    cdef uint8_t[::1] seen = occurs.view(np.uint8)
    if x.itemsize == 1:
        mark_codes(<const int8_t *> code, n, low, names, &seen[0])
    elif x.itemsize == 2:
        mark_codes(<const int16_t *> code, n, low, names, &seen[0])
    elif x.itemsize == 4:
        mark_codes(<const int32_t *> code, n, low, names, &seen[0])
    else:
        mark_codes(<const int64_t *> code, n, low, names, &seen[0])
    return occurs


cdef struct Pair:  # the samples of a pair of codes that have a weight, and the sum of their weights
    int64_t samples, whole
    uint64_t part


cdef struct Rows:  # columns of a batch, NULL for those that it lacks, and sums over its rows
    Py_ssize_t n, true_labels, predicted_labels
    int64_t true_low, predicted_low
    const int64_t *whole
    const uint64_t *part
    const int64_t *samples
    int64_t *counts_t
    int64_t *counts_p
    int64_t abstained, other_weights


cdef Py_ssize_t MOST_PAIRS = 1 << 20  # 24 MB


cdef int count_rows(const whole_number *t, const whole_number *p, Rows *rows, Cells cells,
                    Pair *counted) except -1 nogil:
    """Count rows in the table `counted`, and only the sum of weights in `cells`; without a table, all in `cells`."""
    cdef Py_ssize_t r
    cdef int64_t i, j, w = 1, m = 1
    cdef uint64_t f = 0
    cdef Pair *pair
    for r in range(rows.n):
        i, j = <int64_t> t[r] - rows.true_low, <int64_t> p[r] - rows.predicted_low
        if i < 0 or i >= rows.true_labels or j >= rows.predicted_labels:
            raise_outside(r)
        if rows.samples != NULL:
            w = m = rows.samples[r]
        if j < 0:
            rows.abstained += m
            continue
        if rows.whole != NULL:
            w = rows.whole[r]
        if rows.part != NULL:
            f = rows.part[r]
        rows.other_weights += m * ((w != m) | (f != 0))
        if (w | <int64_t> f) == 0:
            continue
        if not weight_fits(cells, w):
            check_weight(cells, w)
        if counted == NULL:
            add_cell(cells, i, j, w, f)
            rows.counts_t[i] += m
            rows.counts_p[j] += m
            continue
        pair = counted + i * rows.predicted_labels + j
        pair.samples += m
        add_fixed(<uint64_t *> &pair.whole, &pair.part, w, f)
        add_fixed(<uint64_t *> &cells.mass, &cells.mass_part, w, f)
    return 0


def count_codes(t, p, Py_ssize_t true_labels, Py_ssize_t predicted_labels, wholes, parts, samples=None,
                int64_t true_low=0, int64_t predicted_low=0):
    """Count pairs of codes, with weights or None; each row is one sample, or as many as `samples` says.

    Both columns are arrays of one signed type, in which the lowest code is `low`. A weight is that of all samples of
    the row, by default their number. Returns cells as in `commit`, (appearances of true codes, of predicted codes),
    abstentions, and samples whose weight is not 1.
    """
    cdef const void *a = cnp.PyArray_DATA(t)
    cdef const void *b = cnp.PyArray_DATA(p)
    cdef Cells cells = Cells.__new__(Cells)
    cdef const int64_t[::1] whole = wholes, times = samples
    cdef const uint64_t[::1] part = parts
    cdef Py_ssize_t pairs = true_labels * predicted_labels, width = t.itemsize
    cdef Pair *counted = NULL
    cdef Rows rows
    counts_true = np.zeros(max(true_labels, 1), np.int64)
    counts_predicted = np.zeros(max(predicted_labels, 1), np.int64)
    cdef int64_t[::1] counts_t = counts_true, counts_p = counts_predicted
    reserve_classes(cells, max(true_labels, predicted_labels, 1), True)
    cells.used = max(true_labels, predicted_labels)
    if parts is not None:
        make_fractional(cells)
    memset(&rows, 0, sizeof(Rows))
    rows.n, rows.true_labels, rows.predicted_labels = len(t), true_labels, predicted_labels
    rows.true_low, rows.predicted_low = true_low, predicted_low
    rows.counts_t, rows.counts_p = &counts_t[0], &counts_p[0]
    if rows.n == 0:
        return export_cells(cells), (counts_true, counts_predicted), 0, 0
    rows.whole = NULL if wholes is None else &whole[0]
    rows.part = NULL if parts is None else &part[0]
    rows.samples = NULL if samples is None else &times[0]
    if pairs > MOST_PAIRS or pairs > max(rows.n, 256):
        expect_cells(cells, rows.n)
    else:
        counted = <Pair *> allocate(max(pairs, 1), sizeof(Pair))
    try:
        with nogil:
            if width == 1:
                count_rows(<const int8_t *> a, <const int8_t *> b, &rows, cells, counted)
            elif width == 2:
                count_rows(<const int16_t *> a, <const int16_t *> b, &rows, cells, counted)
            elif width == 4:
                count_rows(<const int32_t *> a, <const int32_t *> b, &rows, cells, counted)
            else:
                count_rows(<const int64_t *> a, <const int64_t *> b, &rows, cells, counted)
        if counted != NULL:
            add_pairs(cells, counted, &rows)
    finally:
        PyMem_RawFree(counted)
    return export_cells(cells), (counts_true, counts_predicted), rows.abstained, rows.other_weights


cdef int add_pairs(Cells cells, const Pair *counted, Rows *rows) except -1:
    """Add a table of pairs to empty cells and to the appearances."""
    cdef Py_ssize_t i, j
    cdef const Pair *pair
    cells.mass, cells.mass_part = 0, 0
    for i in range(rows.true_labels):
        for j in range(rows.predicted_labels):
            pair = counted + i * rows.predicted_labels + j
            if pair.samples != 0:
                add_cell(cells, i, j, pair.whole, pair.part)
                rows.counts_t[i] += pair.samples
                rows.counts_p[j] += pair.samples
    return 0
