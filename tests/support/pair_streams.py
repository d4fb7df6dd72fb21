"""Joined pairs of every kind, and a plain recount without chunks, panes and partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counts.counting import Counts, Pair
from stream_metrics.monitor.events.records import MISSING

SOFT = Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=2)
HARD = Counting(windows=("4s", "10s"), panes=4, max_groups=2)
BY_PREDICTION = Counting(scores=True, windows=("4s",), panes=4, clock="prediction")
SKETCH: dict[str, Any] = {"buckets": 256, "sample": 128, "pairs": False}


def times() -> st.SearchStrategy[float]:
    """Times on a grid, so that they meet, and in the same few panes."""
    return st.integers(0, 160).map(lambda quarters: quarters / 4)


def groups() -> st.SearchStrategy[Any]:
    """Groups, or none."""
    return st.sampled_from(["de", "fr", "us", 1, True, 1.0, None, None, MISSING])


def pairs(*, good: bool = True, weights: bool = True) -> st.SearchStrategy[Pair]:
    """Pairs with labels, single scores, mappings, abstentions; with `good` false, also some that cannot be counted."""
    label = testing.labels()
    names = st.sampled_from([("a", "b", "c"), ("b", "a", "c"), ("a", "b"), ("x",), (0, 1), (1.0, True, "a")])
    mapping = st.builds(
        lambda classes, scores: dict(zip(classes, scores, strict=False)),
        names, st.lists(testing.probabilities(), min_size=3, max_size=3),
    )  # fmt: skip
    unsaid = st.sampled_from([None, MISSING])
    kinds = [
        st.tuples(label, label, unsaid),
        st.tuples(label, st.none(), unsaid),
        st.tuples(label, st.one_of(label, unsaid), mapping),
        st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b", "c"]), mapping),
        st.tuples(st.booleans(), st.one_of(st.booleans(), unsaid), testing.probabilities()),
        st.tuples(label, mapping, unsaid),
    ]
    if not good:
        kinds += [
            st.tuples(st.sampled_from([None, [], float("nan")]), label, unsaid),
            st.tuples(label, st.just(MISSING), st.just(MISSING)),
            st.tuples(label, label, st.sampled_from([float("nan"), 2.0, "0.5", [0.5], {"a": None}, {"a": -1}])),
        ]
    w = testing.weights() if weights else st.just(1)
    w = w if good else st.one_of(w, st.sampled_from([-1, float("nan"), "1"]))
    return st.builds(
        lambda said, w, group, at, delay: Pair(*said, w, group, at, at + delay, ("t", 0, 0)),
        st.one_of(kinds), st.one_of(w, unsaid), groups(), times(), times(),
    )  # fmt: skip


def pair(truth: Any = "a", prediction: Any = "a", scores: Any = MISSING, **rest: Any) -> Pair:
    """Return a pair at the time 100, whose label came 10 s later."""
    given: dict[str, Any] = {
        "weight": 1,
        "group": None,
        "predicted_at": 90.0,
        "labelled_at": 100.0,
        "origin": ("t", 0, 0),
    } | rest
    return Pair(truth, prediction, scores, **given)


def placed(drawn: Sequence[Pair]) -> list[Pair]:
    """Return pairs with an offset each."""
    return [pair._replace(origin=("t", 0, offset)) for offset, pair in enumerate(drawn)]


def empty(config: Counting) -> sm.MetricSet:
    """Return what a plain user would count with."""
    return sm.MetricSet(scores=config.scores, pos_label=config.pos_label, labels=config.labels or None, **SKETCH)


def count(state: sm.MetricSet, pair: Pair) -> None:
    """Let a plain state count one pair, by its own update."""
    said, scores = (None if value is MISSING else value for value in (pair.prediction, pair.scores))
    if pair.prediction is MISSING and pair.scores is MISSING:
        raise StreamMetricsError("neither")
    if isinstance(said, dict):
        said, scores = None, said
    w = 1 if pair.weight is None or pair.weight is MISSING else pair.weight
    if scores is None or (state.scores is False and said is not None):
        state.state.update(pair.truth, said, w)
    elif state.scores is False:
        if not isinstance(scores, dict):
            raise StreamMetricsError("of which class?")
        state.update(pair.truth, scores, w)
    else:
        state.update(pair.truth, said, w, scores=scores)


def counted(config: Counting, drawn: Sequence[Pair]) -> sm.MetricSet:
    """Return a plain state that has counted pairs one by one."""
    state = empty(config)
    for pair in drawn:
        count(state, pair)
    return state


def countable(config: Counting, drawn: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that a plain state can count."""
    good = []
    for pair in drawn:
        try:
            count(empty(config), pair)
            good.append(pair)
        except StreamMetricsError:
            pass
    return good


def clock(config: Counting, pair: Pair) -> float:
    """Return the time at which a pair counts."""
    return pair.labelled_at if config.clock == "label" else pair.predicted_at


def fed(config: Counting, drawn: Sequence[Pair], chunks: Sequence[int] = ()) -> Counts:
    """Return counts that were fed with pairs in chunks of these sizes, the rest at once."""
    counts, at = Counts(config), 0
    for size in (*chunks, len(drawn)):
        counts.add(drawn[at : at + size])
        counts.predictions([pair.predicted_at for pair in drawn[at : at + size]])
        at += size
    return counts


def earlier_parts(counts: Counts, parts: Callable[[Counts], dict[str, bytes]] = Counts.parts) -> dict[str, bytes]:
    """Return counts of one window as earlier versions wrote them: groups in 12 panes of five times the length."""
    (window,) = counts.windows.values()
    coarse: dict[int, ByGroup] = {}
    for number, data in counts.groups[window.period].written().items():
        state = ByGroup.from_bytes(data)
        coarse[number // 5] = coarse[number // 5].merge(state) if number // 5 in coarse else state
    newest = (window.seen or 0) // window.length // 5
    groups = {f"groups/{window.period}/{at}": state.to_bytes() for at, state in coarse.items() if at > newest - 12}
    return groups | {name: data for name, data in parts(counts).items() if not name.startswith("by_group/")}
