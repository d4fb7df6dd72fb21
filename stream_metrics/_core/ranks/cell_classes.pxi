"""Where in one crowded cell the scores of each class lie, from the sampled codes and the exact count and mean.

A uniform sample of *distinct* codes misses an atom (one code with much of the mass) with high probability, but the
exact count of the cell tells that mass is missing and the exact mean tells where. Codes that are known to be heavy are
excluded from both corrections. Without a missing atom the sample is moved linearly to the exact mean; exponential
tilting would put the weight on outliers.

Sums are those of NumPy to the last bit, and squares are powers, as in Python.
"""

cdef double CERTAIN = 0.01  # a code with this share of its cell is an atom of known weight, not one of many like it
cdef double CERTAIN_MEDIANS = 10.0  # ... if it also is that much heavier than its neighbours
cdef double CALIBRATE = 4.0  # standard errors between sampled and exact mean up to which only the mean is off
cdef double MISSING_ATOM = 5.0  # standard errors of the sampled weight from which an atom must have been missed
cdef double SAME_PLACE = 4.0  # standard errors between two missed atoms up to which they are one
cdef double TWO = 2.0  # a variable: for a constant exponent, compilers multiply instead

cdef enum:
    BLOCK_OF_SUM = 128  # numbers that are added up in eight sums


cdef struct CellClass:
    Py_ssize_t n, size   # places; without a missed atom, which is the last one
    double *place        # in [0, 1), increasing but for the missed atom
    double *mass         # sums to 1
    double *place_of     # the places of the codes that stand for others, unlike those whose mass is known
    double *mass_of      # ... their masses
    int8_t *unresolved   # which codes these are
    Py_ssize_t many      # ... how many
    bint calibrated, has_atom
    double tau
    double unseen        # the share of the mass that the sample misses, as far as its weight tells
    double noise         # the standard error of that share
    double atom, atom_error, atom_mass


cdef int by_size(const void *a, const void *b) noexcept nogil:
    cdef double x = (<const double *> a)[0], y = (<const double *> b)[0]
    return (x > y) - (x < y)


cdef double median(const double *values, Py_ssize_t n, double *scratch) noexcept nogil:
    memcpy(scratch, values, n * sizeof(double))
    qsort(scratch, n, sizeof(double), by_size)
    return scratch[n // 2] if n % 2 else (scratch[n // 2 - 1] + scratch[n // 2]) / 2.0


cdef double sum_of(const double *values, Py_ssize_t n) noexcept nogil:
    """Add up in pairs of blocks, as NumPy does."""
    cdef double part[8]
    cdef double total = 0.0
    cdef Py_ssize_t at = 0, k, half
    if n > <Py_ssize_t> BLOCK_OF_SUM:
        half = n // 2 - n // 2 % 8
        return sum_of(values, half) + sum_of(values + half, n - half)
    if n >= 8:
        memcpy(part, values, sizeof(part))
        for at in range(8, n - n % 8, 8):
            for k in range(8):
                part[k] += values[at + k]
        at = n - n % 8
        total = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]))
    for k in range(at, n):
        total += values[k]
    return total


cdef double tell_heavy_apart(CellClass *s, const double *weight, double count, double *light, double *known) noexcept:
    """Set which codes stand for others, and copy their weights; return the moment of the heavy ones."""
    cdef Py_ssize_t at, n = 0, heavy = 0
    cdef double least = max(CERTAIN * count, CERTAIN_MEDIANS * median(weight, s.size, light))
    cdef double *heavy_place = s.place_of  # overwritten below
    cdef double *heavy_weight = s.mass_of
    cdef double moment
    for at in range(s.size):
        s.unresolved[at] = weight[at] < least
        if not s.unresolved[at]:
            heavy_place[heavy], heavy_weight[heavy] = s.place[at], weight[at]
            heavy += 1
    known[0], moment = sum_of(heavy_weight, heavy), dot(heavy_weight, heavy_place, heavy)
    for at in range(s.size):
        if s.unresolved[at]:
            s.place_of[n], light[n] = s.place[at], weight[at]
            n += 1
    s.many = n
    return moment


cdef void scale_unresolved(CellClass *s, double factor) noexcept:
    cdef Py_ssize_t at
    for at in range(s.size):
        if s.unresolved[at]:
            s.mass[at] *= factor


cdef double tilt_to(CellClass *s, const double *light, double slope, double centre, double *tilt) noexcept:
    """Return the weight of the codes that stand for others, tilted to their exact mean."""
    cdef Py_ssize_t at
    for at in range(s.many):
        tilt[at] = max(0.0, slope * (s.place_of[at] - centre) + 1.0)
    return dot(light, tilt, s.many)


cdef void locate(CellClass *s, const double *weight, double count, double mean, double *scratch) noexcept:
    """Set where the mass `count` of a class lies, given the weights of the sampled codes and the exact mean."""
    cdef Py_ssize_t at, n = 0
    cdef double *light = scratch
    cdef double *some = scratch + s.size
    cdef double known, moment, seen, squares, left, centre, deviation, goal, factor
    moment = tell_heavy_apart(s, weight, count, light, &known)
    seen, squares = sum_of(light, s.many), dot(light, light, s.many)
    left = max(count - known, seen)  # what is left beside heavy codes may be lost in rounding
    centre = dot(light, s.place_of, s.many) / seen
    for at in range(s.many):
        some[at] = (s.place_of[at] - centre) * (s.place_of[at] - centre)
    deviation = sqrt(dot(light, some, s.many) / seen)
    goal = centre if mean != mean else (count * mean - moment) / left
    s.unseen = max(0.0, 1.0 - seen / (s.tau * left))
    s.noise = sqrt((1.0 - s.tau) * squares / seen / (s.tau * left))
    for at in range(s.size):
        s.mass[at] = weight[at] / count
    scale_unresolved(s, left / seen)
    s.n, s.has_atom, s.calibrated = s.size, False, False
    if s.unseen > MISSING_ATOM * s.noise:
        scale_unresolved(s, 1.0 - s.unseen)
        s.has_atom, s.atom = True, min(max((goal - (1.0 - s.unseen) * centre) / s.unseen, 0.0), 1.0)
        s.atom_error = deviation / sqrt(<double> s.many) * (1.0 - s.unseen) / s.unseen
        s.atom_mass = s.unseen * left / count
    elif mean == mean and fabs(goal - centre) < CALIBRATE * deviation * sqrt(squares) / seen:
        factor = seen / tilt_to(s, light, (goal - centre) / pow(deviation, TWO), centre, some)
        s.calibrated = True
        for at in range(s.size):
            if s.unresolved[at]:
                s.mass[at] *= some[n] * factor
                n += 1


cdef void add_atom(CellClass *s, double at) noexcept:
    s.place[s.n], s.mass[s.n], s.unresolved[s.n] = at, s.atom_mass, False
    s.n += 1


cdef void place_atoms(CellClass *rest, CellClass *own, double rest_count, double own_count) noexcept:
    """Add the missed atoms: on one place if the two cannot be told apart."""
    cdef double a, b
    if rest.has_atom and own.has_atom:
        if fabs(rest.atom - own.atom) <= SAME_PLACE * hypot(rest.atom_error, own.atom_error):
            a, b = rest.atom_mass * rest_count, own.atom_mass * own_count
            rest.atom = own.atom = (rest.atom * a + own.atom * b) / (a + b)
    if rest.has_atom:
        add_atom(rest, rest.atom)
    if own.has_atom:
        add_atom(own, own.atom)
