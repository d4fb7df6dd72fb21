"""The states of all ranks of torch.distributed become one: merged, not averaged, regardless of their sizes.

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
what is equal. Where no process group was set up there is one rank, and the same loop works. For `self.log` of a metric
object there is `stream_metrics.integrations.torchmetrics`.

Each rank must count rows that no other rank counts. `DistributedSampler` does not see to that: it repeats some rows
until all ranks have equally many, and with `drop_last=True` it leaves some out. For an evaluation the rows are split as
they are, and Lightning must leave the sampler alone. Otherwise it would wrap it in a `DistributedSampler` of its
own, which takes only a part of each rank's part:

    L.Trainer(use_distributed_sampler=False)
    DataLoader(dataset, batch_size, sampler=range(rank, len(dataset), world_size))

`all_reduce(state, expect_n=len(dataset))` raises on every rank if rows were counted twice or left out.

Both functions are collectives: every rank of the group calls them, ranks without data too. An error of one rank
is raised on all of them, after the exchange, since a rank that stopped before it would leave the others waiting.

States travel up a binomial tree: of W ranks none merges more than log2(W) states of others, and each has at most two
besides its own in memory. Then the total is broadcast. With NCCL the bytes go through `torch.cuda.current_device()`, so
`torch.cuda.set_device` comes first; a group with `backend="gloo"` needs no GPU. This is tested with gloo, not NCCL.

A checkpoint takes `to_bytes()`, which `torch.load` reads with `weights_only=True`. If the merged state is what is
saved, one rank alone takes it up again, and the others start empty.
"""

from __future__ import annotations

from typing import Any, TypeVar

from stream_metrics._core.numeric.kernels import whole
from stream_metrics.errors import MergeError, with_article
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import from_bytes

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    raise ImportError('Expected torch to be installed: pip install "stream-metrics[torch]"') from error

__all__ = ["all_reduce", "reduce"]

State = TypeVar("State", bound=Accumulator)
NUMBER = 8  # bytes
MOST = 2**63 - 1  # samples


def all_reduce(state: State, group: dist.ProcessGroup | None = None, *, expect_n: int | None = None) -> State:
    """Return on every rank a new state, the merge of the states of all ranks; `state` stays as it is.

    Parameters
    ----------
    state : accumulator
        What this rank has counted: a state, a metric, a set of metrics, a window or groups.
    group : ProcessGroup, optional
        A process group; the default one if it is None.
    expect_n : int, optional
        How many samples all ranks together must have counted, abstentions included; the same number on every rank.

    Returns
    -------
    accumulator
        The merge, with the same bytes on every rank.

    Raises
    ------
    MergeError
        On every rank, if a rank brought something else, or a state that counts something else, or one that does not
        merge; the message names the rank and both configurations. Also if the number of samples is not `expect_n`.
    """
    if not _is_distributed(group):
        return _merge_alone(state, expect_n)
    ranks = _Ranks(group)
    total, expected = ranks.merged(state, expect_n)
    answer = _decoded(ranks.broadcast(_encoded(total) if ranks.me == 0 else b""))
    if isinstance(answer, MergeError):
        raise answer
    merged: State = answer if ranks.me else total
    _check_number(_samples(merged), expected)
    return merged


