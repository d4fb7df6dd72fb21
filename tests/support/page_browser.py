"""A headless browser for the tests of the page, as fixtures: a plugin that a test module names in `pytest_plugins`.

Not in a conftest: the browser runs an event loop in this thread while it lives, so it lives only as long as a module
that asks for it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.page_server import PageServer

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DOWN = ("net::ERR_", "status of 503")  # what servers leave in the console that are down, or stale, on purpose


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for a module."""
    api = pytest.importorskip("playwright.sync_api", reason="the tests of the page need playwright")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("the tests of the page need Chromium or Chrome")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., tuple[Any, PageServer]]]:
    """Open the page on a view, with a server of its own; every complaint of the browser fails the test."""
    opened, problems = [], []

    def call(view: dict[str, Any], width: int = 1440, script: str = "", **options: Any) -> tuple[Any, PageServer]:
        server = PageServer(view)
        page = chromium.new_context(viewport={"width": width, "height": 900}, **options).new_page()
        opened.append((page, server))
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda told: told.type in {"error", "warning"} and problems.append(told.text))
        page.add_init_script(script)
        page.goto(server.url)
        page.wait_for_selector("#tiles li")
        return page, server

    yield call
    for page, server in opened:
        page.context.close()
        server.close()
    assert [problem for problem in problems if not any(word in problem for word in DOWN)] == []
