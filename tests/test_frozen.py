"""What users see does not change unless a commit says so: `python tests/golden/write_frozen.py` writes the files."""

from __future__ import annotations

import difflib
import gzip
import json
import platform
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support import frozen, vectors

HERE_EXACT = sys.platform == "linux" and platform.machine() == "x86_64"  # elsewhere log and pow round otherwise
# BLAS and NumPy choose kernels by the processor, and these sum in another order: the last bits of what uses them differ
BY_PROCESSOR = {"generalized_mcc_code_literal", "generalized_mcc_rounded_literal", "nir_p_value"}
INTERVALS = {"low", "high", "se"}
SNAPSHOTS = frozen.snapshots()


def changes(name: str, text: str) -> str:
    """Return how a text differs from a file, and nothing if it does not."""
    old = (frozen.GOLDEN / name).read_text(encoding="utf-8")
    return "\n".join(difflib.unified_diff(old.split("\n"), text.split("\n"), f"golden/{name}", "now", lineterm="", n=1))


@pytest.mark.quick
def test_the_public_interface() -> None:
    """Every public name with its signature, every documented member of a class, every key of the catalog."""
    assert not changes("api.txt", frozen.api())


@pytest.mark.parametrize("name", vectors.NAMES)
def test_vectors_for_readers(name: str) -> None:
    """What golden files hold, as JSON for readers in other languages."""
    assert not changes(f"vectors/{name}.json", vectors.vector(name))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse prints help in another form since Python 3.13")
@pytest.mark.parametrize("command", frozen.COMMANDS)
def test_the_help_of_commands(command: str) -> None:
    """Options, their meanings and their defaults."""
    name = f"help/{command.replace(' ', '-') or 'stream-metrics'}.txt"
    assert not changes(name, frozen.output_of(f"{command} --help"))


@pytest.mark.parametrize("name", frozen.SCHEMAS)
def test_the_schemas_of_the_monitor(name: str) -> None:
    """The view that pages and programs read, and the configuration; the documentation publishes the same files."""
    schema = frozen.output_of(f"monitor {frozen.SCHEMAS[name]}")
    assert not changes(f"{name}.schema.json", schema)
    assert (frozen.ROOT / "docs" / "assets" / f"{name}.schema.json").read_text(encoding="utf-8") == schema


@pytest.mark.quick
@pytest.mark.parametrize("name", frozen.VALUES)
def test_values(name: str) -> None:
    """Every key for random matrices, scores and pairs of models, to the last bit; some intervals, to 1e-12."""
    with gzip.open(frozen.GOLDEN / f"values_{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        expected = [json.loads(line) for line in file]
    now = [json.loads(line) for line in frozen.lines_of(frozen.VALUES[name]())]
    differences = [
        f"case {i}: {place} was {old}, is {new}"
        for i, (before, after) in enumerate(zip(expected, now, strict=True))
        for place, old, new in differing(before, after, "")
    ]
    assert not differences


def differing(old: Any, new: Any, place: str, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two cases differ: ends of intervals by more than rounding, values in any bit."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from differing(old.get(name), new.get(name), f"{place}/{name}", name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differing(before, after, f"{place}/{i}", key)
    elif old != new and ((HERE_EXACT and key not in BY_PROCESSOR | INTERVALS) or not nearly_equal(old, new)):
        yield place, old, new


def nearly_equal(old: Any, new: Any) -> bool:
    """Tell whether two floats, or two in hexadecimal, differ by rounding only."""
    try:
        before, after = (float.fromhex(each) if isinstance(each, str) else each for each in (old, new))
        return bool(after == pytest.approx(before, rel=1e-12, abs=1e-12))
    except (TypeError, ValueError):
        return False


@pytest.mark.quick
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_reports(name: str) -> None:
    """The text that is printed, the HTML that a notebook shows, and the same as data."""
    assert not changes(f"reports/{name}.txt", f"{SNAPSHOTS[name]}\n")
    assert not changes(f"reports/{name}.html", f"{SNAPSHOTS[name]._repr_html_()}\n")
    data = json.loads((frozen.GOLDEN / f"reports/{name}.json").read_text(encoding="utf-8"))
    assert not list(differing(data, json.loads(SNAPSHOTS[name].to_json()), ""))
