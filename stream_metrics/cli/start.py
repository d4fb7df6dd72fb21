"""The first code of the command: until its modules are imported, Ctrl-C ends the process at once.

A KeyboardInterrupt inside the import of an extension module may become an ImportError, and would print a traceback.
"""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> int:
    """Import the command, run it, and return its exit status."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from stream_metrics.cli.main import main as run  # here, while SIGINT has its default action

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()
