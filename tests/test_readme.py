"""The claims and examples of the README hold."""

import doctest
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parents[1] / "README.md"
COMMANDS = ["run", "merge", "show", "demo"]


def test_examples_run():
    """Every example prints what the README shows."""
    results = doctest.testfile(str(README), module_relative=False)

    assert results.failed == 0
    assert results.attempted > 15


def test_it_is_short():
    """It sells and links; what needs more space is in docs/."""
    assert len(README.read_bytes()) <= 8192


def test_links_lead_somewhere():
    """Every link and picture to a file of the repository exists."""
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text())

    assert len(links) > 5
    assert [link for link in links if not (README.parent / link).is_file()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_shows_every_command(command):
    """Every command of the command line is shown."""
    assert f"stream-metrics {command}" in README.read_text()


def test_two_commands_start_from_nothing():
    """Both commands make a virtual environment of their own and install into it."""
    commands = re.findall(r"^python3 -m venv .*$", README.read_text(), flags=re.MULTILINE)

    assert len(commands) == 2
    assert all(".venv/bin/pip install" in command for command in commands)
