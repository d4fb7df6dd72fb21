"""Streams with times and groups, and a plain window of time to compare with.

The kit of laws feeds samples as positional arguments; `Named` takes times, groups and units that way.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor
from typing import Any

from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing

Sample = tuple[Any, ...]
KEYS = ["de", "fr", "us", 1, True, 1.0, 0, 2.5, b"x", ("de", 1), ""]


class Named:
    """A state that takes its named arguments, such as a time or a group, by position after all others, as laws do."""

    def __init__(self, state: Any, *names: str) -> None:
        self.wrapped, self.names = state, names

    def update(self, *sample: Any) -> None:
        """Count a sample."""
        self.call("update", sample)

    def update_many(self, *columns: Any) -> None:
        """Count a batch; samples of one model without a unit among others cannot be in one."""
        if not isinstance(self.wrapped, sm.Comparison) and any(
            value is None for column in columns[-len(self.names) :] for value in column
        ):
            for sample in zip(*columns, strict=True):
                self.update(*sample)
            return
        self.call("update_many", columns)

    def call(self, method: str, given: tuple[Any, ...]) -> None:
        """Call a method of the state."""
        at = len(given) - len(self.names)
        getattr(self.wrapped, method)(*given[:at], **dict(zip(self.names, given[at:], strict=True)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self.wrapped, name)
        if name == "revert":
            return lambda *sample: self.call(name, sample)
        if name == "subtract":
            return lambda other: Named(method(other.wrapped), *self.names)
        return method

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Named)
            and bool(self.wrapped == other.wrapped)
            and type(self.wrapped) is type(other.wrapped)
        )

    def merge(self, other: Named) -> Named:
        """Add another state."""
        assert self.wrapped.merge(other.wrapped) is self.wrapped
        return self

    def copy(self) -> Named:
        """Return a copy."""
        return Named(self.wrapped.copy(), *self.names)

    def to_bytes(self) -> bytes:
        """Return the names and the bytes of the state."""
        return " ".join(self.names).encode() + b"|" + self.wrapped.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Named:
        """Read what `to_bytes` wrote."""
        names, _, rest = data.partition(b"|")
        return cls(sm.from_bytes(rest), *names.decode().split())


def times() -> st.SearchStrategy[Any]:
    """Times over a few panes of a second, on their edges and between; before 1970; a gap; whole seconds as int."""
    return st.one_of(
        st.sampled_from([0, 1, 2.0, 3, 4.0, 5, 7, 8.0, -1.0, -0.5, 0.999999999, 1e-9, 3.5, 100.0, 101.5]),
        st.floats(-3, 12).map(lambda t: round(t, 9)),
    )


def keys() -> st.SearchStrategy[Any]:
    """Groups of every type, equal numbers of several types among them."""
    return st.one_of(st.sampled_from(KEYS), st.text(max_size=2))


def samples(*more: st.SearchStrategy[Any], scores: bool = False, most: float | None = None) -> testing.Samples:
    """Samples with the arguments that stand after the weight; weights of at most `most`."""
    plain = testing.soft_samples() if scores else testing.samples()
    if most is not None:
        plain = plain.map(lambda drawn: (*drawn[:2], min(drawn[2], most)))
    return st.tuples(plain, *more).map(lambda drawn: (*drawn[0], *drawn[1:]))


class PlainWindow:
    """The samples with their times, from which every reading computes the window from scratch."""

    def __init__(self, make: Callable[[], Any], length: float, panes: int, lateness: float) -> None:
        self.make, self.length, self.panes, self.lateness = make, Fraction(length), panes, Fraction(lateness)
        self.samples: list[tuple[int, Sample]] = []  # with the number of the pane
        self.latest: Fraction | None = None
        self.dropped = 0

    def update(self, t: Any, sample: Sample) -> None:
        """Keep the sample, unless it comes too late."""
        at = Fraction(round(Fraction(t) * 10**9), 10**9)
        pane = floor(at / self.length)
        if self.latest is not None and (pane + self.panes) * self.length + self.lateness <= self.latest:
            self.dropped += 1
            return
        self.latest = at if self.latest is None else max(at, self.latest)
        self.samples.append((pane, sample))

    def readable(self, t: Fraction) -> bool:
        """Tell whether all panes of the window at `t` are stored."""
        assert self.latest is not None
        return floor(t / self.length) >= floor((self.latest - self.lateness) / self.length)

    def window(self, t: Fraction) -> Any:
        """Return a fresh state fed with what is in the window at `t`."""
        newest = floor(t / self.length)
        state = self.make()
        for pane, sample in self.samples:
            if newest - self.panes < pane <= newest:
                state.update(*sample)
        return state
