from libc.stdint cimport int32_t, int64_t, int8_t, uint32_t, uint64_t
from stream_metrics._core.numeric.fixed cimport add_fixed
from stream_metrics._core.numeric.kernels cimport Guarded, LabelIndex
from stream_metrics._core.numeric.openmap cimport probe

ctypedef uint64_t fraction_t  # of a weight or moment, in units of 2^-64
ctypedef uint32_t slot_t      # the slot of a hash, below 2^25

cdef struct SampleEntry:
    uint64_t hash
    int64_t whole

cdef struct BottomKSample:
    Py_ssize_t size   # the largest number of hashes after pruning
    Py_ssize_t used
    Py_ssize_t slots  # a power of two, at most `fullest(size)`; 0 while there is no memory
    uint64_t threshold    # hashes above it are not among the smallest
    SampleEntry *at
    fraction_t *part    # fractions of the weights, or NULL while all are whole
    slot_t *order       # the slots by code, valid while `sorted`; NULL until they are read
    bint sorted

cdef Py_ssize_t fullest(Py_ssize_t size) noexcept nogil
cdef int bottom_reserve(BottomKSample *s, Py_ssize_t extra, bint fractional) noexcept nogil
cdef void bottom_free(BottomKSample *s) noexcept nogil
cdef void bottom_clear(BottomKSample *s) noexcept nogil
cdef void bottom_prune(BottomKSample *s, uint64_t *scratch) noexcept nogil
cdef int bottom_copy(BottomKSample *s, const BottomKSample *source) noexcept nogil


cdef inline Py_ssize_t slot_of(const SampleEntry *entries, uint64_t hash, Py_ssize_t slots) noexcept nogil:
    """Return the slot of a hash, or the free slot for it."""
    return probe(<const uint64_t *> entries, hash, <Py_ssize_t> (hash & <uint64_t> (slots - 1)), slots) >> 1


cdef inline bint bottom_ready(const BottomKSample *s, bint fractional) noexcept nogil:
    """Whether one more hash needs no memory."""
    return (2 * s.used + 2 <= s.slots or s.slots >= 2 * s.size) and not (fractional and s.part == NULL)


cdef inline void bottom_add(BottomKSample *s, uint64_t hash, int64_t whole, fraction_t part,
                            uint64_t *scratch) noexcept nogil:
    """Add to the weight of a hash; memory is reserved. `scratch` is an array of `fullest(size)` hashes."""
    cdef Py_ssize_t at
    if hash > s.threshold:
        return
    at = slot_of(s.at, hash, s.slots)
    if s.at[at].hash == 0:
        s.at[at].hash = hash
        s.used += 1
        s.sorted = False
    if part:
        add_fixed(<uint64_t *> &s.at[at].whole, s.part + at, <uint64_t> whole, part)
    else:
        s.at[at].whole += whole
    if 4 * s.used >= 3 * s.slots:
        bottom_prune(s, scratch)


ctypedef uint32_t cell_t  # the number of a cell, at most 2^24
ctypedef int32_t code_t   # the number of a label in a batch

cdef extern from *:
    """
    #define RANK_MIXED UINT64_MAX
    #define RANK_ZERO ((uint64_t) 1 << 63)
    #define RANK_ONE (((uint64_t) 1 << 63) + ((uint64_t) 1075 << 52))
    """
    const uint64_t MIXED "RANK_MIXED"  # no score has this code
    const uint64_t ZERO "RANK_ZERO"    # the code of 0
    const uint64_t ONE "RANK_ONE"      # the code of 1

cdef enum:
    SHIFT = 20  # moments leave out the lowest bits of a code
    WIDE = 52   # up to this level 1 is the start of a cell

cdef struct ScoreHistogram:
    Py_ssize_t buckets, size  # most cells; hashes in a sample
    Py_ssize_t groups, used, capacity
    int level
    int bits              # of the number of slots
    bint sorted           # whether `order` is up to date
    # beyond level WIDE, where the cell of 1 holds smaller scores too: whether any score is above 1
    bint above
    cell_t *slot          # cell number + 1, by hash of the key
    uint64_t *record      # per cell: key, single code or MIXED, then per group: whole weight, moment
    fraction_t *fractions  # per cell and group: the fractions of weight and moment; NULL while all weights are whole
    cell_t *order         # the cells by key
    uint64_t *sum         # per group: whole weight, fraction of all cells; kept at level 0 only
    BottomKSample *sample        # per group, from level 1 on
    uint64_t *scratch     # for pruning samples

