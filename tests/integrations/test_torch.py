"""torch.distributed: gloo ranks give the bytes of one process, and tensors are read where they are."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.refusals import refused

torch = pytest.importorskip("torch", reason="needs PyTorch")

from support import torch_ranks as ranks  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import torch as adapter  # noqa: E402

Results = list[dict[str, Any]]


def spawned(folder: Path, main: Any, size: int) -> Results:
    """Return what each of some ranks got."""
    torch.multiprocessing.spawn(main, (str(folder),), nprocs=size)
    return [pickle.loads((folder / f"rank{rank}").read_bytes()) for rank in range(size)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each of two ranks got."""
    return spawned(tmp_path_factory.mktemp("ranks"), ranks.rank_main, ranks.WORLD)


def test_five_ranks_merge_in_a_tree(tmp_path: Path) -> None:
    """Every rank gets the bytes of one process; rank 0 merges three states, and no rank one from every other."""
    tree, whole = spawned(tmp_path, ranks.tree_main, ranks.TREE), ranks.fed("scores", slice(None)).to_bytes()

    assert [rank["total"] for rank in tree] == [whole] * 5
    assert [rank["senders"] for rank in tree] == [[1, 2, 4], [], [3], [], []]
    for dst in range(5):
        assert [rank[f"to {dst}"] for rank in tree] == [whole if at == dst else None for at in range(5)]
    for odd in range(5):  # the rank that brings another state, or none, is named on all; all others differ from rank 0
        (of_kind,) = {rank[f"odd {odd}"] for rank in tree}
        (of_none,) = {rank[f"none {odd}"] for rank in tree}
        assert f"that of rank {odd or 1} does not: Expected to merge" in of_kind
        assert f"that of rank {odd} does not: Expected `state` to be an accumulator, but got a NoneType" in of_none


def test_expect_n_is_checked_on_every_rank(results: Results) -> None:
    """Abstentions count; a wrong number, or one that is none on one rank, raises one message on all."""
    whole = ranks.fed("labels", slice(None))
    whole.update_many([0, 0], [None, None])

    assert [rank["right"] for rank in results] == [whole.to_bytes()] * 2
    for name, message in {
        "wrong": "to have counted 1001 samples together, but got 1003",
        "others": "Expected `expect_n` to be the same on all ranks, but got 1003 on rank 0 and 1004 on rank 1",
        "no number": "rank 1 does not: Expected `expect_n` to be a whole number from 0",
        "text": "rank 0 does not: Expected `expect_n` to be a whole number from 0",
    }.items():
        (text,) = {text for rank in results for text in rank[name]}
        assert message in text


def test_ranks_merge_to_the_bytes_of_one_process(results: Results) -> None:
    """`all_reduce` and `reduce` give what one process would have counted, also where a rank has no data."""
    for name in ranks.STATES:
        whole = ranks.fed(name, slice(None)).to_bytes()
        assert [rank[name] for rank in results] == [[whole, None], [whole, whole]]
        assert all(rank[f"{name} kind"] and rank[f"{name} kept"] for rank in results)
        assert [rank[f"{name} idle"] for rank in results] == [whole, whole]
    uneven = ranks.named(20_000).merge(ranks.named(2)).to_bytes()
    assert [rank["uneven"] for rank in results] == [uneven, uneven]


def test_what_does_not_merge_is_raised_on_every_rank(results: Results) -> None:
    """Both collectives raise one message on both ranks, which then can go on."""
    whole = ranks.fed("labels", slice(None)).to_bytes()
    for name, words in {
        "configuration": ["`labels`", "nothing", "(0, 1)"],
        "kind": ["MCC", "MetricSet"],
        "no state": ["Expected `state` to be an accumulator, but got a float"],
        "not mergeable": ["Rolling"],
    }.items():
        (message,) = {message for rank in results for message in rank[name]}
        assert message.startswith("MergeError: Expected the states of all ranks to merge, but that of rank 1 does not")
        assert [part for part in words if part not in message] == []
        assert [rank[f"{name} afterwards"] for rank in results] == [whole, whole]


def test_a_group_of_some_ranks(results: Results) -> None:
    """Ranks of a group merge among themselves; a rank outside it gets an error."""
    alone = ranks.fed("labels", slice(10)).to_bytes()

    assert results[0]["group"].startswith("ValueError: Expected `group` to be a group with this process in it")
    assert results[1]["group"] == [alone, alone]


def test_without_a_process_group() -> None:
    """One process is its only rank: it gets an equal state, and the errors that two ranks would get."""
    state = ranks.fed("labels", slice(None))
    for exchange in (adapter.all_reduce, adapter.reduce):
        total = exchange(state)
        assert total == state
        assert total is not state
        assert exchange(state, expect_n=ranks.ROWS) == state
        error = refused(partial(exchange, state, expect_n=7), sm.MergeError, "to have counted 7 samples together")
        assert (error.argument, error.got) == ("expect_n", ranks.ROWS)
        refused(partial(exchange, sm.Rolling(sm.MCC(), 10)), sm.MergeError, "Rolling")
        refused(partial(exchange, None), sm.MergeError, "to be an accumulator, but got a NoneType")


def test_tensors_that_are_elsewhere_are_named() -> None:
    """A tensor that is not in this machine's memory, or not dense, is refused by its argument, and nothing counted."""
    y, p = ranks.rows()
    state = sm.MetricSet(scores=True)
    for elsewhere, where in [
        (lambda x: x.to("meta"), "strided on meta"),
        (lambda x: x.to_sparse(), "sparse_coo on cpu"),
    ]:
        for argument, error, columns, named in [
            ("y_true", sm.LabelError, (elsewhere(y), y), {}),
            ("y_pred", sm.LabelError, (y, elsewhere(y)), {}),
            ("w", sm.WeightError, (y, y, elsewhere(y)), {}),
            ("scores", sm.ScoreError, (y,), {"scores": elsewhere(p), "classes": ranks.CLASSES}),
        ]:
            raised = refused(partial(state.update_many, *columns, **named), error, argument)
            assert "a dense tensor on the CPU" in str(raised)
            assert f"that is {where}" in str(raised)
    assert state.n == 0
