"""Shared parts of the compiled counters: the lock, numbers, weights, labels, exact sums, hashes.

Nothing here knows about a state; code for one state belongs in the folder of that state.
"""
