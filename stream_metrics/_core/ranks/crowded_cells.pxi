"""The two classes of a crowded cell, compared: how often own is above rest, by their samples, and how sure that is."""

DENSE = 20  # sampled codes of each class from which a cell is inspected
UNIFORM = 0.29  # 1/sqrt(12): the standard deviation of an unknown share
cdef Py_ssize_t dense = DENSE
cdef double uniform = UNIFORM
cdef double MISSED = 0.1  # the standard deviation of a share that the place of an atom causes


cdef struct CellComparison:
    double share         # how often own is above rest, ties half
    double se            # its standard error, for deciding whether it differs from another guess
    double std_error     # how far the share may be off, everything considered that the sample cannot show


cdef void mass_below(const CellClass *s, const CellClass *other, double *below, double *scratch) noexcept:
    """Set the mass of the other class below each place, plus half the mass on it."""
    cdef double *where = scratch
    cdef double *upto = scratch + other.n
    cdef Py_ssize_t at, left = 0, right = 0, last = other.n
    cdef double half
    upto[0] = 0.0
    if other.has_atom:
        last = 0
        while last < other.size and other.place[last] <= other.atom:
            last += 1
    for at in range(other.n):  # in order: the missed atom comes last among equal places
        left = at if at < last else other.size if at == last else at - 1
        where[at] = other.place[left]
        upto[at + 1] = upto[at] + other.mass[left]
    half, left = 0.5 / upto[other.n], 0
    for at in range(s.n):
        if at == s.size:  # the missed atom
            left, right = 0, 0
        while left < other.n and where[left] < s.place[at]:
            left += 1
        while right < other.n and where[right] <= s.place[at]:
            right += 1
        below[at] = (upto[left] + upto[right]) * half


cdef double variance(CellClass *s, const double *values, bint calibrated, double *scratch) noexcept:
    """Return the variance of a weighted mean of the values over a uniform sample of codes."""
    cdef double *residual = scratch
    cdef double *x = scratch + s.size
    cdef double *heavier = scratch + 2 * s.size
    cdef double total, mean, root
    cdef Py_ssize_t at, k = 0, lost = 2 if calibrated else 1
    for at in range(s.size):
        if s.unresolved[at]:
            s.mass_of[k], residual[k] = s.mass[at], values[at]
            k += 1
    total = sum_of(s.mass_of, k)
    if total == 0.0 or k <= lost:
        return NAN if total == 0.0 else 0.0
    mean = dot(s.mass_of, residual, k) / total
    for at in range(k):
        residual[at] -= mean
    if calibrated:
        mean = dot(s.mass_of, s.place_of, k) / total
        for at in range(k):
            x[at] = s.place_of[at] - mean
            heavier[at] = s.mass_of[at] * x[at]
        mean = dot(heavier, residual, k) / dot(heavier, x, k)
        for at in range(k):
            residual[at] -= x[at] * mean
    for at in range(k):
        residual[at] *= s.mass_of[at]
    root = sqrt(dot(residual, residual, k))
    return (1.0 - s.tau) * <double> k / <double> (k - lost) * pow(root, TWO)


cdef CellComparison compare(CellClass *rest, CellClass *own, double *scratch) noexcept:
    """Compare the classes within a cell."""
    cdef CellComparison c
    cdef double *above_rest = scratch
    cdef double *below_own = scratch + own.n
    cdef double atoms = 0.0, hidden, few
    cdef double plain[2]
    cdef double calibrated[2]
    cdef Py_ssize_t at
    cdef CellClass *s
    cdef double *value
    scratch += own.n + rest.n
    mass_below(own, rest, above_rest, scratch)
    mass_below(rest, own, below_own, scratch)
    for at in range(rest.n):
        below_own[at] = 1.0 - below_own[at]
    c.share = dot(own.mass, above_rest, own.n)
    for at in range(2):
        s, value = (own, above_rest) if at else (rest, below_own)
        plain[at] = variance(s, value, False, scratch)
        calibrated[at] = variance(s, value, True, scratch) if s.calibrated else plain[at]
        if s.has_atom:
            atoms += pow(MISSED * s.unseen, TWO)
    c.se = sqrt(calibrated[0] + calibrated[1] + atoms)
    c.std_error = plain[0] + plain[1] + atoms
    for at in range(2):
        s = own if at else rest
        hidden = uniform * s.unseen
        if not s.has_atom:
            hidden = fabs(c.share - 0.5) * max(0.0, s.unseen - 2 * s.noise)
        c.std_error += pow(hidden, TWO)
    few = uniform * (1.0 / <double> rest.size + 1.0 / <double> own.size)
    c.std_error = min(uniform, sqrt(c.std_error + pow(few, TWO)))
    return c


