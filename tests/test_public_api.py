"""What an import gives and loads, and examples that run: in docstrings of the package and in the README."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import stream_metrics as sm

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
OPTIONAL = ("stream_metrics.integrations", "stream_metrics.monitor", "stream_metrics.cli", "stream_metrics.__main__")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_all_is_sorted_and_complete() -> None:
    """`__all__` lists in order what type checkers see in the stub; each name comes from the module there."""
    stub = ast.parse(Path(sm.__file__).with_suffix(".pyi").read_text())
    imports = [node for node in ast.walk(stub) if isinstance(node, ast.ImportFrom)]
    modules = {name.name: node.module for node in imports for name in node.names if node.module != "stream_metrics"}

    assert sm.__all__ == sorted(sm.__all__) == sorted(modules)
    assert all(name.asname == name.name for node in imports for name in node.names)  # otherwise jedi hides a name
    for name, module in modules.items():
        assert getattr(sm, name) is getattr(importlib.import_module(str(module)), name)
        assert name in dir(sm)


def test_the_version_is_that_of_the_package() -> None:
    """`__version__` is what pyproject.toml says."""
    assert f'\nversion = "{sm.__version__}"\n' in (ROOT / "pyproject.toml").read_text()


def documented() -> Iterator[tuple[str, Any]]:
    """Yield every function, class and member of the package that has examples, under the name where it is defined."""
    for module in pkgutil.walk_packages(sm.__path__, "stream_metrics."):
        if module.name.startswith(OPTIONAL) or module.name == "stream_metrics.plots":
            continue
        for name, value in inspect.getmembers(importlib.import_module(module.name)):
            own = getattr(value, "__module__", None) in (module.name, "stream_metrics")
            if not own or not (inspect.isclass(value) or callable(value)):
                continue
            members = vars(value).items() if inspect.isclass(value) else ()
            for qualified, item in [(name, value), *((f"{name}.{member}", item) for member, item in members)]:
                if ">>>" in str(getattr(item, "__doc__", None)):
                    yield f"{module.name}.{qualified}", item


def test_examples_in_docstrings_run() -> None:
    """An example shows what the code does, and every public class and function but the errors has one."""
    output: list[str] = []
    examples = dict(documented())
    for name, item in examples.items():
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(item) or "", {}, name, None, None)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)
    public = {name: getattr(sm, name) for name in sm.__all__} | {"comparison": type(sm.Comparison().snapshot())}
    without = {name for name, value in public.items() if ">>>" not in (inspect.getdoc(value) or "")}
    errors = {name for name, value in public.items() if inspect.isclass(value) and issubclass(value, Exception)}

    assert not output, "".join(output)
    assert len(examples) > 100
    assert without <= errors


def test_the_readme_is_short_and_its_examples_and_links_work() -> None:
    """It sells and links, and starts from nothing; docs/ has the rest. CHANGELOG.md spends 1,500 words on a version."""
    text = README.read_text()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    installs = re.findall(r"^python3 -m venv .*$", text, flags=re.MULTILINE)
    results = doctest.testfile(str(README), module_relative=False)

    assert results.failed == 0
    assert results.attempted > 15
    assert len(README.read_bytes()) <= 8192
    assert all(len(part.split()) <= 1500 for part in (ROOT / "CHANGELOG.md").read_text().split("\n## "))
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert [name for name in ("run", "merge", "show", "demo") if f"stream-metrics {name}" not in text] == []
    assert len(installs) == 2
    assert all(".venv/bin/pip install" in command for command in installs)


LOADS = """
import sys, stream_metrics as sm
assert not {"numpy", "stream_metrics.plots", "stream_metrics.integrations", "stream_metrics.testing"} & set(sys.modules)
assert {"plots", "integrations", "testing"} <= set(dir(sm)) and not hasattr(sm, "nothing")
metric = sm.Accuracy()
metric.update(1, 1)
assert not any("inference" in name for name in sys.modules)
import numpy, msgspec
before = set(sys.modules)
from stream_metrics import *
roots = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(*sorted(roots))
sm.plots, sm.integrations.river, sm.testing
"""


def test_an_import_loads_numpy_and_msgspec_and_nothing_else() -> None:
    """NumPy comes with the first state, intervals with the first interval, folders when they are read."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "error", "-c", LOADS]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    ours = {root for root in result.stdout.split() if not root.startswith(("_cython", "cython_runtime", "_cyutility"))}

    assert ours - {"_stream_metrics_editable"} <= {"stream_metrics", "numpy"}
    assert result.stderr == ""


def test_an_import_without_a_build_says_how_to_build(tmp_path: Path) -> None:
    """The folder of the sources has no compiled counters."""
    source = Path(sm.__file__).parent
    shutil.copytree(source, tmp_path / source.name, ignore=shutil.ignore_patterns("*.so", "*.pyd", "page"))
    paths = [str(tmp_path), *(str(Path(module.__file__).parents[1]) for module in (np, msgspec))]
    code = f"import sys; sys.path[:0] = {paths!r}; import stream_metrics; stream_metrics.Accuracy"

    imported = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)

    assert imported.returncode == 1
    assert "ImportError: stream_metrics is not built here. Run `pip install -e .`" in imported.stderr
