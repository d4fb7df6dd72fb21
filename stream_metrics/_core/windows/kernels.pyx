# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled updates of containers: windows over the last samples, panes by time, groups, fading states."""

cdef object MISSING
from stream_metrics._core.numeric.kernels import MISSING

cdef object UNIT_WEIGHT = 1

include "ring.pxi"
include "rolling.pxi"
include "dispatch.pxi"
include "keyed.pxi"
include "panes.pxi"
include "groups.pxi"
include "fading.pxi"
