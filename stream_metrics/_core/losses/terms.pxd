# From the probabilities of one sample to its loss terms, and from terms to sums.
#
# Squares are taken of probabilities rounded to a multiple of 2^-52: then a row gives the same bits as a mapping in any
# order, and classes of probability zero may be left out. A square is summed in three parts, (2^26 a + b)^2 = 2^52 a^2 +
# 2^27 ab + b^2, each of which fits into 64 bits, so that the loop over a row has no carries and can be vectorised.
# Ranks and the logarithm use the probability as it came.
cimport cython
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint64_t

from libc.string cimport memset

from stream_metrics._core.numeric.fixed cimport Fixed
from stream_metrics._core.numeric.wide cimport (
    Term, Wide, as_term, minus_fixed, minus_wide, plus_fixed, plus_wide, quantize52, sqrt_units, neg_log, times)

cdef enum:  # the losses of a sample, and of the sums: the part of the Brier loss that comes from binary samples
    LOG_LOSS
    BRIER
    SPHERICAL
    BINARY_BRIER
    LOSSES

ctypedef fused real:
    float
    double

cdef enum:
    RANKS = 11  # 1 to 10, and everything beyond
    STRIDE = 512  # squares summed before a part could overflow
    BLOCK = 64  # samples rated together
    BRIER_LIMIT = 2049  # in units of 2^-10: rows that sum to 1 reach 2, but for rounding

cdef enum:  # the sums of weights: of all samples, of those that name two classes, by rank, and of binary samples
    ALL
    TWO
    FIRST_RANK
    BINARY = FIRST_RANK + RANKS
    WEIGHTS

cdef struct Row:
    Term squares
    Py_ssize_t classes, higher, ties  # ties count the true class too

cdef struct Sample:
    double p, share  # of the true class, in the row and in the length of the row
    Term loss[BINARY_BRIER]
    int rank  # from 0 on
    bint two  # no more than two classes are named
    bint binary  # there are no other classes: a single probability, or a row of False and True

cdef struct Squares:  # of the losses of samples of weight 1, each loss rounded to a multiple of 2^-52 first
    int64_t weighted  # samples of another weight, which are left out
    int64_t beyond  # samples of weight 1 whose Brier loss is above BRIER_LIMIT, whose square is left out
    Wide loss[LOSSES]
    bint unknown  # some samples come from bytes without squares; then all of the above is 0

cdef struct Sums:
    int64_t n, abstained
    Fixed weight[WEIGHTS]
    Wide loss[LOSSES]
    Squares squares


cdef inline bint in_range(double p) noexcept nogil:
    """Whether a number is a probability up to rounding: float32 rows miss 1 by about 1e-7."""
    return -1e-6 <= p <= 1.000001


cdef inline double clamp(double p) noexcept nogil:
    p = p if p > 0.0 else 0.0
    return p if p < 1.0 else 1.0


cdef inline void add_parts(Term *sum, uint64_t a, uint64_t ab, uint64_t b) noexcept nogil:
    sum.low += b
    sum.high += sum.low < b
    b = a << 52
    sum.low += b
    sum.high += (a >> 12) + (sum.low < b)
    b = ab << 27
    sum.low += b
    sum.high += (ab >> 37) + (sum.low < b)


cdef inline void add_square(Term *sum, uint64_t q) noexcept nogil:
    cdef uint64_t a = q >> 26, b = q & 0x3FFFFFF
    add_parts(sum, a * a, a * b, b * b)


