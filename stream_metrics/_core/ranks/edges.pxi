"""From codes back to scores: the inverse of `encode`."""

cdef extern from *:
    """
    #define RANK_OCTAVE ((uint64_t) 1 << 52)
    #define RANK_HALF (1022 * RANK_OCTAVE)
    #define RANK_ABOVE (105 * RANK_OCTAVE)
    #define RANK_FAR (207 * (RANK_OCTAVE >> 1))
    #define RANK_TURN (1127 * RANK_OCTAVE)
    #define RANK_TOP (2048 * RANK_OCTAVE - 2)
    """
    const uint64_t HALF "RANK_HALF"    # bits of 0.5
    const uint64_t ABOVE_ONE "RANK_ABOVE"  # from bits of a-1 to magnitudes, 1 < a <= 3/2
    const uint64_t FAR "RANK_FAR"      # from bits to magnitudes, a > 3/2
    const uint64_t TURN "RANK_TURN"    # magnitude of 1.5
    const uint64_t TOP "RANK_TOP"      # magnitude of the largest double


cdef double edge_of(uint64_t code) noexcept nogil:
    """Return the smallest double whose code is at least the given one; infinity if there is none."""
    cdef bint negative = code < ZERO
    cdef uint64_t goal = ZERO - code if negative else code - ZERO, guess
    if goal <= HALF:
        guess = goal
    elif goal <= ONE - ZERO:
        guess = bits(1.0 - score_of(2 * HALF - goal))
    elif goal <= TURN:
        guess = bits(1.0 + score_of(goal - ABOVE_ONE))
    elif goal <= TOP:
        guess = goal - FAR
    else:
        return -score_of(bits(INFINITY) - 1) if negative else INFINITY
    if guess and encode(score_of(guess - 1)) - ZERO >= goal:  # the branch was inverted but for a rounding
        guess -= 1
    if encode(score_of(guess)) - ZERO < goal:
        guess += 1
    if negative:  # the largest double of a smaller magnitude, with its sign
        return -score_of(guess - 1) if guess > 1 else 0.0
    return score_of(guess)


def edges(const uint64_t[:] codes):
    """Return the smallest double of at least each code; infinity where there is none."""
    cdef Py_ssize_t at, n = codes.shape[0]
    out = vector(n, cnp.NPY_DOUBLE)
    cdef double *score = <double *> cnp.PyArray_DATA(out)
    with nogil:
        for at in range(n):
            score[at] = edge_of(codes[at])
    return out
