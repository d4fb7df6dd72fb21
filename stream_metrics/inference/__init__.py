"""What counts say of the population that they are a sample of.

intervals.py      from a snapshot and a key to an interval: the way in
choice.py         which metrics have intervals, by which methods, and the default of each; what is refused, and why
counted.py        metrics of the matrix          scored.py     metrics of scores          users.py    a user's formula
proportions.py    Wilson, Jeffreys, Clopper and Pearson          sequences.py    intervals for looking all the time
anytime.py        of the matrix, for looking all the time: when asymptotic sequences start, exact ones before
gradients.py      delta method                   resampling.py bootstrap and posterior draws
losses.py         mean losses                    calibration.py  the calibration error without noise
posterior.py      balanced accuracy of two classes, exactly      selection.py    the worst of many groups
tables.py         many matrices at once          forms.py, forms_classes.py    the formulas for them
matrix_counts.py  one matrix as formulas read it special.py    normal, beta and Student's distribution
comparison*.py    two models on the same stream  detectors.py  has it got worse?          planning.py how many labels?
"""
