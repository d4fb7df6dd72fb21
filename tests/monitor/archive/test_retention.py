"""Which pane is responsible for a time: one, regardless of the age, and longer ones hold shorter ones whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor.archive.retention import Key, Retention

SECOND = 10**9
RULE = ("1m for 10m", "5m for 1h", "1h for 1d")
times = st.integers(-(10**6), 10**6).map(lambda t: t * SECOND)


@given(times, times, st.integers(0, 10**5))
def test_panes_only_grow(t: int, seen: int, later: int) -> None:
    """As time passes, the pane of a time lies in the one that follows, until it is deleted for good."""
    retention = Retention.of(RULE)
    floors = retention.floors(seen)
    after = retention.floors(seen + later * SECOND, floors)
    before, then = retention.key(t, floors), retention.key(t, after)
    if before is None:
        assert then is None
        return
    assert before.start <= t < before.end
    if then is not None:
        assert then.start <= before.start
        assert before.end <= then.end


@given(times, times)
def test_a_level_holds_what_is_young_enough(t: int, seen: int) -> None:
    retention = Retention.of(RULE)
    key = retention.key(t, retention.floors(seen))
    lengths = {level.length: level.age for level in retention.levels}
    if seen - t <= lengths[60 * SECOND]:
        assert key == Key(60 * SECOND, t // (60 * SECOND) * 60 * SECOND)
    elif seen - t <= lengths[300 * SECOND]:
        assert key is not None
        assert key.length <= 300 * SECOND
    assert (key is None) == (t < (seen - lengths[3600 * SECOND]) // (3600 * SECOND) * 3600 * SECOND)


def test_floors_do_not_go_back() -> None:
    retention = Retention.of(RULE)
    floors = retention.floors(10**6 * SECOND)
    assert retention.floors(0, floors) == floors
    assert retention.floors(None, floors) == floors
    assert retention.key(0, retention.floors(None)) == Key(60 * SECOND, 0)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (("7m for 1h", "1h"), "divide the next"),
        (("1h for 1d", "1m"), "divide the next"),
        (("1m", "1h"), "ages of `retention`"),
        (("1m for 2d", "1h for 1d"), "ages of `retention`"),
        (("1h for 1m",), "at least their length"),
        (("1x for 1m",), "length of time"),
        (("1m for ever",), "length of time"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rule: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Retention.of(rule)
