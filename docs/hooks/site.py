"""What mkdocs does beside rendering: pages from the catalog, the docstrings, the commands and files of the repository.

Links to files of the repository are written `[text](repo:tests/test_laws.py::test_name)`. They lead to a page that
shows the file, so they work without a network, and a file or a test that is gone fails the build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from posixpath import relpath

from api_pages import api_pages
from formula import render
from metric_pages import bibliography_page, metric_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
COMMANDS = ("run", "merge", "show", "metrics", "monitor", "query", "demo")
COPIES = {"benchmarks.md": "benchmarks/README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
REPOSITORY = re.compile(r"\[([^\]]+)\]\(repo:([^)\s:]+)(?:::(\w+))?\)")
DOCTEST, NEEDS = re.compile(r"  # doctest: .*$", re.MULTILINE), re.compile(r"^<!-- needs: .*-->\n", re.MULTILINE)
PRINTED = re.compile(r"\{\{ ([a-z]+(?: [a-z]+)? --[a-z-]+) \}\}")
FROM_README = re.compile(r"\{\{ README: (.+) \}\}")
MATH = re.compile(r"\$([^$\n]+)\$")

_generated = {path: (title, text) for path, title, text in (*metric_pages(), *api_pages())}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, where it says "metrics" and "api"."""
    for entry in config.nav or []:
        for title, value in entry.items():
            if value in ("metrics", "api"):
                entry[title] = [{name: path} for path, (name, _) in _generated.items() if path.startswith(f"{value}/")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {path: text for path, (_, text) in _generated.items()}
    pages |= {path: _copied(ROOT / source) for path, source in COPIES.items()}
    pages["bibliography.md"] = bibliography_page()
    pages["command-line.md"] = _filled(ROOT / "docs" / "command-line.md")
    for path in sorted({path for text in _written(files, pages) for _, path, _ in REPOSITORY.findall(text)}):
        pages[_source_page(path)] = _source(path)
    for path, text in pages.items():
        if (old := files.get_file_from_path(path)) is not None:
            files.remove(old)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Resolve links to files of the repository and formulas between dollar signs; leave out marks of doctest."""
    path = page.file.src_uri
    markdown = FROM_README.sub(lambda match: _section(match[1]), markdown)
    markdown = DOCTEST.sub("", NEEDS.sub("", markdown)).replace("\n<BLANKLINE>\n", "\n\n")
    parts = re.split(r"(```.*?```|`[^`\n]*`)", markdown, flags=re.DOTALL)
    for at, part in enumerate(parts[::2]):
        part = REPOSITORY.sub(lambda match: f'<a href="{_link(match[2], match[3], path)}">{match[1]}</a>', part)
        parts[2 * at] = MATH.sub(lambda match: render(match[1]), part) if _has_formulas(path) else part
    return "".join(parts)


def _has_formulas(path: str) -> bool:
    """Tell whether dollar signs on a page enclose formulas; where the text is that of another file, they do not."""
    return path not in COPIES and not path.startswith(("api/", "source/"))


def _written(files: Files, pages: dict[str, str]) -> list[str]:
    written = [Path(str(file.abs_src_path)).read_text() for file in files.documentation_pages() if file.abs_src_path]
    return [*written, *pages.values()]


def _copied(source: Path) -> str:
    """Return a Markdown file of the repository; its links to other files are links to the repository."""
    text = source.read_text(encoding="utf-8")
    for path, copy in COPIES.items():
        text = re.sub(rf"\]\({copy}(#[^)]*)?\)", rf"]({path}\1)", text)
    return text


def _section(heading: str) -> str:
    """Return the section of the README under a heading, as it is written there."""
    _, is_there, rest = _copied(ROOT / "README.md").partition(f"\n## {heading}\n")
    if not is_there:
        raise PluginError(f"Expected the heading {heading!r} in README.md, but it is not there")
    return rest.split("\n## ")[0].strip()


def _filled(page: Path) -> str:
    """Return a page with what the commands print that it names in double braces."""
    return PRINTED.sub(lambda match: _printed(*match[1].split()), page.read_text(encoding="utf-8"))


def _printed(*arguments: str) -> str:
    """Return what a command prints; -P, because the folder of sources may be one that is not built."""
    environment = os.environ | {"COLUMNS": "80"}
    command = [sys.executable, "-P", "-m", "stream_metrics", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.rstrip()


def _source_page(path: str) -> str:
    return f"source/{path}.md"


def _source(path: str) -> str:
    file = ROOT / path
    if not file.is_file():
        raise PluginError(f"Expected the file of a link repo:{path}, but it does not exist")
    language = {".py": "python", ".pxi": "cython", ".pyx": "cython", ".json": "json"}.get(file.suffix, "text")
    return (
        f"---\ntitle: {path}\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n# `{path}`\n\n"
        f'````{{.{language} linenums="1"}}\n{file.read_text(encoding="utf-8")}\n````\n'
    )


def _link(path: str, name: str, page: str) -> str:
    link = relpath(_source_page(path), start=os.path.dirname(page) or ".").removesuffix(".md") + ".html"
    if not name:
        return link
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").split("\n"), 1):
        if re.match(rf"\s*(async )?(def|class) {name}\b", line):
            return f"{link}#__codelineno-0-{number}"
    raise PluginError(f"Expected {name} in {path}, to which {page} links, but it is not there")
