"""Mutants of the bytes of every kind of state and container; `wire_mutants.py` tries a million of each."""

from __future__ import annotations

import pytest
import wire_mutants

STATES = wire_mutants.corpus()


@pytest.mark.parametrize("name", STATES)
def test_a_mutant_is_refused_or_a_state(name: str) -> None:
    """Only DecodeError; what is read writes the same bytes, and can be merged, updated and shown."""
    outcomes = wire_mutants.fuzz(name, STATES[name], 100, 0)

    assert outcomes["refused"] > 0
