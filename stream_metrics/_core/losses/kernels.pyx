# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled exact sums of probability losses."""

cimport cython
from collections.abc import Mapping

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from numpy import floating

from stream_metrics._core.losses.terms cimport (
    ALL, BINARY, BINARY_BRIER, BLOCK, BRIER, FIRST_RANK, LOG_LOSS, RANKS, SPHERICAL, TWO, Row, Sample, Squares, Sums,
    add_square, all_binary, clamp, combine, count, count_block, finish, forget_squares, in_range, possible, rate,
    rate_rows, rate_single, rate_singles, real,
)
from stream_metrics._core.numeric.kernels cimport (
    MOST_SAMPLES, Guarded, Step, by_class, check_samples, chosen_scores, classes_beside, commit_steps, may_be_named,
    not_contained, not_counted, plain, row_values, split, sum_overflow, to_double,
)

cdef object MISSING
from stream_metrics._core.numeric.kernels import MISSING, Swap
from stream_metrics._core.numeric.wide cimport fixed_units, quantize52, read_fixed, read_wide, wide_units
from stream_metrics.errors import ScoreError, options_differ, other_kind
from stream_metrics.labels.class_names import OPEN
from stream_metrics.labels.label import canonical, is_missing, sort_key, unique
from stream_metrics.labels.pos_label import check_with_single_score

include "loss_rows.pxi"
include "sums.pxi"
