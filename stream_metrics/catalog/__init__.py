"""The table of metrics: one row each, with its formula, range, options and source.

A new metric is a formula and a row here. What cannot be computed from given counts, and why, is in `spec`.
"""
