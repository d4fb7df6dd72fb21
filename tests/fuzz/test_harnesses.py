"""The fuzz targets without a fuzzer: a few hundred inputs each, the same ones in every run, and no finding."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzz import mutation, target_bytes, target_configuration, target_events, target_rules

RUN = Path(__file__).parent / "run.py"
TARGETS = {  # the number of inputs
    "bytes": (target_bytes, 1000),
    "events": (target_events, 100),
    "rules": (target_rules, 1000),
    "configuration": (target_configuration, 200),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets_find_nothing(name: str) -> None:
    """Seeds are taken; of mutants some are taken and some refused, in many ways; no property is broken."""
    target, inputs = TARGETS[name]
    chance, pool = Random(1), target.seeds()
    outcomes = Counter(target.check(seed) for seed in pool)
    refused = [outcome for outcome in outcomes if not outcome.startswith("taken: ")]

    assert refused == []
    for _ in range(inputs):
        data = target.mutate(chance.choice(pool), chance, mutation.change_bytes)
        outcome = target.check(data)
        if outcome not in outcomes:
            pool.append(data)
        outcomes[outcome] += 1
    taken = sum(count for outcome, count in outcomes.items() if outcome.startswith("taken: "))
    assert taken >= inputs / 50
    assert taken <= inputs * 0.98
    assert len(outcomes) >= 20


def test_every_target_can_be_run() -> None:
    """The command knows the targets that are tested here."""
    spec = importlib.util.spec_from_file_location("fuzz_run", RUN)
    assert spec is not None
    assert spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)

    assert tuple(TARGETS) == run.TARGETS


def test_an_input_is_checked_again_by_the_command() -> None:
    """What the fuzzer prints is an argument that checks one input."""
    done = subprocess.run(
        [sys.executable, RUN, "--target", "rules", "--base64", "bGFnID4gMQ=="],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == "taken: lag > # for #\n"
