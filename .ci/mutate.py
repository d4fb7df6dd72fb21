"""Make one small mistake at a time in a copy of the package, and tell which ones no test notices.

    python .ci/mutate.py stream_metrics/formulas --count 20 --tests tests/formulas tests/test_frozen_values.py
    python .ci/mutate.py stream_metrics --count 150 --seed 3 --jobs 2 --whole

A mistake swaps an operator, changes a constant, drops a statement or returns nothing. Mistakes in Cython are compiled
again, one module each. The copies are in `build/mutants`; the checkout is not touched. A mistake is caught if the tests
fail, or do not end within `--timeout`. The same seed makes the same mistakes for the same files.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
SITE = Path(sysconfig.get_path("purelib"))
COMPARE = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
BINARY = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "%"),
    ast.Mod: ("%", "//"),
}
KERNEL_SWAPS = [
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " + "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r"\bif not ", "if "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r"(?<![\w.])\d+(?![\w.])", None),
]
KERNEL_SKIP = re.compile(
    r"^\s*(#|cdef |cpdef |cimport|from |import |include|def |class |@|ctypedef|else|try|finally|raise|except|pass|DEF )"
    r"|\bsizeof|inline "
)


@dataclass(frozen=True)
class Mutation:
    """Text that replaces a stretch of a file."""

    file: str
    line: int
    start: int
    end: int
    text: str
    what: str

    def apply(self, source: str) -> str:
        """Return the file with the mistake."""
        return source[: self.start] + self.text + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.what}"


def offsets(source: str) -> list[int]:
    """Return where each line starts."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def skipped(tree: ast.AST) -> set[ast.AST]:
    """Return what is not run or only shown: annotations, `__all__`, imports for types, and messages of errors."""
    nodes: set[ast.AST] = set()

    def leave(node: ast.AST | None) -> None:
        if node is not None:
            nodes.update(ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            leave(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            leave(node.returns)
        elif (
            isinstance(node, ast.Raise | ast.JoinedStr)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
            or (isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets))
        ):
            leave(node)
    return nodes


def python_mutations(file: str, source: str) -> Iterator[Mutation]:
    """Yield every mistake that can be made in a Python file."""
    tree, starts = ast.parse(source), offsets(source)
    ascii_only = source.isascii()

    def place(line: int, column: int) -> int:
        if ascii_only:
            return starts[line - 1] + column
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, old: str, new: str, line: int) -> Iterator[Mutation]:
        start, end = span(left)[1], span(right)[0]
        at = source.find(old, start, end)
        if at >= 0:
            yield Mutation(file, line, at, at + len(old), new, f"{old} -> {new}")

    ignored = skipped(tree)
    for node in ast.walk(tree):
        if node in ignored:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if type(node.ops[0]) in COMPARE:
                yield from between(node.left, node.comparators[0], *COMPARE[type(node.ops[0])], node.lineno)
            elif isinstance(node.ops[0], ast.Is):
                yield from between(node.left, node.comparators[0], "is", "is not", node.lineno)
            elif isinstance(node.ops[0], ast.IsNot):
                yield from between(node.left, node.comparators[0], "is not", "is", node.lineno)
        elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            yield from between(node.left, node.right, *BINARY[type(node.op)], node.lineno)
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield from between(node.values[0], node.values[1], old, new, node.lineno)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start, end = span(node)
            yield Mutation(file, node.lineno, start, end, f"({source[span(node.operand)[0] : end]})", "not dropped")
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int):
            start, end = span(node)
            text = repr(not node.value) if isinstance(node.value, bool) else repr(node.value + 1)
            yield Mutation(file, node.lineno, start, end, text, f"{node.value!r} -> {text}")
        elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
            start, end = span(node)
            yield Mutation(file, node.lineno, start, end, "return None", "returns nothing")
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            start, end = span(node)
            yield Mutation(
                file, node.lineno, start, end, "pass", f"dropped: {' '.join(source[start:end].split())[:60]}"
            )


