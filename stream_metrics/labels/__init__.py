"""What a label is, the order of labels, and their names in JSON.

Everything that decides whether two labels are the same, or how one is shown, belongs here; how columns of labels are
read does not (`inputs`).
"""

from stream_metrics.labels.label import (
    Label,
    canonical,
    is_missing,
    most_likely,
    ordering,
    same_labels,
    sort_key,
    unique,
)

__all__ = ["Label", "canonical", "is_missing", "most_likely", "ordering", "same_labels", "sort_key", "unique"]
