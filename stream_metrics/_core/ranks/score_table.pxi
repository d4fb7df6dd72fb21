"""A table of scores, counted column by column without the interpreter's lock.

A batch is counted in an empty state, which is then merged; a few rows of a group, in the state of the group. The empty
state starts at the levels and with the thresholds of the samples that its target has: so a batch is not counted more
finely than its target, and the cost of merging is bounded by the number of cells of the batch. If the target has no
thresholds yet, they are estimated so that slightly more codes pass than a sample has: most codes are then skipped at
once. If too few pass, as with many equal scores, the batch is counted again without estimates.
"""

cdef enum:
    LINE = 256  # scores of a column that are encoded at once; the rows of a few columns fit the first-level cache

cdef double NEAR_MOST = 9e18  # sums of weights below it cannot overflow


cdef struct TruthSum:
    Py_ssize_t class_index  # -1 while no row with a weight has the label
    uint64_t rows, whole
    fraction_t part

cdef TruthSum NO_ROWS
NO_ROWS.class_index, NO_ROWS.rows, NO_ROWS.whole, NO_ROWS.part = -1, 0, 0, 0

cdef struct ScoreColumn:
    Py_ssize_t class_index  # -1 if no row with a weight has a score
    int64_t scores
    ScoreHistogram *histogram
    CodeRows rows


cdef inline void encode_column(const double[:, :] x, Py_ssize_t k, Py_ssize_t start, Py_ssize_t n,
                               uint64_t *code) noexcept nogil:
    cdef double line[LINE]
    cdef Py_ssize_t r
    if x.strides[0] == sizeof(double):
        encode_all(&x[start, k], code, n)
        return
    for r in range(n):
        line[r] = x[start + r, k]
    encode_all(line, code, n)


cdef inline uint64_t estimate_threshold(Py_ssize_t n, Py_ssize_t size) noexcept nogil:
    """Return a threshold that at least `size` of n distinct codes pass, by five standard deviations."""
    cdef double want = size + 5.0 * sqrt(<double> size) + 16.0
    return MIXED if want >= <double> n else <uint64_t> (want / <double> n * 18446744073709551616.0)


