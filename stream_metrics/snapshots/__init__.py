"""Frozen views of states: values, intervals and rendering behind one object.

What a user reads from a state at one moment belongs here. Formulas, methods of inference and layout do not.
"""
