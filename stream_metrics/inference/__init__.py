"""Inference: from the counts of a sample to statements about its population, with their uncertainty.

Intervals, comparisons, change and planning belong here; the values themselves (`formulas`, `ranking`, `evaluation`) and
their rendering (`report`) do not.

===================  ===============================================================================================
`intervals`          the interval of a metric, for one look and for any number of looks; `dispatch` is the way in
`comparison`         the difference of two models on the same samples: intervals, tests, evidence
`missing_labels`     how far a metric can move when missing labels arrive
`planning`           how many labels are needed
`running`            the intersection of all intervals that one stream has shown
`selection`          what holds for the worst of many groups
`change`             the levels of a change detector
===================  ===============================================================================================
"""