def kernel_mutations(file: str, source: str) -> Iterator[Mutation]:
    """Yield every mistake that can be made in a Cython file, line by line."""
    starts, in_text = offsets(source), False
    for number, line in enumerate(source.splitlines(), 1):
        quotes = line.count('"""')
        if in_text or quotes:
            in_text = in_text != (quotes == 1)
            continue
        if KERNEL_SKIP.search(line) or not line.strip():
            continue
        code = line.split("  #")[0]
        for pattern, new in KERNEL_SWAPS:
            for match in re.finditer(pattern, code):
                text = str(int(match[0]) + 1) if new is None else new
                start = starts[number - 1] + match.start()
                yield Mutation(
                    file, number, start, start + len(match[0]), text, f"{match[0].strip()} -> {text.strip()}"
                )
        statement = re.fullmatch(r"(\s+)(\w[\w.\[\]]*\(.*\)|[\w.\[\]]+ [-+|&]?= [^=].*[^,(\[{\\])", code)
        if statement and code.count("(") == code.count(")"):
            start = starts[number - 1] + len(statement[1])
            yield Mutation(file, number, start, starts[number - 1] + len(code), "pass", f"dropped: {statement[2][:60]}")


def draw(folders: list[str], count: int, seed: int) -> list[Mutation]:
    """Return `count` mistakes, spread over the files in proportion to the root of how many each can have."""
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    choices: list[list[Mutation]] = []
    for file in listed:
        source = (ROOT / file).read_text()
        if file.endswith(".py"):
            choices.append(list(python_mutations(file, source)))
        elif file.endswith((".pyx", ".pxi")):
            choices.append(list(kernel_mutations(file, source)))
    choices = [mutations for mutations in choices if mutations]
    chance = random.Random(seed)
    chosen: dict[Mutation, None] = {}
    while len(chosen) < min(count, sum(map(len, choices))):
        mutations = chance.choices(choices, [len(each) ** 0.5 for each in choices])[0]
        chosen[chance.choice(mutations)] = None
    return list(chosen)


