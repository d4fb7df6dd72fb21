from libc.stdint cimport int64_t
from stream_metrics._core.numeric.kernels cimport Guarded

cdef enum:
    MOST_BETS = 8
    ABSTAINED = -2
    MOST_TIMES = 100

cdef class Outcome:
    cdef readonly str key
    cdef readonly object label
    cdef int kind

    cdef int judge(self, object y_true, object y_pred) except -2

cdef class Detector(Guarded):
    cdef readonly int64_t n, abstained, alarms
    cdef readonly bint alarm, stopped, learning
    cdef readonly Outcome of
    cdef int64_t reference, learned  # how many losses to learn from, and how many were
    cdef int64_t apart               # of these, how many the ranks leave out
    # the sum of the losses learned from; with ranks, of those ranked, and its value at the end of the reference
    cdef double total, first
    cdef int64_t block, filled       # how many losses are bet on together, and how many of them have come
    cdef double part                 # their sum
    cdef Py_ssize_t bets
    cdef bint up, down, cusum, learns_again, stops, running, calibrated
    cdef double bar, stated          # the evidence of an alarm, and `arl`: the same unless the threshold is calibrated
    cdef double odds[MOST_BETS]
    cdef double level[2]               # the rate before the change, for bets on a rise and on a fall
    cdef double share[2 * MOST_BETS]   # what a bet stakes
    cdef double mass[2 * MOST_BETS]    # the evidence of each bet
    cdef int64_t times[MOST_TIMES]   # the last alarms, number k at the place k % MOST_TIMES

    cdef int watch_one(self, int judged, double loss) except -1
    cdef int watch(self, double x) except -1
    cdef double threshold(self) noexcept
    cdef double mean_length(self, double rate, double bar, int64_t longest) noexcept
    cdef double weigh(self, double x) noexcept
    cdef double multiply(self, double x, int64_t n) noexcept
    cdef double compare(self, double x, int64_t at) noexcept
    cdef double compare_sum(self, int64_t errors, int64_t n) noexcept
    cdef int check_running(self, int64_t learned, double total, levels, bets, double first) except -1
    cdef int place_bets(self) noexcept
    cdef int find_level(self) except -1
    cdef void begin(self, double low, double high) noexcept
    cdef int close(self, double total) noexcept
