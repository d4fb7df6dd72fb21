# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled counters of the rank sketch: a histogram of scores with a sample, for every class."""

cimport cython
from collections.abc import Mapping

from cpython.dict cimport PyDict_Contains, PyDict_Next
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.ref cimport PyObject, Py_REFCNT
from libc.math cimport INFINITY, NAN, fabs, hypot, isfinite, ldexp, pow, sqrt
from libc.stdint cimport INT64_MAX, int32_t, int64_t, int8_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

cimport numpy as cnp
import numpy as np
from numpy import floating

from stream_metrics._core.confusion.kernels cimport ConfusionCounters, LabelSample, SetUpdateBase
from stream_metrics._core.losses.kernels cimport LossSample, LossSums
from stream_metrics._core.numeric.fixed cimport add_fixed, add_product, take_fixed, unsigned_double
from stream_metrics._core.numeric.hashing cimport inverse_splitmix64, splitmix64
from stream_metrics._core.numeric.kernels cimport (
    MOST_SAMPLES, Guarded, LabelIndex, Step, allocate, by_class, check_samples, chosen_scores, classes_beside,
    commit_steps, exchange, known_index, may_be_named, most_type_count, not_counted, numeric_kind, plain, plain_weight,
    refuse_samples, remove_type, row_values, samples_left, split_some, sum_overflow, to_double, vector,
)

cdef object MISSING
from stream_metrics._core.numeric.kernels import MISSING, Swap, whole as whole_option
from stream_metrics._core.numeric.openmap cimport probe
from stream_metrics._core.numeric.scores cimport bits, encode, encode_all, score_of
from stream_metrics._core.numeric.varint cimport read_varint, write_varint
from stream_metrics.errors import ScoreError, WeightError, options_differ, other_kind
from stream_metrics.labels.class_names import OPEN
from stream_metrics.labels.label import canonical, is_missing, unique
from stream_metrics.labels.pos_label import check_binary, check_with_single_score, spelled_like

include "bottom_k.pxi"
include "histogram.pxi"
include "histogram_memory.pxi"
include "counters.pxi"
include "classes.pxi"
include "batch_rows.pxi"
include "score_rows.pxi"
include "samples.pxi"
include "aggregates.pxi"
include "edges.pxi"
include "pairs.pxi"
include "tables.pxi"
include "score_means.pxi"
include "dot.pxi"
include "cell_classes.pxi"
include "crowded_cells.pxi"
include "pairs_against.pxi"
include "unpairing.pxi"
include "score_table.pxi"
include "merging.pxi"
include "coding.pxi"
include "scored.pxi"
