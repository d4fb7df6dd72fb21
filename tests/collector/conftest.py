"""A collector that is served in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.collector.service import Service


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
