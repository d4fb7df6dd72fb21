"""The cells of a table as bytes, one encoding for each table.

    stream   = mode  number*
    mode     = 1 byte: bit 0 set if every cell is written (more than half are occupied), bit 1 if there are fractions
    number   = seven bits a byte, lowest first, the high bit set on all but the last byte; always the shortest form

    all cells written:  whole part [fraction] of every cell, row by row
    else:               empty cells skipped, whole part [fraction] of every occupied cell, row by row

Counters are mostly small, so a cell takes one to three bytes. Bytes that `pack_cells` would not write are refused,
because equal states must have equal bytes.
"""


def pack_cells(const int64_t[::1] rows, const int64_t[::1] columns, const int64_t[::1] wholes, parts,
               Py_ssize_t classes):
    """Encode the occupied cells, given in row-major order."""
    cdef const uint64_t[::1] part = parts
    cdef Py_ssize_t n = rows.shape[0], r, size
    out, cells = vector(2 + 32 * n, cnp.NPY_UINT8), vector(n, cnp.NPY_UINT64)
    cdef uint8_t *byte = <uint8_t *> cnp.PyArray_DATA(out)
    cdef uint64_t *cell = <uint64_t *> cnp.PyArray_DATA(cells)
    for r in range(n):
        cell[r] = <uint64_t> rows[r] * <uint64_t> classes + <uint64_t> columns[r]
    size = write_cells(byte, cell, &wholes[0], NULL if parts is None else &part[0], n, 1, classes)
    return PyBytes_FromStringAndSize(<char *> byte, size)


cdef Py_ssize_t write_cells(uint8_t *out, const uint64_t *cell, const int64_t *whole, const uint64_t *part,
                            Py_ssize_t n, Py_ssize_t step, uint64_t classes) noexcept nogil:
    """Write n cells in order, whose numbers and weights are `step` apart: at most 1 + 22 * n bytes, 32 with fractions.

    `part` is NULL if there are no fractions; those are next to each other.
    """
    cdef uint64_t next_cell = 0, all_cells = classes * classes
    cdef bint every = <uint64_t> n * 2 > all_cells, fractional = part != NULL
    cdef Py_ssize_t r, size = 1
    out[0] = every | (fractional << 1)
    for r in range(n):
        if every:
            size += write_zeros(out + size, (cell[r * step] - next_cell) << fractional)
        else:
            size += write_varint(out + size, cell[r * step] - next_cell)
        size += write_varint(out + size, <uint64_t> whole[r * step])
        if fractional:
            size += write_varint(out + size, part[r])
        next_cell = cell[r * step] + 1
    return size + (write_zeros(out + size, (all_cells - next_cell) << fractional) if every else 0)


cdef inline Py_ssize_t write_zeros(uint8_t *out, Py_ssize_t n) noexcept nogil:
    memset(out, 0, n)
    return n


cdef inline Py_ssize_t count_numbers(const uint8_t *data, Py_ssize_t size) noexcept nogil:
    """Count the numbers of a stream by their last bytes."""
    cdef Py_ssize_t at, n = 0
    for at in range(1, size):
        n += data[at] < 128
    return n


cdef int read_cells(Cells table, bytes stream, Py_ssize_t classes) except -1:
    """Count the cells of a stream in an empty table; raise DecodeError if the stream is invalid."""
    cdef const uint8_t *data = <const uint8_t *> <const char *> stream
    cdef Py_ssize_t size = len(stream), at = 1
    cdef uint64_t cells = <uint64_t> classes * <uint64_t> classes
    cdef uint64_t n = 0, cell = 0, skip = 0, whole = 0, part = 0, any_part = 0
    if size == 0 or data[0] > 3:
        raise DecodeError("Expected the cells to start with a mode from 0 to 3")
    cdef bint every = data[0] & 1, fractional = (data[0] & 2) != 0
    if fractional:
        make_fractional(table)
    expect_cells(table, count_numbers(data, size) // (1 + (not every) + fractional), True)
    while at < size:
        if not every:
            read_varint(data, size, &at, &skip)
        if skip >= cells or cell >= cells - skip:
            raise DecodeError(f"Expected cells of {classes} classes, but got one outside")
        cell += skip
        read_varint(data, size, &at, &whole)
        if fractional:
            read_varint(data, size, &at, &part)
            any_part |= part
        if whole > <uint64_t> INT64_MAX:
            raise DecodeError("Expected every counter to be below 2**63, but got a larger one")
        if whole | part:
            n += 1
            check_weight(table, whole)
            add_cell(table, cell // classes, cell % classes, whole, part)
        elif not every:
            raise DecodeError("Expected every cell that is written to be occupied, but got an empty one")
        cell += 1
    if every != (n * 2 > cells) or (every and cell != cells) or (fractional and any_part == 0):
        raise DecodeError("Expected the mode of the cells to follow from their number, but it does not")
    return 0
