"""Compiled counters of the rank sketch: a histogram of scores with a sample, for every class.

How a sketch is evaluated belongs to `ranking`.
"""
