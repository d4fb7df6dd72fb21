"""The code in the documentation runs: every pycon block as a doctest, every python block where its packages are."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NEEDS, CODE = r"(?:<!-- needs: (?P<needs>[\w., ]+) -->\n)?", r"^```(?P<kind>pycon|python)\n(?P<code>.*?)^```$"
BLOCK = re.compile(NEEDS + CODE, re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of code: what it needs, whether it is a session of the interpreter, and its text."""

    needs: list[str]
    kind: str
    code: str


def blocks(text: str) -> list[Block]:
    """Return the blocks of Python in a page."""
    return [
        Block((match["needs"] or "").replace(",", " ").split(), match["kind"], match["code"])
        for match in BLOCK.finditer(text)
    ]


PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
SCRIPTS = {
    f"{page}:{number}": block
    for page, text in PAGES.items()
    for number, block in enumerate(blocks(text))
    if block.kind == "python"
}


def imported(code: str) -> list[str]:
    """Return the packages that a script imports, without those that are always there."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return sorted({name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"stream_metrics"})


def is_there(name: str) -> bool:
    """Tell whether a module, or a name in a module, can be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        module, _, last = name.rpartition(".")
        return bool(module) and is_there(module) and hasattr(importlib.import_module(module), last)
    return True


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if "```pycon" in text])
def test_sessions_print_what_the_page_shows(page: str) -> None:
    """The sessions of a page, one after the other, print what the page shows."""
    sessions = [block for block in blocks(PAGES[page]) if block.kind == "pycon" and all(map(is_there, block.needs))]
    test = doctest.DocTestParser().get_doctest("\n".join(block.code for block in sessions), {}, page, page, 0)
    output: list[str] = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)

    assert results.attempted
    assert not results.failed, "".join(output)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name: str, tmp_path: Path) -> None:
    """A script runs to its end, in a process of its own, where the packages that it imports are installed."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS[name].code)
    for package in imported(SCRIPTS[name].code):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr


def test_every_block_of_python_is_run() -> None:
    """No block is written in a way that the tests would pass over."""
    for page, text in PAGES.items():
        fences = re.findall(r"^ *(?:```|~~~)(?:python|py|pycon)\b", text, flags=re.MULTILINE)

        assert len(fences) == len(blocks(text)), page
