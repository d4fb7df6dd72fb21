"""Mergeable states: what is counted, as bytes, merged and reverted.

One file a state, on top of its compiled counters in `_core`. Reading what a caller passes belongs to `inputs`.
"""