cdef class ScoreTable:
    """Finite scores: true labels as codes, a column of scores for each of `labels`, weights or None.

    The label None stands for `pos_label`, implied. `rounded` says which weights were rounded. A row is one sample, or
    as many as `samples` says, whose weight is then that number.
    """

    cdef const code_t[::1] truth
    cdef const double[:, :] x
    cdef const int64_t[::1] wholes
    cdef const fraction_t[::1] parts
    cdef const uint8_t[::1] rounded
    cdef bint repeated
    cdef list truths, labels
    cdef TruthSum *sums  # of the rows that are counted, by code
    cdef int64_t epoch   # of the state whose levels `counted` took
    cdef bint estimates  # whether the thresholds of all samples are estimated

    def __cinit__(self, truth, list truths, list labels, x, wholes, parts, rounded, samples=None):
        cdef Py_ssize_t code
        self.truth, self.truths, self.labels, self.x = truth, truths, labels, x
        self.repeated = samples is not None
        self.wholes, self.parts, self.rounded = (samples, None, None) if self.repeated else (wholes, parts, rounded)
        self.sums = <TruthSum *> allocate(max(len(truths), 1), sizeof(TruthSum))
        for code in range(len(truths)):
            self.sums[code] = NO_ROWS

    def __dealloc__(self):
        PyMem_RawFree(self.sums)

    cdef RankCounters counted(self, RankCounters target, bint inside, bint estimates=True):
        """Count all rows in an empty state at the levels of a target, whose section is open if `inside`."""
        cdef RankCounters twin = RankCounters(target.buckets, target.sample, target.pos_label, target.pairs)
        cdef ScoreHistogram *c
        cdef Py_ssize_t j, g
        twin.paired, twin._needs_pairs = target.paired, target._needs_pairs
        self.estimates = estimates and target._exact
        self.count_in(twin, 0, self.truth.shape[0], target, inside)
        for j in range(twin.used):
            c = twin.classes[j].histogram
            if c != NULL and c.level == 0:
                histogram_drop_samples(c)
            for g in range(0 if c == NULL or c.level == 0 or not self.estimates else c.groups):
                if c.sample[g].used < c.size and c.sample[g].threshold != MIXED:
                    return self.counted(target, inside, False)
        return twin

    def count(self, RankCounters into not None, Py_ssize_t start, Py_ssize_t end):
        """Count the rows from `start` on and before `end`; after an error the state must be discarded."""
        into.enter()
        try:
            self.count_in(into, start, end - start, None, True)
        finally:
            into.leave()

    cdef int count_in(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, RankCounters target,
                      bint inside) except -1:
        """Count n rows in a state, which is at the levels of a target if there is one."""
        cdef Py_ssize_t size = len(self.labels), k, block = min(max(4 * LINE, min(16384, (1 << 17) // max(size, 1))), n)
        cdef ScoreColumn *columns
        cdef ScoreColumn *column
        cdef uint64_t *code
        cdef CodeRows rows
        cdef int64_t samples
        if n <= 0:
            return 0
        columns = <ScoreColumn *> allocate(1, size * (sizeof(ScoreColumn) + block * sizeof(uint64_t))
                                           + n * sizeof(code_t))
        try:
            code = <uint64_t *> (columns + size)
            rows.group, rows.own, rows.whole, rows.part = <code_t *> (code + size * block), -1, NULL, NULL
            if self.wholes is not None:
                rows.whole = &self.wholes[start]
            if self.parts is not None:
                rows.part = &self.parts[start]
            samples = self.place_truths(into, start, n, &rows, <code_t *> rows.group)
            for k in range(size):
                columns[k].class_index = self.place_column(into, start, n, k, &rows)
            for k in range(size):  # now every class has its index, so a column has all its groups
                column = columns + k
                if column.class_index < 0:
                    continue
                column.rows, column.histogram = rows, own_histogram(into, column.class_index)
                column.rows.own = -1 if into.paired else column.class_index
                if histogram_reserve(column.histogram, group_count(into), min(n, 8), self.parts is not None) < 0:
                    raise MemoryError("no memory for a column of scores")
            if target is not None:
                self.take_levels(into, target, inside)
            self.count_columns(columns, code, start, n, block)
            self.add_rows(into, columns, start, n, samples)
        finally:
            for k in range(min(n, len(self.truths))):
                self.sums[self.code_at(start, n, k)] = NO_ROWS
            PyMem_RawFree(columns)
        return 0

    cdef Py_ssize_t code_at(self, Py_ssize_t start, Py_ssize_t n, Py_ssize_t at) noexcept:
        """Return one of at most n codes, among which are those of n rows."""
        return at if len(self.truths) <= n else self.truth[start + at]

    cdef int64_t place_truths(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, const CodeRows *rows,
                              code_t *group) except -1:
        """Set the class of each row that has a weight, and sum up by true label; return the number of samples."""
        cdef Py_ssize_t r
        cdef TruthSum *truth
        cdef uint64_t whole = 0
        cdef fraction_t part, parts = 0
        cdef double near = 0.0
        with nogil:
            for r in range(n):
                truth = self.sums + self.truth[start + r]
                if weightless(rows, r):
                    group[r] = -1
                    continue
                if truth.class_index < 0:
                    with gil:
                        label = self.truths[self.truth[start + r]]
                        if into._binary_only:
                            into._check_new(label, "y_true")
                        truth.class_index = intern_class(into, label)
                group[r] = <code_t> truth.class_index
                truth.rows += 1
                if rows.whole != NULL:
                    near += <double> rows.whole[r]
                    part = 0 if rows.part == NULL else rows.part[r]
                    add_fixed(&truth.whole, &truth.part, <uint64_t> rows.whole[r], part)
                    add_fixed(&whole, &parts, <uint64_t> rows.whole[r], part)
        if near > NEAR_MOST:
            check_units(into, sum(np.asarray(self.wholes[start:start + n]).tolist()) << 64)
        check_mass(into, n if rows.whole == NULL else <int64_t> whole, parts)
        if self.repeated:
            n = whole
        if n > into.spare:
            find_spare(into, n)
        return n

    cdef Py_ssize_t place_column(self, RankCounters into, Py_ssize_t start, Py_ssize_t n, Py_ssize_t k,
                                 const CodeRows *rows) except -2:
        """Return the index of the class of a column, -1 if no row with a weight has a score."""
        cdef Py_ssize_t r = 0
        while r < n and (self.x[start + r, k] == 0.0 or weightless(rows, r)):
            r += 1
        if r == n:
            return -1
        label = self.labels[k]
        if label is None:
            return intern_class(into, into.pos_label)
        if into._binary_only:
            into._check_new(label, "scores")
        return intern_class(into, label)

    cdef int take_levels(self, RankCounters twin, RankCounters target, bint inside) except -1:
        """Start the columns of an empty state at the levels, and with the thresholds of samples, of a target."""
        cdef Py_ssize_t j, i, g, n = self.truth.shape[0]
        cdef int64_t[::1] rows = np.zeros(twin.used, np.int64)  # of each class
        cdef ScoreHistogram *c
        cdef ScoreHistogram *o
        for j in range(len(self.truths)):
            if self.sums[j].rows:
                rows[self.sums[j].class_index] += self.sums[j].rows
        if not inside:
            target.enter_reading()
        try:
            self.epoch = target.epoch
            for j in range(twin.used):
                i = find_class(target, twin.label_index.names[j])
                c, o = twin.classes[j].histogram, NULL if i < 0 else target.classes[i].histogram
                if c == NULL:
                    continue
                if (histogram_sampling(c) < 0
                        or histogram_reserve(c, 0, min(n, 64 if o == NULL else o.used), self.parts is not None) < 0):
                    raise MemoryError("no memory for a batch of scores")
                c.level = 0 if o == NULL else o.level
                for g in range(c.groups):
                    if self.estimates:
                        i = g if twin.paired else j
                        c.sample[g].threshold = estimate_threshold(rows[i] if twin.paired or g else n, c.size)
                    elif c.level and twin.paired == target.paired:
                        i = find_class(target, twin.label_index.names[g]) if twin.paired else g
                        if 0 <= i < o.groups:
                            c.sample[g].threshold = o.sample[i].threshold
        finally:
            if not inside:
                target.leave()
        return 0

    cdef int count_columns(self, ScoreColumn *columns, uint64_t *code, Py_ssize_t start, Py_ssize_t n,
                           Py_ssize_t block) except -1:
        """Count the scores, some rows of all columns at a time."""
        cdef Py_ssize_t at = 0, k, r, some, size = len(self.labels)
        cdef int64_t counted = 0
        cdef ScoreColumn *column
        with nogil:
            while at < n and counted >= 0:
                some = min(block, n - at)
                r = 0
                while r < some:
                    for k in range(size):
                        if columns[k].histogram != NULL:
                            encode_column(self.x, k, start + at + r, min(LINE, some - r), code + k * block + r)
                    r += LINE
                for k in range(size):
                    column = columns + k
                    if column.histogram == NULL:
                        continue
                    counted = count_rows(column.histogram, code + k * block, &column.rows, some)
                    if counted < 0:
                        break
                    column.scores += counted
                    column.rows.group += some
                    if column.rows.whole != NULL:
                        column.rows.whole += some
                    if column.rows.part != NULL:
                        column.rows.part += some
                at += some
        if counted < 0:
            raise MemoryError("no memory for a column of scores")
        return 0

    cdef int add_rows(self, RankCounters into, ScoreColumn *columns, Py_ssize_t start, Py_ssize_t n,
                      int64_t samples) except -1:
        """Add the weights of the rows to their true classes, and count samples and appearances."""
        cdef Py_ssize_t at, code, k
        cdef int64_t rounded = 0
        cdef int kind
        cdef TruthSum *truth
        cdef Class *c
        single = len(self.labels) > 0 and self.labels[0] is None
        for k in range(len(self.labels) if not single else 0):
            kind = numeric_kind(self.labels[k])
            if columns[k].class_index >= 0 and kind < 3:
                if self.repeated:
                    columns[k].scores = np.dot(self.wholes, np.asarray(self.x)[:, k] != 0)
                into.classes[columns[k].class_index].type_counts[kind] += columns[k].scores
        for at in range(min(n, len(self.truths))):
            code = self.code_at(start, n, at)
            truth = self.sums + code
            if truth.rows:
                c, kind = into.classes + truth.class_index, numeric_kind(self.truths[code])
                if self.wholes is None:
                    truth.whole = truth.rows
                if kind < 3:
                    c.type_counts[kind] += truth.whole if self.repeated else truth.rows
                c.single |= single
                weigh_class(into, truth.class_index, <int64_t> truth.whole, truth.part)
                truth.rows = 0
        if self.rounded is not None:
            for at in range(start, start + n):
                rounded += self.rounded[at]
        into.n += samples
        into.rounded += rounded
        into.spare -= samples
        return 0
