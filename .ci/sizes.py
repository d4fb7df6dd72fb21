"""Compare the lines of code of each part with its budget in `[tool.sizes]` of pyproject.toml.

Blank lines, comments and docstrings do not count. A budget may be lowered; a commit that raises one says why. Every
of the package belongs to exactly one budget, and Cython has its own.

    python .ci/sizes.py            # fails if a part has more lines than its budget
    python .ci/sizes.py --lower    # sets each budget to today's lines, where they are fewer
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNCOUNTED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def python_lines(path: Path) -> int:
    """Return how many lines of a Python file have code."""
    source = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in UNCOUNTED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def cython_lines(path: Path) -> int:
    """Return how many lines of a Cython file have code."""
    source = re.sub(r'^[ \t]*[a-z]?"""(?:.|\n)*?"""', "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return sum(1 for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def measured(parts: list[str]) -> dict[str, int]:
    """Return the lines of each part: names of files and folders, or patterns, separated by spaces."""
    sizes, owners = dict.fromkeys(parts, 0), {}
    for part in parts:
        for name in part.split():
            for path in sorted(ROOT.glob(name)):
                for file in [path] if path.is_file() else sorted(path.rglob("*")):
                    if file.suffix not in (".py", ".pyx", ".pxi", ".pxd"):
                        continue
                    if "_core" in file.parts and not name.endswith("_core"):
                        continue  # the kernels of the monitor have a budget of their own
                    if file in owners:
                        raise SystemExit(f"{file.relative_to(ROOT)} has two budgets: {owners[file]!r} and {part!r}")
                    owners[file] = part
                    sizes[part] += python_lines(file) if file.suffix == ".py" else cython_lines(file)
    package = {file for suffix in ("py", "pyx", "pxi", "pxd") for file in ROOT.glob(f"stream_metrics/**/*.{suffix}")}
    if unowned := sorted(str(file.relative_to(ROOT)) for file in package - set(owners)):
        raise SystemExit(f"no budget in [tool.sizes] for {', '.join(unowned)}")
    return sizes


def main(arguments: list[str]) -> int:
    """Print every part with its lines and its budget; return 1 if one has too many."""
    file = ROOT / "pyproject.toml"
    text = file.read_text(encoding="utf-8")
    budgets: dict[str, int] = tomllib.loads(text)["tool"]["sizes"]
    sizes = measured(list(budgets))
    for part, budget in budgets.items():
        print(f"{sizes[part]:6} of {budget:6}  {part}{'  TOO MANY' if sizes[part] > budget else ''}")
    if "--lower" in arguments:
        for part, budget in budgets.items():
            text = text.replace(f'"{part}" = {budget}\n', f'"{part}" = {min(budget, sizes[part])}\n')
        file.write_text(text, encoding="utf-8")
        return 0
    return int(any(sizes[part] > budget for part, budget in budgets.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
