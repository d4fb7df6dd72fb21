# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled counters of the confusion matrix, and the index of labels that other states share."""

include "cells.pxi"
include "aggregates.pxi"
include "coding.pxi"
include "runs.pxi"
include "batch.pxi"
include "rows.pxi"
include "counters.pxi"
include "steps.pxi"
include "reading.pxi"