cdef inline bint scan(const real *p, Py_ssize_t n, double p_true, Row *row) noexcept nogil:
    """Read a row; return False if a number is no probability."""
    cdef Py_ssize_t start = 0, i, stop
    cdef uint64_t q, a, b, aa, ab, bb
    cdef int64_t higher = 0, ties = 0
    cdef double x
    row.classes, row.squares.high, row.squares.low = n, 0, 0
    while start < n:
        stop = min(start + STRIDE, n)
        aa, ab, bb = 0, 0, 0
        for i in range(start, stop):
            x = p[i]
            higher += x > p_true
            ties += x == p_true
            q = quantize52(x)
            if q > <uint64_t> 1 << 52:  # beyond the place of probability 1
                if not in_range(x):
                    return False
                q = quantize52(clamp(x))
            a = q >> 26
            b = q & 0x3FFFFFF
            aa += a * a
            ab += a * b
            bb += b * b
        add_parts(&row.squares, aa, ab, bb)
        start = stop
    row.higher, row.ties = higher, ties
    return True


@cython.cdivision(True)
cdef inline void rate(Sample *s, double p, Row *row, Py_ssize_t rank, bint is_named) noexcept nogil:
    """Fill the fields that need no logarithm, from the probability of the true class and the squares of its row."""
    cdef Term brier = row.squares
    cdef uint64_t q = quantize52(p) if is_named else 0
    s.p = p if is_named and p > 2.0**-52 else 2.0**-52
    s.share = <double> <int64_t> q / sqrt_units(row.squares) if q else 0.0
    s.share = s.share if s.share < 1.0 else 1.0
    brier.high += (<uint64_t> 1 << 40) - (q >> 11) - (brier.low < q << 53)  # (1 - q)^2 - q^2 = 1 - 2 q
    brier.low -= q << 53
    s.loss[BRIER] = brier
    s.rank = <int> min(rank, RANKS) - 1
    s.two = row.classes + (not is_named) <= 2
    s.binary = False


cdef inline void finish(Sample *s, Py_ssize_t n) noexcept nogil:
    """Turn the doubles of `rate` into terms; a separate loop, so that the samples of a batch are pipelined."""
    cdef Py_ssize_t i
    for i in range(n):
        s[i].loss[LOG_LOSS] = as_term(neg_log(s[i].p))
    for i in range(n):
        s[i].loss[SPHERICAL] = as_term(s[i].share)


cdef inline void rate_single(Sample *s, double p, bint positive) noexcept nogil:
    """Rate the score of one class as a row of two classes; at 1/2 the other one comes first."""
    cdef Row row
    cdef bint ahead = p > 0.5
    p = clamp(p)
    row.classes, row.squares.high, row.squares.low = 2, 0, 0
    add_square(&row.squares, quantize52(p))
    add_square(&row.squares, quantize52(1.0 - p))  # as in a mapping: 2^52 - quantize52(p) may be one more or less
    rate(s, fabs(<double> (not positive) - p), &row, 1 if ahead == positive else 2, True)


cdef inline void plus_square(Wide *sum, Term term) noexcept nogil:
    """Add the square of a term below 64, rounded to a multiple of 2^-52, so that it has at most 58 bits."""
    cdef uint64_t q = ((term.high << 12) | (term.low >> 52)) + ((term.low >> 51) & 1)
    cdef uint64_t a = q >> 32, b = q & <uint64_t> 0xFFFFFFFF, ab = a * b, low = b * b, part = ab << 33
    low += part
    plus_wide(sum, 0, a * a + (ab >> 31) + (low < part), low)


cdef inline void count_squares(Squares *squares, Sample *s) noexcept nogil:
    """Count the squares of the losses of a sample of weight 1."""
    cdef int loss
    for loss in range(<int> BINARY_BRIER):
        if loss == BRIER and s.loss[BRIER].high >= <uint64_t> BRIER_LIMIT << 30:
            squares.beyond += 1
        else:
            plus_square(&squares.loss[loss], s.loss[loss])
    if s.binary:
        plus_square(&squares.loss[BINARY_BRIER], s.loss[BRIER])  # the loss is at most 2


cdef inline void all_binary(Sums *sums) noexcept nogil:
    """Note that all samples are binary."""
    sums.weight[BINARY], sums.loss[BINARY_BRIER] = sums.weight[ALL], sums.loss[BRIER]
    sums.squares.loss[BINARY_BRIER] = sums.squares.loss[BRIER]


