"""Waiting for a page in a real browser."""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 60.0  # seconds


def wait_until(page: Any, script: str, arg: object = None) -> None:
    """Wait until `script`, a function of `arg` in the page, returns something true.

    Playwright's own `wait_for_function` compiles the script in the page, which its content security policy forbids
    after the first check.
    """
    end = time.monotonic() + PATIENCE
    while not page.evaluate(script, arg):
        assert time.monotonic() < end, f"still not true after {PATIENCE:.0f} s: {script}"
        page.wait_for_timeout(20)
