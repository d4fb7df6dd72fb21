"""Metric classes, one for each metric that is watched alone, and the set of many metrics over shared states.

A class names a row of the catalog and adds a state to it. Counting is in `states`, formulas are in `formulas`.
"""
