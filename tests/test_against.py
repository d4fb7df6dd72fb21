"""The comparison of instructions with a baseline fails for a slower operation, and for no other reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
HERE = {"compiler": "GCC 12", "valgrind": "3.19"}


@pytest.fixture
def against(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "against", raising=False)
    import against

    return against


def compared(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, path: Path, now: dict[str, float], **environment: str
) -> int:
    monkeypatch.setattr(against, "count", lambda package=None: against.Counts(HERE, now))
    content = {"commit": "0" * 40, "environment": {**HERE, **environment}, "instructions": {"update": 100.0}}
    path.write_text(json.dumps(content))
    status: int = against.compare(str(path))
    return status


@pytest.mark.parametrize(("instructions", "status"), [(104.0, 0), (106.0, 1), (50.0, 0)])
def test_more_instructions_than_the_limit_are_a_failure(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, instructions: float, status: int
) -> None:
    assert compared(against, monkeypatch, tmp_path / "counts.json", {"update": instructions}) == status


def test_an_operation_that_is_slower_once_is_counted_again(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"commit": "0" * 40, "environment": HERE, "instructions": {"update": 100, "get": 100}}))
    runs = [{"update": 106, "get": 90}, {"update": 101, "get": 104}]
    monkeypatch.setattr(against, "count", lambda package=None: against.Counts(HERE, runs.pop(0)))

    assert against.compare(str(path)) == 0
    assert "| update | 100 | 101 | 1.010 |  |\n| get | 100 | 90 | 0.900 | faster |" in capsys.readouterr().out


def test_a_new_operation_is_no_failure(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(against, monkeypatch, tmp_path / "counts.json", {"update": 100.0, "merge": 9.0}) == 0
    assert "| merge |  | 9 |  | not in the baseline |" in capsys.readouterr().out


def test_an_operation_that_does_not_run_any_more_is_a_failure(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(against, monkeypatch, tmp_path / "counts.json", {"merge": 9.0}) == 1
    assert "| update | 100 |  |  | DOES NOT RUN |" in capsys.readouterr().out


def test_counts_of_another_environment_are_not_compared(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(against, monkeypatch, tmp_path / "counts.json", {"update": 900.0}, compiler="GCC 13") == 0
    out = capsys.readouterr().out
    assert "another environment (compiler)" in out
    assert "instructions are not compared" in out


def test_without_valgrind_nothing_fails(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert against.compare("HEAD") == 0
    assert capsys.readouterr().out == "instructions are not compared: there is no valgrind\n"


def test_a_baseline_that_does_not_exist_is_an_error(against: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(against, "count", lambda package=None: against.Counts(HERE, {"update": 100.0}))
    with pytest.raises(SystemExit, match="'no-such-revision' is neither a file nor a revision"):
        against.compare("no-such-revision")


def test_the_stored_baseline_has_every_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from hot_operations import OPERATIONS

    stored = json.loads((FOLDER / "instructions.json").read_text())
    assert list(stored["instructions"]) == list(OPERATIONS)