cdef inline void plus_loss(Wide *sum, Term loss, int64_t whole, uint64_t part) noexcept nogil:
    cdef uint64_t top = 0
    if whole != 1 or part != 0:
        loss = times(loss, whole, part, &top)
    plus_wide(sum, top, loss.high, loss.low)


cdef inline void count(Sums *sums, Sample *s, int64_t whole, uint64_t part) noexcept nogil:
    """Add a sample whose weight was checked."""
    cdef int loss
    sums.n += 1
    for loss in range(<int> BINARY_BRIER):
        plus_loss(&sums.loss[loss], s.loss[loss], whole, part)
    if not sums.squares.unknown:
        if whole == 1 and part == 0:
            count_squares(&sums.squares, s)
        else:
            sums.squares.weighted += 1
    plus_fixed(&sums.weight[ALL], whole, part)
    plus_fixed(&sums.weight[FIRST_RANK + s.rank], whole, part)
    if s.two:
        plus_fixed(&sums.weight[TWO], whole, part)
    if s.binary:
        plus_fixed(&sums.weight[BINARY], whole, part)
        plus_loss(&sums.loss[BINARY_BRIER], s.loss[BRIER], whole, part)


cdef inline Py_ssize_t count_block(Sums *sums, Sample *s, Py_ssize_t n, const int64_t *whole, const uint64_t *part,
                                   int64_t limit) noexcept nogil:
    """Count rated samples; return the first whose weight is too large, or n."""
    cdef inline Py_ssize_t r
    finish(s, n)
    for r in range(n):
        if (1 if whole == NULL else whole[r]) >= limit - sums.weight[ALL].whole:
            return r
        if whole == NULL:
            count(sums, s + r, 1, 0)
        else:
            count(sums, s + r, whole[r], 0 if part == NULL else part[r])
    return n


cdef inline Py_ssize_t rate_rows(const real *p, Py_ssize_t n, Py_ssize_t k, const int32_t *truth, const int32_t *order,
                                 Sample *s) noexcept nogil:
    """Rate n rows of k probabilities; return the first row with another number, or n."""
    cdef inline Py_ssize_t r, i, t, rank
    cdef Row row
    cdef double p_true
    for r in range(n):
        t = truth[r]
        p_true = p[t] if t >= 0 else -1.0
        if not scan(p, k, p_true, &row):
            return r
        rank = row.higher + 1 if t >= 0 else k + 1
        if t >= 0 and row.ties > 1:
            for i in range(k):
                rank += p[i] == p_true and order[i] < order[t]
        rate(s + r, clamp(p_true), &row, rank, t >= 0)
        p += k
    return n


cdef inline Py_ssize_t rate_singles(const real *p, Py_ssize_t n, const int32_t *positive, Sample *s) noexcept nogil:
    cdef inline Py_ssize_t r
    for r in range(n):
        if not in_range(p[r]):
            return r
        rate_single(s + r, p[r], positive[r])
    return n


cdef inline void forget_squares(Squares *squares, bint unknown) noexcept nogil:
    memset(squares, 0, sizeof(Squares))
    squares.unknown = unknown


cdef inline void combine_losses(Wide *sum, const Wide *more, bint taken) noexcept nogil:
    cdef int loss
    for loss in range(<int> LOSSES):
        if taken:
            minus_wide(&sum[loss], <uint64_t> more[loss].high, more[loss].middle, more[loss].low)
        else:
            plus_wide(&sum[loss], <uint64_t> more[loss].high, more[loss].middle, more[loss].low)


