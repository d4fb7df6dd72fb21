"""Pairs of counts, of hits and of samples: which are distinct, and where the cost of a logit reaches a bound."""

cdef double CLOSEST = 1e-9, WIDER = 1.1  # of the first step to a root: the least excess, a factor on that of a parabola
cdef int STEPS = 100


def distinct(const double[::1] x, const double[::1] n):
    """Return the first place of each distinct pair, and for every pair the number of its distinct one."""
    cdef Py_ssize_t at, slot, used = 0, size = x.shape[0], slots = 16
    while slots < 2 * size:
        slots *= 2
    table, first, places = np.zeros(slots, np.intp), np.empty(size, np.intp), np.empty(size, np.intp)
    cdef Py_ssize_t[::1] numbers = table, start = first, place = places  # of the pair in a slot, from 1; 0: free
    with nogil:
        for at in range(size):
            slot = <Py_ssize_t> (((bits(x[at]) * <uint64_t> 0x9E3779B97F4A7C15 ^ bits(n[at]))
                                  * <uint64_t> 0xD6E8FEB86659FD93 >> 24) & <uint64_t> (slots - 1))
            while numbers[slot] and not (x[start[numbers[slot] - 1]] == x[at] and n[start[numbers[slot] - 1]] == n[at]):
                slot = (slot + 1) & (slots - 1)
            if not numbers[slot]:
                start[used] = at
                used += 1
                numbers[slot] = used
            place[at] = numbers[slot] - 1
    return first[:used], places


cdef inline double _expit(double u) noexcept nogil:
    return 1 / (1 + exp(-u)) if u >= 0 else exp(u) / (1 + exp(u))


cdef inline double _cost(double x, double n, double u) noexcept nogil:
    """Return -x log p - (n - x) log(1 - p) for the logit u of p."""
    return n * (max(u, 0.0) + log1p(exp(-fabs(u)))) - x * u


def lower_root(double x, double rest, double n, double goal):
    """Return the logit below that of x / n with the cost `goal`; rest is n - x, before rounding."""
    cdef double middle = log(x / rest), margin, u, step
    cdef int turn
    margin = min(WIDER * sqrt(max(2 * (goal - _cost(x, n, middle)), CLOSEST) * n / x / rest), 1.0)
    while _cost(x, n, middle - margin) < goal:
        margin *= 2
    u = middle - margin
    for turn in range(STEPS):
        step = (_cost(x, n, u) - goal) / (n * _expit(u) - x)
        if step >= 0:  # u rises to the root; only rounding can take it back
            break
        u -= step
        if -step <= 1e-15 * max(1.0, fabs(u)):
            break
    return u
