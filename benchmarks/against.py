"""Compare the instructions of hot operations with a baseline; more than LIMIT times as many are a regression.

Counts of callgrind do not depend on what else the machine does. They do depend on the compiler, Python and NumPy, so
counts of another environment are not compared: the commit of the baseline is built here, with the tools of this
environment, and counted beside the installed package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from readme import markdown

ROOT = Path(__file__).parent.parent
OPERATIONS = Path(__file__).with_name("hot_operations.py")
BUILT = ROOT / "build" / "against"
LIMIT = 1.05
MARKER = "getsid"


class NotComparableError(Exception):
    """Nothing can be compared here; the message says why."""


class Counts(NamedTuple):
    """Instructions a sample of each operation, and the tools and machine that they depend on."""

    environment: dict[str, str]
    instructions: dict[str, float]


def run(*command: str | Path, **options: Any) -> str:
    """Return the output of a command; NotComparableError if it fails."""
    try:
        done = subprocess.run(command, check=True, text=True, capture_output=True, **options)
    except FileNotFoundError as error:
        raise NotComparableError(f"there is no {error.filename}") from None
    except subprocess.CalledProcessError as error:
        raise NotComparableError(f"`{' '.join(map(str, command[:4]))} ...` failed: {error.stderr[-2000:]}") from None
    return done.stdout


def count(package: Path | None = None, padding: int = 0) -> Counts:
    """Count the instructions of the installed package, or of one that was built into a folder.

    Another `padding` of the environment gives objects other addresses.
    """
    version = run("valgrind", "--version").strip()
    # Without `site`, which would put the installed package first
    python = [sys.executable] if package is None else [sys.executable, "-S"]
    paths = [] if package is None else [str(package), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    fixed = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    fixed["PADDING"] = "x" * padding
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ("--tool=callgrind", f"--dump-before={MARKER}", f"--callgrind-out-file={folder}/part")
        answer = json.loads(run("valgrind", "-q", *callgrind, *python, OPERATIONS, env={**os.environ, **fixed}))
        instructions = {name: min(instructions_of(Path(folder), part) / n for part, n in rounds)
                        for name, rounds in answer["parts"].items() if rounds}  # fmt: skip
    return Counts({**answer["environment"], "valgrind": version}, instructions)


def instructions_of(folder: Path, part: int) -> int:
    """Return the instructions in a part of callgrind's output."""
    path = folder / f"part.{part}"
    totals = re.search(r"^totals: (\d+)$", path.read_text(errors="replace") if path.exists() else "", re.MULTILINE)
    if totals is None:
        raise NotComparableError(f"callgrind has not seen the calls of {MARKER} that divide its output")
    return int(totals[1])


def build(commit: str, environment: Mapping[str, str]) -> Path:
    """Build a commit into a folder of this environment, unless that was done before."""
    target = BUILT / f"{commit[:12]}-{zlib.crc32(repr(sorted(environment.items())).encode()):08x}"
    if (target / "stream_metrics").exists():
        return target
    print(f"building {commit[:12]} in {target.relative_to(ROOT)}", file=sys.stderr, flush=True)
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        run("git", "archive", "--format=tar", "-o", f"{folder}/source.tar", commit, cwd=ROOT)
        shutil.unpack_archive(f"{folder}/source.tar", f"{folder}/source")
        run(*installer(), "--no-deps", "--target", target, f"{folder}/source")
    return target


def installer() -> list[str]:
    """Return the command that installs packages for this Python."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip", "install", "--quiet"]
    return ["uv", "pip", "install", "--quiet", "--python", sys.executable]


def commit_of(revision: str) -> str:
    """Return the commit of a revision; NotComparableError if the repository does not have it."""
    try:
        return run("git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", cwd=ROOT).strip()
    except NotComparableError:
        raise NotComparableError(f"the repository has no commit {revision} (a shallow clone?)") from None


def baseline(given: str, environment: Mapping[str, str]) -> Counts:
    """Return the counts of a baseline in this environment: those of its file, or of its commit built here."""
    if not Path(given).is_file():
        try:
            commit = commit_of(given)
        except NotComparableError as error:
            raise SystemExit(f"{given!r} is neither a file nor a revision: {error}") from None
    else:
        stored = json.loads(Path(given).read_text(encoding="utf-8"))
        commit = stored["commit"]
        differences = [name for name in environment if environment[name] != stored["environment"].get(name)]
        if not differences:
            print(f"the counts of {given}, of commit {commit[:12]}")
            return Counts(stored["environment"], stored["instructions"])
        print(f"the counts of {given} are of another environment ({', '.join(differences)})")
        commit = commit_of(commit)
    counts = count(build(commit, environment))
    print(f"the counts of commit {commit[:12]}, built here")
    if counts.environment != dict(environment):
        raise NotComparableError(f"the baseline was built with other tools: {counts.environment} for {environment}")
    return counts


def rows(now: Mapping[str, float], before: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the table: operation, instructions before and now, their ratio, verdict."""
    lines = [("operation", "before", "now", "now / before", "")]
    for name, instructions in now.items():
        if name not in before:
            lines.append((name, "", f"{instructions:,.0f}", "", "not in the baseline"))
            continue
        ratio = instructions / before[name]
        verdict = "SLOWER" if ratio > LIMIT else "faster" if ratio < 1 / LIMIT else ""
        lines.append((name, f"{before[name]:,.0f}", f"{instructions:,.0f}", f"{ratio:.3f}", verdict))
    lines += [(name, f"{before[name]:,.0f}", "", "", "DOES NOT RUN") for name in before if name not in now]
    return lines


def compare(given: str) -> int:
    """Print the comparison with a baseline, a file or a revision; return 1 for a regression, 0 otherwise.

    An operation of the baseline that does not run any more is a regression too.
    """
    try:
        now = count()
        before = baseline(given, now.environment).instructions
        table = rows(now.instructions, before)
        least = now.instructions
        for padding in (1000, 3000, 9000, 20000, 50000):  # addresses can add some per cent to a count of hash tables
            if not has_regression(table):
                break
            again = count(padding=padding).instructions
            least = {name: min(n, again.get(name, n)) for name, n in least.items()}
            table = rows(least, before)
    except NotComparableError as error:
        print(f"instructions are not compared: {error}")
        return 0
    print(f"instructions a sample, or a call, under callgrind\n\n{markdown(table)}")
    return 1 if has_regression(table) else 0


def has_regression(table: list[tuple[str, ...]]) -> bool:
    """Whether an operation of a table is slower than allowed, or does not run."""
    return any(row[-1] in {"SLOWER", "DOES NOT RUN"} for row in table)


def record(path: str) -> int:
    """Write the counts of the installed package, which must be the last commit, as a baseline."""
    if run("git", "status", "--porcelain", "stream_metrics", cwd=ROOT):
        raise SystemExit("commit the changes of stream_metrics/ first: a baseline names the commit that it counted")
    try:
        content = {"commit": commit_of("HEAD"), **count()._asdict()}
    except NotComparableError as error:
        raise SystemExit(f"no baseline: {error}") from None
    Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0
