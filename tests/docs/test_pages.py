"""The pages: their code runs, generated pages are whole, and what they say of names, commands and files is there."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import random
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from api_pages import api_pages
from formula import render
from metric_pages import bibliography_page, metric_pages
from support.command_line import run_command

import stream_metrics as sm

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}
CATALOG = sm.metrics()
METRICS = {path: text for path, _, text in metric_pages()}
NEEDS, CODE = r"(?:<!-- needs: (?P<needs>[\w., ]+) -->\n)?", r"^```(?P<kind>pycon|python)\n(?P<code>.*?)^```$"
BLOCK = re.compile(NEEDS + CODE, re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of code: what it needs, whether it is a session of the interpreter, and its text."""

    needs: list[str]
    kind: str
    code: str


def blocks(text: str) -> list[Block]:
    """Return the blocks of Python in a page."""
    matches = BLOCK.finditer(text)
    return [Block((each["needs"] or "").replace(",", " ").split(), each["kind"], each["code"]) for each in matches]


SCRIPTS = {
    f"{page}:{number}": block
    for page, text in PAGES.items()
    for number, block in enumerate(blocks(text))
    if block.kind == "python"
}


def imported(code: str) -> list[str]:
    """Return the packages that a script imports, without those that are always there."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return sorted({name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"stream_metrics"})


def sessions(text: str) -> str:
    """Return the sessions of a page whose packages are there."""
    return "\n".join(each.code for each in blocks(text) if each.kind == "pycon" and all(map(find_spec, each.needs)))


@pytest.mark.parametrize("page", [page for page, text in (PAGES | METRICS).items() if "```pycon" in text])
def test_sessions_print_what_the_page_shows(page: str) -> None:
    """The sessions of a page, one after the other, print what the page shows; so do generated pages of metrics."""
    test = doctest.DocTestParser().get_doctest(sessions((PAGES | METRICS)[page]), {}, page, page, 0)
    output: list[str] = []
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)

    assert results.attempted
    assert not results.failed, "".join(output)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name: str, tmp_path: Path) -> None:
    """A script runs to its end, in a process of its own, where the packages that it imports and needs are installed."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS[name].code)
    for package in [*imported(SCRIPTS[name].code), *SCRIPTS[name].needs]:
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr


def test_every_block_of_python_is_run() -> None:
    """No block is written in a way that the tests would pass over."""
    for page, text in PAGES.items():
        fences = re.findall(r"^ *(?:```|~~~)(?:python|py|pycon)\b", text, flags=re.MULTILINE)

        assert len(fences) == len(blocks(text)), page


def tree(definition: str) -> ET.Element:
    """Return a rendered formula as a tree; an error if a tag is open."""
    return ET.fromstring(f"<p>{render(definition)}</p>")


def shape(node: ET.Element) -> str:
    """Return the structure of a formula: fractions, roots, powers, indices and operators in functional form."""
    inner = [shape(child) for child in node]
    names = {"mfrac": "frac", "msqrt": "sqrt", "msup": "pow", "msub": "sub", "munder": "under"}
    if node.tag in names:
        return f"{names[node.tag]}({', '.join(inner)})"
    return (node.text or "") + "".join(x + (child.tail or "") for x, child in zip(inner, node, strict=True))


@pytest.mark.quick
def test_every_formula_is_rendered_whole() -> None:
    """No sign of a definition is lost: each number and each name is in the MathML or in the words."""
    failures = []
    for key, info in CATALOG.items():
        text = "".join(tree(info.formula).itertext()).replace(" ", "")
        words = re.findall(r"\d+|[A-Za-z]{2,}", info.formula)
        special = ("sum", "prod", "sqrt", "abs", "phi", "chi", "argmax")
        failures += [(key, word) for word in words if word not in special and word not in text]
        if text.count("∑") != len(re.findall(r"\bsum\b|\bsum_", info.formula)):
            failures.append((key, "sum"))
    assert not failures


