"""Run the benchmarks, all or those named, and print a Markdown table; the exit status is 1 if a target was missed.

python benchmarks/run.py [name ...]
"""

from __future__ import annotations

import argparse
import importlib
import sys

from timing import Line, machine, table

QUESTIONS = (
    "one_sample", "batch_integers", "batch_names", "reading", "everything", "merging", "many_classes", "encoding",
)  # fmt: skip


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(QUESTIONS)}; all if none is given")
    names = parser.parse_args().names or QUESTIONS
    if unknown := set(names) - set(QUESTIONS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    lines: list[Line] = []
    for name in names:
        module = importlib.import_module(name)
        print(f"{name}: {str(module.__doc__).splitlines()[0]}", file=sys.stderr)
        lines.extend(module.lines())
    print(machine(), table(lines), sep="\n\n")
    return 1 if any(line.missed for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