cdef inline void combine(Sums *a, const Sums *b, bint taken) noexcept nogil:
    """Add the sums b to a, or take them back; unknown squares stay unknown until no sample remains."""
    cdef int at, sign = -1 if taken else 1
    a.n += sign * b.n
    a.abstained += sign * b.abstained
    for at in range(<int> WEIGHTS):
        if taken:
            minus_fixed(&a.weight[at], b.weight[at].whole, b.weight[at].part)
        else:
            plus_fixed(&a.weight[at], b.weight[at].whole, b.weight[at].part)
    combine_losses(a.loss, b.loss, taken)
    if a.squares.unknown or b.squares.unknown:
        forget_squares(&a.squares, a.n != 0 or not taken)
        return
    a.squares.weighted += sign * b.squares.weighted
    a.squares.beyond += sign * b.squares.beyond
    combine_losses(a.squares.loss, b.squares.loss, taken)


cdef inline bint is_zero(const Wide *sum) noexcept nogil:
    return (sum.high | <int64_t> (sum.middle | sum.low)) == 0


cdef inline bint all_zero(const Wide *losses) noexcept nogil:
    return is_zero(&losses[LOG_LOSS]) and is_zero(&losses[BRIER]) and is_zero(&losses[SPHERICAL])


cdef inline bint is_weight_in(Fixed part, Fixed whole) noexcept nogil:
    """Whether a weight that is not negative is at most another one."""
    minus_fixed(&whole, part.whole, part.part)
    return whole.whole >= 0


cdef inline bint is_loss_in(const Wide *losses) noexcept nogil:
    """Whether the Brier loss of binary samples is at most that of all samples."""
    cdef Wide rest = losses[BRIER]
    cdef const Wide *part = losses + <int> BINARY_BRIER
    minus_wide(&rest, <uint64_t> part.high, part.middle, part.low)
    return rest.high >= 0


cdef inline bint none_negative(const Wide *losses) noexcept nogil:
    cdef int loss
    for loss in range(<int> LOSSES):
        if losses[loss].high < 0:
            return False
    return True


cdef inline bint possible_binary(const Sums *s) noexcept nogil:
    """Whether the sums of binary samples are a part of those of all samples; see `possible`."""
    if (s.weight[BINARY].whole | <int64_t> s.weight[BINARY].part) == 0:
        return is_zero(&s.loss[BINARY_BRIER]) and is_zero(&s.squares.loss[BINARY_BRIER])
    return is_weight_in(s.weight[BINARY], s.weight[TWO]) and is_loss_in(s.loss) and is_loss_in(s.squares.loss)


cdef inline bint possible_squares(const Squares *s, int64_t n) noexcept nogil:
    """Whether samples of their losses can give these squares; see `possible`."""
    if s.weighted < 0 or s.beyond < 0 or s.weighted > n - s.beyond or not none_negative(s.loss):
        return False
    if s.weighted + s.beyond == n and not is_zero(&s.loss[BRIER]):
        return False
    return s.weighted < n or all_zero(s.loss)


cdef inline bint possible(const Sums *s) noexcept nogil:
    """Whether samples can have these sums: none is negative, no part is more than the whole, and no loss without them.

    Reverts and decoding use it. What it cannot see is counts that belong to other samples.
    """
    cdef int at, ranks = 0
    cdef Fixed ranked
    ranked.whole, ranked.part = 0, 0
    if s.n < 0 or s.abstained < 0 or not none_negative(s.loss):
        return False
    for at in range(<int> WEIGHTS):
        if s.weight[at].whole < 0:
            return False
    for at in range(<int> FIRST_RANK, <int> FIRST_RANK + <int> RANKS):
        ranks += s.weight[at].whole != 0 or s.weight[at].part != 0
        plus_fixed(&ranked, s.weight[at].whole, s.weight[at].part)
        if ranked.whole < 0:
            return False
    if ranked.whole != s.weight[ALL].whole or ranked.part != s.weight[ALL].part:
        return False
    if not is_weight_in(s.weight[TWO], s.weight[ALL]):
        return False
    if s.n < ranks or not possible_squares(&s.squares, s.n) or not possible_binary(s):
        return False
    return (s.weight[ALL].whole | <int64_t> s.weight[ALL].part) != 0 or all_zero(s.loss)
