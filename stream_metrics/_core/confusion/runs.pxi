"""Counts of many groups as bytes, written from runs of counted pairs of labels without a state for each.

    content = [fixed labels, [other], n, abstained, [label*], [appearances*], cells]

That is what `ConfusionMatrix` writes of samples of weight 1, in msgpack: every length and number in its shortest form,
the classes in the order of report. Labels and appearances are those of labels that are not fixed.
"""

cdef enum:
    FORMS = 4  # of a label: as bool, int, float, or of another type

cdef struct RunCell:
    uint64_t cell
    int64_t samples


cdef int by_first(const void *a, const void *b) noexcept nogil:
    """Compare the numbers that two objects start with: of a cell, or the rank of a label."""
    cdef uint64_t x = (<const uint64_t *> a)[0], y = (<const uint64_t *> b)[0]
    return (x > y) - (x < y)


cdef inline Py_ssize_t write_sized(uint8_t *out, uint8_t first, int power, uint64_t x) noexcept nogil:
    """Write a number of MessagePack in 1, 2, 4 or 8 bytes, at least 2**power; `first` is the mark of one byte."""
    cdef int at, size
    while power < 3 and x >> (8 << power):
        power += 1
    size = 1 << power
    out[0] = <uint8_t> (first + power)
    for at in range(size):
        out[1 + at] = <uint8_t> (x >> (8 * (size - 1 - at)))
    return 1 + size


cdef inline Py_ssize_t write_number(uint8_t *out, uint64_t x) noexcept nogil:
    if x >= 128:
        return write_sized(out, 0xCC, 0, x)
    out[0] = <uint8_t> x
    return 1


cdef inline Py_ssize_t write_array_head(uint8_t *out, uint64_t length) noexcept nogil:
    if length >= 16:
        return write_sized(out, 0xDB, 1, length)
    out[0] = 0x90 | <uint8_t> length
    return 1


cdef inline int ensure(bytearray buffer, Py_ssize_t size) except -1:
    """Make a buffer as large as `size`, or larger, so that it seldom grows."""
    if PyByteArray_GET_SIZE(buffer) < size:
        PyByteArray_Resize(buffer, 2 * size)
    return 0


def pack_runs(const int64_t[::1] truth, const int64_t[::1] predicted, const int64_t[::1] samples,
              const int64_t[::1] starts, list forms, Py_ssize_t fixed):
    """Return for each run of rows the content of a state that has counted it, from `n` on.

    A run ends where the next one starts. A row is a pair of labels that `samples` samples have. A label is given as
    FORMS * rank + form, by its rank among all labels in the order of report, the `fixed` ones first, and the form in
    which it appears; -1 is none. `forms` has each as bytes.
    """
    cdef Py_ssize_t labels = len(forms) // FORMS, run, row, at, new, n, size, longest = 0
    cdef int64_t abstained, total, code, rank
    cdef int form
    for run in range(starts.shape[0] - 1):
        longest = max(longest, starts[run + 1] - starts[run])
    cdef int64_t[::1] place = np.where(np.arange(labels) < fixed, np.arange(labels), -1)  # of a label in the run
    cdef int64_t[::1] ranks = np.empty(2 * longest + 1, np.int64)  # of the labels of the run that are not fixed
    cdef int64_t[:, ::1] seen = np.zeros((labels + 1, FORMS), np.int64)
    cdef const uint8_t[::1] numeric = np.array([any(forms[FORMS * at:FORMS * at + 3]) for at in range(labels)] + [0],
                                               np.uint8)
    cell_buffer, stream_buffer, buffer = bytearray(sizeof(RunCell) * (longest + 1)), bytearray(), bytearray()
    ensure(stream_buffer, 1 + 22 * longest)
    cdef RunCell *cells = <RunCell *> PyByteArray_AS_STRING(cell_buffer)
    cdef uint8_t *stream = <uint8_t *> PyByteArray_AS_STRING(stream_buffer)
    cdef uint8_t *out
    cdef list contents = []
    for run in range(starts.shape[0] - 1):
        new, n, total, abstained, size = 0, 0, 0, 0, 64
        for row in range(starts[run], starts[run + 1]):
            if predicted[row] < 0:
                abstained += samples[row]
            elif samples[row] > 0:
                total += samples[row]
                for code in (truth[row], predicted[row]):
                    rank = code // FORMS
                    if rank < fixed:
                        continue
                    seen[rank, code % FORMS] += samples[row]
                    if place[rank] < 0:
                        place[rank], ranks[new] = fixed, rank
                        new += 1
        qsort(&ranks[0], new, sizeof(int64_t), by_first)
        for at in range(new):
            place[ranks[at]] = fixed + at
            size += 27
            for form in range(FORMS):
                size += PyBytes_GET_SIZE(forms[FORMS * ranks[at] + form])
        for row in range(starts[run], starts[run + 1]):
            if predicted[row] >= 0 and samples[row] > 0:
                cells[n].cell = (<uint64_t> place[truth[row] // FORMS] * <uint64_t> (fixed + new)
                                 + <uint64_t> place[predicted[row] // FORMS])
                cells[n].samples = samples[row]
                n += 1
        n = write_cells(stream, &cells.cell, &cells.samples, NULL, merged_cells(cells, n), 2, fixed + new)
        ensure(buffer, size + n)
        out = <uint8_t *> PyByteArray_AS_STRING(buffer)
        size = write_number(out, total)
        size += write_number(out + size, abstained)
        size += write_labels(out + size, forms, &ranks[0], new, &seen[0, 0], numeric)
        size += write_sized(out + size, 0xC4, 0, n)
        memcpy(out + size, stream, n)
        contents.append(PyBytes_FromStringAndSize(<char *> out, size + n))
        for at in range(new):
            place[ranks[at]] = -1
            for form in range(FORMS):
                seen[ranks[at], form] = 0
    return contents


cdef Py_ssize_t merged_cells(RunCell *cells, Py_ssize_t n) noexcept nogil:
    """Sort cells, add up those that are equal, and return how many are left."""
    cdef Py_ssize_t at, last = 0
    qsort(cells, n, sizeof(RunCell), by_first)
    for at in range(1, n):
        if cells[at].cell == cells[last].cell:
            cells[last].samples += cells[at].samples
        else:
            last += 1
            cells[last] = cells[at]
    return min(n, last + 1)


cdef Py_ssize_t write_labels(uint8_t *out, list forms, const int64_t *ranks, Py_ssize_t n, const int64_t *seen,
                             const uint8_t[::1] numeric) except -1:
    """Write labels and the appearances of numbers; a number is written in the narrowest form that was seen."""
    cdef Py_ssize_t at, form, numbers = 0, size = write_array_head(out, n)
    cdef bytes label
    for at in range(n):
        form = 0
        while seen[FORMS * ranks[at] + form] == 0:
            form += 1
        label = forms[FORMS * ranks[at] + form]
        memcpy(out + size, PyBytes_AS_STRING(label), PyBytes_GET_SIZE(label))
        size += PyBytes_GET_SIZE(label)
        numbers += numeric[ranks[at]]
    size += write_array_head(out + size, 3 * numbers)
    for at in range(n):
        for form in range(3 if numeric[ranks[at]] else 0):
            size += write_number(out + size, seen[FORMS * ranks[at] + form])
    return size
