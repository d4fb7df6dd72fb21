"""How rank sketches are read: areas, average precision, curves, calibration, each with its certified interval.

Functions of `RankColumn` belong here, the counters do not (`_core`, `states`).
"""
