"""Rows of the catalogue, evaluated on states: 0/0 replaced, options checked, values taken out of intervals.

Nothing here keeps a value or shows one (`snapshots`, `report`).
"""
