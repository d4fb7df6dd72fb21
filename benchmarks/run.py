"""Run the benchmarks, all or those named, and print a Markdown table; the exit status is 1 if a target was missed."""

from __future__ import annotations

import argparse
import datetime
import importlib
import sys

import against
from readme import write_section
from timing import Line, machine, table

QUESTIONS = (
    "one_sample", "batch_integers", "batch_names", "reading", "everything", "merging", "many_classes", "encoding",
    "rank_speed", "rank_peers", "certificates", "real_scores",
    "windows_rolling", "windows_timed",
    "intervals", "comparison", "detectors",
    "scale",
    "monitor", "collector",
)  # fmt: skip
ENGINES = (  # in an environment of their own
    "arrow_columns", "bad_rows", "billion_pairs", "spark_groups", "spark_overhead",
)  # fmt: skip

MARKS = "<!-- measured -->", "<!-- end of measured -->"
ENGINE_MARKS = "<!-- measured with engines -->", "<!-- end of measured with engines -->"


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ", ".join((*QUESTIONS, *ENGINES))
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {every}; all but the last {len(ENGINES)} if none")
    parser.add_argument("--engines", action="store_true", help=f"run {', '.join(ENGINES)}")
    parser.add_argument("--write", action="store_true", help="put the table into README.md as well")
    text = "compare instructions with those of a git revision, or in a file of --record; exit status 1 above 5 %% more"
    parser.add_argument("--against", metavar="BASELINE", help=text)
    parser.add_argument("--record", metavar="FILE", help="write the instructions of the last commit as a baseline")
    given = parser.parse_args()
    if given.record or given.against:
        return against.record(given.record) if given.record else against.compare(given.against)
    if unknown := set(given.names) - {*QUESTIONS, *ENGINES}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if given.names and (given.write or given.engines):
        parser.error("names go neither with --write, which writes whole tables, nor with --engines")
    lines: list[tuple[str, Line]] = []
    for name in given.names or (ENGINES if given.engines else QUESTIONS):
        module = importlib.import_module(name)
        print(f"{name}: {str(module.__doc__).splitlines()[0]}", file=sys.stderr, flush=True)
        lines += [(name, line) for line in module.lines()]
    report = f"{machine()}\n\n{table(lines)}"
    print(report)
    if given.write:
        today = datetime.date.today().isoformat()
        write_section(ENGINE_MARKS if given.engines else MARKS, f"{today}. {report}")
    return 1 if any(line.missed for _, line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
