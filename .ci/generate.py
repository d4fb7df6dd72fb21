"""Write what repeats the catalog: the metric classes, and their names in the package.

`python .ci/generate.py` writes both, `python .ci/generate.py --check` fails if one is out of date.
"""

import ast
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "stream_metrics" / "__init__.py"
CLASSES = ROOT / "stream_metrics" / "metrics" / "classes.py"

# The package itself imports the classes. Its folders are imported without it, so that classes of a row that was renamed
# do not keep the generator from writing new ones.
package = types.ModuleType("stream_metrics")
package.__path__ = [str(PACKAGE.parent)]
sys.modules["stream_metrics"] = package

from class_source import class_names, classes_source  # noqa: E402  needs the package above


def package_source():
    """Return `__init__.py` with the imports and `__all__` that the classes need."""
    text = PACKAGE.read_text()
    module = "stream_metrics.metrics.classes"
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    others = [name.name for node in imports if node.module not in {module, "stream_metrics"} for name in node.names]
    names = "".join(f"        {name},\n" for name in _imported())
    text = _replaced(text, f"    from {module} import (\n", "    )\n", names)
    return _replaced(
        text, "__all__ = [\n", "]\n", "".join(f'    "{name}",\n' for name in sorted([*others, *class_names()]))
    )


def _imported():
    """Return the names of the classes in the order that ruff wants in an import: constants first."""
    return sorted(class_names(), key=lambda name: (not name.isupper(), name.lower()))


def _replaced(text, begin, end, between):
    """Return a text with new content between two marks."""
    start = text.index(begin) + len(begin)
    return text[:start] + between + text[text.index(end, start) :]


def main():
    """Write or check both."""
    for path, text in ((CLASSES, classes_source()), (PACKAGE, package_source())):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is out of date: run python .ci/generate.py")


main()
