"""Intervals of a metric's value in the population, for one look and for any number of looks.

Methods and the choice between them belong here; how intervals are shown does not (`report`).
"""