MEANT = {
    "c / N": "frac(c, N)",
    "sum t_k p_k / N^2": "frac(∑sub(t, k)sub(p, k), pow(N, 2))",
    "sum (C_ij - E_ij)^2 / E_ij": "∑frac(pow((sub(C, ij)−sub(E, ij)), 2), sub(E, ij))",
    "sum w_k R_k / sum w_k": "frac(∑sub(w, k)sub(R, k), ∑sub(w, k))",
    "sum_b w_b / W abs(share_b - score_b)": "under(∑, b)frac(sub(w, b), W)|sub(share, b)−sub(score, b)|",
    "sum w q_t / sqrt(sum_k q_k^2)": "∑frac(wsub(q, t), sqrt(under(∑, k)pow(sub(q, k), 2)))",
    "2 TP / (2 TP + FP)": "frac(2TP, 2TP+FP)",
    "1 - 1/K'": "1−frac(1, K′)",
    "(a_k / b)^2": "pow((frac(sub(a, k), b)), 2)",
    "(1/N) sum w": "frac(1, N)∑w",
    "(prod R_k)^(1/K')": "pow((∏sub(R, k)), 1/K′)",
    "max TPR over the thresholds with FPR <= fpr": "maxTPR over the thresholds with FPR≤fpr",
}


@pytest.mark.quick
def test_formulas_are_read_as_they_are_meant() -> None:
    """A sum goes over what depends on its index, and a line of a fraction is below the whole product before it."""
    assert {definition: shape(tree(definition)) for definition in MEANT} == MEANT


def test_every_metric_has_a_section() -> None:
    """Each key has its anchor, formula, range and example."""
    for key, row in CATALOG.items():
        page = next(text for text in METRICS.values() if f"{{ #{key} }}" in text)
        section = page.split(f"{{ #{key} }}")[1].split("\n## ")[0]

        assert row.summary in section
        for part in ("<math", "| Range |", "| 0/0 |", "| Interval |", "| Source |", "```pycon\n>>> "):
            assert part in section or (part == "<math" and "<math" not in render(row.formula)), (key, part)


def has_interval(snapshot: sm.Snapshot, key: str, **options: Any) -> bool:
    """Tell whether a snapshot has an interval of a metric."""
    label = {"label": "a"} if CATALOG[key].kind == "per_class" else {}
    try:
        snapshot.interval(key, **label, **options)
    except ValueError:
        return False
    return True


def test_intervals_are_those_that_the_package_gives() -> None:
    """There is an interval where a page names a method, and none where it names none."""
    rng = random.Random(1)
    plain, with_units = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    for unit in range(150):
        truth = rng.choice("abc")
        weights = {name: rng.randrange(1, 4) * (3 if name == truth else 1) for name in "abc"}
        scores = {name: weight / sum(weights.values()) for name, weight in weights.items()}
        plain.update(truth, scores=scores)
        with_units.update(truth, scores=scores, unit=unit)
    one, by_unit = plain.snapshot(), with_units.snapshot()
    pages = "\n".join(METRICS.values())

    for key in CATALOG:
        line = pages.split(f"{{ #{key} }}")[1].split("| Interval | ")[1].split(" |\n")[0]
        assert has_interval(one, key) == (not line.startswith("none")), key
        assert has_interval(one, key, valid="anytime") == ("anytime" in line), key
        assert has_interval(by_unit, key) == ("`folds`" in line), key


def test_bibliography_has_every_source() -> None:
    """Each source that a section links to has an anchor, and each metric is named by the source that it cites."""
    page = bibliography_page()
    linked = set(re.findall(r"bibliography\.md#([\w-]+)", "\n".join(METRICS.values())))

    assert linked == set(re.findall(r"^## .* \{ #([\w-]+) \}$", page, flags=re.MULTILINE))
    assert set(CATALOG) == set(re.findall(r"\]\(metrics/[\w-]+\.md#(\w+)\)", page))


