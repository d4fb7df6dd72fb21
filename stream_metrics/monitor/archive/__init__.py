"""Counts of any past time: panes in the store that become longer with age, and what is read from them.

What counts, and the windows that end now, belong in `counting` and `panes`; the tables of panes belong in the store.
"""
