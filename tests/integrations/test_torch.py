"""torch.distributed: gloo ranks give the bytes of one process, and tensors are read where they are."""

from __future__ import annotations

import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch")

from support import torch_ranks as ranks  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.inputs.columns import as_column, read_weights  # noqa: E402
from stream_metrics.inputs.score_tables import score_table  # noqa: E402
from stream_metrics.integrations import torch as adapter  # noqa: E402

Results = list[dict[str, Any]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each of two ranks got."""
    folder = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(ranks.rank_main, (str(folder),), nprocs=ranks.WORLD)
    return [pickle.loads((folder / f"rank{rank}").read_bytes()) for rank in range(ranks.WORLD)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each of five ranks got."""
    folder = tmp_path_factory.mktemp("tree")
    torch.multiprocessing.spawn(ranks.tree_main, (str(folder),), nprocs=ranks.TREE)
    return [pickle.loads((folder / f"rank{rank}").read_bytes()) for rank in range(ranks.TREE)]


def test_five_ranks_merge_in_a_tree(tree: Results) -> None:
    """Every rank gets the bytes of one process; rank 0 merges three states, and no rank one from every other."""
    whole = ranks.fed("scores", slice(None)).to_bytes()

    assert [rank["total"] for rank in tree] == [whole] * 5
    assert [rank["merges"] for rank in tree] == [[1, 2, 4], [1], [2, 3], [3], [4]]  # the own one is taken up first
    for dst in range(5):
        assert [rank[f"to {dst}"] for rank in tree] == [whole if at == dst else None for at in range(5)]


@pytest.mark.parametrize("odd", range(5))
def test_the_odd_rank_of_five_is_named_on_all(tree: Results, odd: int) -> None:
    """Whichever rank brings another state or none, all ranks raise one message that names it."""
    (of_kind,) = {rank[f"odd {odd}"] for rank in tree}
    (of_none,) = {rank[f"none {odd}"] for rank in tree}

    assert f"that of rank {odd or 1} does not: Expected to merge" in of_kind  # all others differ from rank 0
    assert f"that of rank {odd} does not: Expected `state` to be an accumulator, but got a NoneType" in of_none


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrong", "to have counted 1001 samples together, but got 1003"),
        ("others", "Expected `expect_n` to be the same on all ranks, but got 1003 on rank 0 and 1004 on rank 1"),
        ("no number", "rank 1 does not: Expected `expect_n` to be a whole number from 0"),
        ("text", "rank 0 does not: Expected `expect_n` to be a whole number from 0"),
    ],
)
def test_expect_n_is_checked_on_every_rank(results: Results, name: str, message: str) -> None:
    """Abstentions count; a wrong number, or one that is none on one rank, raises one message on all."""
    whole = ranks.fed("labels", slice(None))
    whole.update_many([0, 0], [None, None])
    messages = {text for rank in results for text in rank[name]}

    assert [rank["right"] for rank in results] == [whole.to_bytes()] * 2
    assert len(messages) == 1
    assert message in messages.pop()


@pytest.mark.parametrize("name", ranks.STATES)
def test_ranks_merge_to_the_bytes_of_one_process(results: Results, name: str) -> None:
    """`all_reduce` gives every rank, and `reduce` the rank that asks, what one process would have counted."""
    whole = ranks.fed(name, slice(None)).to_bytes()

    assert [rank[name] for rank in results] == [[whole, None], [whole, whole]]
    assert all(rank[f"{name} kind"] and rank[f"{name} kept"] for rank in results)


@pytest.mark.parametrize("name", ranks.STATES)
def test_a_rank_without_data_changes_nothing(results: Results, name: str) -> None:
    """An empty state is exchanged like any other."""
    whole = ranks.fed(name, slice(None)).to_bytes()

    assert [rank[f"{name} idle"] for rank in results] == [whole, whole]


