"""Shared parts of the compiled counters: the lock, numbers, weights, labels, exact sums, hashes.

Nothing here knows about a state; whatever only one state needs belongs to the folder of that state.
"""
