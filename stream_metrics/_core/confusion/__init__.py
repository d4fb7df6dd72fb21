"""Compiled counters of the confusion matrix, and the index of labels that other states share.

Cells, sums over them, batches and their bytes. Formulas belong to `formulas`, reading of input to `inputs`.
"""
