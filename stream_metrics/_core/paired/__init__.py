"""Compiled counters of two models on the same samples.

How two models are compared belongs to `inference`.
"""