def reduce(
    state: State, dst: int = 0, group: dist.ProcessGroup | None = None, *, expect_n: int | None = None
) -> State | None:
    """Return on the rank `dst` a new state, the merge of the states of all ranks, and None on the other ranks.

    Parameters
    ----------
    state : accumulator
        What this rank has counted; it stays as it is.
    dst : int, default 0
        The rank that receives the merge, as a number of the default group, as for torch.
    group : ProcessGroup, optional
        A process group; the default one if it is None.
    expect_n : int, optional
        How many samples all ranks together must have counted, as for `all_reduce`.

    Returns
    -------
    accumulator or None
        The merge on the rank `dst`, None on the other ranks.

    Raises
    ------
    MergeError
        On every rank, as `all_reduce` does.
    """
    if not _is_distributed(group):
        return _merge_alone(state, expect_n)
    ranks = _Ranks(group)
    receiver = dist.get_group_rank(ranks.group, dst)
    total, expected = ranks.merged(state, expect_n)
    failed = isinstance(total, MergeError)
    verdict = ranks.broadcast(_encoded(total if failed else _samples(total)) if ranks.me == 0 else b"")
    number = _decoded(verdict)
    if isinstance(number, MergeError):
        raise number
    _check_number(number, expected)
    if receiver == 0:
        return total if ranks.me == 0 else None
    if ranks.me == 0:
        ranks.send(_encoded(total), receiver)
    return _decoded(ranks.receive(0)) if ranks.me == receiver else None


class _Ranks:
    """The ranks of a group: bytes from one to another, and states up a binomial tree to rank 0."""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.group = dist.group.WORLD if group is None else group
        self.size, self.me = dist.get_world_size(self.group), dist.get_rank(self.group)
        on_gpu = dist.get_backend(self.group) == "nccl"
        self.device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")

    def merged(self, state: Any, expect_n: int | None) -> tuple[Any, int | None]:
        """Return on rank 0 the merge of all states, or the MergeError of the first rank that has one; and `expect_n`.

        Each rank merges into an empty state of rank 0's configuration, so the rank that has another one is the one that
        is named.
        """
        opening = self.broadcast(_opening(state, expect_n) if self.me == 0 else b"")
        empty, expected = _opened(opening)
        total = _own(state, self.me) if self.me == 0 else _merged(empty, _own(state, self.me), self.me)
        try:
            _check_same(expect_n, expected, self.me)
        except Exception as error:
            total = _refused(self.me, error)
        step = 1
        while step < self.size and not self.me & step:
            if self.me + step < self.size:
                total = _merged(total, _decoded(self.receive(self.me + step)), self.me + step)
            step *= 2
        if self.me:
            self.send(_encoded(total), self.me - step)
        return total, expected

    def send(self, data: bytes, to: int) -> None:
        """Send bytes to another rank, which receives them."""
        rank = dist.get_global_rank(self.group, to)
        for tensor in self._tensors(data):
            dist.send(tensor, rank, group=self.group)

    def receive(self, sender: int) -> bytes:
        """Return the bytes that another rank sends."""
        rank = dist.get_global_rank(self.group, sender)
        size = torch.empty(1, dtype=torch.int64, device=self.device)
        dist.recv(size, rank, group=self.group)
        data = torch.empty(int(size.item()), dtype=torch.uint8, device=self.device)
        dist.recv(data, rank, group=self.group)
        return bytes(data.cpu().numpy())

    def broadcast(self, data: bytes) -> bytes:
        """Return on every rank the bytes that rank 0 has."""
        rank = dist.get_global_rank(self.group, 0)
        size, content = self._tensors(data)
        dist.broadcast(size, rank, group=self.group)
        if self.me:
            content = torch.empty(int(size.item()), dtype=torch.uint8, device=self.device)
        dist.broadcast(content, rank, group=self.group)
        return bytes(content.cpu().numpy()) if self.me else data

    def _tensors(self, data: bytes) -> tuple[torch.Tensor, torch.Tensor]:
        """Return bytes as two tensors, their number and themselves."""
        size = torch.tensor([len(data)], dtype=torch.int64, device=self.device)
        return size, torch.frombuffer(bytearray(data or b" "), dtype=torch.uint8)[: len(data)].to(self.device)


def _encoded(message: Any) -> bytes:
    """Return a state, a number or an error as bytes."""
    if isinstance(message, MergeError):
        return b"E" + str(message).encode()
    return b"N" + message.to_bytes(NUMBER) if isinstance(message, int) else b"S" + bytes(message.to_bytes())


