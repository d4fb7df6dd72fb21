"""Shared parts of the compiled counters: the lock, numbers, weights, exact fixed-point sums, hashes.

Nothing here knows about a state; whatever only one state needs belongs to the folder of that state.
"""
