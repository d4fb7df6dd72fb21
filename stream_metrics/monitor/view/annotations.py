"""What happened to the model, as texts with their times, such as deployments; the newest 200 are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from stream_metrics.monitor.view.types import Annotation

__all__ = ["LONGEST", "Annotations"]

MOST = 200
LONGEST = 500  # characters of a text


class Annotations:
    """Texts by time. An addition replaces the list, so other threads may read it.

    Merges in any order, also of older data, give the same texts.
    """

    def __init__(self) -> None:
        self.rows: list[Annotation] = []

    def add(self, text: str, at: float) -> None:
        """Add a text; ValueError if it is empty or too long, or the time is none."""
        if not text.strip() or len(text) > LONGEST:
            raise ValueError(f"Expected a text of 1 to {LONGEST} characters, but got {len(text)}")
        if not math.isfinite(at):
            raise ValueError(f"Expected a time in seconds since 1970, but got {at!r}")
        self._add([(at, text)])

    def to_data(self) -> list[list[object]]:
        """Return everything as plain data, for the checkpoint."""
        return [[row.at, row.text] for row in self.rows]

    def merge(self, data: Any) -> None:
        """Add the texts that `to_data` returned, None for none; ValueError if it is no such data."""
        try:
            self._add([(float(at), str(text)) for at, text in data or ()])
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected annotations as `to_data` returns them, but got others: {error}") from None

    def _add(self, texts: Iterable[tuple[float, str]]) -> None:
        every = {*texts, *((row.at, row.text) for row in self.rows)}
        self.rows = [Annotation(at, text) for at, text in sorted(every)[-MOST:]]
