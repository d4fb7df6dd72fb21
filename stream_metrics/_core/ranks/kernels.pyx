# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled counters of the rank sketch: a histogram of scores with a sample, for every class."""

include "bottom_k.pxi"
include "histogram.pxi"
include "histogram_memory.pxi"
include "classes.pxi"
include "score_rows.pxi"
include "samples.pxi"
include "aggregates.pxi"
include "batch_rows.pxi"
include "batch.pxi"
include "pairs.pxi"
include "unpairing.pxi"
include "merging.pxi"
include "coding.pxi"
include "counters.pxi"
include "scored.pxi"
