"""Compiled parts of the monitor: reading of lines and events, the join, entries of its store.

Nothing outside the monitor uses them; counters belong to `stream_metrics._core`.
"""
