"""Records of a source, the events in them, and when these came; what cannot be read or is not valid is rejected here.

Not here: where records come from (`sources/`), and which events belong together (`join/`).
"""
