"""The fuzz targets without a fuzzer: a few hundred inputs each, the same ones in every run, and no finding."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from fuzz import mutation, run

INPUTS = {"bytes": 1000, "events": 50, "rules": 800, "configuration": 150}


@pytest.mark.parametrize("name", run.TARGETS)
def test_targets_find_nothing(name: str) -> None:
    """Seeds are taken; of mutants some are taken and some refused, in many ways; no property is broken."""
    target, inputs = importlib.import_module(f"fuzz.target_{name}"), INPUTS[name]
    chance, pool = Random(1), target.seeds()
    outcomes = Counter(target.check(seed) for seed in pool)

    assert all(outcome.startswith("taken: ") for outcome in outcomes)
    for _ in range(inputs):
        data = target.mutate(chance.choice(pool), chance, mutation.change_bytes)
        outcome = target.check(data)
        if outcome not in outcomes:
            pool.append(data)
        outcomes[outcome] += 1
    taken = sum(count for outcome, count in outcomes.items() if outcome.startswith("taken: "))
    assert inputs / 50 <= taken <= inputs * 0.98
    assert len(outcomes) >= 20


def test_an_input_is_checked_again_by_the_command() -> None:
    """What the fuzzer prints is an argument that checks one input."""
    done = subprocess.run(
        [sys.executable, str(run.__file__), "--target", "rules", "--base64", "bGFnID4gMQ=="],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == "taken: lag > # for #\n"
