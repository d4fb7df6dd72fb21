"""Entry point: parse the command line, run one command, turn every expected error into one line and an exit status.

Exit status: 0 done; 1 bad data or a file that cannot be read or written; 2 wrong usage or a missing optional package;
130 interrupted by Ctrl-C; 141 the reader of our output went away (what a shell reports for a tool ended by SIGPIPE).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import NoReturn

from stream_metrics.cli.errors import EXPECTED, CliError, end_at_interrupt, explained
from stream_metrics.process_memory import collecting_rarely

PROGRAM = "stream-metrics"
DESCRIPTION = """\
Streaming, mergeable classification metrics: count (truth, prediction) records,
merge the counts of many workers, read every metric."""
EXAMPLE = """\
example:
  stream-metrics run shard1.jsonl --state shard1.state
  stream-metrics run shard2.jsonl --state shard2.state
  stream-metrics merge shard1.state shard2.state -o all.state
  stream-metrics show all.state

'stream-metrics COMMAND --help' explains a command."""

COMMANDS = (
    *("run", "merge", "show", "metrics", "monitor", "monitor backup", "monitor restore", "monitor inspect"),
    *("query", "collect", "demo"),
)  # of which only the module of the one that is called is imported


OPTIONS = {  # of arguments in Python
    "y_true": "--true", "y_pred": "--pred", "scores": "--scores", "w": "--weight", "group": "--by", "t": "--time-field",
}  # fmt: skip
OTHER_NAMES = {  # of options in other programs
    **dict.fromkeys(("--threads", "--workers", "--processes", "-j"), "--jobs"),
    **dict.fromkeys(("--sep", "--separator"), "--delimiter"),
    **dict.fromkeys(("--confidence", "--ci"), "--intervals"),
    **dict.fromkeys(("--output", "--out", "--save"), "--state"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{PROGRAM}: {message} (see {self.prog} --help)\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Say that there are no such arguments, and which option the first one may stand for."""
        from difflib import get_close_matches

        from stream_metrics.inputs.arguments import OTHER_NAMES as ARGUMENTS

        known = list(self._option_string_actions)
        first = next((word for word in words if word.startswith("-")), words[0])
        name = first.partition("=")[0].lower().replace("_", "-")
        argument = name.lstrip("-").replace("-", "_")
        close = [name, OTHER_NAMES.get(name), OPTIONS.get(ARGUMENTS.get(argument, argument))]
        close += get_close_matches(name, known, 1)
        meant = next((f"; did you mean {option}?" for option in close if option in known), "")
        self.error(f"unrecognized arguments: {' '.join(words)}{meant}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show must not end the run
    if argv is None and "OMP_NUM_THREADS" not in os.environ:
        # NumPy's OpenBLAS starts threads that spin until there is work, which is rare.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with collecting_rarely(), ExitStack() as ending:
            if argv is None:
                ending.callback(gc.freeze)  # or the exit of the process searches all modules for garbage
            status = _dispatch(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the flush at exit finds nothing to fail on
        return 141
    except KeyboardInterrupt:
        return 130
    except EXPECTED as error:
        print(f"{PROGRAM}: {explained(error)}", file=sys.stderr)
        return getattr(error, "status", CliError.status)


def _dispatch(argv: Sequence[str] | None) -> int:
    words = _joined(sys.argv[1:] if argv is None else argv)
    with end_at_interrupt():
        parser, commands = _parser(words[0] if words else "")
    try:
        arguments, unknown = parser.parse_known_args(words)
        if unknown:
            commands.get(words[0], parser).refuse(unknown)
    except SystemExit as end:  # help, version, or wrong usage: printed already
        return int(end.code or 0)
    if arguments.execute is None:
        parser.print_help()
        return 0
    status: int = arguments.execute(arguments)
    return status


def _joined(argv: Sequence[str]) -> list[str]:
    """Return arguments with the two words of a command as one, and times before now beside their option."""
    words = list(argv)
    if words[:1] == ["monitor"] and words[1:2] and " ".join(words[:2]) in COMMANDS:
        words[:2] = [" ".join(words[:2])]
    for at in range(len(words) - 1, 0, -1):
        if words[at - 1] in ("--from", "--to") and words[at][:1] == "-" and words[at][1:2].isdecimal():
            words[at - 1 : at + 1] = [f"{words[at - 1]}={words[at]}"]  # else argparse takes it for an option
    return words


def _parser(command: str = "") -> tuple[_Parser, dict[str, _Parser]]:
    """Return the parser of the program, and that of a command; of all, for their list, if there is no such command."""
    parser = _Parser(
        prog=PROGRAM, description=DESCRIPTION, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if command not in COMMANDS:
        from stream_metrics import __version__

        parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.set_defaults(execute=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in [command] if command in COMMANDS else COMMANDS:
        module = import_module(f"stream_metrics.cli.{'monitor_store' if ' ' in name else name}")
        module.add(commands, name)
    return parser, commands.choices
