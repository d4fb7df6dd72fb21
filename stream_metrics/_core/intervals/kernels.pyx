# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled loops over arrays of numbers that intervals need."""

include "bets.pxi"
include "influences.pxi"
include "counts.pxi"
