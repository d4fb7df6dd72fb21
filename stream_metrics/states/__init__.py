"""The states: compiled counters with a Python face."""