def test_the_api_reference_has_the_public_names() -> None:
    """Each name of the package is on one page, and what the pages show is there to import."""
    text = "\n".join(page for _, _, page in api_pages())
    documented = re.findall(r"^::: stream_metrics\.(?:[\w.]+\.)?(\w+)$", text, flags=re.MULTILINE)

    documented += re.findall(r"^## (\w+) \{ #stream_metrics\.", text, flags=re.MULTILINE)

    assert set(sm.__all__) <= set(documented)
    assert len(documented) == len(set(documented))
    paths = re.findall(r"^::: (\S+)$", text, flags=re.MULTILINE)
    for module, name in (path.rsplit(".", 1) for path in paths if "integrations" not in path):
        assert hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}"), f"{module}.{name}"


def test_names_and_links_in_the_text_exist() -> None:
    """What a sentence calls `sm.something` is in the package; a link names a file of ours, and what is in it."""
    failures = []
    for page, text in PAGES.items():
        for path, name in re.findall(r"\]\(repo:([^)\s:]+)(?:::(\w+))?\)", text):
            file, definition = ROOT / path, re.compile(rf"^\s*(?:def|class) {name}\b", re.MULTILINE)
            if not file.exists() or (name and not definition.search(file.read_text("utf-8"))):
                failures.append(f"{page}: {path}::{name}")
        for path in re.findall(r"`sm\.([A-Za-z_.]+)", text):
            try:
                attrgetter(path.rstrip("."))(sm)
            except AttributeError:
                failures.append(f"{page}: sm.{path}")
    headings = [name for text in PAGES.values() for name in re.findall(r"\{\{ README: (.+) \}\}", text)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert headings
    assert failures + [name for name in headings if f"\n## {name}\n" not in readme] == []


def test_every_extra_is_in_the_table_of_extras() -> None:
    """The page on installation lists the extras of pyproject.toml, and no others."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`[^|]*`) \|", PAGES["docs/install.md"].split("## Extras")[1], flags=re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(extras)


def test_commands_have_the_flags_that_pages_show() -> None:
    """Each flag in a command is one that `--help` of it lists; the page of commands has the help of each."""
    blocks = "\n".join(block for text in PAGES.values() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    lines = {line.split(" #")[0].strip() for line in blocks.replace("\\\n", " ").split("\n")}
    commands = [line for line in lines if line.startswith("stream-metrics ")]
    helped = {name: run_command(name, "--help").out for name in {line.split()[1] for line in commands}}
    for line in commands:
        for flag in re.findall(r"\s(--[a-z-]+)", line):
            assert re.search(rf"{flag}\b", helped[line.split()[1]]), line
    assert len(helped) > 3

    listed = run_command("--help").out.partition("COMMAND\n")[2]
    names = re.findall(r"^    ([a-z]+)  ", listed.partition("\n\n")[0], flags=re.MULTILINE)
    assert len(names) > 4
    for name in names:
        assert f"\n## {name}\n\n```text\n{{{{ {name} --help }}}}\n" in PAGES["docs/command-line.md"], name


def test_events_and_rules_of_the_guide_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor joins the events of the guide, and reads its alert rules."""
    text = PAGES["docs/guides/production.md"]
    for kind, name in (("json", "events.jsonl"), ("toml", "monitor.toml")):
        (tmp_path / name).write_text(re.findall(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    order = ("monitor", "events.jsonl", "--config", "monitor.toml", "--once", "--format", "json")
    view = run_command(*order).out

    assert json.loads(view)["by_window"]["total"]["n"] == 1
    assert len(json.loads(view)["alerts"]) == 6


def test_what_stands_for_scikit_learn_can_be_evaluated() -> None:
    """Each expression in the table of scikit-learn's functions has a value."""
    table = PAGES["docs/guides/from-scikit-learn.md"].split("|---|---|---|\n")[1].split("\n\n")[0]
    cells = [cell for line in table.split("\n") for cell in line.split(" | ")[1:]]
    expressions = [code for cell in cells for code in re.findall(r"`((?:sm|s)[.\[][^`]*)`", cell)]
    truth, scores = ["a", "b", "b", "a"], [[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]]
    names = {"s": sm.evaluate(truth, scores=scores, classes=["a", "b"]), "sm": sm, "label": "b", "c": "b"}

    assert len(expressions) > 25
    for code in expressions:
        if "=" not in code or "(" in code:
            assert eval(code.rpartition(" = ")[2], names) is not None, code
