"""The site as mkdocs builds it: complete, and without anything that is loaded from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stream_metrics as sm

for package in ("mkdocs", "material", "mkdocstrings"):
    pytest.importorskip(package)

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(https?:)?//[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of every page."""
    for path in sorted(site.rglob("*.html")):
        yield path.relative_to(site).as_posix(), path.read_text(encoding="utf-8")


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture has an address on the network."""
    for name, text in pages(site):
        loaded = [tag for tag in (match.group() for match in LOADED.finditer(text)) if 'rel="canonical"' not in tag]
        assert not loaded, name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:", path.read_text(encoding="utf-8")), path


def test_every_public_name_is_shown_with_its_example(site: Path) -> None:
    """The API reference shows each public name; each that is no exception has an example."""
    text = "\n".join(text for name, text in pages(site) if name.startswith("api/"))
    for name in sm.__all__:
        before_heading, heading, *_ = text.partition(f'id="stream_metrics.{name}"')[2].split('<h2 id="stream_metrics.')
        section = before_heading if "doc-heading" in before_heading else heading  # some have an anchor of their own

        assert section, name
        is_second_name = getattr(sm, name).__name__ != name
        if not name.endswith("Error") and not is_second_name:
            assert "&gt;&gt;&gt;" in section, name


MEMBERS = {
    "ConfusionMatrix.update": ["y_pred", "default", "WeightError"],
    "ConfusionMatrix.merge": ["other", "MergeError"],
    "RankSketch.revert": ["scores", "WeightError"],
    "MetricSet.update": ["scores", "unit"],
    "Comparison.update": ["pred_a", "pred_b"],
    "Rolling.update": ["y_true", "y_pred"],
}


def test_members_of_compiled_classes_have_their_parameters(site: Path) -> None:
    """A method of a compiled class is shown with its parameters and errors as a table."""
    text = "\n".join(text for name, text in pages(site) if name.startswith("api/"))
    heading = 'class="doc doc-heading"'
    for member, parts in MEMBERS.items():
        section = text.partition(f'id="stream_metrics.{member}"')[2].partition(heading)[2].partition(heading)[0]
        shown = html.unescape(re.sub(r"<[^>]*>", " ", section))
        assert [part for part in ("Parameters:", *parts) if part not in shown] == [], member
