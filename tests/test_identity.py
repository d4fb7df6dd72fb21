"""Counts are the identity of a state, metrics are a view: states merge regardless of their views."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm

LABELS = ("a", "b", "c")
OF_LABELS = ["accuracy", "macro_f1", "matthews_corrcoef", "recall", "cohen_kappa"]
RANKS, LOSSES = ["roc_auc", "average_precision", "roc_auc_ovo"], ["log_loss", "brier_score"]
CONTAINERS: dict[str, Any] = {
    "alone": lambda state: state,
    "groups": sm.ByGroup,
    "few groups": lambda state: sm.ByGroup(state, 2),
    "window": lambda state: sm.TimeWindow(state, 40, 4),
    "fading": lambda state: sm.Fading(state, "10s"),
    "groups of windows": lambda state: sm.ByGroup(sm.TimeWindow(state, 40, 4)),
}
WAYS: list[Any] = [lambda a, b: a.merge(b), lambda a, b: a + b, lambda a, b: sm.merge([a, b]), lambda a, b: sum([a, b])]
zero_divisions = st.sampled_from([None, 0.0, 1.0, float("nan")])


def views(keys: list[str], labels: tuple[str, ...] | None) -> st.SearchStrategy[dict[str, Any]]:
    """Options of the view: metrics, the value of 0/0, and the order of fixed labels."""
    metrics = st.one_of(st.none(), st.lists(st.sampled_from(keys), unique=True))
    fixed = st.just(None) if labels is None else st.permutations(labels)
    return st.fixed_dictionaries({"metrics": metrics, "zero_division": zero_divisions, "labels": fixed})


@st.composite
def families(draw: st.DrawFn) -> tuple[list[Any], list[dict[str, Any]]]:
    """Empty sets that count the same, and the options that make any of them show what one of them does."""
    labels = draw(st.sampled_from([None, LABELS]))
    scores = draw(st.sampled_from([False, True, "any"]))
    options: dict[str, Any] = {"labels": labels}
    keys = OF_LABELS + (RANKS if scores else []) + (LOSSES if scores is True else [])
    if labels and not scores and draw(st.booleans()):
        options = {"labels": LABELS[:2], "other": "rest"}
    if scores:
        options |= {"scores": scores, "buckets": draw(st.sampled_from([4, 64])), "sample": 8}
    chosen = draw(st.lists(views(keys, options["labels"]), min_size=2, max_size=4))
    first = sm.MetricSet(**options)
    return [first.reconfigured(**view) for view in chosen], chosen


samples = st.tuples(
    st.sampled_from(LABELS),
    st.one_of(
        st.none(),
        st.sampled_from(LABELS),
        st.dictionaries(st.sampled_from(LABELS), st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.7, 1.0]), max_size=3),
    ),
    st.sampled_from([0, 1, 1, 2, 0.3]),
    st.sampled_from(["north", "south", "east", "west"]),
    st.integers(0, 100),
    st.sampled_from([None, None, "u", "v", 7]),
)


def count(state: Any, stream: list[tuple[Any, ...]], container: str) -> Any:
    """Feed samples to a state or to a container of it, with what it takes."""
    for truth, predicted, weight, group, time, unit in stream:
        named: dict[str, Any] = {"group": group} if "groups" in container else {}
        if "window" in container or container == "fading":
            named["t"] = time
        state.update(truth, predicted, weight, **named, **({"unit": unit} if container == "alone" else {}))
    return state


def empty(state: Any) -> bytes:
    """Return the options of a state, as its bytes without samples."""
    twin = state.copy()
    twin.reset()
    return bytes(twin.to_bytes())


@pytest.mark.parametrize("container", CONTAINERS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_counts_merge_whatever_is_shown(container: str, data: st.DataObject) -> None:
    """Any split over sets with other views, merged in any way, is one process with the view that is asked for."""
    family, chosen = data.draw(families())
    stream = data.draw(st.lists(samples, max_size=30))
    wrap = CONTAINERS[container]
    dealt = [data.draw(st.integers(0, len(family) - 1), label="shard") for _ in stream]
    parts = [[s for s, d in zip(stream, dealt, strict=True) if d == shard] for shard in range(len(family))]
    shards = [count(wrap(state.copy()), part, container) for state, part in zip(family, parts, strict=True)]
    total, left = shards[0], shards[0].copy()
    for other in shards[1:]:
        before = other.to_bytes()
        total = data.draw(st.sampled_from(WAYS), label="how")(total, other)
        assert other.to_bytes() == before

    assert empty(total) == empty(left)
    assert sm.from_bytes(total.to_bytes()) == total
    for state, view in zip(family, chosen, strict=True):
        whole = count(wrap(state.copy()), stream, container)
        assert total.reconfigured(**view).to_bytes() == whole.to_bytes()
