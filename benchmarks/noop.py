"""A compiled class whose `update` does nothing: what the call alone costs in the calling convention of our kernel."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCE = """
cdef class Noop:
    def update(self, y_true, y_pred):
        pass
"""


class NoCompiler(Exception):
    """Cython, setuptools or a C compiler is missing."""


def build() -> Any:
    """Compile the class in a temporary folder with Cython, as the kernel is compiled, and return an instance."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        (Path(folder) / "noop.pyx").write_text(SOURCE, encoding="utf-8")
        command = [sys.executable, "-m", "Cython.Build.Cythonize", "-3", "-q", "-i", "noop.pyx"]
        build = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        binary = next((path for path in Path(folder).glob("noop.*") if path.suffix in {".so", ".pyd"}), None)
        if build.returncode or binary is None:
            reason = (build.stderr.strip() or "no output").splitlines()[-1]
            raise NoCompiler(f"needs cython, setuptools and a C compiler: {reason}")
        spec = importlib.util.spec_from_file_location("noop", binary)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Noop()
