"""Weights as exact counters take them: a whole part and a fraction in units of 2^-64.

A double of at least 2^-11 is represented exactly; a smaller one is rounded to the nearest unit.
"""

cdef int64_t LARGEST = 9223372036854774784  # the largest double below 2^63
cdef double EXACT = 9007199254740992.0  # 2^53
cdef double ROUNDED_BELOW = 2.0**-11


cdef inline bint split_double(double x, int64_t *whole, uint64_t *part) noexcept nogil:
    cdef double rest
    cdef int64_t high
    if not 0.0 <= x < 9223372036854774784.0:  # the largest double below 2^63
        return False
    whole[0] = <int64_t> x
    rest = (x - <double> whole[0]) * 4294967296.0  # 32 bits at a time, so that no branch depends on them
    high = <int64_t> rest
    rest = (rest - <double> high) * 4294967296.0
    rest = (rest + 4503599627370496.0) - 4503599627370496.0  # adding 2^52 rounds to a whole number
    part[0] = (<uint64_t> high << 32) + <uint64_t> <int64_t> rest
    return True


cdef object sum_overflow(object more, object have, str limit, object position):
    """Return the error for a weight that would bring the sum of all weights to `limit`."""
    return WeightError(argument="w", position=position, subject="the sum of all weights",
                       expected=f"to stay below {limit}", got=more, but=f"got {more} on top of {have}",
                       position_last=True)


cdef int refuse_samples(int64_t more, int64_t have) except -1:
    raise WeightError(subject="the number of samples", expected="to stay below 2**63 - 2", got=more,
                      but=f"got {more} on top of {have}", position_last=True)


cdef object not_counted(object got, str but):
    """Return the error for a sample that cannot be reverted."""
    return WeightError(subject="to revert a sample", expected="that was counted", got=got, but=f"got {but}",
                       position_last=True)


cdef object not_contained():
    """Return the error for a state that cannot be subtracted."""
    return WeightError(subject="to subtract a state", expected="whose samples are all counted here",
                       but="got one that holds others")


cdef object refusal(object weight, object position):
    return WeightError(argument="w", position=position, expected="to be a finite number from 0 to 2**63 - 1024",
                       got=weight,
                       but=f"got {weight!r}")


cdef int split(object weight, int64_t *whole, uint64_t *part) except -1:
    """Split one weight; a float or an int without running Python code, unless it is refused."""
    cdef double x
    cdef int overflow = 0
    number = weight if PyFloat_CheckExact(weight) or PyLong_CheckExact(weight) else plain_weight(weight)
    if PyFloat_CheckExact(number):
        x = PyFloat_AS_DOUBLE(number)
        if not split_double(x, whole, part):
            raise refusal(weight, None)
        return 0
    whole[0], part[0] = PyLong_AsLongLongAndOverflow(number, &overflow), 0
    if overflow or not 0 <= whole[0] < LARGEST:
        raise refusal(weight, None)
    return 0


cdef object plain_weight(object weight):
    """A weight as an int or a float, to be split later without running Python code; WeightError if it is no number."""
    cdef double x = 0.0
    if PyFloat_CheckExact(weight) or PyLong_CheckExact(weight):
        return weight
    number = weight if PyFloat_Check(weight) else as_number(weight)
    if hasattr(number, "__index__"):
        try:
            return index(number)  # not its method, which may return anything
        except TypeError:
            raise refusal(weight, None) from None
    if not to_double(number, &x):
        raise refusal(weight, None)
    return x if x < EXACT or PyFloat_Check(number) else unrounded(number, x)


cdef object unrounded(object number, double x):
    """A large number as an int if it is whole, as a Decimal may be that a double would round; else as the double."""
    try:
        whole = int(number)
        return whole if whole == number else x
    except (TypeError, ValueError, ArithmeticError):
        return x


def checked_weight(weight):
    """The int or float that a weight stands for; WeightError if it is none, or out of range."""
    cdef int64_t whole = 0
    cdef uint64_t part = 0
    number = plain_weight(weight)  # read once, so that the returned value is the checked one
    try:
        split(number, &whole, &part)
    except WeightError:
        raise refusal(weight, None) from None
    return number


cdef bint split_some(object weight, int64_t *whole, uint64_t *part) except -1:
    """Split a weight so that a positive one never becomes 0; return whether it was rounded, by at most 2^-64."""
    cdef double x
    split(weight, whole, part)
    if whole[0] != 0 or part[0] >= <uint64_t> EXACT:
        return False
    x = plain_weight(weight)
    part[0] += x > 0.0 and part[0] == 0
    return ldexp(x, 64) != rint(ldexp(x, 64)) or (x > 0.0 and ldexp(x, 64) < 1.0)


def split_some_weights(weights):
    """Split weights as `split_weights` does, but so that no positive one becomes 0; also return which were rounded.

    The last is None if none was rounded; a weight of at least 2^-11 never is, and no weight by more than 2^-64.
    """
    wholes, parts = split_weights(weights)
    real = np.array([float(plain_weight(weight)) for weight in weights]) if isinstance(weights, list) else weights
    if real.dtype == np.int64 or not ((real < ROUNDED_BELOW) & (real > 0.0)).any():
        return wholes, parts, None
    units = np.where(real < ROUNDED_BELOW, real, 0.0) * 2.0**64
    rounded = (units != np.rint(units)) | ((units > 0.0) & (units < 1.0))
    lost = (units > 0.0) & (units <= 0.5)
    if lost.any():
        parts = np.where(lost, np.uint64(1), np.uint64(0) if parts is None else parts)
    return wholes, parts, rounded if rounded.any() else None


def split_weights(weights):
    """Split a float64 or int64 array, or a list of numbers, into whole parts and fractions (None if all are whole).

    WeightError names the position. A list is read number by number: as an array, 2**53 + 1 beside a float would be
    rounded.
    """
    cdef Py_ssize_t r, n = len(weights)
    cdef uint64_t any_part = 0
    cdef const double[::1] real
    if isinstance(weights, list):
        return split_objects(weights)
    if weights.dtype == np.int64:
        if n and (weights.min() < 0 or weights.max() >= LARGEST):
            bad = np.flatnonzero((weights < 0) | (weights >= LARGEST))
            raise refusal(weights[bad[0]].item(), bad[0])
        return weights, None
    real = weights
    wholes, parts = np.empty(n, np.int64), np.empty(n, np.uint64)
    cdef int64_t[::1] whole = wholes
    cdef uint64_t[::1] part = parts
    for r in range(n):
        if not split_double(real[r], &whole[r], &part[r]):
            raise refusal(real[r], r)
        any_part |= part[r]
    return wholes, parts if any_part else None


@cython.boundscheck(True)  # the caller may change the list while a weight is read
cdef tuple split_objects(list weights):
    cdef Py_ssize_t r, n = len(weights)
    cdef uint64_t any_part = 0
    wholes, parts = np.empty(n, np.int64), np.empty(n, np.uint64)
    cdef int64_t[::1] whole = wholes
    cdef uint64_t[::1] part = parts
    for r in range(n):
        try:
            split(weights[r], &whole[r], &part[r])
        except WeightError:
            raise refusal(weights[r], r) from None
        any_part |= part[r]
    return wholes, parts if any_part else None
