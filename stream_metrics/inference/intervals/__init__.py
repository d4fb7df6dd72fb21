"""Intervals of a metric's value in the population, for one look and for any number of looks.

Methods for one value belong here; differences of two models (`comparison`) and many groups (`selection`) do not.

===============================================================  ===================================================
`dispatch`, `conditions`, `interval`                             the way in: options, refusals, the result
`methods`                                                        which metrics have intervals, by which methods
`count_intervals`, `score_intervals`, `losses`, `calibration`    by the state that a metric reads
`custom_metrics`                                                 a user's formula, and metrics with options
`proportions`, `posterior`, `cramer`                             closed methods for single metrics
`gradients`, `resampling`, `adequacy`                            delta method, drawn matrices, which of them applies
`absent_classes`                                                 fixed classes that have not occurred
`sequences`, `anytime`                                           any number of looks
`folds`, `jackknife`                                             samples that depend on each other
`batched_counts`, `batched_formulas`, `matrix_counts`            counts of many matrices, and of one plain matrix
`many_matrices`, `ragged_counts`                                 the defaults of many matrices of any sizes at once
===============================================================  ===================================================
"""
