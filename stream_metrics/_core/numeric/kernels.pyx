# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Shared parts of the compiled counters: the lock, numbers, weights, labels, exact fixed-point sums, hashes."""

cimport cython
import operator
import os
from collections.abc import Iterable, Mapping, Set
from operator import index

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_DECREF, Py_INCREF
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport floor, isfinite, ldexp, rint
from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t, uint8_t, uintptr_t
from libc.string cimport memcpy, memmove, memset

cimport numpy as cnp
import numpy as np

from stream_metrics._core.numeric.texts cimport SHORT, hash_bytes, same_bytes
from stream_metrics.errors import LabelError, ScoreError, WeightError
from stream_metrics.labels.class_names import OPEN as _OPEN, ClassNames as _ClassNames
from stream_metrics.labels.label import (
    LARGEST_INT as _LARGEST_INT, LONGEST as _LONGEST, canonical, is_missing, most_likely, ordering, unique,
)
from stream_metrics.labels.pos_label import check_binary, check_whole

cdef uint64_t HASH_SEED = int.from_bytes(os.urandom(8), "little")


cnp.import_array()


cdef void *allocate(Py_ssize_t count, Py_ssize_t size) except NULL nogil:
    cdef void *block = PyMem_RawCalloc(count, size)
    if block == NULL:
        with gil:
            raise MemoryError(f"no memory for {count} times {size} bytes")
    return block

cdef object vector(Py_ssize_t n, int kind):
    cdef cnp.npy_intp size = n
    return cnp.PyArray_SimpleNew(1, &size, kind)


include "guard.pxi"
include "steps.pxi"
include "numbers.pxi"
include "weights.pxi"
include "labels.pxi"
include "arrow_texts.pxi"
include "arguments.pxi"
