"""Accumulators made of accumulators: windows, fading, groups, aggregates of workers.

What decides which samples count, or for whom, belongs here. What one state counts does not (`states`).
"""
