# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled loops over arrays of numbers that intervals need."""

from libc.math cimport exp, fabs, log, log1p, sqrt
from libc.stdint cimport uint64_t

import numpy as np

from stream_metrics._core.numeric.scores cimport bits

include "bets.pxi"
include "influences.pxi"
include "counts.pxi"
