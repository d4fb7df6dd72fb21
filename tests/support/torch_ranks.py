"""Work of each rank of torch.distributed in tests of the adapter; processes of torch import it by name."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import stream_metrics as sm
from stream_metrics.integrations import torch as adapter

WORLD = 2
TREE = 5  # ranks of the tests of the tree
ROWS = 1001  # odd, so that ranks of equal size would need a row twice
CLASSES = (0, 1, 2)
STATES: dict[str, Callable[[], Any]] = {
    "labels": sm.MetricSet,
    "metric": sm.MCC,
    "scores": lambda: sm.MetricSet(scores=True, buckets=64),
    "groups": lambda: sm.ByGroup(sm.MetricSet(), max_groups=3),
    "window": lambda: sm.TimeWindow(sm.ConfusionMatrix(), "1h"),
}
REFUSED: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {  # by name: what each rank brings
    "configuration": (sm.MCC, lambda: sm.MCC(labels=[0, 1])),
    "kind": (sm.MCC, sm.MetricSet),
    "no state": (sm.MCC, lambda: 0.5),
    "not mergeable": (lambda: sm.Rolling(sm.MCC(), 10), lambda: sm.Rolling(sm.MCC(), 10)),
}


def rows() -> tuple[torch.Tensor, torch.Tensor]:
    """Return truth and probabilities of three classes."""
    torch.manual_seed(5)
    y = torch.randint(0, len(CLASSES), (ROWS,))
    logits = torch.randn(ROWS, len(CLASSES), dtype=torch.float64)
    return y, (logits + 2 * torch.nn.functional.one_hot(y)).softmax(-1)


def fed(name: str, take: Any) -> Any:
    """Return a state that has counted the rows of a slice or a list."""
    y, p = (values[take] for values in rows())
    numbers = torch.arange(ROWS)[take]
    state = STATES[name]()
    if name == "scores":
        state.update_many(y, scores=p, classes=CLASSES)
    elif name == "groups":
        state.update_many(y, p.argmax(-1), group=(numbers % 7).tolist())
    elif name == "window":
        state.update_many(y, p.argmax(-1), t=numbers.double() * 10)
    else:
        state.update_many(y, p.argmax(-1))
    return state


def named(size: int) -> sm.ConfusionMatrix:
    """Return a state of as many classes."""
    state = sm.ConfusionMatrix()
    state.update_many(names := [f"class {number}" for number in range(size)], names)
    return state


def raised(call: Callable[[], Any]) -> str:
    """Return the error of a call as text."""
    try:
        return f"no error: {call()}"
    except (sm.MergeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@contextmanager
def process_group(rank: int, folder: str, size: int) -> Iterator[dict[str, Any]]:
    """Join a group of ranks, and write down what was put into the dictionary."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    limits = {"world_size": size, "timeout": timedelta(seconds=120)}
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, **limits)
    got: dict[str, Any] = {}
    try:
        yield got
        (Path(folder) / f"rank{rank}").write_bytes(pickle.dumps(got))
        dist.barrier()  # a rank whose peer has gone may abort
    finally:
        dist.destroy_process_group()


def rank_main(rank: int, folder: str) -> None:
    """Let one rank do everything, and write down what it got."""
    with process_group(rank, folder, WORLD) as got:
        for part in (_merges, _errors, _grouped, _counted):
            got |= part(rank)


def tree_main(rank: int, folder: str) -> None:
    """Let one of five ranks merge, note whose states it receives, and meet errors of each other."""
    senders: dict[int, None] = {}
    receive = dist.recv

    def noted(tensor: torch.Tensor, sender: int, **named: Any) -> Any:
        senders[sender] = None
        return receive(tensor, sender, **named)

    dist.recv = noted
    with process_group(rank, folder, TREE) as got:
        state = fed("scores", slice(rank, None, TREE))
        got |= {"total": adapter.all_reduce(state, expect_n=ROWS).to_bytes(), "senders": list(senders)}
        for dst in range(TREE):
            there = adapter.reduce(state, dst)
            got[f"to {dst}"] = None if there is None else there.to_bytes()
        for odd in range(TREE):
            brought = sm.ConfusionMatrix() if rank == odd else sm.Accuracy()
            got[f"odd {odd}"] = raised(partial(adapter.all_reduce, brought))
            got[f"none {odd}"] = raised(partial(adapter.reduce, None if rank == odd else sm.MCC(), 2))


def _counted(rank: int) -> dict[str, Any]:
    """Return what `expect_n` says: of the right number, a wrong one, other ones on each rank, and of no number."""
    state = fed("labels", slice(rank, None, WORLD))
    state.update(0, None)  # an abstention
    got: dict[str, Any] = {"right": adapter.all_reduce(state, expect_n=ROWS + WORLD).to_bytes()}
    numbers = {"wrong": ROWS, "others": ROWS + WORLD + rank, "no number": -1 if rank else ROWS + WORLD, "text": "a"}
    for name, number in numbers.items():
        calls = partial(adapter.all_reduce, state), partial(adapter.reduce, state, 1)
        got[name] = [raised(partial(call, expect_n=number)) for call in calls]
    return got


def _merges(rank: int) -> dict[str, Any]:
    got: dict[str, Any] = {}
    for name in STATES:
        state = fed(name, slice(rank, None, WORLD))
        before = state.to_bytes()
        total = adapter.all_reduce(state)
        there = adapter.reduce(state, dst=1)
        got[name] = [total.to_bytes(), None if there is None else there.to_bytes()]
        got[f"{name} kind"] = type(total) is type(state)
        got[f"{name} kept"] = state.to_bytes() == before
        got[f"{name} idle"] = adapter.all_reduce(fed(name, slice(None) if rank else [])).to_bytes()
    sizes = adapter.all_reduce(named(20_000 if rank == 0 else 2))
    return {**got, "uneven": sizes.to_bytes()}


def _errors(rank: int) -> dict[str, Any]:
    got: dict[str, Any] = {}
    for name, brought in REFUSED.items():
        state = brought[rank]()
        got[name] = [raised(partial(adapter.all_reduce, state)), raised(partial(adapter.reduce, state, dst=1))]
        got[f"{name} afterwards"] = adapter.all_reduce(fed("labels", slice(rank, None, WORLD))).to_bytes()
    return got


def _grouped(rank: int) -> dict[str, Any]:
    group = dist.new_group([1])
    if rank == 0:
        return {"group": raised(lambda: adapter.all_reduce(sm.MCC(), group))}
    mine = fed("labels", slice(10))
    return {"group": [adapter.all_reduce(mine, group).to_bytes(), adapter.reduce(mine, 1, group).to_bytes()]}
