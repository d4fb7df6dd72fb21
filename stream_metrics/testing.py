"""The laws of a mergeable accumulator, as property tests for our states and for yours.

    from stream_metrics import testing

    @pytest.mark.parametrize("law", testing.LAWS)
    def test_laws(law):
        law(MyState, testing.samples())

A law takes a factory of empty states and a hypothesis strategy of samples, each the arguments of one `update`. States
are made by operations and never by fields: random splits, batches, merge trees and round trips through bytes, so that
a law holds for whatever a user can do. Equality is equality of bytes. `check(make, samples)` runs every law that
applies.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, TypeAlias

try:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("Expected hypothesis to be installed: pip install hypothesis") from error

from stream_metrics.labels import Label
from stream_metrics.states.protocols import Mergeable

__all__ = ["LAWS", "Law", "check", "labels", "probabilities", "samples", "soft_samples", "weights"]

Sample: TypeAlias = tuple[Any, ...]
Samples: TypeAlias = "st.SearchStrategy[Sample]"
Make: TypeAlias = Callable[[], Mergeable]
Law: TypeAlias = Callable[[Make, Samples], None]

_settings = settings(deadline=None, suppress_health_check=list(HealthCheck))


def labels() -> st.SearchStrategy[Label]:
    """Labels of every type: few distinct ones, so that they meet again, and equal numbers of different types."""
    scalars = st.sampled_from(
        [0, 1, True, False, 1.0, 0.0, 2.0, -3, 2**70, "a", "b", "", "\ud800", b"a", b"", (1, "x"), (1.0, "x"), ()]
    )
    return st.one_of(scalars, st.text(max_size=3), st.tuples(st.integers(-2, 2), st.text(max_size=1)))


def weights() -> st.SearchStrategy[float]:
    """Weights: mostly one; none, up to a million, beyond 2^53, fractions, some too small for a double beside one."""
    return st.one_of(
        st.just(1),
        st.integers(0, 10**6),
        st.sampled_from([0, 0.0, 1.0, 0.1, 0.5, 1e-12, 2.0**-70, 2**53 + 1, 2**55, 1e15 + 0.25]),
        st.floats(0, 1e6, allow_nan=False),
    )


def samples(*, weighted: bool = True) -> Samples:
    """Samples of label metrics: (truth, prediction or None, weight), or without a weight, which batches count apart."""
    pair = (labels(), st.one_of(labels(), st.none()))
    return st.tuples(*pair, weights()) if weighted else st.tuples(*pair)


def probabilities() -> st.SearchStrategy[float]:
    """Probabilities of every size, often the same ones, so that they tie; 0 and 1 among them."""
    return st.one_of(st.sampled_from([0.0, -0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 1 - 2.0**-53]), st.floats(0, 1))


def soft_samples(
    scores: st.SearchStrategy[float] | None = None, *, hard: bool = True, weighted: bool = True
) -> Samples:
    """Samples of metrics that read scores: (truth, prediction, weight), or without a weight.

    A prediction is a mapping from label to score, a single number where the truth is True or False, None, {}, or, if
    `hard`, a label. `scores` draws the scores, which are probabilities without it.
    """
    scores = probabilities() if scores is None else scores
    soft: st.SearchStrategy[object] = st.one_of(st.dictionaries(labels(), scores, max_size=5), st.none())
    if hard:
        soft = st.one_of(soft, labels().filter(lambda label: type(label) is not float))
    pair = st.one_of(
        st.tuples(labels(), soft), st.tuples(st.sampled_from([True, False, 1, 0]), st.one_of(scores, scores, st.none()))
    )
    if not weighted:
        return pair
    return st.tuples(pair, weights()).map(lambda drawn: (*drawn[0], drawn[1]))


def _feed(data: st.DataObject, make: Make, stream: list[Sample]) -> Mergeable:
    """Feed a stream in one of the ways that must not differ: one by one, in batches, with a round trip in between."""
    state = make()
    at = 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at), label="batch")
        batch = stream[at : at + size]
        if hasattr(state, "update_many") and data.draw(st.booleans(), label="as a batch"):
            state.update_many(*(list(column) for column in zip(*batch, strict=True)))
        else:
            for sample in batch:
                state.update(*sample)
        if data.draw(st.booleans(), label="round trip"):
            state = type(state).from_bytes(state.to_bytes())
        at += size
    return state


def _plainly(make: Make, stream: list[Sample]) -> Mergeable:
    state = make()
    for sample in stream:
        state.update(*sample)
    return state


def _law(test: Callable[[st.DataObject, Make, Samples], None]) -> Law:
    """Turn a test of one drawn example into a law."""

    def law(make: Make, samples: Samples) -> None:
        @_settings
        @given(st.data())
        def run(data: st.DataObject) -> None:
            test(data, make, samples)

        run()

    law.__name__ = test.__name__
    law.__doc__ = test.__doc__
    return law


@_law
def empty_is_identity(data: st.DataObject, make: Make, samples: Samples) -> None:
    """Merging with an empty state, from either side, changes nothing."""
    state = _plainly(make, data.draw(st.lists(samples)))
    expected = state.to_bytes()

    assert make().merge(state).to_bytes() == expected
    assert state.merge(make()).to_bytes() == expected


@_law
def merge_commutes(data: st.DataObject, make: Make, samples: Samples) -> None:
    """a with b is b with a, and the one that is merged stays as it was."""
    a, b = (_feed(data, make, data.draw(st.lists(samples))) for _ in range(2))
    before = b.to_bytes()

    assert a.copy().merge(b).to_bytes() == b.copy().merge(a).to_bytes()
    assert b.to_bytes() == before


@_law
def merge_associates(data: st.DataObject, make: Make, samples: Samples) -> None:
    """(a with b) with c is a with (b with c)."""
    a, b, c = (_feed(data, make, data.draw(st.lists(samples))) for _ in range(3))

    assert a.copy().merge(b).merge(c).to_bytes() == a.copy().merge(b.copy().merge(c)).to_bytes()


@_law
def split_equals_whole(data: st.DataObject, make: Make, samples: Samples) -> None:
    """Any split of a stream, each part fed in any way, merged in any tree, equals the whole fed one by one."""
    stream = data.draw(st.lists(samples, max_size=40))
    whole = _plainly(make, stream)
    dealt = [data.draw(st.integers(0, 3), label="shard") for _ in stream]
    shards = [_feed(data, make, [s for s, d in zip(stream, dealt, strict=True) if d == shard]) for shard in range(4)]
    while len(shards) > 1:
        into = shards.pop(data.draw(st.integers(0, len(shards) - 1), label="into"))
        shards.append(into.merge(shards.pop(data.draw(st.integers(0, len(shards) - 1), label="merged"))))

    assert shards[0].to_bytes() == whole.to_bytes()
    assert shards[0] == whole


@_law
def bytes_round_trip(data: st.DataObject, make: Make, samples: Samples) -> None:
    """A state read from bytes, or unpickled, or copied, is the state, and goes on as it would have."""
    first, second = (data.draw(st.lists(samples)) for _ in range(2))
    state = _plainly(make, first)
    twins = [
        type(state).from_bytes(state.to_bytes()),
        pickle.loads(pickle.dumps(state)),
        copy.deepcopy(state),
        state.copy(),
    ]
    expected = _plainly(make, first + second).to_bytes()

    for twin in twins:
        assert twin == state
        for sample in second:
            twin.update(*sample)
        assert twin.to_bytes() == expected


@_law
def copies_are_independent(data: st.DataObject, make: Make, samples: Samples) -> None:
    """Neither a copy nor a snapshot moves when the original does, and taking one changes nothing."""
    state = _plainly(make, data.draw(st.lists(samples)))
    before, twin = state.to_bytes(), state.copy()
    snapshot = state.snapshot()
    seen = snapshot.to_json()

    assert state.to_bytes() == before
    for sample in data.draw(st.lists(samples)):
        state.update(*sample)
    assert twin.to_bytes() == before
    assert snapshot.to_json() == seen


@_law
def revert_undoes(data: st.DataObject, make: Make, samples: Samples) -> None:
    """Updates that are reverted, in any order, leave no trace; so does a state that is subtracted, if that exists."""
    state = _plainly(make, data.draw(st.lists(samples)))
    if not hasattr(state, "revert"):
        return
    before, extra = state.to_bytes(), data.draw(st.lists(samples))
    for sample in extra:
        state.update(*sample)
    if hasattr(state, "subtract"):
        assert state.copy().subtract(_plainly(make, extra)).to_bytes() == before
    for sample in data.draw(st.permutations(extra)):
        state.revert(*sample)

    assert state.to_bytes() == before


@_law
def reset_forgets(data: st.DataObject, make: Make, samples: Samples) -> None:
    """A state that was reset is an empty one."""
    state = _plainly(make, data.draw(st.lists(samples)))
    state.reset()

    assert state == make()


LAWS: tuple[Law, ...] = (
    empty_is_identity,
    merge_commutes,
    merge_associates,
    split_equals_whole,
    bytes_round_trip,
    copies_are_independent,
    revert_undoes,
    reset_forgets,
)


def check(make: Make, samples: Samples) -> None:
    """Run every law on the states that `make` returns, fed with `samples`; a failure shows the smallest example."""
    for law in LAWS:
        law(make, samples)
