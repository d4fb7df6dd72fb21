"""Intervals of a metric's value in the population, for one look and for any number of looks.

Methods for one value belong here; differences of two models (`comparison`) and many groups (`selection`) do not.

==============================================  ====================================================================
`dispatch`, `interval`                          the way in, and the result
`methods`                                       which metrics have intervals, by which methods
`count_intervals`, `score_intervals`, `losses`  by the state that a metric reads
`gradients`, `resampling`, `adequacy`           delta method, drawn matrices with functions and options, which applies
`anytime`                                       any number of looks
`folds`                                         samples that depend on each other, and when an interval can be given
`batched_counts`, `many_matrices`               counts and intervals of many matrices at once
==============================================  ====================================================================
"""
