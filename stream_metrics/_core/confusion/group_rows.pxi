"""Counts of labels by group, read from the bytes of groups without a state for each, and added up.

    groups = [[key, [appearances*], content]*], [content of folded groups]

A content is what `runs.pxi` describes. Bytes with anything else, such as weights or a number in two types, are refused
by returning False; states must read those.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t, uint8_t
from libc.string cimport memcmp

cdef enum:
    LABEL_BITS = 22
    KEY_BITS = 20

cdef uint64_t MOST_GROUP_SAMPLES = <uint64_t> 1 << 62
cdef uint64_t NO_LABEL = (<uint64_t> 1 << LABEL_BITS) - 1  # the prediction of an abstention


cdef inline uint64_t read_big_endian(const uint8_t *data, int size) noexcept nogil:
    cdef uint64_t x = 0
    cdef int at
    for at in range(size):
        x = x << 8 | data[at]
    return x


cdef bint read_whole(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint64_t *x) noexcept nogil:
    """Read a whole number that is not negative; return False if there is none."""
    cdef int length
    if at[0] >= size:
        return False
    x[0] = data[at[0]]
    at[0] += 1
    if x[0] < 128:
        return True
    if x[0] < 0xCC or x[0] > 0xCF:
        return False
    length = 1 << (x[0] - 0xCC)
    if size - at[0] < length:
        return False
    x[0] = read_big_endian(data + at[0], length)
    at[0] += length
    return True


cdef Py_ssize_t read_length(const uint8_t *data, Py_ssize_t size, Py_ssize_t *at, uint8_t short_head, uint8_t mask,
                            uint8_t long_head) noexcept nogil:
    """Read the head of an array or of bytes; return its length, or -1 if there is none that fits into the data."""
    cdef uint8_t head
    cdef int length
    cdef uint64_t n
    if at[0] >= size:
        return -1
    head = data[at[0]]
    at[0] += 1
    if mask and head & ~mask == short_head:
        return head & mask
    if head < long_head or head > long_head + (1 if mask else 2):
        return -1
    length = (2 if mask else 1) << (head - long_head)
    if size - at[0] < length:
        return -1
    n = read_big_endian(data + at[0], length)
    at[0] += length
    return <Py_ssize_t> n if n <= <uint64_t> (size - at[0]) else -1


cdef Py_ssize_t end_of_value(const uint8_t *data, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return where a label ends; -1 if it is cut short, or no label."""
    cdef Py_ssize_t pending = 1, n
    cdef uint8_t head
    while pending > 0:
        if at >= size:
            return -1
        head = data[at]
        pending -= 1
        if 0x90 <= head < 0xA0 or 0xDC <= head <= 0xDD:
            n = read_length(data, size, &at, 0x90, 0x0F, 0xDC)
            if n < 0:
                return -1
            pending += n
            continue
        at += 1
        if head < 0x80 or head >= 0xE0 or head == 0xC0 or head == 0xC2 or head == 0xC3:
            continue
        if 0xA0 <= head < 0xC0:
            at += head & 0x1F
        elif 0xCA <= head <= 0xD3:
            at += 4 << (head - 0xCA) if head < 0xCC else 1 << (head & 3)
        elif 0xD4 <= head <= 0xD8:
            at += 1 + (1 << (head - 0xD4))
        elif 0xC4 <= head <= 0xC9 or 0xD9 <= head <= 0xDB:
            n = 1 << ((head - 0xC4) % 3 if head < 0xD9 else head - 0xD9)
            if size - at < n:
                return -1
            at += n + <Py_ssize_t> read_big_endian(data + at, <int> n) + (0xC7 <= head <= 0xC9)
        else:
            return -1
    return at if at <= size else -1


cdef inline int form_of(uint8_t head) noexcept nogil:
    """Return the form of a label by its first byte: bool, int, float, or any other."""
    if head == 0xC2 or head == 0xC3:
        return 0
    if head == 0xCA or head == 0xCB:
        return 2
    return 1 if head < 0x80 or 0xCC <= head <= 0xD8 or head >= 0xE0 or 0xC7 <= head <= 0xC9 else 3


cdef struct RunLabel:
    uint64_t code
    uint64_t appearances  # of a number, in its form
    uint64_t samples  # counted in the cells
    int form


