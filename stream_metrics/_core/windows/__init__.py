"""Compiled updates of containers: windows over the last samples, panes by time, groups.

Merging of panes and eviction of groups are in `containers`.
"""
