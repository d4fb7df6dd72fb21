"""The states of all ranks of torch.distributed become one: merged, not averaged, whatever their sizes.

    import lightning as L
    import stream_metrics as sm
    from stream_metrics.integrations.torch import all_reduce

    class Classifier(L.LightningModule):
        def __init__(self, net, classes):
            super().__init__()
            self.net, self.classes = net, classes
            self.validation = sm.MetricSet(scores=True)

        def validation_step(self, batch, batch_idx):
            x, y = batch
            p = self.net(x).softmax(-1)
            self.validation.update_many(y.cpu(), scores=p.cpu(), classes=self.classes)

        def on_validation_epoch_end(self):
            total = all_reduce(self.validation).snapshot()
            self.log("balanced_accuracy", total["balanced_accuracy"])
            self.log("roc_auc", total["roc_auc_ovo"])
            self.validation.reset()

Values that are logged are those of all ranks already: Lightning's advice to log with `sync_dist=True` would average
what is equal. Where no process group was set up there is one rank, and the same loop works.

Each rank must count rows that no other rank counts. `DistributedSampler`, which Lightning puts in by itself unless told
`use_distributed_sampler=False`, does not see to that: it repeats some rows until all ranks have equally many, and with
`drop_last=True` it leaves some out. For an evaluation the rows are split as they are:

    DataLoader(dataset, batch_size, sampler=range(rank, len(dataset), world_size))

Both functions are collectives: every rank of the group calls them, ranks without data too. An error of one rank
is raised on all of them, after the exchange, since a rank that stopped before it would leave the others waiting.

States travel as bytes, inside the pickles by which torch sends objects. With NCCL these go through
`torch.cuda.current_device()`, so `torch.cuda.set_device` comes first; a group with `backend="gloo"` needs no GPU.
This is tested with gloo, not with NCCL.

A checkpoint takes `to_bytes()`, which `torch.load` reads with `weights_only=True`. If the merged state is what is
saved, one rank alone takes it up again, and the others start empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from stream_metrics.errors import MergeError, with_article
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

try:
    import torch.distributed as dist
except ImportError as error:
    raise ImportError('Expected torch to be installed: pip install "stream-metrics[torch]"') from error

__all__ = ["all_reduce", "reduce"]

State = TypeVar("State", bound=Accumulator)


def all_reduce(state: State, group: dist.ProcessGroup | None = None) -> State:
    """Return on every rank a new state, the merge of the states of all ranks; `state` stays as it is.

    `group` is a process group, the default one if it is None. Every rank receives the bytes of every other.

    Raises ``MergeError``, on every rank, if a rank brought something else, or a state of another configuration, or one
    that does not merge; the message names the rank and both configurations.
    """
    if not _is_distributed(group):
        return _merge_alone(state)
    payloads: list[bytes | str] = [""] * dist.get_world_size(group)
    dist.all_gather_object(payloads, _payload(state), group=group)
    total: State = _merged(payloads)
    return total


def reduce(state: State, dst: int = 0, group: dist.ProcessGroup | None = None) -> State | None:
    """Return on the rank `dst` a new state, the merge of the states of all ranks, and None on the other ranks.

    `dst` counts ranks in the default group, as it does for torch. Only `dst` receives the states.

    Raises ``MergeError``, on every rank, as `all_reduce` does.
    """
    if not _is_distributed(group):
        return _merge_alone(state)
    here = dist.get_rank() == dst
    payloads: list[bytes | str] | None = [""] * dist.get_world_size(group) if here else None
    dist.gather_object(_payload(state), payloads, dst=dst, group=group)
    total, failure = None, None
    if payloads is not None:
        try:
            total = _merged(payloads)
        except MergeError as error:
            failure = error
    verdict = [None if failure is None else str(failure)]
    dist.broadcast_object_list(verdict, src=dst, group=group)
    if verdict[0] is not None:
        raise failure or MergeError(verdict[0])
    return total


def _is_distributed(group: dist.ProcessGroup | None) -> bool:
    """Tell whether there are ranks to exchange with; ValueError if this process is none of them."""
    if group is None and not (dist.is_available() and dist.is_initialized()):
        return False
    if dist.get_rank(group) < 0:
        raise ValueError(f"Expected `group` to be a group with this process in it, but rank {dist.get_rank()} is not")
    return True


def _merge_alone(state: State) -> State:
    """Return a copy of the only state; a state that does not merge is refused here, too."""
    total: State = _merged([_payload(state)])
    reason = mergeable(total)
    if reason is not None:
        raise reason
    return total


def _payload(state: Accumulator) -> bytes | str:
    """Return the bytes of a state, or as text why there are none."""
    try:
        return bytes(state.to_bytes())
    except Exception as error:
        return f"Expected `state` to be an accumulator, but got {with_article(type(state))} ({error})"


def _merged(payloads: Iterable[bytes | str]) -> Any:
    """Return the merge of the states of all ranks, in the order of ranks."""
    total: Any = None
    for rank, payload in enumerate(payloads):
        try:
            if isinstance(payload, str):
                raise MergeError(payload)
            shard = from_bytes(payload)
            total = shard if total is None else total.merge(shard)
        except Exception as error:
            message = f"Expected the states of all ranks to merge, but that of rank {rank} does not: {error}"
            raise MergeError(message) from error
    return total
