"""Compiled exact sums of probability losses.

How a loss is derived from the sums belongs to `formulas`.
"""
