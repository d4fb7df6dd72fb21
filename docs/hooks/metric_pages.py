"""The metrics reference: a page for each family of the catalog, an index of all keys, and the bibliography."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from html import escape

from bibliography import BIBLIOGRAPHY
from formula import render

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import ALIASES, CATALOG
from stream_metrics.inference.intervals.methods import METHODS, ONE_LOOK, WITH_UNITS, refusal
from stream_metrics.metrics.metric import metric_class

__all__ = ["bibliography_page", "families", "metric_pages", "slug"]

STATES = {
    "counts": "the [confusion matrix][stream_metrics.ConfusionMatrix]",
    "ranks": "the [rank sketch][stream_metrics.RankSketch] of the scores",
    "confidence": "the [rank sketch][stream_metrics.RankSketch] of the largest scores",
    "losses": "the [sums of losses][stream_metrics.ProbabilityLosses]",
}
NEEDS = {"samples": "weights of 1", "whole_weights": "whole weights"}
DIRECTIONS = {"higher": ", higher is better", "lower": ", lower is better", None: ""}
COUNTED = (
    ">>> import stream_metrics as sm",
    ">>> m = sm.MetricSet()",
    '>>> m.update_many(["cat", "cat", "cat", "dog", "dog", "fox"], ["cat", "cat", "dog", "dog", "fox", "fox"])',
)
SCORED = (
    ">>> import stream_metrics as sm",
    ">>> m = sm.MetricSet(scores=True)",
    ">>> scores = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]",
    '>>> truth = ["cat", "cat", "dog", "fox", "fox"]',
    '>>> m.update_many(truth, scores=scores, classes=["cat", "dog", "fox"])',
)


def families() -> dict[str, list[MetricSpec]]:
    """Return the rows of the catalog by family, in the order of the catalog."""
    rows: dict[str, list[MetricSpec]] = {}
    for row in CATALOG.values():
        rows.setdefault(row.family, []).append(row)
    return rows


def slug(text: str) -> str:
    """Return a text as the name of a page or an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def metric_pages() -> Iterator[tuple[str, str, str]]:
    """Yield path, title and Markdown of each page."""
    yield "metrics/index.md", "All metrics", _index()
    for family, rows in families().items():
        sections = "\n\n".join(map(_section, rows))
        yield f"metrics/{slug(family)}.md", family, f"# {family}\n\n{INTRODUCTIONS.get(family, '')}\n\n{sections}\n"


def bibliography_page() -> str:
    """Return the page with the full references of all sources, and the metrics that cite each."""
    cited: dict[str, list[MetricSpec]] = {}
    for row in CATALOG.values():
        for name in {name for name, _ in _sources(row)}:
            cited.setdefault(name, []).append(row)
    lines = ["# Bibliography", "", "The publications behind the metrics, with the keys that follow each of them.", ""]
    for name, text in sorted(BIBLIOGRAPHY.items(), key=lambda item: item[0].lower()):
        lines += [f"## {name} {{ #{slug(name)} }}", "", _linked(text), ""]
        rows = cited.get(name, [])
        if rows:
            lines += ["Metrics: " + ", ".join(f"[`{row.key}`]({_page(row, 'metrics/')})" for row in rows) + ".", ""]
    return "\n".join(lines)


