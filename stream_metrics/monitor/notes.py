"""Plain data that others keep beside the counts, such as the state of alerts: by name, as it was stored last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_metrics.wire import decoded, encoded

__all__ = ["Notes"]


class Notes:
    """The notes of a monitor; `stored` has those that were written earlier, as bytes.

    Lists come back as tuples.
    """

    def __init__(self, stored: Mapping[str, bytes]) -> None:
        self._stored = dict(stored)
        self._keepers: dict[str, Callable[[], object]] = {}
        self._mergers: dict[str, Callable[[Any], object]] = {}  # of those that any worker may change

    def attach(self, name: str, keep: Callable[[], object]) -> Any:
        """Write what `keep` returns with every checkpoint; return what is stored now, or None."""
        self._keepers[name] = keep
        return self.value(name)

    def attach_common(self, name: str, keep: Callable[[], object], merge: Callable[[Any], object]) -> None:
        """Write what `keep` returns with every checkpoint of any worker, and merge what the others store.

        `merge` must give the same in any order, since workers write at the same time and read some time later.
        """
        merge(self.attach(name, keep))
        self._mergers[name] = merge
        self._stored.setdefault(name, encoded(keep()))  # an empty one is not written

    def value(self, name: str) -> Any:
        """Return what is stored under a name; None if nothing is."""
        stored = self._stored.get(name)
        return None if stored is None else decoded(stored)

    def changed(self, every: bool, more: Mapping[str, object]) -> dict[str, bytes]:
        """Return what a checkpoint has to write of `every` note, or of those that any worker may change, and `more`."""
        names = self._keepers if every else self._mergers
        values = {name: self._keepers[name]() for name in names} | dict(more)
        notes = {name: encoded(value) for name, value in values.items()}
        return {name: note for name, note in notes.items() if self._stored.get(name) != note}

    def written(self, notes: Mapping[str, bytes]) -> None:
        """Note that some were written."""
        self._stored |= notes

    def merge(self, stored: Callable[[str], bytes | None]) -> None:
        """Merge the notes that any worker may change; what `stored` returns may be older than this worker's."""
        for name, merge in self._mergers.items():
            note = stored(name)
            if note is not None and note != self._stored.get(name):
                self._stored[name] = note
                merge(decoded(note))
