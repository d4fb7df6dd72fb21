"""Write what repeats the catalog: the metric classes, their names in the package, and the README's list of metrics.

`python .ci/generate.py` writes all three, `python .ci/generate.py --check` fails if one is out of date.
"""

import ast
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE, README = ROOT / "stream_metrics" / "__init__.py", ROOT / "README.md"
CLASSES = ROOT / "stream_metrics" / "metrics" / "classes.py"
BEGIN, END = "<!-- metrics: written by .ci/generate.py -->\n", "<!-- end of metrics -->"

# The package itself imports the classes. Its folders are imported without it, so that classes of a row that was renamed
# do not keep the generator from writing new ones.
package = types.ModuleType("stream_metrics")
package.__path__ = [str(PACKAGE.parent)]
sys.modules["stream_metrics"] = package

from class_source import class_names, classes_source  # noqa: E402  needs the package above

from stream_metrics.catalog.table import CATALOG  # noqa: E402


def package_source():
    """Return `__init__.py` with the imports and `__all__` that the classes need."""
    text = PACKAGE.read_text()
    module = "stream_metrics.metrics.classes"
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    others = [name.name for node in imports if node.module != module for name in node.names]
    text = _replaced(text, f"from {module} import (\n", ")\n", "".join(f"    {name},\n" for name in _imported()))
    return _replaced(
        text, "__all__ = [\n", "]\n", "".join(f'    "{name}",\n' for name in sorted([*others, *class_names()]))
    )


def _imported():
    """Return the names of the classes in the order that ruff wants in an import: constants first."""
    return sorted(class_names(), key=lambda name: (not name.isupper(), name.lower()))


def readme():
    """Return the README with a new list of metrics."""
    families = {}
    for row in CATALOG.values():
        classes = ", ".join(name for name in (row.class_name, row.alias) if name)
        name = f"`{row.key}`" + (f" ({classes})" if classes else "")
        families.setdefault(row.family, {}).setdefault("per class" if row.kind == "per_class" else "whole", []).append(
            name
        )
    lines = ["", "| | whole matrix | per class |", "|---|---|---|"]
    for family, kinds in families.items():
        lines.append(f"| {family} | {', '.join(kinds.get('whole', ()))} | {', '.join(kinds.get('per class', ()))} |")
    return _replaced(README.read_text(), BEGIN, END, "\n".join([*lines, "", ""]))


def _replaced(text, begin, end, between):
    """Return a text with new content between two marks."""
    start = text.index(begin) + len(begin)
    return text[:start] + between + text[text.index(end, start) :]


def main():
    """Write or check all three."""
    for path, text in ((CLASSES, classes_source()), (PACKAGE, package_source()), (README, readme())):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run python .ci/generate.py")


main()
