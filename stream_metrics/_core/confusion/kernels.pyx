# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled counters of the confusion matrix, and the index of labels that other states share."""

cimport cython
from collections.abc import Mapping
from fractions import Fraction

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawRealloc
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.math cimport fabs, isnan, ldexp
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, int8_t, uint32_t, uint64_t, uint8_t, uintptr_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

cimport numpy as cnp
import numpy as np

from stream_metrics._core.numeric.fixed cimport Fixed, add_fixed, add_multiple, add_product, as_double, fixed_quotient
from stream_metrics._core.numeric.hashing cimport home_slot
from stream_metrics._core.numeric.kernels cimport (
    HASH_SEED, MOST_SAMPLES, Guarded, IdentityCacheEntry, LabelIndex, Step, allocate, cache_entry, check_samples,
    chosen_labels, chosen_scores, commit_steps, known_index, most_type_count, no_prediction, not_contained,
    not_counted, numeric_kind, numeric_kinds, plain, plain_weight, refuse_samples, remove_type, samples_left, split,
    split_number, sum_overflow, vector,
)

cdef object MISSING
from stream_metrics._core.numeric.kernels import MISSING, Swap
from stream_metrics._core.numeric.openmap cimport (
    CounterMap, map_create, map_find, map_free, map_has, map_has_room, map_is_full, map_is_zero, map_move, map_put,
    map_reserve, probe,
)
from stream_metrics._core.numeric.texts cimport hash_bytes, hash_text, is_short_text, same_text
from stream_metrics._core.numeric.varint cimport read_varint, write_varint
from stream_metrics.errors import DecodeError, LabelError, options_differ, other_kind
from stream_metrics.labels.label import canonical, is_missing, most_likely, ordering, same_labels

include "cells.pxi"
include "aggregates.pxi"
include "coding.pxi"
include "runs.pxi"
include "batch.pxi"
include "rows.pxi"
include "counters.pxi"
include "steps.pxi"
include "reading.pxi"
