"""What changes a confusion matrix: a sample, a batch of cells, another state."""


@cython.final
cdef class LabelStep(Step):
    """One sample to be counted or reverted."""

    cdef object y_true, y_pred, w
    cdef bint reverts
    cdef LabelSample sample

    cdef int prepare(self) except -1:
        return (<ConfusionCounters> self.target).read_sample(self.y_true, self.y_pred, self.w, self.reverts,
                                                             &self.sample)

    cdef void apply(self) noexcept:
        (<ConfusionCounters> self.target).apply_sample(&self.sample)


cdef LabelStep sample_step(ConfusionCounters counts, object y_true, object y_pred, object w, bint reverts):
    cdef LabelStep step = LabelStep.__new__(LabelStep)
    step.target, step.y_true, step.y_pred, step.w, step.reverts = counts, y_true, y_pred, w, reverts
    return step


@cython.final
cdef class PairsStep(Step):
    """Pairs of labels of one weight, to be counted together; see `ConfusionCounters._pairs_step`."""

    cdef list truth, predicted
    cdef object w
    cdef bytearray memory  # a LabelSample for each pair

    cdef int prepare(self) except -1:
        cdef ConfusionCounters counts = self.target
        cdef Py_ssize_t a, n = len(self.truth)
        cdef LabelSample *s = <LabelSample *> PyByteArray_AS_STRING(self.memory)
        if counts.spare < n:
            find_spare(counts, n)
        for a in range(n):
            counts.read_sample(self.truth[a], self.predicted[a], self.w, False, s + a)
        if n == 0 or (s.whole | <int64_t> s.part) == 0:
            return 0
        if s.whole + (s.part != 0) >= (0x7FFFFFFFFFFFFFFF - counts.mass) // n:
            raise sum_overflow(n * <object> s.whole, counts.mass, "2**63 - 1", None)
        if counts.table.key != NULL and not map_has_room(&counts.table, n, quarters_for(counts.used)):
            if map_reserve(&counts.table, n, quarters_for(counts.used)) < 0:
                raise MemoryError(f"no memory for {n} more cells")
        for a in range(n):  # labels that are new, or a hash that grows, move the cells of the pairs before
            if counts.table.key == NULL:
                s[a].at = s[a].i * counts.width + s[a].j
            else:
                s[a].at = map_put(&counts.table, cell_key(s[a].i, s[a].j))
        return 0

    cdef void apply(self) noexcept:
        cdef Py_ssize_t a
        cdef LabelSample *s = <LabelSample *> PyByteArray_AS_STRING(self.memory)
        for a in range(len(self.truth)):
            (<ConfusionCounters> self.target).apply_sample(s + a)


@cython.final
cdef class CellsStep(Step):
    """Cells of a batch; see `ConfusionCounters._cells_step`."""

    cdef list truth, predicted
    cdef const int64_t[:] row, column, whole, count_row, count_column
    cdef const uint64_t[:] part
    cdef const int64_t[::1] to_row, to_column, kind_row, kind_column, place
    cdef int64_t n, abstained, weighted

    cdef int prepare(self) except -1:
        cdef ConfusionCounters counts = self.target
        self.check_sums(counts)
        self.to_row = place_labels(counts, self.truth, self.row)
        self.to_column = place_labels(counts, self.predicted, self.column)
        self.kind_row, self.kind_column = numeric_kinds(self.truth), numeric_kinds(self.predicted)
        if self.part is not None:
            make_fractional(counts)
        expect_cells(counts, self.row.shape[0])
        self.place = place_cells(counts, self.to_row, self.to_column, self.row, self.column)
        return 0

    cdef int check_sums(self, ConfusionCounters counts) except -1:
        """Raise WeightError if a sum would overflow."""
        cdef Py_ssize_t r
        cdef int64_t left = 0x7FFFFFFFFFFFFFFF - counts.mass, times = 0, predicted = 0
        for r in range(self.row.shape[0]):
            left = max(left - self.whole[r], 0)
            left = max(left - (self.part is not None), 0)
        if left == 0:
            total = sum(np.asarray(self.whole).tolist()) + (0 if self.part is None else self.row.shape[0])
            raise sum_overflow(total, counts.mass, "2**63 - 1", None)
        if self.n + self.abstained >= counts.spare:
            for r in range(self.count_row.shape[0]):
                times = max(times, self.count_row[r])
            for r in range(self.count_column.shape[0]):
                predicted = max(predicted, self.count_column[r])
            check_more(counts, self.n, self.abstained, times + predicted)
        return 0

    cdef void apply(self) noexcept:
        cdef ConfusionCounters counts = self.target
        cdef Py_ssize_t r
        for r in range(self.row.shape[0]):
            add_at(counts, self.place[r], self.to_row[self.row[r]], self.to_column[self.column[r]], self.whole[r],
                   0 if self.part is None else self.part[r])
        add_types(counts, self.to_row, self.kind_row, self.count_row)
        add_types(counts, self.to_column, self.kind_column, self.count_column)
        counts.n += self.n
        counts.abstained += self.abstained
        counts.weighted += self.weighted
        counts.spare = max(counts.spare - self.n - self.abstained, 0)


