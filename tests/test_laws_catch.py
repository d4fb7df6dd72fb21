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

    def add(self, n: int, total: Any) -> Any:
        self.n, self.total = self.n + n, self.total + total
        return self

    def update(self, truth: str, predicted: str) -> None:
        self.add(1, len(truth))

    def revert(self, truth: str, predicted: str) -> None:
        self.add(-1, -len(truth))

    def merge(self, other: Any) -> Any:
        return self.add(other.n, other.total)

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


class MergesWithoutAbstentions(sm.ConfusionMatrix):
    """A confusion matrix whose merge forgets the abstentions: one counter among many."""

    def merge(self, other: Any) -> Any:
        abstained = self.abstained
        super().merge(other)
        for _ in range(self.abstained - abstained):
            self.revert("a", None)
        return self


def size(label: str) -> float:
    """Return a float whose sums depend on their order."""
    return {"a": 0.1, "b": 0.2, "c": 0.3}.get(label, 1e16)


# what each accumulator does in another way, and the laws that notice it
FAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "AddsFloats": (
        {"update": lambda self, t, p: self.add(1, size(t)), "revert": lambda self, t, p: self.add(-1, -size(t))},
        {"merge_associates", "split_equals_whole", "revert_undoes"},
    ),
    "KeepsTheLastSample": (
        {"update": lambda self, t, p: self.add(1, len(t) + 2 * len(p) - self.total if t != p else 0)},
        {"split_equals_whole"},
    ),
    "MergesOneCount": (
        {"merge": lambda self, other: self.add(0, other.total)},
        {"empty_is_identity", "merge_commutes", "split_equals_whole"},
    ),
    "MergesMeans": (
        {"merge": lambda self, other: self.add(other.n, (other.total - self.total) / 2)},
        {"empty_is_identity", "merge_associates", "split_equals_whole"},
    ),
    "EmptiesTheOther": (
        {"merge": lambda self, other: (self.add(other.n, other.total), other.reset())[0]}, {"merge_commutes"}
    ),
    "CopiesToItself": ({"copy": lambda self: self}, {"copies_are_independent"}),
    "ReadsOneCount": ({"from_bytes": classmethod(lambda cls, data: cls(eval(data)[0]))}, {"bytes_round_trip"}),
    "RevertsOneCount": (
        {"revert": lambda self, t, p: self.add(0, -len(t)), "reset": lambda self: setattr(self, "n", 0)},
        {"revert_undoes", "reset_forgets"},
    ),
    "CountsSnapshots": ({"snapshot": lambda self: Sum.snapshot(self.add(1, 0))}, {"copies_are_independent"}),
    "ShowsItself": (
        {"snapshot": lambda self: self, "to_json": lambda self: self.to_bytes().decode()}, {"copies_are_independent"}
    ),
    "CountsBatchesOnce": (
        {"update_many": lambda self, t, p: self.add(1, sum(map(len, t)))}, {"split_equals_whole"}
    ),
}  # fmt: skip
BROKEN = {type(name, (Sum,), methods): laws for name, (methods, laws) in FAULTS.items()}
globals().update({kind.__name__: kind for kind in BROKEN})  # where pickle looks for them


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
