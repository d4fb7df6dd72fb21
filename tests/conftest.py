"""How thorough property tests are, and `--skipped-before`, which runs only what an earlier run skipped.

Property tests draw the same examples in every run, so that a result depends on the code alone: five with `-m quick`,
and ten otherwise. HYPOTHESIS_PROFILE=thorough draws a thousand new ones, every night; what it finds becomes an
`@example` or a test.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

settings.register_profile("quick", max_examples=5, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=10, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
SKIPPED = "stream_metrics/skipped"  # in pytest's cache: names of tests and of files


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--skipped-before`."""
    parser.addoption(
        "--skipped-before",
        action="store_true",
        help="run only the tests that the last run without this option skipped, with the packages that are there now",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples property tests draw, and record what is skipped."""
    quick = config.getoption("markexpr") == "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick" if quick else "default"))
    in_worker = hasattr(config, "workerinput")  # whose reports the main process gets
    if hasattr(config, "cache") and not in_worker:
        config.pluginmanager.register(SkippedTests(config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the last run did not skip."""
    if not config.getoption("skipped_before"):
        return
    skipped = set(config.cache.get(SKIPPED, []))
    chosen = [item for item in items if item.nodeid in skipped or item.nodeid.partition("::")[0] in skipped]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, which would scan them each time."""
    gc.freeze()


class SkippedTests:
    """The names of tests, and of whole files, that this run skips."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.names: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that needs a package that is missing."""
        if report.skipped:
            self.names.add(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a test that is skipped."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.names.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep the names for a run with `--skipped-before`."""
        if not self.config.getoption("skipped_before"):
            self.config.cache.set(SKIPPED, sorted(self.names))
