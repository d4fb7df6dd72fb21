"""Tables to counts: which columns are read, which rows are refused, in which pieces a source is read.

What is about one engine belongs in `integrations`; what a column or a label may be, in `inputs`.
"""
