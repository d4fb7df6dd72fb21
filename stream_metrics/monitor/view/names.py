"""Labels as text: distinct labels stay distinct, and their length is bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from stream_metrics.labels import Label
from stream_metrics.labels.json_names import label_names

__all__ = ["names_of"]

LONGEST = 200  # characters; a longer name is cut, and ends in a hash of the whole


def names_of(labels: Sequence[Label]) -> list[str]:
    """Return one distinct text for each label, as `jsonable` has it; it depends on the set of labels alone."""
    return [_cut(name) for name in label_names(labels)]


def _cut(name: str) -> str:
    if len(name) <= LONGEST:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: LONGEST - 18]}… {digest}"