cdef struct Entry:
    Py_ssize_t class_index
    uint64_t code
    int kind
    bint is_all      # of a sample to be reverted: whether it has all the weight of the score
    Py_ssize_t slot  # of the score in its column


cdef void histogram_add(ScoreHistogram *c, uint64_t code, Py_ssize_t group, int64_t whole,
                        fraction_t part) noexcept nogil
cdef void histogram_absorb(ScoreHistogram *c, const ScoreHistogram *o, const int64_t *to) noexcept nogil
cdef bint above_one(const ScoreHistogram *c) noexcept nogil
cdef Py_ssize_t histogram_cell(ScoreHistogram *c, uint64_t key, uint64_t single_code) noexcept nogil


cdef inline uint64_t *record_of(const ScoreHistogram *c, Py_ssize_t cell) noexcept nogil:
    return c.record + cell * (2 + 2 * c.groups)


cdef inline fraction_t *fractions_of(const ScoreHistogram *c, Py_ssize_t cell) noexcept nogil:
    return c.fractions + cell * 2 * c.groups


cdef inline Py_ssize_t place(const ScoreHistogram *c, uint64_t key) noexcept nogil:
    """Where the search for a key starts."""
    return <Py_ssize_t> ((key * <uint64_t> 0x9E3779B97F4A7C15) >> (64 - c.bits))


cdef inline Py_ssize_t find_above(const ScoreHistogram *c, uint64_t key, int by) noexcept nogil:
    """Return the slot of a cell with this key `by` levels up, or the free slot for it."""
    cdef Py_ssize_t at = place(c, key), mask = (<Py_ssize_t> 1 << c.bits) - 1, width = 2 + 2 * c.groups
    while c.slot[at] != 0 and c.record[(<Py_ssize_t> c.slot[at] - 1) * width] >> by != key:
        at = (at + 1) & mask
    return at


cdef inline Py_ssize_t find(const ScoreHistogram *c, uint64_t key) noexcept nogil:
    """Return the slot of a cell, or the free slot for it."""
    return find_above(c, key, 0)


cdef inline bint occupied(const ScoreHistogram *c, Py_ssize_t cell, Py_ssize_t group) noexcept nogil:
    return record_of(c, cell)[2 + 2 * group] != 0 or (c.fractions != NULL and fractions_of(c, cell)[2 * group] != 0)


cdef inline bint histogram_ready(const ScoreHistogram *c, uint64_t code, Py_ssize_t group,
                                 bint fractional) noexcept nogil:
    """Whether one more score needs no memory."""
    if group >= c.groups or c.used >= c.capacity or (fractional and c.fractions == NULL):
        return False
    if c.level == 0:
        return c.used < c.buckets or c.slot[find(c, code)] != 0
    return bottom_ready(c.sample + group, fractional)


cdef ScoreHistogram *histogram_new(Py_ssize_t buckets, Py_ssize_t size) noexcept nogil
cdef void histogram_free(ScoreHistogram *c) noexcept nogil
cdef ScoreHistogram *histogram_copy(const ScoreHistogram *source) noexcept nogil
cdef Py_ssize_t histogram_bytes(const ScoreHistogram *c) noexcept nogil
cdef int histogram_reserve(ScoreHistogram *c, Py_ssize_t groups, Py_ssize_t extra, bint fractional) noexcept nogil
cdef int histogram_sampling(ScoreHistogram *c) noexcept nogil
cdef int histogram_reserve_sample(ScoreHistogram *c, Py_ssize_t group, Py_ssize_t extra) noexcept nogil
cdef int histogram_reserve_for(ScoreHistogram *c, const ScoreHistogram *o, const int64_t *to,
                               Py_ssize_t groups) noexcept nogil
cdef void histogram_drop_samples(ScoreHistogram *c) noexcept nogil