class Sandbox:
    """A copy of the checkout, with an interpreter that imports the package from there."""

    def __init__(self, number: int, tests_from: Path) -> None:
        self.root = ROOT / "build" / "mutants" / str(number)
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for file in subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\n"):
            if file and not file.startswith("tests/") and (ROOT / file).is_file():
                (self.root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, self.root / file)
        shutil.copytree(tests_from / "tests", self.root / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        for library in (SITE / "stream_metrics").rglob("*.so"):
            shutil.copy2(library, self.root / "stream_metrics" / library.relative_to(SITE / "stream_metrics"))
        venv.create(self.root / "venv", symlinks=True)
        self.python = self.root / "venv" / "bin" / "python"
        packages = next((self.root / "venv" / "lib").glob("python*")) / "site-packages"
        (packages / "mutants.pth").write_text(f"{self.root}\n{SITE}\n")

    def compile(self, file: str) -> bool:
        """Compile the module that a Cython file is part of; return whether it compiles."""
        folder = (self.root / file).parent
        source, library = folder / "kernels.c", next(folder.glob("kernels.*.so"))
        library.unlink()  # a process may still have it mapped
        translate = [
            str(self.python),
            "-m",
            "cython",
            "-3",
            f"-I{self.root}",
            "--shared=stream_metrics._core.numeric._cyutility",
            "-o",
            str(source),
            str(folder / "kernels.pyx"),
        ]
        include = subprocess.run(
            [self.python, "-c", "import numpy; print(numpy.get_include())"], capture_output=True, text=True, check=True
        ).stdout.strip()
        link = [
            "gcc",
            "-O1",
            "-shared",
            "-fPIC",
            "-w",
            "-ffp-contract=off",
            "-DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION",
            f"-I{sysconfig.get_path('include')}",
            f"-I{include}",
            str(source),
            "-o",
            str(library),
            "-lm",
        ]
        return all(
            subprocess.run(command, cwd=self.root, capture_output=True).returncode == 0 for command in (translate, link)
        )

    def restore(self, file: str) -> None:
        """Put a file, and the compiled module it is part of, back."""
        shutil.copy2(ROOT / file, self.root / file)
        if not file.endswith(".py"):
            for library in (SITE / Path(file).parent).glob("*.so"):
                target = self.root / library.relative_to(SITE)
                target.unlink(missing_ok=True)
                shutil.copy2(library, target)

    def fails(self, tests: list[str], timeout: float, workers: str = "0") -> str:
        """Return how the tests noticed a mistake, or nothing if they passed."""
        command = [str(self.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", workers, *tests]
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
        }
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "did not end"
        if process.returncode == 0:
            return ""
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
        if not failed and process.returncode != 1:  # of pytest: not because a test failed
            print(output[-2000:], file=sys.stderr)
        return failed[0] if failed else f"exit status {process.returncode}"


def tests_of(file: str, root: Path) -> list[str]:
    """Return the tests that are most likely to notice a mistake in a file."""
    parts = Path(file).parts[1:]
    names = [parts[0].removesuffix(".py")]
    if names[0] == "monitor" and len(parts) > 2:
        names = [f"monitor/{parts[1]}", "monitor"]
    if names[0] == "_core":
        names = ["states"]
    folders = [f"tests/{name}" for name in names if (root / "tests" / name).is_dir()]
    return folders + sorted(str(path.relative_to(root)) for path in (root / "tests").glob("test_*.py"))


def main() -> int:
    """Try the mistakes, and print what happened to each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=["stream_metrics"], help="folders or files of the package")
    parser.add_argument("--count", type=int, default=30, help="how many mistakes (30)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tests", nargs="+", help="what to run; by default the tests of the folder and those at the top"
    )
    parser.add_argument("--whole", action="store_true", help="run all tests for a mistake that these do not notice")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (1)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run of tests (300)")
    parser.add_argument("--tests-from", type=Path, default=ROOT, help="another checkout to take the tests from")
    parser.add_argument("--only", help="only mistakes whose place starts with this: path:line")
    options = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell ignores it in the background, and so would the tests
    mutations = [m for m in draw(options.folders, options.count, options.seed) if str(m).startswith(options.only or "")]
    if importlib.util.find_spec("Cython") is None and not all(each.file.endswith(".py") for each in mutations):
        parser.error("mistakes in Cython need Cython: pip install cython")
    sandboxes: Queue[Sandbox] = Queue()
    for number in range(options.jobs):
        sandboxes.put(Sandbox(os.getpid() * 100 + number, options.tests_from))

    def attempt(mutation: Mutation) -> str:
        sandbox = sandboxes.get()
        try:
            (sandbox.root / mutation.file).write_text(mutation.apply((ROOT / mutation.file).read_text()))
            if not mutation.file.endswith(".py") and not sandbox.compile(mutation.file):
                outcome = "not compiled"
            else:
                tests = options.tests or tests_of(mutation.file, sandbox.root)
                noticed = sandbox.fails(tests, options.timeout)
                if not noticed and options.whole:
                    noticed = sandbox.fails(["tests"], options.timeout * 2, "2")
                outcome = f"caught by {noticed}" if noticed else "SURVIVED"
        finally:
            sandbox.restore(mutation.file)
            sandboxes.put(sandbox)
        print(f"{outcome:60} {mutation}", flush=True)
        return outcome

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(attempt, mutations))
    while not sandboxes.empty():
        shutil.rmtree(sandboxes.get().root)
    tried = [outcome for outcome in outcomes if outcome != "not compiled"]
    survived = tried.count("SURVIVED")
    print(f"{len(tried) - survived} of {len(tried)} mistakes caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
