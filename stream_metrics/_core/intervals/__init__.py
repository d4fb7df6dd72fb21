"""Compiled loops over arrays of numbers that intervals need.

Which interval a metric has, and by which method, belongs to `inference`.
"""
