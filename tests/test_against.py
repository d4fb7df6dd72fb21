"""The comparison of instructions with a baseline fails for a slower operation, and for no other reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.cases import every_case

pytestmark = pytest.mark.quick
FOLDER = Path(__file__).parent.parent / "benchmarks"
HERE = {"compiler": "GCC 12", "valgrind": "3.19"}
# the counts of each run, the compiler of the baseline, which has 100 of all, the status, and what is printed
RUNS: list[tuple[list[dict[str, float]], str, int, str]] = [
    ([{"update": 104.0}], "GCC 12", 0, ""),
    ([{"update": 106.0}], "GCC 12", 1, ""),
    ([{"update": 50.0}], "GCC 12", 0, ""),
    ([{"update": 100.0, "merge": 9.0}], "GCC 12", 0, "| merge |  | 9 |  | not in the baseline |"),
    ([{"merge": 9.0}], "GCC 12", 1, "| update | 100 |  |  | DOES NOT RUN |"),
    ([{"update": 900.0}], "GCC 13", 0, "another environment (compiler)"),
    ([{"update": 900.0}], "GCC 13", 0, "instructions are not compared"),
    ([{"update": 106, "get": 90}, {"update": 101, "get": 104}], "GCC 12", 0, "| update | 100 | 101 | 1.010 |  |"),
    ([dict.fromkeys(("update", "get"), n) for n in (107, 106, 108, 105)], "GCC 12", 0, "| get | 100 | 105 |"),
    ([{"update": 106, "get": 90}, {"update": 101, "get": 104}], "GCC 12", 0, "| get | 100 | 90 | 0.900 | faster |"),
]


@pytest.fixture
def against(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module, imported again."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "against", raising=False)
    import against

    return against


def test_only_a_slower_operation_is_a_failure(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Slower is counted again at other addresses; a missing operation fails, a new one or another machine does not."""
    counts: list[Any] = []

    def count(package: Path | None = None, padding: int = 0) -> Any:
        return against.Counts(HERE, counts.pop(0) if counts[1:] else counts[0])

    monkeypatch.setattr(against, "count", count)
    path = tmp_path / "counts.json"
    with every_case() as case:
        for runs, compiler, status, printed in RUNS:
            with case((runs, compiler)):
                stored = dict.fromkeys(["update", "get"] if len(runs) > 1 else ["update"], 100.0)
                content = {"commit": "0" * 40, "environment": HERE | {"compiler": compiler}, "instructions": stored}
                path.write_text(json.dumps(content))
                counts[:] = runs
                assert against.compare(str(path)) == status
                assert printed in capsys.readouterr().out
    counts[:] = [{"update": 100.0}]
    with pytest.raises(SystemExit) as caught:
        against.compare("no-such-revision")
    assert "'no-such-revision' is neither a file nor a revision" in str(caught.value)


def test_without_valgrind_nothing_fails(
    against: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output says that nothing is compared; the stored baseline has every operation."""
    from hot_operations import OPERATIONS

    monkeypatch.setenv("PATH", str(tmp_path))
    assert against.compare("HEAD") == 0
    assert capsys.readouterr().out == "instructions are not compared: there is no valgrind\n"
    assert [*json.loads((FOLDER / "instructions.json").read_text())["instructions"]] == list(OPERATIONS)