@cython.final
cdef class GroupRows:
    """Samples by key, true label and prediction, numbered as they come; the key of folded groups is empty.

    `before` is how each content starts; the `fixed` labels, as bytes, have the first numbers.
    """

    cdef readonly dict keys, labels  # numbers by the bytes of a key or a label
    cdef bytes before
    cdef Py_ssize_t fixed
    cdef bytearray cells, samples, key_forms, local_labels
    cdef readonly Py_ssize_t n
    cdef uint64_t total

    def __cinit__(self, bytes before, list fixed):
        self.keys, self.labels = {}, {label: at for at, label in enumerate(fixed)}
        self.before, self.fixed = before, len(fixed)
        self.cells, self.samples, self.key_forms, self.local_labels = bytearray(), bytearray(), bytearray(), bytearray()

    def arrays(self):
        """Return keys, true labels, predictions (-1: none) and samples of all rows."""
        cells = np.frombuffer(bytes(self.cells[:8 * self.n]), np.uint64)
        samples = np.frombuffer(bytes(self.samples[:8 * self.n]), np.int64)
        label = np.uint64(NO_LABEL)
        predicted = (cells & label).astype(np.int64)
        predicted[predicted == <int64_t> NO_LABEL] = -1
        truth = (cells >> np.uint64(LABEL_BITS) & label).astype(np.int64)
        return (cells >> np.uint64(2 * LABEL_BITS)).astype(np.int64), truth, predicted, samples

    def forms(self):
        """Return for each key how often it appeared as bool, int and float."""
        n = 3 * len(self.keys)
        return np.frombuffer(bytes(self.key_forms[:8 * n]), np.int64).reshape(-1, 3)

    def unite(self):
        """Unite rows that are alike."""
        cells = np.frombuffer(bytes(self.cells[:8 * self.n]), np.uint64)
        samples = np.frombuffer(bytes(self.samples[:8 * self.n]), np.int64)
        order = np.argsort(cells, kind="stable")
        ordered = cells[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(order) else order
        self.n = len(starts)
        self.cells = bytearray(ordered[starts].tobytes())
        self.samples = bytearray(np.add.reduceat(samples[order], starts).tobytes() if len(order) else b"")

    def add(self, bytes data not None, Py_ssize_t at):
        """Add the groups that are written from `at` on; False if states must read them; discard the table then."""
        cdef const uint8_t *byte = <const uint8_t *> PyBytes_AS_STRING(data)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data), n = read_length(byte, size, &at, 0x90, 0x0F, 0xDC), end, forms
        cdef Py_ssize_t key
        cdef uint64_t appearances, x, before
        cdef int64_t *sums
        if n < 0:
            return False
        for _ in range(n):
            if at >= size or byte[at] != 0x93:
                return False
            end = end_of_value(byte, size, at + 1)
            if end < 0:
                return False
            key = self.key_of(PyBytes_FromStringAndSize(<char *> byte + at + 1, end - at - 1))
            at = end
            forms = read_length(byte, size, &at, 0x90, 0x0F, 0xDC)
            if key < 0 or (forms != 0 and forms != 3):
                return False
            appearances, before = 0, self.total
            sums = <int64_t *> PyByteArray_AS_STRING(self.key_forms) + 3 * key
            for form in range(forms):
                if not read_whole(byte, size, &at, &x) or x > MOST_GROUP_SAMPLES:
                    return False
                sums[form] += x
                appearances += x
            if not self.add_content(key, byte, size, &at):
                return False
            if forms and appearances != self.total - before:
                return False
        n = read_length(byte, size, &at, 0x90, 0x0F, 0xDC)
        if n == 1:
            key = self.key_of(b"")
            if key < 0 or not self.add_content(key, byte, size, &at):
                return False
        return 0 <= n <= 1 and at == size

    cdef Py_ssize_t key_of(self, bytes key) except -2:
        """Return the number of a key; -1 if there are too many."""
        cdef Py_ssize_t n = len(self.keys)
        number = self.keys.setdefault(key, n)
        if len(self.keys) > n:
            ensure(self.key_forms, 24 * (n + 1))
            for at in range(24):
                PyByteArray_AS_STRING(self.key_forms)[24 * n + at] = 0
        return number if n < (1 << KEY_BITS) - 1 else -1

    cdef bint add_content(self, Py_ssize_t key, const uint8_t *data, Py_ssize_t size, Py_ssize_t *at) except -1:
        """Add the counts of one state."""
        cdef Py_ssize_t head = PyBytes_GET_SIZE(self.before), labels
        cdef uint64_t n, abstained
        if size - at[0] < head or memcmp(data + at[0], PyBytes_AS_STRING(self.before), head):
            return False
        at[0] += head
        if not read_whole(data, size, at, &n) or not read_whole(data, size, at, &abstained):
            return False
        if n > MOST_GROUP_SAMPLES or abstained > MOST_GROUP_SAMPLES or self.total + n + abstained > MOST_GROUP_SAMPLES:
            return False
        self.total += n + abstained
        labels = self.read_labels(data, size, at)
        if labels < 0 or not self.read_cells(key, data, size, at, labels, n):
            return False
        if abstained:
            self.append(<uint64_t> key << 2 * LABEL_BITS | NO_LABEL, abstained)
        return True

    cdef Py_ssize_t read_labels(self, const uint8_t *data, Py_ssize_t size, Py_ssize_t *at) except -2:
        """Read labels and appearances; return how many labels there are with the fixed ones, or -1."""
        cdef Py_ssize_t n = read_length(data, size, at, 0x90, 0x0F, 0xDC), place, end, numbers = 0
        cdef RunLabel *label
        cdef uint64_t times
        cdef int form
        if n < 0:
            return -1
        ensure(self.local_labels, (self.fixed + n + 1) * <Py_ssize_t> sizeof(RunLabel))
        label = <RunLabel *> PyByteArray_AS_STRING(self.local_labels)
        for place in range(self.fixed + n):
            label[place].appearances = label[place].samples = 0
            label[place].form, label[place].code = 3, place
            if place >= self.fixed:
                end = end_of_value(data, size, at[0])
                if end < 0:
                    return -1
                label[place].form = form_of(data[at[0]])
                text = PyBytes_FromStringAndSize(<char *> data + at[0], end - at[0])
                label[place].code = self.labels.setdefault(text, len(self.labels))
                at[0] = end
                numbers += label[place].form < 3
        if read_length(data, size, at, 0x90, 0x0F, 0xDC) != 3 * numbers or len(self.labels) >= <Py_ssize_t> NO_LABEL:
            return -1
        for place in range(self.fixed, self.fixed + n):
            for form in range(3 if label[place].form < 3 else 0):
                if not read_whole(data, size, at, &times) or (times and form != label[place].form):
                    return -1
                label[place].appearances += times
        return self.fixed + n

    cdef bint read_cells(self, Py_ssize_t key, const uint8_t *data, Py_ssize_t size, Py_ssize_t *at,
                         Py_ssize_t labels, uint64_t n) except -1:
        """Read the cells of a state, which has `n` samples; False unless they agree with the labels."""
        cdef Py_ssize_t length = read_length(data, size, at, 0, 0, 0xC4), place
        cdef uint64_t skip = 0, whole = 0, cell = 0, row, column, pair, cells = <uint64_t> labels * <uint64_t> labels
        cdef RunLabel *label = <RunLabel *> PyByteArray_AS_STRING(self.local_labels)
        if length < 1 or data[at[0]] > 1:
            return False
        cdef bint every = data[at[0]]
        size = at[0] + length
        at[0] += 1
        while at[0] < size:
            if not every:
                read_varint(data, size, at, &skip)
            read_varint(data, size, at, &whole)
            if skip >= cells or cell >= cells - skip or whole > n:
                return False
            cell += skip
            if whole:
                row, column = cell // labels, cell % labels
                n -= whole
                label[row].samples += whole
                label[column].samples += whole
                pair = label[row].code << LABEL_BITS | label[column].code
                self.append(<uint64_t> key << 2 * LABEL_BITS | pair, whole)
            cell += 1
        for place in range(self.fixed, labels):
            if not label[place].samples:
                return False
            if label[place].form < 3 and label[place].appearances != label[place].samples:
                return False
        return n == 0

    cdef int append(self, uint64_t cell, uint64_t samples) except -1:
        ensure(self.cells, 8 * (self.n + 1))
        ensure(self.samples, 8 * (self.n + 1))
        (<uint64_t *> PyByteArray_AS_STRING(self.cells))[self.n] = cell
        (<uint64_t *> PyByteArray_AS_STRING(self.samples))[self.n] = samples
        self.n += 1
        return 0
