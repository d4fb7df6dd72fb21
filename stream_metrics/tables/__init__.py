"""Tables to counts: which columns are read, which rows are refused, in which pieces a source is read.

What knows one engine belongs to `integrations`; what a column or a label may be, to `inputs`.
"""
