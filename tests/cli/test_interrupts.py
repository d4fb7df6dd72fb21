"""Ctrl-C while the command imports its modules."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys
module, sys.argv[1:] = sys.argv[1], ["run", "-"]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)
from stream_metrics.cli.main import main
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("module", ["numpy._core.multiarray", "stream_metrics.cli.counting"])
def test_ctrl_c_during_imports(module: str) -> None:
    """The process ends by the signal, and prints nothing."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.skipif(os.name != "posix", reason="reads a POSIX signal")
def test_ctrl_c_after_imports() -> None:
    """Once the command runs, SIGINT has its usual handler, unless the caller ignores it."""
    code = """
import signal, sys
from stream_metrics.cli.main import main
expected = getattr(signal, sys.argv[1])
signal.signal(signal.SIGINT, expected)
sys.argv[1:] = ["metrics"]
assert main() == 0
assert signal.getsignal(signal.SIGINT) is expected
"""
    for handler in ("default_int_handler", "SIG_IGN"):
        subprocess.run([sys.executable, "-c", code, handler], check=True, stdout=subprocess.DEVNULL, timeout=60)
