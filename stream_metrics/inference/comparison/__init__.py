"""Differences between two models that saw the same samples: intervals, tests, evidence.

Methods belong here; the view of a comparison is in `snapshots`.
"""
