"""A collector that is served in this process, and a disk that fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.collector_server import QUICK, Disk, Service


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often at who is silent."""
    for module, name, seconds in QUICK:
        monkeypatch.setattr(module, name, seconds)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """What files of SQLite are written to."""
    disk = Disk()
    monkeypatch.setattr(sqlite3, "connect", disk.connect)
    return disk


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start a collector; by default all have one file."""
    services: list[Service] = []

    def call(name: str = "agg.sqlite", **options: Any) -> Service:
        service = Service(str(tmp_path / name), **{"port": 0, **options})
        services.append(service)
        service.start()
        return service

    yield call
    for service in services:
        service.close()
