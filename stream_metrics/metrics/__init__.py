"""Live metrics: one class a metric, and the set of all of them over one state.

The classes translate a catalogue row into an accumulator; nothing is counted here (`states`).
"""
