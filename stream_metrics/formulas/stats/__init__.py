"""Tails of distributions and special functions, for scalars and arrays.

Functions of probability that know nothing of metrics belong here.
"""
