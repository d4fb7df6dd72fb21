# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled exact sums of probability losses."""

include "loss_rows.pxi"
include "sums.pxi"
