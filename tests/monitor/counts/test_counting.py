"""What is counted of pairs equals a plain recount, regardless of the chunks, the order and the partitions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pair_streams import (
    BY_PREDICTION,
    HARD,
    SOFT,
    clock,
    countable,
    counted,
    fed,
    pair,
    pairs,
    placed,
)

import stream_metrics as sm
from stream_metrics.errors import DecodeError, MergeError
from stream_metrics.labels import most_likely
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING
from stream_metrics.monitor.view.window_reading import read

CONFIGS = {"scores": SOFT, "labels": HARD, "by prediction": BY_PREDICTION}
streams = st.lists(pairs(), max_size=30).map(placed)
dirty = st.lists(pairs(good=False), max_size=30).map(placed)
sizes = st.lists(st.integers(0, 10), max_size=5)
configs = st.sampled_from([SOFT, HARD, BY_PREDICTION])


@given(configs, dirty, sizes)
def test_the_total_is_a_plain_recount(config: Counting, drawn: list[Pair], chunks: list[int]) -> None:
    """All pairs that a plain state counts are in the total, by byte; all others come back."""
    good = countable(config, drawn)
    counts, at, rejected = Counts(config), 0, []
    for size in (*chunks, len(drawn)):
        rejected += counts.add(drawn[at : at + size])
        at += size

    assert counts.total.to_bytes() == counted(config, good).to_bytes()
    assert sorted(item.offset for item in rejected) == [p.origin[2] for p in drawn if p not in good]


@given(configs, streams, sizes)
def test_windows_are_a_plain_recount(config: Counting, drawn: list[Pair], chunks: list[int]) -> None:
    """A window has the pairs whose time is in its panes, and late ones are the only that were passed over."""
    drawn = countable(config, drawn)
    counts = fed(config, drawn, chunks)
    found = read([counts])
    at = int((counts.latest or 0) * 1e9)

    for name, window in counts.windows.items():
        inside = [p for p in drawn if at // window.length - 4 < int(clock(config, p) * 1e9) // window.length]
        assert found[name].state == counted(config, inside)
        assert sum(1 for p in drawn if p not in inside) >= counts.late[name]
    assert found["total"].state == counts.total


@given(configs, streams, sizes)
def test_groups_are_a_plain_recount(config: Counting, drawn: list[Pair], chunks: list[int]) -> None:
    """Groups hold the labels of the pairs that have a group."""
    drawn = countable(config, drawn)
    counts = fed(config, drawn, chunks)
    plain = sm.ByGroup(sm.ConfusionMatrix(), config.max_groups)
    for p in drawn:
        if p.group not in (None, MISSING):
            plain.update(p.truth, _label(config, p), _weight(p), group=p.group)

    assert counts.total_groups.to_bytes() == plain.to_bytes()
    assert read([counts])["total"].groups == plain


def _weight(p: Pair) -> Any:
    return 1 if p.weight is None or p.weight is MISSING else p.weight


def _label(config: Counting, p: Pair) -> Any:
    """Return the label that a plain state gives a pair."""
    if p.prediction is not None and p.prediction is not MISSING and not isinstance(p.prediction, dict):
        return p.prediction
    for soft in (p.prediction, p.scores):
        if isinstance(soft, dict) and soft:
            return most_likely(soft)
    state = counted(config, [p._replace(weight=1)]).state
    if state.abstained:
        return None
    return next(label for label, n in zip(state.labels, state.predicted_totals.tolist(), strict=True) if n)


@given(configs, streams, st.randoms(use_true_random=False), sizes)
def test_any_split_merges_to_the_same(config: Counting, drawn: list[Pair], random: Any, chunks: list[int]) -> None:
    """Partitions, in any order and chunks, with a round trip and copies between, merge to the whole."""
    drawn = countable(config, drawn)
    whole = fed(config, drawn, chunks)
    dealt = [random.randrange(3) for _ in drawn]
    shards = []
    for shard in range(3):
        part = [p for p, to in zip(drawn, dealt, strict=True) if to == shard]
        random.shuffle(part)
        shards.append(Counts.from_bytes(config, fed(config, part, chunks).to_bytes()))
    random.shuffle(shards)
    first, second, third = shards
    before = third.to_bytes()

    assert first.copy().merge(second).merge(third).to_bytes() == whole.to_bytes()
    assert second.merge(third).merge(first).to_bytes() == whole.to_bytes()
    assert third.to_bytes() == before


def test_what_is_late_for_a_window_is_in_the_total_and_counted_as_late() -> None:
    """Nothing is silently left out."""
    counts = Counts(SOFT)
    counts.add([pair(labelled_at=100.0)])
    counts.add([pair(labelled_at=95.0), pair(labelled_at=80.0)])

    assert counts.late == {"4s": 2, "10s": 1}
    assert [counts.total.n, *(found.state.n for found in read([counts]).values())] == [3, 3, 1, 2]


def test_windows_expire_without_samples() -> None:
    """When time moves on and no pair comes, windows become empty and the total stays; the bytes do not change."""
    counts = Counts(SOFT)
    counts.add([pair(group="de")])
    before = counts.to_bytes()
    counts.advance(105.0)
    found = read([counts])

    assert {name: reading.state.n for name, reading in found.items()} == {"total": 1, "4s": 0, "10s": 1}
    assert len(found["4s"].groups.groups) == 0
    assert counts.latest == 105.0
    assert read([counts], 200.0)["10s"].state.n == 0
    assert counts.to_bytes() == before


@given(configs, streams, st.randoms(use_true_random=False))
def test_partitions_read_together_as_merged(config: Counting, drawn: list[Pair], random: Any) -> None:
    """What is read of partitions is what is read of their merge, at the latest time of any."""
    drawn = countable(config, drawn)
    dealt = [random.randrange(3) for _ in drawn]
    shards = [fed(config, [p for p, to in zip(drawn, dealt, strict=True) if to == shard]) for shard in range(3)]
    for shard in shards:
        read([shard])  # which leaves it with merges of panes
    together = read(shards)
    merged = shards[0].copy().merge(shards[1]).merge(shards[2])

    for name, reading in read([merged]).items():
        assert together[name].state == reading.state
        assert together[name].groups == reading.groups
        assert together[name].covered[:2] == reading.covered[:2]
        assert together[name].covered.delays.tolist() == reading.covered.delays.tolist()


@given(configs, streams, sizes)
def test_parts_that_have_not_changed_are_the_same(config: Counting, drawn: list[Pair], chunks: list[int]) -> None:
    """A store may tell by identity what it has to write; reading in between changes nothing."""
    drawn = countable(config, drawn)
    counts = fed(config, drawn, chunks)
    parts = counts.parts()
    read([counts])
    again = counts.parts()
    counts.add([pair(labelled_at=1000.0)])
    later = counts.parts()

    assert all(again[name] is data for name, data in parts.items())
    assert again.keys() == parts.keys()
    assert all(later[name] != data for name, data in parts.items() if name in later and later[name] is not data)
    assert {name.split("/")[0] for name in later} == {"about", "total", "groups", "window"}
    assert Counts.from_parts(config, parts).to_bytes() == fed(config, drawn).to_bytes()


@pytest.mark.parametrize(
    "other",
    [
        Counting(scores=True, windows=("4s", "10s"), panes=2, max_groups=2),
        Counting(scores=True, windows=("4s",), panes=4, max_groups=2),
        Counting(scores="any", windows=("4s", "10s"), panes=4, max_groups=2),
        Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=3),
        Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=2, labels=("a",)),
        Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=2, pos_label="a"),
        Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=2, clock="prediction"),
    ],
)
def test_other_configurations_are_refused(other: Counting) -> None:
    """Neither bytes nor counts of another configuration are taken for one's own; the message names the option."""
    counts = fed(SOFT, [pair(group="de")])
    before = counts.to_bytes()
    names = [name for name in ("panes", "windows", "scores", "max_groups", "labels", "pos_label", "clock")
             if getattr(other, name) != getattr(SOFT, name)]  # fmt: skip

    with pytest.raises(DecodeError, match="|".join([*names, "windows"])):
        Counts.from_bytes(other, before)
    with pytest.raises(MergeError, match="|".join([*names, "windows"])):
        counts.merge(Counts(other))
    assert counts.to_bytes() == before


def test_groups_cover_the_stretch_of_their_window() -> None:
    """At every time, groups add up to the samples of the window that have one."""
    config = Counting(windows=("60s",), panes=60)
    counts = fed(config, [pair(predicted_at=float(t), labelled_at=float(t), group="de") for t in range(100, 200)])

    for later in range(30):
        found = read([counts], 199.0 + later)["60s"]
        assert found.state.n == 60 - later
        assert found.groups.n == found.state.n


def test_counts_that_were_read_and_copied_go_on_alike() -> None:
    """A copy is independent, and neither knows of the other."""
    counts = fed(SOFT, [pair(labelled_at=100.0 + t, group="de") for t in range(20)])
    read([counts])
    before, twin = counts.to_bytes(), counts.copy()
    twin.add([pair("b", labelled_at=t, group="fr") for t in (119.0, 112.0, 125.0)])
    read([twin])

    assert counts.to_bytes() == before != twin.to_bytes()
    counts.add([pair("b", labelled_at=t, group="fr") for t in (119.0, 112.0, 125.0)])
    assert counts.to_bytes() == twin.to_bytes()
