"""The mean that bets reject; see `inference.intervals.anytime`."""


cdef bint _refuted(double total, double squares, double n, double m, double goal, const double[::1] shares,
                   const double[::1] curve, const double[::1] weights) noexcept nogil:
    """Whether the logarithm of the mean wealth of all bets against the mean m is at least the goal."""
    cdef Py_ssize_t at, size = shares.shape[0]
    cdef double first = (total - n * m) / m, second = (squares - 2 * m * total + n * m * m) / (m * m)
    cdef double most = first * shares[0] + max(second, 0.0) * curve[0] + weights[0], sum = 0.0
    second = max(second, 0.0)
    for at in range(1, size):
        most = max(most, first * shares[at] + second * curve[at] + weights[at])
    if most >= goal:
        return True
    if most + log(<double> size) < goal - 1e-9:  # more than any rounding
        return False
    for at in range(size):
        sum += exp(first * shares[at] + second * curve[at] + weights[at] - most)
    return most + log(sum) >= goal


def refuted_distance(double total, double squares, double n, double goal, tuple bets, const double[::1] distances,
                     const double[::1] parts, Py_ssize_t refinements):
    """Return how far below the mean the nearest rejected mean lies, as a share of the mean; 1 if none is rejected.

    The nearest of the distances, which rise, is refined: the step before it is divided into `parts`, and so on. `bets`
    are shares of the wealth, log(1 - share) + share, and logarithms of weights.
    """
    cdef const double[::1] shares = bets[0], curve = bets[1], weights = bets[2]
    cdef double mean = total / n, near = 0.0, far = 0.0, start = 0.0, end = 0.0
    cdef Py_ssize_t turn, at, size = distances.shape[0]
    with nogil:
        for turn in range(refinements):
            for at in range(size):
                far = distances[at] if turn == 0 else end if at == size - 1 else start + (end - start) * parts[at]
                if _refuted(total, squares, n, mean * (1 - far), goal, shares, curve, weights):
                    break
                near = far
            else:
                near = -1.0
                break
            start, end, size = near, far, parts.shape[0]
    return 1.0 if near < 0 else end
