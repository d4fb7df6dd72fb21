"""Run the script of a docstring as it stands."""

from __future__ import annotations

import contextlib
import inspect
import io
import textwrap
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def run_example(module: ModuleType, scope: dict[str, Any], paths: Mapping[str, str] = {}) -> list[str]:
    """Run the indented lines of a module's docstring, with other paths, and return the lines that they print."""
    lines = (inspect.getdoc(module) or "").splitlines()
    script = textwrap.dedent("\n".join(line for line in lines if line.startswith("    ")))
    for path, other in paths.items():
        script = script.replace(path, other)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(script, scope)
    return out.getvalue().splitlines()