def test_payloads_of_uneven_size(results: Results) -> None:
    """A rank with 20,000 classes and one with two of them merge."""
    expected = ranks.named(20_000).merge(ranks.named(2)).to_bytes()

    assert [rank["uneven"] for rank in results] == [expected, expected]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("configuration", ["`labels`", "nothing", "(0, 1)"]),
        ("kind", ["MCC", "MetricSet"]),
        ("no state", ["Expected `state` to be an accumulator, but got a float"]),
        ("not mergeable", ["Rolling"]),
    ],
)
def test_what_does_not_merge_is_raised_on_every_rank(results: Results, name: str, parts: list[str]) -> None:
    """Both collectives raise one message on both ranks, which then can go on."""
    messages = {message for rank in results for message in rank[name]}
    whole = ranks.fed("labels", slice(None)).to_bytes()

    assert len(messages) == 1
    message = messages.pop()
    assert message.startswith("MergeError: Expected the states of all ranks to merge, but that of rank 1 does not: ")
    assert [part for part in parts if part not in message] == []
    assert [rank[f"{name} afterwards"] for rank in results] == [whole, whole]


def test_a_sampler_that_splits_the_rows_as_they_are(results: Results) -> None:
    """The split of the docstring gives the bytes of one process; DistributedSampler counts a row twice, or drops it."""
    y, p = ranks.rows()

    def counted(*parts: slice) -> bytes:
        state = ranks.STATES["scores"]()
        for part in parts:
            state.update_many(y[part], scores=p[part], classes=ranks.CLASSES)
        return bytes(state.to_bytes())

    for rank in results:
        assert rank["as they are"] == counted(slice(None))
        assert rank["padded"] == counted(slice(None), slice(1))
        assert rank["dropped"] == counted(slice(-1))


def test_the_example_of_the_docstring(results: Results) -> None:
    """A loop as for Lightning logs on every rank what one process would, epoch by epoch."""
    y, p = ranks.rows()
    flipped = torch.cat([part.flip(0) for half in (y[:700], y[700:]) for part in half.split(64)])
    expected = []
    for truth in (y, flipped):
        whole = sm.MetricSet(scores=True)
        whole.update_many(truth, scores=p.log().softmax(-1), classes=ranks.CLASSES)
        total = whole.snapshot()
        expected.append({"balanced_accuracy": total["balanced_accuracy"], "roc_auc": total["roc_auc_ovo"]})

    assert [rank["epochs"] for rank in results] == [expected, expected]
    assert expected[0] != expected[1]


def test_a_group_of_some_ranks(results: Results) -> None:
    """Ranks of a group merge among themselves; a rank outside it gets an error."""
    alone = ranks.fed("labels", slice(10)).to_bytes()

    assert results[0]["group"].startswith("ValueError: Expected `group` to be a group with this process in it")
    assert results[1]["group"] == [alone, alone]


@pytest.mark.parametrize("exchange", [adapter.all_reduce, adapter.reduce])
def test_without_a_process_group(exchange: Any) -> None:
    """One process is its only rank: it gets an equal state, and the errors that two ranks would get."""
    state = ranks.fed("labels", slice(None))

    total = exchange(state)

    assert total == state
    assert total is not state
    assert exchange(state, expect_n=ranks.ROWS) == state
    with pytest.raises(sm.MergeError, match="to have counted 7 samples together") as refused:
        exchange(state, expect_n=7)
    assert (refused.value.argument, refused.value.got) == ("expect_n", ranks.ROWS)
    with pytest.raises(sm.MergeError, match="Rolling"):
        exchange(sm.Rolling(sm.MCC(), 10))
    with pytest.raises(sm.MergeError, match="Expected `state` to be an accumulator, but got a NoneType"):
        exchange(None)


