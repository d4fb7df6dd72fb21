"""When alerts fired, and for how long: those that still fire, and the newest 100."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from msgspec import structs

from stream_metrics.monitor.alerts.engine import FIRING, Change
from stream_metrics.monitor.view.types import Firing

__all__ = ["Firings"]

MOST = 100


class Firings:
    """The stretches of time in which rules fired, the newest first."""

    def __init__(self) -> None:
        self.rows: list[Firing] = []

    def note(self, changes: Iterable[Change]) -> None:
        """Take note of rules that began to fire or ended."""
        for change in changes:
            if change.state == FIRING:
                rows = [Firing(change.rule, change.since, None, change.value), *self.rows]
                self.rows = rows[:MOST] + [row for row in rows[MOST:] if row.ended is None]
            else:
                self._end({change.rule}, change.at)

    def end_all_but(self, firing: Collection[str], at: float) -> None:
        """End what fires by the history but not by the rules, since a rule was removed from the configuration."""
        self._end({row.rule for row in self.rows}.difference(firing), at)

    def _end(self, rules: Collection[str], at: float) -> None:
        self.rows = [
            structs.replace(row, ended=at) if row.ended is None and row.rule in rules else row for row in self.rows
        ]

    def to_data(self) -> list[list[object]]:
        """Return everything as plain data, for the checkpoint."""
        return [[row.rule, row.began, row.ended, row.value] for row in self.rows]

    def restore(self, data: Any) -> None:
        """Take over what `to_data` returned; ValueError if it is no such data."""
        try:
            self.rows = [
                Firing(str(rule), float(began), None if ended is None else float(ended), float(value))
                for rule, began, ended, value in data
            ]
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected firings as `to_data` returns them, but got others: {error}") from None
