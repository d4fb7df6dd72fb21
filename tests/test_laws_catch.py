"""The laws can fail: each faulty accumulator breaks the law that covers its fault."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing

pytestmark = pytest.mark.quick
text = st.sampled_from(["a", "b", "c", ""])


class Sum:
    """A well-behaved accumulator that is none of ours: how many samples, and the sum of their lengths."""

    def __init__(self, n: int = 0, total: Any = 0) -> None:
        self.n, self.total = n, total

    def update(self, truth: str, predicted: str) -> None:
        self.n, self.total = self.n + 1, self.total + len(truth)

    def revert(self, truth: str, predicted: str) -> None:
        self.n, self.total = self.n - 1, self.total - len(truth)

    def merge(self, other: Any) -> Any:
        self.n, self.total = self.n + other.n, self.total + other.total
        return self

    def copy(self) -> Any:
        return type(self)(self.n, self.total)

    def reset(self) -> None:
        self.n, self.total = 0, 0

    def to_bytes(self) -> bytes:
        return repr((self.n, self.total)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Any:
        return cls(*eval(data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def snapshot(self) -> Any:
        return Seen(self.to_bytes().decode())


class Seen(str):
    """A snapshot that is text."""

    def to_json(self) -> str:
        return str(self)


def test_the_laws_hold_for_an_accumulator_of_somebody_else() -> None:
    """The kit asks for nothing but the methods of the contract; update_many and subtract need not exist."""
    testing.check(Sum, st.tuples(text, text))


class FloatSum(Sum):
    """Adds floats, so the order matters, and taking away leaves a residue."""

    def update(self, truth: str, predicted: str) -> None:
        self.n, self.total = self.n + 1, self.total + {"a": 0.1, "b": 0.2, "c": 0.3}.get(truth, 1e16)

    def revert(self, truth: str, predicted: str) -> None:
        self.n, self.total = self.n - 1, self.total - {"a": 0.1, "b": 0.2, "c": 0.3}.get(truth, 1e16)


class Last(Sum):
    """Keeps the last sample, which no merge can know."""

    def update(self, truth: str, predicted: str) -> None:
        self.n, self.total = self.n + 1, len(truth) + 2 * len(predicted) if truth != predicted else self.total


class Forgetful(Sum):
    """Its merge forgets one of the counts."""

    def merge(self, other: Any) -> Any:
        self.total += other.total
        return self


class Mean(Sum):
    """Merges means by taking their mean."""

    def merge(self, other: Any) -> Any:
        self.n, self.total = self.n + other.n, (self.total + other.total) / 2
        return self


class Greedy(Sum):
    """Its merge empties the other one."""

    def merge(self, other: Any) -> Any:
        super().merge(other)
        other.reset()
        return self


class Shared(Sum):
    """Its copy is itself."""

    def copy(self) -> Any:
        return self


class Lossy(Sum):
    """Read from bytes, it has lost its sum."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Any:
        return cls(eval(data)[0])


class Sticky(Sum):
    """Its revert forgets the number of samples, its reset the sum."""

    def revert(self, truth: str, predicted: str) -> None:
        self.total -= len(truth)

    def reset(self) -> None:
        self.n = 0


class Watched(Sum):
    """Taking a snapshot counts."""

    def snapshot(self) -> Any:
        self.n += 1
        return super().snapshot()


class Live(Sum):
    """Its snapshot is itself, and moves on."""

    def snapshot(self) -> Any:
        return self

    def to_json(self) -> str:
        return self.to_bytes().decode()


class Batchwise(Sum):
    """Counts a batch as one sample."""

    def update_many(self, truth: list[str], predicted: list[str]) -> None:
        self.n, self.total = self.n + 1, self.total + sum(map(len, truth))


class MergesWithoutAbstentions(sm.ConfusionMatrix):
    """A confusion matrix whose merge forgets the abstentions: one counter among many."""

    def merge(self, other: Any) -> Any:
        abstained = self.abstained
        super().merge(other)
        for _ in range(self.abstained - abstained):
            self.revert("a", None)
        return self


BROKEN: dict[type[Sum], set[str]] = {
    FloatSum: {"merge_associates", "split_equals_whole", "revert_undoes"},
    Last: {"split_equals_whole"},
    Forgetful: {"empty_is_identity", "merge_commutes", "split_equals_whole"},
    Mean: {"empty_is_identity", "merge_associates", "split_equals_whole"},
    Greedy: {"merge_commutes"},
    Shared: {"copies_are_independent"},
    Lossy: {"bytes_round_trip"},
    Sticky: {"revert_undoes", "reset_forgets"},
    Watched: {"copies_are_independent"},
    Live: {"copies_are_independent"},
    Batchwise: {"split_equals_whole"},
}


@pytest.fixture(scope="module")
def laws() -> dict[str, testing.Law]:
    """The laws with many examples and without shrinking, which the profile says that is loaded when they are made."""
    usual = settings.get_current_profile_name()
    settings.register_profile("broken", max_examples=500, phases=[Phase.generate], derandomize=True, database=None)
    settings.load_profile("broken")
    spec = importlib.util.find_spec("stream_metrics.testing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings.load_profile(usual)
    return {law.__name__: law for law in module.LAWS}


@pytest.mark.parametrize("name", [law.__name__ for law in testing.LAWS])
def test_a_broken_accumulator_is_caught(laws: dict[str, testing.Law], name: str) -> None:
    """Each law finds the faults that it is there for, in our states too."""
    broken = [kind for kind, names in BROKEN.items() if name in names]
    assert broken
    for kind in broken:
        with pytest.raises(AssertionError):
            laws[name](kind, st.tuples(st.sampled_from(["a", "b", "c", "long"]), text))
    if name in ("empty_is_identity", "split_equals_whole"):
        with pytest.raises(AssertionError):
            laws[name](MergesWithoutAbstentions, testing.samples())
