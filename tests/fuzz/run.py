"""Fuzz what comes from outside: bytes of states, events, alert rules, configuration.

    python tests/fuzz/run.py --seconds 60                      all targets, one after another, so long in all
    python tests/fuzz/run.py --seconds 3600 --target events    one target
    python tests/fuzz/run.py --random                          without atheris and coverage, in one process
    python tests/fuzz/run.py --target bytes --input FILE       check one input again, without atheris
    python tests/fuzz/run.py --target bytes --base64 TEXT      the same, of what was printed

A target has `seeds`, `mutate`, `check` and `COVERED`; `check` raises for a finding, and returns a text otherwise, equal
ones for inputs that went the same way. The fuzzer goes on after a finding; each kind is saved once in
build/fuzz/findings and printed. The exit status is 1 if there was any. Inputs that cover new code are kept in
build/fuzz/corpus, where the next run begins. Without atheris (Linux and macOS, Python 3.11 to 3.13) nothing is run, and
the reason is printed.

Coverage is that of the Python functions in the modules of COVERED. Compiled kernels are seen by what `check` returns:
each new text, such as the message of an error, counts as new coverage.
"""

from __future__ import annotations

import argparse
import base64
import gc
import hashlib
import importlib
import importlib.util
import re
import subprocess
import sys
import time
import traceback
import warnings
import zlib
from pathlib import Path
from random import Random
from types import FunctionType, ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "fuzz"
TARGETS = ("bytes", "events", "rules", "configuration")
MOST_FINDINGS = 50  # of one run and target
MOST_PRINTED = 1500  # bytes of an input
OUTCOMES = 4096  # counters for what `check` returns
LIMITS = ("-timeout=30", "-rss_limit_mb=2500", "-max_len=16384", "-print_final_stats=1", "-verbosity=0")


def load(target: str) -> ModuleType:
    """Return the module of a target."""
    sys.path[:0] = [str(HERE.parent)]
    warnings.simplefilter("error")  # as in the tests
    return importlib.import_module(f"fuzz.target_{target}")


def main() -> int:
    """Run or reproduce; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="in all, shared by the targets (default: 60)")
    parser.add_argument("--target", choices=TARGETS, help="default: all")
    parser.add_argument("--input", type=Path, metavar="FILE", help="check this input alone")
    parser.add_argument("--base64", metavar="TEXT", help="check this input alone")
    parser.add_argument("--random", action="store_true", help="mutate at random, without atheris and coverage")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.input or arguments.base64:
        if arguments.target is None:
            parser.error("an input needs a --target")
        data = arguments.input.read_bytes() if arguments.input else base64.b64decode(arguments.base64)
        print(load(arguments.target).check(data))
        return 0
    targets = [arguments.target] if arguments.target else list(TARGETS)
    if arguments.random:
        return max([run_at_random(target, arguments.seconds / len(targets)) for target in targets])
    if importlib.util.find_spec("atheris") is None:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"fuzzing is skipped: atheris is not installed (Python {version} on {sys.platform})")
        return 0
    if arguments.inside:
        fuzz(targets[0], arguments.seconds)
    return max([run(target, arguments.seconds / len(targets)) for target in targets])


def run(target: str, seconds: float) -> int:
    """Fuzz a target in a process of its own; return 1 if there are findings, 0 otherwise."""
    findings = BUILD / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    log = BUILD / f"{target}.log"
    started = time.time()
    command = [sys.executable, __file__, "--inside", "--target", target, "--seconds", str(seconds)]
    with log.open("wb") as file:
        status = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, check=False).returncode
    text = log.read_text("utf-8", "replace")
    new = sorted(path for path in findings.iterdir() if path.stat().st_mtime >= started - 1)
    units = re.search(r"number_of_executed_units:\s*(\d+)", text)
    inputs = f"{int(units[1]):,} inputs" if units else "unknown inputs"
    print(f"{target}: {inputs} in {time.time() - started:.0f} s, {len(new)} findings", flush=True)
    if not new and status == 0:
        return 0
    print(text[-20_000:])
    for path in new:
        data = path.read_bytes()
        print(f"\n{path.relative_to(ROOT)} ({len(data)} bytes): check it again with")
        text = base64.b64encode(data).decode()
        again = f"--base64 {text}" if len(data) <= MOST_PRINTED else f"--input {path.relative_to(ROOT)}"
        print(f"  python tests/fuzz/run.py --target {target} {again}")
    return 1


def run_at_random(target: str, seconds: float) -> int:
    """Check mutants of seeds in this process; an input that ends it, as a sanitizer does, is left in a file."""
    module, mutation = load(target), importlib.import_module("fuzz.mutation")
    findings = BUILD / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    current = findings / "last-input"
    chance, pool, inputs, end = Random(), module.seeds(), 0, time.monotonic() + seconds
    outcomes: set[str] = set()
    seen: set[str] = set()
    while time.monotonic() < end:
        data = module.mutate(chance.choice(pool), chance, mutation.change_bytes)
        current.write_bytes(data)
        inputs += 1
        try:
            outcome = module.check(data)
        except Exception as error:
            _save(findings, data, error, seen)
            continue
        if outcome not in outcomes:
            outcomes.add(outcome)
            pool.append(data)
    current.unlink(missing_ok=True)
    print(f"{target}: {inputs:,} inputs at random, {len(outcomes):,} outcomes, {len(seen)} findings", flush=True)
    return int(bool(seen))


def fuzz(target: str, seconds: float) -> None:
    """Fuzz a target in this process, which ends with it."""
    import atheris

    module, corpus, findings = load(target), BUILD / "corpus" / target, BUILD / "findings" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in module.seeds():
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
        module.check(seed)  # which also imports what is imported late
    _instrument(atheris, module.COVERED)
    outcomes = [atheris._reserve_counter() for _ in range(OUTCOMES)]
    seen: set[str] = set()

    def check(data: bytes) -> None:
        try:
            outcome = module.check(data)
        except Exception as error:
            _save(findings, data, error, seen)
            return
        atheris._trace_branch(outcomes[zlib.crc32(outcome.encode("utf-8", "replace")) % OUTCOMES])

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        chance = Random(seed)

        def raw(part: bytes, chance: Random) -> bytes:
            return bytes(atheris.Mutate(part, max(2 * len(part), 64)))

        return bytes(module.mutate(data, chance, raw))[:max_size]

    options = [f"-max_total_time={max(round(seconds), 1)}", f"-artifact_prefix={findings}/", *LIMITS]
    atheris.Setup([sys.argv[0], *options, str(corpus)], check, custom_mutator=mutate)
    atheris.Fuzz()


def _instrument(atheris: ModuleType, covered: tuple[str, ...]) -> None:
    """Have functions report what they cover; an import hook would not see an editable install."""
    inside = tuple(f"{name}." for name in covered)
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and f"{thing.__module__}.".startswith(inside):
            atheris.instrument_func(thing)


def _save(findings: Path, data: bytes, error: Exception, seen: set[str]) -> None:
    """Save and print an input, once for each kind of error and the place where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(ROOT))]
    kind = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}" if frames else repr(error)
    if kind in seen or len(seen) >= MOST_FINDINGS:
        return
    seen.add(kind)
    path = findings / f"finding-{hashlib.sha1(data).hexdigest()[:12]}"
    path.write_bytes(data)
    print(f"\n== {path.name}: {kind}\n{data!r:.2000}", file=sys.stderr)
    traceback.print_exception(error)
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