def _decoded(data: bytes) -> Any:
    """Return what was encoded; a MergeError for bytes of a state that cannot be read."""
    kind, content = data[:1], data[1:]
    if kind == b"E":
        return MergeError(content.decode())
    if kind == b"N":
        return int.from_bytes(content)
    try:
        return from_bytes(content)
    except Exception as error:
        return MergeError(str(error))


def _opening(state: Any, expect_n: object) -> bytes:
    """Return what rank 0 tells all others first: `expect_n` (-1 for None) and an empty state, or an error."""
    empty = _own(state, 0)
    try:
        expected = -1 if expect_n is None else whole(expect_n, "expect_n", 0, MOST)
        if not isinstance(empty, MergeError):
            empty.reset()
            return expected.to_bytes(NUMBER, signed=True) + _encoded(empty)
    except Exception as error:
        empty = _refused(0, error)
    return bytes(NUMBER) + _encoded(empty)


def _opened(opening: bytes) -> tuple[Any, int | None]:
    """Return the empty state and `expect_n` of rank 0; MergeError if it told of one."""
    empty, number = _decoded(opening[NUMBER:]), int.from_bytes(opening[:NUMBER], signed=True)
    if isinstance(empty, MergeError):
        raise empty
    return empty, None if number < 0 else number


def _own(state: Any, rank: int) -> Any:
    """Return a copy of the state of a rank, as its bytes have it, or the MergeError if it is not a state."""
    try:
        return from_bytes(state.to_bytes())
    except Exception as error:
        what = f"Expected `state` to be an accumulator, but got {with_article(type(state))} ({error})"
        return _refused(rank, MergeError(what))


def _merged(total: Any, shard: Any, rank: int) -> Any:
    """Return the merge of two states, the second of this rank, or the MergeError of the first that failed."""
    for state in (total, shard):
        if isinstance(state, MergeError):
            return state
    try:
        return total.merge(shard)
    except Exception as error:
        return _refused(rank, error)


def _refused(rank: int, error: Exception) -> MergeError:
    return MergeError(f"Expected the states of all ranks to merge, but that of rank {rank} does not: {error}")


def _check_same(expect_n: object, expected: int | None, rank: int) -> None:
    """Raise an error unless a rank has the same `expect_n` as rank 0."""
    mine = None if expect_n is None else whole(expect_n, "expect_n", 0, MOST)
    if mine != expected:
        but = f"got {expected} on rank 0 and {mine} on rank {rank}"
        raise MergeError(argument="expect_n", expected="to be the same on all ranks", got=mine, but=but)


def _samples(state: Any) -> int:
    """Return how many samples a state has counted, abstentions included."""
    abstained = sum(state.abstentions) if hasattr(state, "abstentions") else getattr(state, "abstained", 0)
    return int(state.n + abstained)


def _check_number(n: int, expected: int | None) -> None:
    """Raise MergeError unless as many samples were counted as are expected, if any are."""
    if expected is not None and n != expected:
        raise MergeError(
            argument="expect_n",
            subject="the states of all ranks",
            expected=f"to have counted {expected} samples together",
            got=n,
            but=f"got {n}: samplers that pad or share rows repeat some or leave some out",
        )


def _is_distributed(group: dist.ProcessGroup | None) -> bool:
    """Tell whether there are ranks to exchange with; ValueError if this process is none of them."""
    if group is None and not (dist.is_available() and dist.is_initialized()):
        return False
    if dist.get_rank(group) < 0:
        raise ValueError(f"Expected `group` to be a group with this process in it, but rank {dist.get_rank()} is not")
    return True


def _merge_alone(state: State, expect_n: int | None) -> State:
    """Return a copy of the only state; a state that does not merge is refused here, too."""
    total = _own(state, 0)
    reason = total if isinstance(total, MergeError) else mergeable(total)
    if reason is not None:
        raise reason
    _check_number(_samples(total), None if expect_n is None else whole(expect_n, "expect_n", 0, MOST))
    return total  # type: ignore[no-any-return]