cdef Py_ssize_t first_not_below(const uint64_t[::1] values, uint64_t x) noexcept:
    """Return how many increasing values are smaller."""
    cdef Py_ssize_t low = 0, high = values.shape[0], middle
    while low < high:
        middle = (low + high) // 2
        if values[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t end_of_run(const uint64_t[::1] codes, int level, Py_ssize_t start) noexcept:
    """Return where the codes end that lie in the cell of the one at `start`."""
    cdef Py_ssize_t end = start + 1
    while end < codes.shape[0] and codes[end] >> level == codes[start] >> level:
        end += 1
    return end


def crowded_cells(int level, const uint64_t[::1] cells, const uint64_t[::1] sole, const uint64_t[::1] rest,
                  const uint64_t[::1] own):
    """Return the mixed cells with at least `DENSE` sampled codes of each class.

    A row for each: the number of the cell, and where its codes start and end in both samples, rest first.
    """
    cdef Py_ssize_t a = 0, b, c, d, at
    cdef uint64_t key
    cdef list crowded = []
    while level and a + dense <= own.shape[0]:
        if own[a + dense - 1] >> level != own[a] >> level:
            a += 1
            continue
        key, b = own[a] >> level, end_of_run(own, level, a)
        at, c = first_not_below(cells, key), first_not_below(rest, key << level)
        if (at < cells.shape[0] and cells[at] == key and sole[at] == MIXED
                and c + dense <= rest.shape[0] and rest[c + dense - 1] >> level == key):
            d = end_of_run(rest, level, c)
            crowded.append((at, c, d, a, b))
        a = b
    return crowded


cdef class CellScratch:
    """Memory to compare the two classes of a cell with up to so many sampled codes of both together."""

    cdef double *at
    cdef int8_t *flags
    cdef double *free
    cdef CellClass side[2]

    def __cinit__(self, Py_ssize_t most):
        cdef Py_ssize_t each = most + 2, k
        self.at = <double *> allocate(12 * each, sizeof(double))
        self.flags = <int8_t *> allocate(2 * each, sizeof(int8_t))
        for k in range(2):
            self.side[k].place, self.side[k].mass = self.at + 4 * k * each, self.at + (4 * k + 1) * each
            self.side[k].place_of, self.side[k].mass_of = self.at + (4 * k + 2) * each, self.at + (4 * k + 3) * each
            self.side[k].unresolved = self.flags + k * each
        self.free = self.at + 8 * each

    def __dealloc__(self):
        PyMem_RawFree(self.at)
        PyMem_RawFree(self.flags)


cdef tuple distribution(const CellClass *s):
    """Return places and masses as arrays."""
    places, mass = vector(s.n, cnp.NPY_DOUBLE), vector(s.n, cnp.NPY_DOUBLE)
    memcpy(cnp.PyArray_DATA(places), s.place, s.n * sizeof(double))
    memcpy(cnp.PyArray_DATA(mass), s.mass, s.n * sizeof(double))
    return places, mass


def inspect_cells(int level, list crowded, const uint64_t[::1] cells, const double[:, ::1] counts,
                  const double[:, ::1] means, tuple codes, tuple weights, tuple tau):
    """Return what the samples show of the cells that `crowded_cells` has found.

    `counts` and `means` have a row for each of them. For each: places and masses of rest and of own, then the share of
    pairs in which own is above, its standard error, and how far it may be off.
    """
    cdef const uint64_t[::1] code
    cdef const double[::1] weight
    cdef Py_ssize_t row, k, at, start, size
    cdef double width = ldexp(1.0, -level)
    cdef CellComparison c
    cdef CellClass *s
    cdef CellScratch memory = CellScratch(len(codes[0]) + len(codes[1]))
    cdef list inspected = []
    for row in range(len(crowded)):
        run = crowded[row]
        for k in range(2):
            code, weight, s = codes[k], weights[k], memory.side + k
            start, size = run[1 + 2 * k], run[2 + 2 * k] - run[1 + 2 * k]
            s.size, s.tau = size, tau[k]
            for at in range(size):
                s.place[at] = <double> (code[start + at] - (cells[run[0]] << level)) * width
            locate(s, &weight[start], counts[row, k], means[row, k], memory.free)
        place_atoms(memory.side, memory.side + 1, counts[row, 0], counts[row, 1])
        c = compare(memory.side, memory.side + 1, memory.free)
        inspected.append((distribution(memory.side), distribution(memory.side + 1), c.share, c.se, c.std_error))
    return inspected
