"""Imports go down only: every room of the house knows those below it, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "stream_metrics"
LEVELS: dict[str, int] = {  # a module may import what is lower, and its own room
    "errors": 0,
    "labels": 1,
    "_core": 2,
    "wire": 3,
    "formulas": 3,
    "jsonable": 3,
    "options": 3,
    "catalog": 4,
    "catalog_classes": 4,
    "catalog_row": 4,
    "catalog_rows": 4,
    "catalog_scores": 4,
    "obstacles": 4,
    "inference": 5,
    "snapshot": 6,
    "snapshot_intervals": 6,
    "snapshot_scores": 6,
    "report": 6,
    "group_snapshot": 6,
    "states": 7,
    "metric": 8,
    "metric_folds": 8,
    "metric_set": 9,
    "aggregate": 11,
    "windows": 10,
    "group_keys": 10,
    "groups": 11,
    "": 12,  # the facade
    "plots": 13,
    "testing": 13,
    "integrations": 13,
    "monitor": 14,
    "cli": 15,
    "__main__": 16,
}
SHARED = [
    {"snapshot", "snapshot_intervals", "snapshot_scores", "report", "group_snapshot"},
    {"catalog", "catalog_classes", "catalog_row", "catalog_rows", "catalog_scores", "obstacles"},
    {"metric", "metric_folds"},
]  # rooms of several modules
SOURCES = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")])


def room(module: str) -> str:
    """Return the room of a dotted module name."""
    return module.split(".")[1] if "." in module else ""


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of ours that a file imports, anywhere in it and also for type checking only."""
    text = path.read_text()
    if path.suffix != ".py":
        yield from re.findall(r"^\s*from (stream_metrics[\w.]*) c?import", text, re.MULTILINE)
        yield from re.findall(r"^\s*c?import (stream_metrics[\w.]*)", text, re.MULTILINE)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("stream_metrics"))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            module = node.module or ""
            if module == "stream_metrics":
                rooms = [f"{module}.{alias.name}" for alias in node.names if alias.name in LEVELS]
                yield from rooms if len(rooms) == len(node.names) else [*rooms, module]
            elif module.startswith("stream_metrics."):
                yield module


def test_every_module_has_a_level() -> None:
    """A new module is given its place in the table above."""
    rooms = {(path.relative_to(PACKAGE).parts[0]).removesuffix(path.suffix) for path in SOURCES}

    assert rooms - {"__init__"} == set(LEVELS) - {""}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down_only(path: Path) -> None:
    """No module imports what is above it, or beside it in another room."""
    mine = path.relative_to(PACKAGE).parts[0].removesuffix(path.suffix)
    mine = "" if mine == "__init__" else mine
    for module in imported(path):
        theirs = room(module)
        same_room = theirs == mine or any({mine, theirs} <= rooms for rooms in SHARED)
        assert same_room or LEVELS[theirs] < LEVELS[mine], f"{mine or 'the facade'} imports {module}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "formulas").glob("*.py")), ids=lambda path: path.name)
def test_formulas_import_none_of_ours(path: Path) -> None:
    """A formula knows NumPy, the standard library, and other formulas."""
    assert {room(module) for module in imported(path)} <= {"formulas"}


def test_the_walk_finds_what_is_hidden() -> None:
    """Imports inside functions and for type checking only are seen."""
    hidden = [module for path in SOURCES for module in imported(path) if path.name == "snapshot.py"]

    assert "stream_metrics.report" in hidden
    assert "stream_metrics.labels" in hidden
