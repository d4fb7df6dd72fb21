"""Mutants of the bytes of every kind of state and container; `wire_mutants.py` tries a million of each."""

from __future__ import annotations

import base64
import zlib

import pytest
from support import wire_mutants

import stream_metrics as sm

STATES = wire_mutants.corpus()


@pytest.mark.parametrize("name", STATES)
def test_a_mutant_is_refused_or_a_state(name: str) -> None:
    """Only DecodeError; what is read writes the same bytes, and can be merged, updated and shown."""
    outcomes = wire_mutants.fuzz(name, STATES[name], 100, 0)

    assert outcomes["refused"] > 0


# an aggregate of two fading sets; in one, the newer of its two states has counted 2**63 - 3 samples
LARGE_FADING = (
    'c-oCnJxc>Y5PiEjlMpP<e_&~6ADe6Jw9-Ft;Ca|s#Gs{vSXjwAMno%vAlUdDj&PNQ`6YH%g2b7*J-'
    'dLzz|P0pH}ht1cYEJ;zjp$^=4Cl5%6we#WO@e2FNgWT(Q$dl&nLy0xvK7~0EAFG%s#dr-'
    '*Gbsu=aU912ZCE6}NEy0RyNfsD~ZUC8;Ik?E$EXB&4<nc!RVpt+0!v-AK9ub&q;ONK+^*1?;snCQZlE2~STQ{6Dqy-'
    'o6GRWU)+3)=3*?Su%?e^>t>_W*Is9n@;_<>@H|s1}r<%{Cr{dQ*Vm0E5QrrlN~{|=x3^IlwB;-VvsF>Up@MuxB'
)


def test_an_aggregate_that_cannot_be_merged_is_refused() -> None:
    """Every state inside a worker's state counts for what the merge of all workers has to hold."""
    with pytest.raises(sm.DecodeError, match="of all states together to stay below"):
        sm.from_bytes(zlib.decompress(base64.b85decode(LARGE_FADING)))
