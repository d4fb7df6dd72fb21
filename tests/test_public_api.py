"""What users see: names, docstrings, and what an import loads."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import monitor, testing


def test_all_is_sorted_and_complete() -> None:
    """`__all__` lists in order what type checkers see; each name comes from the module that they see it in."""
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(sm))) if isinstance(node, ast.ImportFrom)]
    modules = {name.name: node.module for node in imports for name in node.names if node.module != "stream_metrics"}

    assert sm.__all__ == sorted(sm.__all__) == sorted(modules)
    for name, module in modules.items():
        assert getattr(sm, name) is getattr(importlib.import_module(str(module)), name)
        assert name in dir(sm)


def test_an_import_loads_only_what_is_used() -> None:
    """NumPy and the kernels come with the first state, what computes intervals with the first interval."""
    script = """
import sys, stream_metrics as sm
assert "numpy" not in sys.modules and "stream_metrics.metrics.metric" not in sys.modules
metric = sm.Accuracy()
metric.update(1, 1)
assert "stream_metrics.inference" not in sys.modules and "tempfile" not in sys.modules
metric.snapshot().interval("accuracy")
import stream_metrics.metrics.metric_set
assert "stream_metrics.inference" in sys.modules and len(sm.metrics()) > 100
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("name", sm.__all__)
def test_every_public_name_has_a_docstring(name: str) -> None:
    """Names, and the methods and properties that they add, say what they do."""
    value = getattr(sm, name)
    assert inspect.getdoc(value)
    if not inspect.isclass(value):
        return

    for member, method in inspect.getmembers(value):
        if not member.startswith("_") and (callable(method) or isinstance(method, property)):
            assert inspect.getdoc(method), member


@pytest.mark.parametrize("name", [name for name in sm.__all__ if not name.endswith("Error")])
def test_every_name_has_a_signature(name: str) -> None:
    """`help` and editors can show the arguments of every class and function, compiled or not."""
    assert inspect.signature(getattr(sm, name))


@pytest.mark.parametrize("name", ["merge", "copy", "reset", "to_bytes", "from_bytes", "snapshot"])
def test_every_state_has_the_methods_of_an_accumulator(name: str) -> None:
    """States, metrics and sets keep one contract."""
    for state in (sm.ConfusionMatrix(), sm.RankSketch(), sm.ProbabilityLosses(), sm.MCC(), sm.ROCAUC(), sm.MetricSet()):
        assert callable(getattr(state, name))
        assert state.n == 0


def test_the_version_is_that_of_the_package() -> None:
    """`__version__` is what pyproject.toml says."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()

    assert f'\nversion = "{sm.__version__}"\n' in text


def test_public_functions_of_the_kit_are_listed() -> None:
    """`testing.__all__` is sorted but for its constant, and complete."""
    strategies = {"labels", "probabilities", "samples", "soft_samples", "weights"}
    assert set(testing.__all__) == {"LAWS", "Law", "check", *strategies}
    assert all(law.__doc__ for law in testing.LAWS)


def test_an_import_loads_numpy_and_msgspec_and_nothing_else() -> None:
    """All public names together load no third package beside NumPy and msgspec."""
    code = (
        "import sys, numpy, msgspec; before = set(sys.modules); from stream_metrics import *\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(roots - set(sys.stdlib_module_names)))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
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


def test_the_monitor_imports_its_names_when_they_are_read() -> None:
    """Each name of `__all__` is there, and no other."""
    assert {getattr(monitor, name).__name__ for name in monitor.__all__} == set(monitor.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Watch'"):
        _ = monitor.Watch