cdef struct Class:
    int64_t whole      # weight of the samples that are truly of the class
    fraction_t part    # its fraction, in units of 2^-64
    int64_t type_counts[3]    # appearances of its label as bool, as int and as float
    ScoreHistogram *histogram     # its scores, or NULL while all were 0
    bint single        # whether a single score was counted beside a sample of the class
    Py_ssize_t entry   # while a sample is reverted: the place of its score for the class, from 1 on; else 0

cdef class RankCounters(Guarded):
    cdef readonly Py_ssize_t buckets
    cdef readonly Py_ssize_t sample
    cdef readonly object pos_label
    cdef readonly bint pairs
    cdef readonly bint paired       # whether pairs are kept: `pairs`, and never more than MOST_PAIRED classes
    cdef readonly bint needs_pairs  # whether more classes are refused instead
    cdef bint reads_names    # whether keys of scores that are text may name numbers; not if the caller read them
    cdef readonly bint binary_only  # whether new labels must be 0 or 1, False or True
    cdef readonly int64_t n
    cdef readonly int64_t abstained
    cdef readonly int64_t rounded  # samples whose weight was rounded to a multiple of 2^-64
    cdef LabelIndex label_index
    cdef Class *classes
    cdef Py_ssize_t pos_at  # the index of `pos_label`, or -1
    cdef Py_ssize_t used, capacity
    cdef int64_t mass      # the whole parts of all weights; never above 2^63 - 3
    cdef fraction_t mass_part
    cdef int64_t epoch     # another number in each state, so that a batch is not added to one with other levels
    cdef int64_t spare     # a lower bound of the samples that can be counted before a counter is full


cdef tuple read_scores(object scores, object pos_label, object classes, object position)
cdef tuple read_named(RankCounters self, object truth, object scores, object classes)


cdef inline bint is_plain_type(object label):
    """Whether a label of that type can be looked up without running Python code."""
    kind = type(label)
    return kind is str or kind is bool or kind is int or kind is bytes or kind is float


cdef int sort_cells(ScoreHistogram *c) except -1


cdef struct CodeRows:
    const code_t *group        # the class of each
    int64_t own                # -1, or the class that is counted apart from the rest
    const int64_t *whole       # weights, NULL if all are 1
    const fraction_t *part

cdef class Batch:
    cdef list truths, labels         # of the true classes and of the columns
    cdef object weight, parts, occurs, truth_types, label_types
    cdef ScoreHistogram **histograms
    cdef Py_ssize_t size             # number of columns
    cdef bint pairs                  # whether every class is counted apart
    cdef int64_t n, samples, epoch   # rows, and the samples that they stand for
    cdef bint inside                 # whether a section of the state is open
    cdef int64_t[:, ::1] truth_type, label_type
    cdef bint repeated               # whether a row may stand for several samples
    cdef object codes, wholes, fractions, owns, estimates
    cdef const code_t[::1] code
    cdef const int64_t[::1] whole
    cdef const fraction_t[::1] part
    cdef int64_t[::1] own
    cdef int8_t[::1] estimated          # whether the thresholds of the samples are estimates, not those of the state

    cdef list occurring(self, columns)
    cdef int start(self, RankCounters into, list columns) except -1
    cdef int set_pairs(self, bint pairs) except -1
    cdef list columns_with_scores(self, const double[:, :] x)
    cdef int take_levels(self, RankCounters into) except -1
    cdef void close(self) noexcept
    cdef CodeRows rows(self, Py_ssize_t k, Py_ssize_t start) noexcept nogil
    cdef int resample_column(self, Py_ssize_t k, const double[:, :] x, uint64_t *code) noexcept nogil


cdef uint64_t fraction_bits(ScoreHistogram *c) noexcept
cdef bytes pack_histogram(ScoreHistogram *c, const int64_t[::1] groups, int places)
cdef bytes pack_weights(list weights, int places)
cdef list read_weights(bytes stream, Py_ssize_t count, int places)
cdef int read_histogram(ScoreHistogram *c, bytes stream, Py_ssize_t groups, int places) except -1
cdef bint histogram_within(ScoreHistogram *c, Py_ssize_t group, uint64_t whole, uint64_t part) noexcept
