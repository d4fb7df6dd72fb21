"""Texts of Arrow columns as codes, by their bytes, where there are few different ones and all are short."""

cdef enum:
    MOST_DIFFERENT = 256
    TEXT_SLOTS = 4096  # a power of two; so many that different texts seldom meet in one
    VIEW_INLINE = 12  # bytes of a text that lie in its view

ctypedef int16_t text_code_t  # below 256, or -1
ctypedef int32_t offset_t  # of Arrow, and the parts of a view

cdef struct KnownText:
    uint64_t hash
    const uint8_t *data
    int64_t size
    int64_t first  # the row where it is first

cdef struct NumberedTexts:
    short_index_t[TEXT_SLOTS] slots  # the number of a text, from 1 on, or 0
    KnownText[MOST_DIFFERENT + 1] known  # by their numbers
    Py_ssize_t count

cdef struct TextChunk:
    Py_ssize_t n
    Py_ssize_t offset
    const uint8_t *valid  # NULL if no row is null
    const uint8_t *places  # where each text lies: offsets or views
    const uintptr_t *data


cdef inline int64_t locate_text(const TextChunk *chunk, Py_ssize_t row, int width, const uint8_t **data) noexcept nogil:
    """Find the bytes of a text; return its size."""
    cdef offset_t[4] view
    cdef const int64_t *wide
    cdef const offset_t *narrow
    if width == 4:
        narrow = <const offset_t *> chunk.places + row
        data[0] = <const uint8_t *> chunk.data[0] + narrow[0]
        return narrow[1] - narrow[0]
    if width == 8:
        wide = <const int64_t *> chunk.places + row
        data[0] = <const uint8_t *> chunk.data[0] + wide[0]
        return wide[1] - wide[0]
    memcpy(view, chunk.places + row * 16, 16)
    data[0] = chunk.places + row * 16 + 4
    if view[0] > VIEW_INLINE:
        data[0] = <const uint8_t *> chunk.data[view[2]] + view[3]
    return view[0]


cdef bint number_chunk(NumberedTexts *texts, const TextChunk *chunk, int width, Py_ssize_t start,
                       text_code_t *codes) noexcept nogil:
    """Write the codes of a chunk that starts at a row of its column; False if a text is long or there are too many."""
    cdef Py_ssize_t r, row, at, number
    cdef int64_t size
    cdef uint64_t hash
    cdef const uint8_t *data = NULL
    cdef KnownText *known
    for r in range(chunk.n):
        row = chunk.offset + r
        if chunk.valid != NULL and not chunk.valid[row >> 3] >> (row & 7) & 1:
            codes[r] = -1
            continue
        size = locate_text(chunk, row, width, &data)
        if size > SHORT:
            return False
        hash = hash_bytes(data, size)
        at = hash & (TEXT_SLOTS - 1)
        number = texts.slots[at]
        while number != 0:
            known = &texts.known[number]
            if known.hash == hash and known.size == size and same_bytes(known.data, data, size):
                break
            at = (at + 1) & (TEXT_SLOTS - 1)
            number = texts.slots[at]
        else:
            if texts.count == MOST_DIFFERENT:
                return False
            texts.count += 1
            number = texts.count
            texts.slots[at] = <short_index_t> number
            known = &texts.known[number]
            known.hash, known.data, known.size, known.first = hash, data, size, start + r
        codes[r] = <text_code_t> (number - 1)
    return True


def encode_texts(list chunks, int width):
    """Return codes for the rows of a column of text, -1 for null, and the row where each text is first.

    None if a text is longer than 64 bytes or if more than 256 are different. A chunk is its number of rows, its first
    row, and the addresses of its validity bits (0 if no row is null), of its offsets or views, which have `width`
    bytes each, and of its buffers of data. The caller keeps the buffers.
    """
    cdef NumberedTexts texts
    cdef TextChunk chunk
    cdef Py_ssize_t start = 0
    cdef const uintptr_t[::1] data
    cdef text_code_t[::1] codes = np.empty(sum([one[0] for one in chunks]) + 1, np.int16)  # one more: never empty
    cdef text_code_t *out = &codes[0]
    cdef bint whole
    memset(&texts.slots, 0, sizeof(texts.slots))
    texts.count = 0
    for n, offset, valid, places, addresses in chunks:
        data = np.array([*addresses, 0], np.uintp)
        chunk.n, chunk.offset, chunk.data = n, offset, &data[0]
        chunk.valid, chunk.places = <const uint8_t *> <uintptr_t> valid, <const uint8_t *> <uintptr_t> places
        with nogil:
            whole = number_chunk(&texts, &chunk, width, start, out + start)
        if not whole:
            return None
        start += chunk.n
    return np.asarray(codes)[:start], [texts.known[number].first for number in range(1, texts.count + 1)]
