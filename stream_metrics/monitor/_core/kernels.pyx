# cython: language_level=3, auto_pickle=False, boundscheck=False, wraparound=False
# cython: initializedcheck=False, cdivision=True
"""Compiled parts of the monitor: reading of lines and events, the join, entries of its store."""

include "events.pxi"
include "votes.pxi"
include "ids.pxi"
include "joins.pxi"
include "lines.pxi"
