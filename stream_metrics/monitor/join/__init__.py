"""Predictions and their late labels become pairs; what waits and which ids were seen is bounded in memory and on disk.

Not here: what a pair adds to (`counts/`), and how waiting entries are stored (`store/`).
"""
