# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Shared parts of the compiled counters: the lock, numbers, weights, labels, exact fixed-point sums, hashes."""

include "guard.pxi"
include "numbers.pxi"
include "weights.pxi"
include "labels.pxi"