cdef void add_types(ConfusionCounters counts, const int64_t[::1] at, const int64_t[::1] kinds,
                    const int64_t[:] times) noexcept:
    """Count the appearances of labels that have an index."""
    cdef Py_ssize_t a
    for a in range(at.shape[0]):
        if at[a] >= 0:
            counts.totals[at[a]].type_counts[kinds[a]] += times[a]


@cython.final
cdef class MergeStep(Step):
    """The counts of another state: a square of whole weights row by row, other cells one by one."""

    cdef dict renamed                  # other names of its labels, or None
    cdef ConfusionCounters other
    cdef const int64_t[::1] to         # the index here of each class there, or -1
    cdef bint by_rows, same_order
    cdef const int64_t[::1] row, column, whole, place
    cdef const uint64_t[::1] part

    cdef int prepare(self) except -1:
        cdef ConfusionCounters counts = self.target, o = self.source
        cdef Py_ssize_t a
        o = self.other = duplicate(o) if o is counts else o
        if o.mass != 0 or o.mass_part != 0:
            check_weight(counts, o.mass)
        check_more(counts, o.n, o.abstained, largest_type_count(o))
        if o.fractions != NULL:
            make_fractional(counts)
        self.to = map_indices(counts, o, self.renamed or {})
        expect_cells(counts, o.live)
        self.by_rows = not (counts.table.key != NULL or o.table.key != NULL or counts.fractions != NULL
                            or self.renamed)
        if not self.by_rows:
            self.row, self.column, self.whole, self.part = cells = export_cells(o, NULL, 0, True)
            self.place = place_cells(counts, self.to, self.to, cells[0], cells[1])
            return 0
        self.same_order = True
        for a in range(self.to.shape[0]):
            self.same_order = self.same_order and self.to[a] == a
        return 0

    cdef void apply(self) noexcept:
        cdef ConfusionCounters counts = self.target, o = self.other
        cdef Py_ssize_t r, a, kind, n = self.to.shape[0]
        if not self.by_rows:
            for r in range(self.row.shape[0]):
                add_at(counts, self.place[r], self.to[self.row[r]], self.to[self.column[r]], self.whole[r],
                       0 if self.part is None else self.part[r])
        else:
            for a in range(n):
                if self.same_order:
                    counts.live += add_row(counts.table.value + a * counts.width, o.table.value + a * o.width, n)
                elif self.to[a] >= 0:
                    counts.live += add_scattered(counts.table.value + self.to[a] * counts.width,
                                                 o.table.value + a * o.width, &self.to[0], n)
            add_totals(counts, o, self.to)
        for a in range(n):
            if self.to[a] >= 0:
                for kind in range(3):
                    counts.totals[self.to[a]].type_counts[kind] += o.totals[a].type_counts[kind]
        counts.n += o.n
        counts.abstained += o.abstained
        counts.weighted += o.weighted
        counts.spare = 0


cdef MergeStep merge_step(ConfusionCounters counts, ConfusionCounters other, dict renamed):
    cdef MergeStep step = MergeStep.__new__(MergeStep)
    step.target, step.source, step.renamed = counts, other, renamed
    return step


@cython.final
cdef class FoldsStep(Step):
    """Other folds of units for a metric or a set, which the caller has locked, and perhaps other states of scores."""

    cdef UpdateBase owner
    cdef dict folds
    cdef object scored, prototype
    cdef bint with_scored

    def __init__(self, UpdateBase owner not None, dict folds not None, scored=MISSING):
        self.owner, self.folds, self.with_scored = owner, folds, scored is not MISSING
        self.scored = scored

    cdef void apply(self) noexcept:
        cdef SetUpdateBase owner
        self.owner._unit_folds, self.folds = self.folds, self.owner._unit_folds
        if self.with_scored:
            owner = <SetUpdateBase> self.owner
            owner.scored, self.scored = self.scored, owner.scored
            owner._prototype, self.prototype = None, owner._prototype
