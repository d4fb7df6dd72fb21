# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Shared parts of the compiled counters: the lock, numbers, weights, labels, exact fixed-point sums, hashes."""

import os

cdef uint64_t HASH_SEED = int.from_bytes(os.urandom(8), "little")

include "guard.pxi"
include "steps.pxi"
include "numbers.pxi"
include "weights.pxi"
include "labels.pxi"
include "arrow_texts.pxi"
include "arguments.pxi"
