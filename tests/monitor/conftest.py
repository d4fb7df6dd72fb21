"""Stores of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import stores


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The folder of the socket of a PostgreSQL server; skips without one."""
    with stores.server() as folder:
        yield folder


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a state file."""
    return str(tmp_path / "state.sqlite")


@pytest.fixture
def address(postgres_server: str) -> str:
    """The address of an empty schema."""
    return stores.new_address(postgres_server)


@pytest.fixture(params=["sqlite", "postgres"])
def store_path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or the address of a new store of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "state.sqlite")
    return stores.new_address(request.getfixturevalue("postgres_server"))
