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

ctypedef fused real:
    float
    double

cdef enum:
    RANKS = 11  # 1 to 10, and everything beyond
    STRIDE = 512  # squares summed before a part could overflow
    BLOCK = 64  # samples rated together
    BRIER_LIMIT = 2049  # in units of 2^-10: rows that sum to 1 reach 2, but for rounding

cdef struct Row:
    Term squares
    Py_ssize_t classes, higher, ties  # ties count the true class too

cdef struct Sample:
    double p, share  # of the true class, in the row and in the length of the row
    Term log_loss, brier, spherical
    int rank  # the index into Sums.rank
    bint two  # no more than two classes are named
    bint binary  # there are no other classes: a single probability, or a row of False and True

cdef struct Squares:  # of the losses of samples of weight 1, each loss rounded to a multiple of 2^-52 first
    int64_t weighted  # samples of another weight, which are left out
    int64_t beyond  # samples of weight 1 whose Brier loss is above BRIER_LIMIT, whose square is left out
    Wide log_loss, brier, spherical
    Wide binary  # the part of `brier` that comes from binary samples
    bint unknown  # some samples come from bytes without squares; then all of the above is 0

cdef struct Sums:
    int64_t n, abstained
    Fixed weight, two, binary_weight
    Fixed rank[RANKS]
    Wide log_loss, brier, spherical
    Wide binary_brier  # the part of `brier` that comes from binary samples
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
    s.brier = brier
    s.rank = <int> min(rank, RANKS) - 1
    s.two = row.classes + (not is_named) <= 2
    s.binary = False


cdef inline void finish(Sample *s, Py_ssize_t n) noexcept nogil:
    """Turn the doubles of `rate` into terms; a separate loop, so that the samples of a batch are pipelined."""
    cdef Py_ssize_t i
    for i in range(n):
        s[i].log_loss = as_term(neg_log(s[i].p))
    for i in range(n):
        s[i].spherical = as_term(s[i].share)


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
    """Add the squares of a sample of weight 1."""
    plus_square(&squares.log_loss, s.log_loss)
    plus_square(&squares.spherical, s.spherical)
    if s.brier.high >= <uint64_t> BRIER_LIMIT << 30:
        squares.beyond += 1
    else:
        plus_square(&squares.brier, s.brier)


cdef inline void count_binary(Sums *sums, Sample *s, int64_t whole, uint64_t part) noexcept nogil:
    """Add a binary sample to the sums of those alone; it is in the sums of all."""
    cdef uint64_t top = 0
    cdef Term product = times(s.brier, whole, part, &top)
    plus_fixed(&sums.binary_weight, whole, part)
    plus_wide(&sums.binary_brier, top, product.high, product.low)
    if whole == 1 and part == 0 and not sums.squares.unknown:
        plus_square(&sums.squares.binary, s.brier)  # the loss is at most 2


cdef inline void all_binary(Sums *sums) noexcept nogil:
    """Take all samples for binary ones."""
    sums.binary_weight, sums.binary_brier, sums.squares.binary = sums.weight, sums.brier, sums.squares.brier


cdef inline void count(Sums *sums, Sample *s, int64_t whole, uint64_t part) noexcept nogil:
    """Add a sample whose weight was checked."""
    cdef Term product
    cdef uint64_t top = 0
    sums.n += 1
    if whole == 1 and part == 0:
        plus_wide(&sums.log_loss, 0, s.log_loss.high, s.log_loss.low)
        plus_wide(&sums.brier, 0, s.brier.high, s.brier.low)
        plus_wide(&sums.spherical, 0, s.spherical.high, s.spherical.low)
        if not sums.squares.unknown:
            count_squares(&sums.squares, s)
    else:
        sums.squares.weighted += not sums.squares.unknown
        product = times(s.log_loss, whole, part, &top)
        plus_wide(&sums.log_loss, top, product.high, product.low)
        product = times(s.brier, whole, part, &top)
        plus_wide(&sums.brier, top, product.high, product.low)
        product = times(s.spherical, whole, part, &top)
        plus_wide(&sums.spherical, top, product.high, product.low)
    plus_fixed(&sums.weight, whole, part)
    plus_fixed(&sums.rank[s.rank], whole, part)
    if s.two:
        plus_fixed(&sums.two, whole, part)
    if s.binary:
        count_binary(sums, s, whole, part)


cdef inline Py_ssize_t count_block(Sums *sums, Sample *s, Py_ssize_t n, const int64_t *whole, const uint64_t *part,
                                   int64_t limit) noexcept nogil:
    """Count rated samples; return the first whose weight is too large, or n."""
    cdef inline Py_ssize_t r
    finish(s, n)
    for r in range(n):
        if (1 if whole == NULL else whole[r]) >= limit - sums.weight.whole:
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


cdef inline void plus_squares(Squares *a, const Squares *b) noexcept nogil:
    if a.unknown or b.unknown:
        forget_squares(a, True)
        return
    a.weighted += b.weighted
    a.beyond += b.beyond
    plus_wide(&a.log_loss, <uint64_t> b.log_loss.high, b.log_loss.middle, b.log_loss.low)
    plus_wide(&a.brier, <uint64_t> b.brier.high, b.brier.middle, b.brier.low)
    plus_wide(&a.spherical, <uint64_t> b.spherical.high, b.spherical.middle, b.spherical.low)
    plus_wide(&a.binary, <uint64_t> b.binary.high, b.binary.middle, b.binary.low)


