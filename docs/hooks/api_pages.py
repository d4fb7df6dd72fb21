"""The API reference: which public names are on which page. The text of each comes from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.util import find_spec

from metric_pages import slug

import stream_metrics
from stream_metrics import monitor
from stream_metrics.catalog.table import CLASS_ROWS

__all__ = ["api_pages"]

CLASS_PAGE = "metric-classes"
PAGES = (  # path, title, introduction, prefixes of the modules that define the names
    ("functions", "Functions", "Evaluate arrays, count tables, merge states, read bytes.", ("",)),
    ("metric-sets", "Metrics and sets", "The methods of every metric, and sets of metrics that share states.",
     ("metrics.base", "metrics.metric", "metrics.metric_set")),
    ("states", "States", "The exact, mergeable counters behind the metrics.", ("states.",)),
    ("containers", "Windows, groups, workers", "Containers of metrics, sets and states.", ("containers.",)),
    ("tables", "Tables", "Rows of tables that could not be counted.", ("tables.",)),
    ("results", "Results", "Frozen values: snapshots, estimates, intervals.",
     ("snapshots.", "inference.", "ranking.", "evaluation.")),
    ("collector", "Reporting", "How workers report to a collector.", ("collector.",)),
    ("errors", "Errors", "Exceptions are `StreamMetricsError`s, and for bad input also `ValueError`s.", ("errors",)),
)  # fmt: skip
RETURNED = (  # what methods return; callers do not construct them
    "ranking.curves.ROCCurve", "ranking.curves.PRCurve", "ranking.curves.DETCurve", "ranking.curves.Best",
    "ranking.calibration.Reliability", "snapshots.comparison.ComparisonSnapshot", "snapshots.comparison.Difference",
    "inference.comparison.tests.Evidence", "snapshots.groups.Gap", "inference.change.DetectorSnapshot",
    "containers.aggregate.Worker", "containers.timed.Closed", "tables.bad_rows.BadRow", "tables.bad_rows.Counted",
    "catalog.table.MetricTable", "catalog.table.MetricInfo",
)  # fmt: skip
MONITOR = [f"{getattr(monitor, name).__module__}.{name}".removeprefix("stream_metrics.") for name in monitor.__all__]
MODULES = (  # path, title, introduction, modules
    ("plots", "Plots", "Figures with matplotlib, which the [extra](../install.md#extras) `plot` installs.", ["plots"]),
    ("integrations", "Integrations", "A module for each engine, which needs its [extra](../install.md#extras).",
     ["integrations.river", "integrations.tables", "tables.fields", "integrations.spark",
      "integrations.spark_sql", "integrations.spark_streaming", "integrations.beam", "integrations.dask",
      "integrations.ray", "integrations.torch", "integrations.torchmetrics"]),
    ("monitor", "Monitor", "The monitor as a library: `from stream_metrics.monitor import Monitor`.", MONITOR),
    ("testing", "Testing", "The laws of a mergeable accumulator, for states of your own.", ["testing"]),
)  # fmt: skip


def api_pages() -> Iterator[tuple[str, str, str]]:
    """Yield path, title and Markdown of each page."""
    names = _names_by_page()
    classes = [f"stream_metrics.{name}" for name in names.pop(CLASS_PAGE)]
    yield "api/index.md", "Overview", _overview(names)
    for path, title, introduction, _ in PAGES:
        objects = [*names[path], *(RETURNED if path == "results" else ())]
        yield f"api/{path}.md", title, _page(title, introduction, [f"stream_metrics.{name}" for name in objects])
    yield f"api/{CLASS_PAGE}.md", "Metric classes", _page("Metric classes", CLASSES, classes, ALONE)
    for path, title, introduction, modules in MODULES:
        yield f"api/{path}.md", title, _page(title, introduction, [f"stream_metrics.{name}" for name in modules])


def _names_by_page() -> dict[str, list[str]]:
    """Return the public names by the page that they are on; functions of no other page are on the first."""
    pages: dict[str, list[str]] = {path: [] for path in (*(path for path, *_ in PAGES), CLASS_PAGE)}
    for name in stream_metrics.__all__:
        value = getattr(stream_metrics, name)
        module = (inspect.getmodule(value) or stream_metrics).__name__.removeprefix("stream_metrics").lstrip(".")
        if name in CLASS_ROWS:
            pages[CLASS_PAGE].append(name)
            continue
        is_class = inspect.isclass(value)
        module = "errors" if is_class and issubclass(value, Exception) else module
        fitting = [path for path, _, _, prefixes in PAGES[1:] if module.startswith(prefixes)]
        pages[fitting[0] if fitting and is_class else "functions"].append(name)
    return pages


def _page(title: str, introduction: str, objects: list[str], options: str = "") -> str:
    extra = f"    options:\n{options}" if options else ""
    parts = [_second_name(path) or f"{_anchor(path)}::: {_definition(path)}\n{extra}" for path in objects]
    parts = [part + _reference(path) for part, path in zip(parts, objects, strict=True)]
    return f"# {title}\n\n{introduction}\n\n" + "\n\n".join(parts) + "\n"


def _reference(path: str) -> str:
    """Return a link from a metric class to the metric."""
    name = path.removeprefix("stream_metrics.")
    row = CLASS_ROWS.get(name)
    if row is None or row.alias == name:
        return ""
    return f"\n\n[`{row.key}` in the metrics reference](../metrics/{slug(row.family)}.md#{row.key})"


def _second_name(path: str) -> str:
    """Return a section for a second name of a class; an empty text for any other object."""
    package, _, name = path.rpartition(".")
    value = getattr(stream_metrics, name) if package == "stream_metrics" and name in stream_metrics.__all__ else None
    if not inspect.isclass(value) or value.__name__ == name:
        return ""
    return f"## {name} {{ #{path} }}\n\nAnother name of [`{value.__name__}`][stream_metrics.{value.__name__}]."


def _definition(path: str) -> str:
    """Return the path of an object in the sources: where a folder has its name, the one at which it is defined."""
    package, _, name = path.rpartition(".")
    hidden = package == "stream_metrics" and name in stream_metrics.__all__ and find_spec(path)
    return f"{getattr(stream_metrics, name).__module__}.{name}" if hidden else path


def _anchor(path: str) -> str:
    """Return the anchor that links to an object need, if it is shown under another path."""
    return "" if _definition(path) == path else f"[](){{ #{path} }}\n\n"


def _overview(names: dict[str, list[str]]) -> str:
    lines = [OVERVIEW]
    for path, title, _, _ in PAGES:
        lines += [f"## {title}", "", "| Name | Description |", "|---|---|"]
        for name in names[path]:
            lines.append(f"| [`{name}`][stream_metrics.{name}] | {_summary(getattr(stream_metrics, name))} |")
        lines.append("")
    lines += ["## Metric classes", "", "| Class | Key | Description |", "|---|---|---|"]
    for name, row in sorted(CLASS_ROWS.items()):
        if name != row.alias:
            lines.append(f"| [`{name}`][stream_metrics.{name}] | `{row.key}` | {row.summary} |")
    return "\n".join(lines) + "\n"


def _summary(value: object) -> str:
    return (inspect.getdoc(value) or "").split("\n", 1)[0].replace("|", "\\|")


OVERVIEW = """# API reference

`import stream_metrics as sm` has all of these names. Everything here is public: it changes only with a deprecation, as
[versions and formats](../contributing.md#versions-and-formats) says.

"""
ALONE = "      members: []\n      inherited_members: false\n"
CLASSES = """Each class is one metric with a state of its own. The constructor is documented here; all classes have the
methods of [`Metric`][stream_metrics.Metric]: `update`, `update_many`, `get`, `snapshot`, `merge`, `revert`, `to_bytes`
and the others. The [metrics reference](../metrics/index.md) shows the formulas."""
