"""Counts of any past time: panes in the store that become longer with age, and what is read from them.

Not here: how pairs are counted and the windows that end now (`counts/`), and the tables of panes (`store/`).
"""