cdef inline void minus_squares(Squares *a, const Squares *b, int64_t left) noexcept nogil:
    """Subtract; unknown squares stay unknown until no sample remains."""
    if a.unknown or b.unknown:
        forget_squares(a, left != 0)
        return
    a.weighted -= b.weighted
    a.beyond -= b.beyond
    minus_wide(&a.log_loss, <uint64_t> b.log_loss.high, b.log_loss.middle, b.log_loss.low)
    minus_wide(&a.brier, <uint64_t> b.brier.high, b.brier.middle, b.brier.low)
    minus_wide(&a.spherical, <uint64_t> b.spherical.high, b.spherical.middle, b.spherical.low)
    minus_wide(&a.binary, <uint64_t> b.binary.high, b.binary.middle, b.binary.low)


cdef inline void plus_sums(Sums *a, const Sums *b) noexcept nogil:
    cdef int r
    a.n += b.n
    a.abstained += b.abstained
    plus_fixed(&a.weight, b.weight.whole, b.weight.part)
    plus_fixed(&a.two, b.two.whole, b.two.part)
    for r in range(RANKS):
        plus_fixed(&a.rank[r], b.rank[r].whole, b.rank[r].part)
    plus_wide(&a.log_loss, <uint64_t> b.log_loss.high, b.log_loss.middle, b.log_loss.low)
    plus_wide(&a.brier, <uint64_t> b.brier.high, b.brier.middle, b.brier.low)
    plus_wide(&a.spherical, <uint64_t> b.spherical.high, b.spherical.middle, b.spherical.low)
    plus_fixed(&a.binary_weight, b.binary_weight.whole, b.binary_weight.part)
    plus_wide(&a.binary_brier, <uint64_t> b.binary_brier.high, b.binary_brier.middle, b.binary_brier.low)
    plus_squares(&a.squares, &b.squares)


cdef inline void minus_sums(Sums *a, const Sums *b) noexcept nogil:
    cdef int r
    a.n -= b.n
    a.abstained -= b.abstained
    minus_fixed(&a.weight, b.weight.whole, b.weight.part)
    minus_fixed(&a.two, b.two.whole, b.two.part)
    for r in range(RANKS):
        minus_fixed(&a.rank[r], b.rank[r].whole, b.rank[r].part)
    minus_wide(&a.log_loss, <uint64_t> b.log_loss.high, b.log_loss.middle, b.log_loss.low)
    minus_wide(&a.brier, <uint64_t> b.brier.high, b.brier.middle, b.brier.low)
    minus_wide(&a.spherical, <uint64_t> b.spherical.high, b.spherical.middle, b.spherical.low)
    minus_fixed(&a.binary_weight, b.binary_weight.whole, b.binary_weight.part)
    minus_wide(&a.binary_brier, <uint64_t> b.binary_brier.high, b.binary_brier.middle, b.binary_brier.low)
    minus_squares(&a.squares, &b.squares, a.n)


cdef inline bint is_zero(const Wide *sum) noexcept nogil:
    return (sum.high | <int64_t> (sum.middle | sum.low)) == 0


cdef inline bint is_part(Wide part, Wide whole) noexcept nogil:
    """Whether a sum that is not negative is at most another one."""
    minus_wide(&whole, <uint64_t> part.high, part.middle, part.low)
    return part.high >= 0 and whole.high >= 0


cdef inline bint possible_binary(const Sums *s) noexcept nogil:
    """Whether binary samples can be among those that name at most two classes, and their losses among all."""
    cdef Fixed rest = s.two
    minus_fixed(&rest, s.binary_weight.whole, s.binary_weight.part)
    if rest.whole < 0 or s.binary_weight.whole < 0:
        return False
    if (s.binary_weight.whole | <int64_t> s.binary_weight.part) == 0:
        return is_zero(&s.binary_brier) and is_zero(&s.squares.binary)
    return is_part(s.binary_brier, s.brier) and is_part(s.squares.binary, s.squares.brier)


cdef inline bint possible_squares(const Squares *s, int64_t n) noexcept nogil:
    """Whether no number is negative and every square has a sample."""
    if s.weighted < 0 or s.beyond < 0 or s.weighted > n - s.beyond:
        return False
    if s.log_loss.high < 0 or s.brier.high < 0 or s.spherical.high < 0:
        return False
    if s.weighted + s.beyond == n and not is_zero(&s.brier):
        return False
    return s.weighted < n or (is_zero(&s.log_loss) and is_zero(&s.spherical))


cdef inline bint possible(const Sums *s) noexcept nogil:
    """Whether a state can have these sums: none negative, none without weight, a sample for every used rank."""
    cdef int r, ranks = 0
    cdef Fixed ranked
    ranked.whole, ranked.part = 0, 0
    if s.n < 0 or s.abstained < 0 or s.weight.whole < 0 or s.two.whole < 0:
        return False
    if s.log_loss.high < 0 or s.brier.high < 0 or s.spherical.high < 0:
        return False
    for r in range(RANKS):
        if s.rank[r].whole < 0:
            return False
        ranks += s.rank[r].whole != 0 or s.rank[r].part != 0
        plus_fixed(&ranked, s.rank[r].whole, s.rank[r].part)
        if ranked.whole < 0:
            return False
    if ranked.whole != s.weight.whole or ranked.part != s.weight.part:
        return False
    if s.two.whole > s.weight.whole or (s.two.whole == s.weight.whole and s.two.part > s.weight.part):
        return False
    if s.n < ranks or not possible_squares(&s.squares, s.n) or not possible_binary(s):
        return False
    if s.weight.whole | <int64_t> s.weight.part:
        return True
    return is_zero(&s.log_loss) and is_zero(&s.brier) and is_zero(&s.spherical)
