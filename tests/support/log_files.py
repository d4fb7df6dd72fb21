"""Files of events that grow, and a monitor that reads one and can be stopped and started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stream_metrics.monitor import Monitor, Store, config, make_source
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, START


def line(number: int) -> bytes:
    """Return an event as a line."""
    return b'{"id": %d, "time": %d, "truth": "cat", "prediction": "dog"}\n' % (number, START + number)


def block(*numbers: int) -> bytes:
    """Return events as lines."""
    return b"".join(map(line, range(*numbers)))


def append(path: Path, data: bytes) -> None:
    """Write more to a file."""
    with open(path, "ab") as file:
        file.write(data)


class Reader:
    """A monitor with a state file in a folder that reads the file `path`; `begin` makes the file, and starts it."""

    def __init__(self, folder: Path, begin: bytes | None = None, **source: Any) -> None:
        self.path, self.state = folder / "events.jsonl", str(folder / "state")
        self.options = {"follow": True, **source}
        if begin is not None:
            self.path.write_bytes(begin)
            self.start()

    def start(self, **source: Any) -> None:
        """Start where the state file says, with other options from then on."""
        self.options |= source
        self.monitor = Monitor(CONFIG, Store(self.state), lambda: NOW)
        self.source: Any = make_source(config.SourceTable(path=str(self.path), **self.options))
        try:
            self.source.start(self.monitor)
        except StoreError:
            self.monitor.close()
            raise

    def read(self) -> int:
        """Read what is there, and return how many pairs are counted."""
        for _ in range(12):
            self.monitor.step(self.source.poll(0))
        return int(self.monitor.view().by_window["total"].n)

    def stop(self) -> None:
        """Write a checkpoint and let go of everything."""
        self.source.close()
        self.monitor.close()

    def restart(self, **source: Any) -> None:
        """Stop, and start again."""
        self.stop()
        self.start(**source)

    @property
    def incomplete(self) -> list[str]:
        """What the counts lack."""
        return self.monitor.view().incomplete