def test_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch the import of the adapter says what to install."""
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    monkeypatch.delitem(sys.modules, "stream_metrics.integrations.torch")

    with pytest.raises(ImportError, match=r"stream-metrics\[torch\]"):
        import stream_metrics.integrations.torch  # noqa: F401


def test_the_state_survives_a_checkpoint(tmp_path: Path) -> None:
    """Bytes of a state are among what `torch.load` reads without unpickling code."""
    state = ranks.fed("scores", slice(None))

    torch.save({"validation": state.to_bytes()}, tmp_path / "checkpoint")
    loaded = torch.load(tmp_path / "checkpoint", weights_only=True)

    assert sm.from_bytes(loaded["validation"]) == state


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "bool", "float32", "float64", "float16"])
def test_tensors_of_labels_count_as_arrays(dtype: str) -> None:
    """Labels and weights of every type give the bytes of their arrays."""
    truth, scores = ranks.rows()
    y, p = truth.to(getattr(torch, dtype)), scores.argmax(-1).to(getattr(torch, dtype))
    ours, theirs = sm.ConfusionMatrix(), sm.ConfusionMatrix()

    ours.update_many(y, p, y)
    theirs.update_many(y.numpy(), p.numpy(), y.numpy())

    assert ours.n == ranks.ROWS
    assert ours.to_bytes() == theirs.to_bytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("gradient", [False, True])
def test_tensors_of_scores_count_as_arrays(dtype: str, gradient: bool) -> None:
    """A table and a column of scores give the bytes of their arrays, also in the middle of a graph."""
    y, p = ranks.rows()
    p = p.to(getattr(torch, dtype)).requires_grad_(gradient)
    scores = p * 1.0
    ours, theirs = (sm.MetricSet(scores=True) for _ in range(2))

    ours.update_many(y, scores=scores, classes=ranks.CLASSES)
    ours.update_many(y == 1, scores=scores[:, 1])
    theirs.update_many(y.numpy(), scores=scores.detach().numpy(), classes=ranks.CLASSES)
    theirs.update_many((y == 1).numpy(), scores=scores[:, 1].detach().numpy())

    assert scores.requires_grad is gradient
    assert ours.to_bytes() == theirs.to_bytes()


def test_tensors_on_the_cpu_are_not_copied() -> None:
    """What is read of contiguous tensors is their own memory, and counting labels takes no column of its own."""
    y, p = ranks.rows()
    whole = torch.arange(200_000) % 5
    state = sm.ConfusionMatrix()
    state.update_many(whole[:10], whole[:10])

    tracemalloc.start()
    state.update_many(whole, whole)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert np.shares_memory(as_column(y, "y_true", False).values, y.numpy())
    for scores in (p, p.float(), p.float().requires_grad_(), p.T.contiguous()[0]):
        assert np.shares_memory(score_table(scores), scores.detach().numpy())
    for w in (y, p.T.contiguous()[0]):
        assert np.shares_memory(read_weights(w, ranks.ROWS), w.numpy())
    assert peak < 64_000 < whole.numel() * whole.element_size()


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_tensors_in_a_graph_and_of_half_precision(dtype: str) -> None:
    """Labels, weights and scores count with a gradient, and in bfloat16, by the values that they hold."""
    y, p = ranks.rows()
    kind = getattr(torch, dtype)
    truth, w = (y.to(kind).requires_grad_() * 1 for _ in range(2))
    scores = p.to(kind).requires_grad_() * 1
    exact = scores.detach().to(torch.float32).numpy()
    ours, theirs = (sm.MetricSet(scores="any") for _ in range(2))

    ours.update_many(truth, scores=scores, classes=ranks.CLASSES, w=w)
    ours.update_many(y == 1, scores[:, 1])
    theirs.update_many(y.numpy(), scores=exact, classes=ranks.CLASSES, w=y.numpy())
    theirs.update_many((y == 1).numpy(), exact[:, 1])

    assert ours.snapshot().to_dict() == theirs.snapshot().to_dict()
    assert ours.state.matrix.tolist() == theirs.state.matrix.tolist()


@pytest.mark.parametrize(
    ("elsewhere", "what"),
    [(lambda values: values.to("meta"), "strided on meta"), (lambda values: values.to_sparse(), "sparse_coo on cpu")],
)
def test_tensors_that_are_elsewhere_are_named(elsewhere: Any, what: str) -> None:
    """A tensor that is not in this machine's memory, or not dense, is refused by its argument, and nothing counted."""
    y, p = ranks.rows()
    state = sm.MetricSet(scores=True)
    refused: dict[str, tuple[type[Exception], tuple[Any, ...], dict[str, Any]]] = {
        "y_true": (sm.LabelError, (elsewhere(y), y), {}),
        "y_pred": (sm.LabelError, (y, elsewhere(y)), {}),
        "w": (sm.WeightError, (y, y, elsewhere(y)), {}),
        "scores": (sm.ScoreError, (y,), {"scores": elsewhere(p), "classes": ranks.CLASSES}),
    }
    for argument, (error, columns, named) in refused.items():
        with pytest.raises(error, match=f"Expected `{argument}` to be a dense tensor on the CPU.*that is {what}"):
            state.update_many(*columns, **named)

    assert state.n == 0
