"""The reference: the counts of a window as they were when the model did well, which later windows are compared with.

    reference = ReferenceKeeper(lengths, configured="1d")
    reference.look(readings, at)              # at every view: takes the configured window once it was full
    reference.take("1d", readings, at)        # on request, from now on
    reference.merge(other.to_data())          # from the checkpoint, or from another worker

The value before a window is forgotten when the window is over, so a model that got worse slowly, or stayed bad, looks
like itself. A reference stays until another one is taken. It is a copy: labels that are corrected afterwards do not
change it.

Workers that share a store merge their references. The one that was taken last wins, and any of them wins over one that
was taken without a request. References are numbered for this, since the clocks of workers differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_metrics.errors import StreamMetricsError
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.view.types import Reference
from stream_metrics.monitor.view.window_reading import Reading
from stream_metrics.monitor.view.window_view import values_and_intervals

__all__ = ["ReferenceKeeper"]


class ReferenceKeeper:
    """Takes and stores the reference; `lengths` are those of the windows in seconds, by name.

    `configured` is the window whose first full stretch is taken, "" for none. ValueError if there is no such window.
    """

    def __init__(self, lengths: Mapping[str, float], configured: str = "") -> None:
        if configured and configured not in lengths:
            raise ValueError(f"Expected `reference` to be one of the windows {list(lengths)}, but got {configured!r}")
        self._lengths, self._configured = dict(lengths), configured
        self._began: float | None = None  # when the first window was seen that had samples
        self._stored: tuple[int, str, float, bytes] | None = None  # number of requests, window, time and state
        self._shown: Reference | None = None
        self._keys: tuple[str, ...] = ()

    def look(self, readings: Mapping[str, Reading], at: float | None) -> None:
        """Take the configured window if it is full for the first time."""
        if at is None or not self._configured or self._stored is not None:
            return
        reading = readings.get(self._configured)
        if reading is None or not reading.state.n:
            return
        if self._began is None:
            self._began = at
        if at - self._began >= self._lengths[self._configured]:
            self._take(0, self._configured, readings, at)

    def take(self, window: str, readings: Mapping[str, Reading], at: float | None) -> None:
        """Take a window as it is; ValueError if there is no such window, or it has no samples."""
        self._take(1 if self._stored is None else self._stored[0] + 1, window, readings, at)

    def _take(self, request: int, window: str, readings: Mapping[str, Reading], at: float | None) -> None:
        reading = readings.get(window)
        if window not in self._lengths or reading is None or at is None or not reading.state.n:
            names = [name for name in self._lengths if name in readings and readings[name].state.n]
            raise ValueError(f"Expected one of the windows that have samples, {names}, but got {window!r}")
        self._stored, self._shown = (request, window, at, reading.state.to_bytes()), None

    def shown(self, keys: Sequence[str]) -> Reference | None:
        """Return the reference with the values of these metrics; None if there is none."""
        if self._stored is None:
            return None
        if self._shown is None or self._keys != tuple(keys):
            _, window, at, data = self._stored
            state: MetricSet = MetricSet.from_bytes(data)
            n, metrics, intervals = values_and_intervals(state, keys)
            self._shown = Reference(window, at - self._lengths.get(window, 0.0), at, n, metrics, intervals)
            self._keys = tuple(keys)
        return self._shown

    def to_data(self) -> dict[str, object]:
        """Return everything as plain data, for the checkpoint."""
        return {"began": self._began, "stored": None if self._stored is None else list(self._stored)}

    def merge(self, data: Any) -> None:
        """Take over what `to_data` returned where it is newer, None for nothing; ValueError if it is no such data.

        Merges in any order give the same reference.
        """
        if data is None:
            return
        try:
            began = None if data["began"] is None else float(data["began"])
            stored = None if data["stored"] is None else _checked(*data["stored"])
        except (KeyError, StreamMetricsError, TypeError, ValueError) as error:
            raise ValueError(f"Expected a reference as `to_data` returns it, but got another: {error}") from None
        self._began = min((each for each in (self._began, began) if each is not None), default=None)
        if stored is not None and (self._stored is None or stored > self._stored):
            self._stored, self._shown = stored, None


def _checked(request: int, window: str, at: float, state: bytes) -> tuple[int, str, float, bytes]:
    MetricSet.from_bytes(state)
    return int(request), str(window), float(at), bytes(state)
