"""Bytes of windows, fading states and groups: a state writes the bytes that it was read from; others are refused."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.states.limits import MOST
from stream_metrics.wire import MAGIC, VERSION, Portable, encoded


def window() -> sm.TimeWindow:
    """Return a window with panes, one of them late."""
    made = sm.TimeWindow(sm.MetricSet(), "30s", 3, "5s")
    for t in (1, 12, 25, 3):
        made.update("a", "b", t=t)
    return made


def groups() -> sm.ByGroup:
    """Return groups of every type of key, some of them folded."""
    made = sm.ByGroup(sm.MetricSet(), 4)
    for key in ("a", 1, True, 2.5, b"x", ("y", 1), 7, "b"):
        made.update("a", "b", group=key)
    return made


def fading() -> sm.Fading:
    """Return a state of two stretches."""
    made = sm.Fading(sm.MetricSet(), "1s")
    for t in (0, 39, 41, 45):
        made.update("a", "b", t=t)
    return made


def nested() -> sm.ByGroup:
    """Return groups of windows."""
    made = sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "30s", 3))
    for t in range(40):
        made.update(t % 3, t % 2, group=t % 2 == 0, t=t)
    return made


def changed(content: Any, rng: random.Random) -> Any:
    """Return the content with one thing in it changed: another value, one less, one twice, two in turn."""
    if isinstance(content, list | tuple) and content and rng.random() < 0.85:
        items, at = list(content), rng.randrange(len(content))
        kind = rng.random()
        if kind < 0.8:
            items[at] = changed(items[at], rng)
        elif kind < 0.9:
            del items[at]
        else:
            items.insert(at, items[rng.randrange(len(items))])
        return items
    others = [
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        60,
        10**9,
        3 * 10**10,
        2**62,
        2**70,
        0.5,
        "",
        "a",
        "set",
        b"",
        [],
        [[]],
        [0],
    ]
    return rng.choice(others)


@pytest.mark.parametrize("make", [window, groups, fading, nested])
def test_changed_bytes_are_refused_or_read_as_they_stand(make: Callable[[], Portable]) -> None:
    """Three thousand changes to the content, with a right checksum: a DecodeError, or a state that writes the same."""
    rng, state = random.Random(2), make()
    content, refused = state._content(), 0
    for _ in range(3000):
        body = encoded([state.KIND, changed(content, rng)])
        data = MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body
        try:
            again = sm.from_bytes(data)
        except sm.DecodeError:
            refused += 1
        else:
            assert again.to_bytes() == data
            again.snapshot()
            assert again.copy() == again

    assert refused > 1500
    assert sm.from_bytes(state.to_bytes()) == state


def most_seen(state: Portable, *places: int) -> bytes:
    """Return bytes of groups by 5 in a container in which the group appears `2**63 - 3` times at these places."""
    seen = iter(range(1000))

    def raised(content: Any) -> Any:
        if not isinstance(content, list | tuple):
            return content
        if len(content) == 3 and content[0] == 5 and isinstance(content[1], list | tuple):
            return [5, [0, MOST, 0], content[2]] if next(seen) in places else content
        return [raised(item) for item in content]

    body = encoded(raised([state.KIND, state.to_content()]))
    return MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "little") + body


def groups_in_panes(panes: int) -> sm.TimeWindow:
    """Return a window with a sample of group 5 in each pane."""
    result = sm.TimeWindow(sm.ByGroup(sm.Accuracy()), "1m", 6)
    for pane in range(panes):
        result.update("a", "a", group=5, t=10 * pane)
    return result


def test_a_window_whose_panes_count_too_many_appearances_of_a_group_is_refused() -> None:
    """Each pane is right, but their merge, which every reading makes, is not."""
    with pytest.raises(sm.DecodeError, match=r"stay below 2\*\*63 - 2"):
        sm.from_bytes(most_seen(groups_in_panes(3), 0, 2))


def test_a_window_refuses_the_sample_that_would_be_one_appearance_too_many() -> None:
    """The sample is of another pane than those before, so only the sum over panes is too large."""
    full = sm.from_bytes(most_seen(groups_in_panes(1), 0))
    before = full.to_bytes()
    with pytest.raises(sm.WeightError):
        full.update("a", "a", group=5, t=10)
    with pytest.raises(sm.WeightError):
        full.update_many(["a"], ["a"], group=5, t=10)
    assert full.to_bytes() == before
    assert full.n == 1
    assert full.snapshot().values_of("accuracy") == {5: 1.0}


@pytest.mark.parametrize("place", [0, 1])
def test_a_fading_state_of_groups_refuses_one_appearance_too_many_in_either_state(place: int) -> None:
    """The later state has a small scale of weights, which says nothing of appearances."""
    fading = sm.Fading(sm.ByGroup(sm.Accuracy()), 3)
    fading.update_many(["a"] * 200, ["a"] * 200, group=5)
    full = sm.from_bytes(most_seen(fading, place))
    before = full.to_bytes()
    with pytest.raises(sm.WeightError):
        full.update("a", "a", group=5)
    assert full.to_bytes() == before