def _linked(text: str) -> str:
    """Return a reference with its DOI or arXiv number as a link."""
    text = re.sub(r"doi:(\S+[^\s.])", r"[doi:\1](https://doi.org/\1)", text)
    return re.sub(r"arXiv:(\d+\.\d+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def _page(row: MetricSpec, folder: str = "") -> str:
    return f"{folder}{slug(row.family)}.md#{row.key}"


def _index() -> str:
    lines = [INDEX]
    for family, rows in families().items():
        lines += [f"## {family}", "", "| Key | Metric | Class | Range |", "|---|---|---|---|"]
        for row in rows:
            classes = ", ".join(f"[`{name}`][stream_metrics.{name}]" for name in (row.class_name, row.alias) if name)
            lines.append(f"| [`{row.key}`]({_page(row)}) | {row.title} | {classes} | {_range(row)} |")
        lines.append("")
    return "\n".join(lines)


def _section(row: MetricSpec) -> str:
    facts = "\n".join(f"| {name} | {text} |" for name, text in _facts(row))
    parts = [
        f"## {row.title} {{ #{row.key} }}",
        f"`{row.key}`{_classes(row)}",
        row.summary,
        f'<div class="formula" role="math" aria-label="{escape(row.definition)}">{render(row.definition)}</div>',
        f'<div class="facts" markdown="1">\n\n| | |\n|---|---|\n{facts}\n\n</div>',
        row.notes,
        "```pycon\n" + "\n".join(_example(row)) + "\n\n```",
    ]
    return "\n\n".join(part for part in parts if part)


def _classes(row: MetricSpec) -> str:
    names = [name for name in (row.class_name, row.alias) if name]
    return f" · class {' or '.join(f'[`{name}`][stream_metrics.{name}]' for name in names)}" if names else ""


def _facts(row: MetricSpec) -> Iterator[tuple[str, str]]:
    if names := [f"`{alias}`" for alias, key in ALIASES.items() if key == row.key]:
        yield "Also called", ", ".join(names)
    kinds = {"whole": "one number", "per_class": "a number for each class", "matrix": "an array"}
    yield "Value", kinds[row.kind]
    yield "Range", _range(row) + DIRECTIONS[row.direction]
    yield "0/0", _undefined(row)
    yield "Interval", _interval(row)
    yield "Computed from", STATES[row.state] + (", over all pairs of classes" if row.quadratic else "")
    if row.needs:
        yield "Needs", NEEDS[row.needs]
    if row.options:
        yield "Options", ", ".join(f"`{name}={value!r}`" for name, value in row.options.items())
    if not row.default:
        yield "In a snapshot", f'on request: `snapshot.value("{row.key}")`'
    yield "Source", "; ".join(f"[{text}](../bibliography.md#{slug(name)})" for name, text in _sources(row))


def _range(row: MetricSpec) -> str:
    low, high = (str(x).replace("-", "−").removesuffix(".0").replace("inf", "∞") for x in (row.low, row.high))
    return f"{'[' if math.isfinite(row.low) else '('}{low}, {high}{']' if math.isfinite(row.high) else ')'}"


def _undefined(row: MetricSpec) -> str:
    if row.undefined_when == "never":
        return "never"
    component = " A component that is 0/0 counts as `zero_division`." if row.uses_zero_division else ""
    return f"{row.undefined_when}: the value is `zero_division`, by default {row.zero_division}.{component}"


def _interval(row: MetricSpec) -> str:
    """Return which methods give an interval, or why there is none."""
    reason, units = refusal(row), "; `folds` for samples with units" if row.key in WITH_UNITS else ""
    if reason is not None:
        linked = re.sub(r"'(\w+)'", lambda match: f"[`{match[1]}`]({_page(CATALOG[match[1]])})", reason)
        return f"none: {linked}{units}"
    looks = "for one look only" if row.key in ONE_LOOK else 'at any look with `valid="anytime"`'
    return f"`{METHODS[row.key]}`; {looks}{units}"


def _sources(row: MetricSpec) -> Iterator[tuple[str, str]]:
    """Yield the name in the bibliography of each source of a row, and the source as it is cited."""
    for cited in row.source.split("; "):
        yield max((name for name in BIBLIOGRAPHY if cited.startswith(name)), key=len), cited


def _example(row: MetricSpec) -> list[str]:
    """Return the lines of an example: that of the live class, or one of a snapshot with what it returns."""
    if row.class_name:
        text = inspect.getdoc(metric_class(row)) or ""
        return text.partition("Examples\n--------\n")[2].strip().split("\n")
    lines = list(COUNTED if row.state == "counts" else SCORED)
    options = "".join(f", {name}={value!r}" for name, value in _given(row).items())
    expression = f'm.snapshot().value("{row.key}"{options})'
    namespace: dict[str, object] = {}
    exec("\n".join(line.removeprefix(">>> ") for line in lines), namespace)
    value = eval(expression, namespace)
    if row.kind == "per_class" and not isinstance(next(iter(value.values()), None), int):
        expression = f"{{label: round(value, 4) for label, value in {expression}.items()}}"
    elif isinstance(value, float):
        expression = f"round({expression}, 4)"
    elif row.kind == "matrix" and value.dtype.kind == "f":
        expression += ".round(4)"
    return [*lines, f">>> {expression}", *repr(eval(expression, namespace)).split("\n")]


def _given(row: MetricSpec) -> dict[str, object]:
    """Return the options of an example that have no default."""
    return {name: 1 for name, value in row.options.items() if value is None and name == "p"}


INTRODUCTIONS = {
    "Printed mistakes": (
        "Formulas as the literature prints them, where the print is wrong. They exist to compare with published "
        "numbers. Do not use them to evaluate a model."
    ),
    "Baselines": "What guessing without a model would reach, from the class frequencies alone.",
}
INDEX = """# Metrics reference

These pages are generated from the catalog, the table that the package itself uses to compute metrics.

Each metric has a *key*. A snapshot has the values of all keys that it can compute. Metrics that are often used alone
also have a class, whose objects are updated and read separately. [`sm.metrics()`][stream_metrics.metrics] returns this
list in Python.

```pycon
>>> import stream_metrics as sm
>>> m = sm.MetricSet()
>>> m.update_many(["cat", "cat", "dog"], ["cat", "dog", "dog"])
>>> s = m.snapshot()
>>> s["macro_f1"]
0.6666666666666666
>>> s["recall", "cat"]
0.5
>>> mcc = sm.MCC()
>>> mcc.update_many(["cat", "cat", "dog"], ["cat", "dog", "dog"])
>>> mcc.get()
0.5

```

## Notation

| Symbol | Meaning |
|---|---|
| $C_ij$ | weight of the samples of true class $i$ that are predicted as class $j$ |
| $t_k$, $p_k$ | weight of the samples whose true class is $k$, and of those whose predicted class is $k$ |
| $c$, $N$, $K$ | weight of the samples predicted right, of all samples; number of classes |
| $b$ | `beta`, the weight of recall |
| $TP_k$, $FN_k$, $FP_k$, $TN_k$ | $C_kk$, $t_k - C_kk$, $p_k - C_kk$ and $N - t_k - p_k + C_kk$ |
| $P_k$, $R_k$, $S_k$, $V_k$ | precision, recall, specificity and negative predictive value of class $k$ |
| $s_own$, $s_rest$ | scores of a class: of a sample of that class, and of another sample |
| $phi^p$ | the power mean with exponent $p$: −1 is the harmonic, 0 the geometric, 1 the arithmetic mean |

Weights are 1 unless `w` is given, so a weight of samples usually is their number. Sums and products without limits run
over the classes.

"""
