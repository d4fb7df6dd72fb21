"""The command ``stream-metrics``: one file per command, translation only; see ``main``."""
