"""Everything this package raises on purpose.

The three input errors are also ``ValueError``, so a caller can catch bad data without importing this module.
Each message names the argument, what is allowed, what came, and for a batch the position.
"""

__all__ = ["DecodeError", "LabelError", "MergeError", "ScoreError", "StreamMetricsError", "WeightError"]


class StreamMetricsError(Exception):
    """Base of all errors of this package; never raised itself."""


class LabelError(StreamMetricsError, ValueError):
    """A true or predicted label is none: wrong type, NaN, missing, or outside the fixed set."""


class ScoreError(StreamMetricsError, ValueError):
    """A score is not a finite number."""


class WeightError(StreamMetricsError, ValueError):
    """A weight is negative, not finite, or makes a counter overflow, or more is taken away than was counted."""


class MergeError(StreamMetricsError):
    """Two states with different configurations, or of different kinds, cannot become one."""


class DecodeError(StreamMetricsError):
    """Bytes that this package did not write, or that were damaged since."""
