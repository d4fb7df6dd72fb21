"""Run the benchmarks, all or those named, and print a Markdown table; the exit status is 1 if a target was missed."""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys
from pathlib import Path

from timing import Line, machine, table

QUESTIONS = (
    "one_sample", "batch_integers", "batch_names", "reading", "everything", "merging", "many_classes", "encoding",
    "rank_speed", "rank_peers", "certificates", "real_scores",
    "windows_rolling", "windows_timed",
    "arrow_columns", "scale",
)  # fmt: skip
README = Path(__file__).with_name("README.md")
MARKS = "<!-- measured -->", "<!-- end of measured -->"


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(QUESTIONS)}; all if none is given")
    parser.add_argument("--write", action="store_true", help="put the table into README.md as well")
    given = parser.parse_args()
    if unknown := set(given.names) - set(QUESTIONS):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    lines: list[tuple[str, Line]] = []
    for name in given.names or QUESTIONS:
        module = importlib.import_module(name)
        print(f"{name}: {str(module.__doc__).splitlines()[0]}", file=sys.stderr, flush=True)
        lines += [(name, line) for line in module.lines()]
    report = f"{machine()}\n\n{table(lines)}"
    print(report)
    if given.write:
        write(report)
    return 1 if any(line.missed for _, line in lines) else 0


def write(report: str) -> None:
    """Replace what stands between the marks of the README."""
    head, _, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, tail = rest.partition(MARKS[1])
    today = datetime.date.today().isoformat()
    README.write_text(f"{head}{MARKS[0]}\n{today}. {report}\n{MARKS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
