"""Damaged bytes of counts and invalid options are refused."""

from __future__ import annotations

import pytest
from msgspec import structs
from support.pair_streams import SOFT, earlier_parts, fed

from stream_metrics.errors import DecodeError
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.counts.parts import pack
from stream_metrics.monitor.view.window_reading import read

PAIRS = [Pair("a", "b", {"a": 0.4, "b": 0.6}, 1, "de", float(t), t + 1.5, ("t", 0, t)) for t in range(90, 100)]


@pytest.mark.parametrize("cut", [0, 3, 8, 20, -1])
def test_short_bytes_are_refused(cut: int) -> None:
    """Bytes that were cut short are no counts."""
    with pytest.raises(DecodeError):
        Counts.from_bytes(SOFT, fed(SOFT, PAIRS).to_bytes()[:cut])


def test_any_flipped_bit_is_refused() -> None:
    """A damaged byte is found, wherever it is."""
    data = fed(SOFT, PAIRS).to_bytes()
    for at in range(0, len(data), 97):
        with pytest.raises(DecodeError):
            Counts.from_bytes(SOFT, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """A part that lacks, one of another state, a pane that is gone, a name that is none: each has its error."""
    parts = fed(SOFT, PAIRS).parts()
    pane = next(name for name in parts if name.startswith("window/4s"))
    wrong = [
        {name: data for name, data in parts.items() if name != "total"},
        {name: data for name, data in parts.items() if name != "about"},
        parts | {"total": parts["groups"]},
        parts | {"about": b"\x01"},
        parts | {"about": parts["total"]},
        parts | {pane: parts["groups"]},
        parts | {pane: parts["total"][:-1]},
        parts | {"window/4s/1": parts[pane]},
        parts | {"window/4s/10000000000000": parts[pane]},
        parts | {"window/4s/x": parts[pane]},
        parts | {"window/5s/1": parts[pane]},
        parts | {pane: Counts(SOFT).total.to_bytes()},
    ]

    assert Counts.from_bytes(SOFT, pack(parts)).parts() == parts
    for held in wrong:
        with pytest.raises(DecodeError):
            Counts.from_parts(SOFT, held)


def test_another_format_or_configuration_is_refused() -> None:
    """The error names the format, or the option with both values."""
    data = fed(SOFT, PAIRS).to_bytes()
    with pytest.raises(DecodeError, match="in format 1, but got 7"):
        Counts.from_bytes(SOFT, data[:4] + b"\x07" + data[5:])
    parts = fed(SOFT, PAIRS).parts()
    other = fed(structs.replace(SOFT, pos_label="c"), []).parts()
    with pytest.raises(DecodeError, match="Expected a state configured as"):
        Counts.from_parts(SOFT, parts | {"total": other["total"]})


def test_another_due_loses_coverage_only() -> None:
    """The age from which a label is due may be changed between runs."""
    counts = fed(SOFT, PAIRS)
    found = Counts.from_bytes(SOFT, counts.to_bytes(), due="30s")

    assert found.total == counts.total
    assert found.coverage["4s"].read(10**11).due == 0
    assert counts.coverage["4s"].read(10**11).due == 3


def test_groups_of_earlier_versions_are_read() -> None:
    """Their few panes are those in which they began: up to a twelfth of the window is missing until they have left."""
    config = Counting(windows=("1m",), panes=60)
    rows = [Pair("a", "a", None, 1, "de", float(t), float(t), ("t", 0, t)) for t in range(100, 333)]
    counts = Counts.from_parts(config, earlier_parts(fed(config, rows[:110])))

    for row in rows[110:]:
        missing = read([counts])["1m"].state.n - read([counts])["1m"].groups.n
        assert 0 <= missing < (5 if row.origin[2] < 270 else 1)
        counts.add([row])
    expected = fed(config, rows).parts()
    assert {name: data for name, data in counts.parts().items() if name != "about"} == {
        name: data for name, data in expected.items() if name != "about"
    }


@pytest.mark.parametrize(
    "options",
    [
        {"clock": "wall"},
        {"windows": ("1h", "1h")},
        {"windows": ("total",)},
        {"windows": ("soon",)},
        {"panes": 0},
        {"max_groups": 0},
        {"scores": "all"},
        {"metrics": ("accuracy", "acuracy")},
        {"metrics": ("recall",)},
        {"labels": ("a", "a")},
    ],
)
def test_options_without_sense_are_refused(options: dict[str, object]) -> None:
    """What cannot be counted is said at the start."""
    with pytest.raises((ValueError, KeyError)):
        Counts(Counting(**options))  # type: ignore[arg-type]
