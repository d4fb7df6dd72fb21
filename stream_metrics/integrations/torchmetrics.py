"""A metric or a set of metrics as a `torchmetrics.Metric`: in Lightning's `self.log`, in collections, in checkpoints.

    import lightning as L
    from stream_metrics.integrations.torchmetrics import TorchMetric

    class Classifier(L.LightningModule):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.macro_f1 = TorchMetric("macro_f1")

        def validation_step(self, batch, batch_idx):
            x, y = batch
            self.macro_f1.update(self.net(x).softmax(-1), y)
            self.log("macro_f1", self.macro_f1)

Counts are kept on the CPU, whatever device the module is on; values come back on the module's device. Ranks are merged
exactly when a value is computed, by `all_reduce`, and never averaged. That does not help against rows that a sampler
gives to several ranks: see `stream_metrics.integrations.torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stream_metrics.errors import other_kind
from stream_metrics.inputs.arrow import tensor_to_numpy
from stream_metrics.integrations.class_indices import count_outputs, empty_of, numbers_of
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.wire import from_bytes

try:
    import torch
    import torch.distributed as dist
    import torchmetrics
    from torchmetrics.utilities.exceptions import TorchMetricsUserError
except ImportError as error:
    raise ImportError('Expected torchmetrics to be installed: pip install "stream-metrics[torchmetrics]"') from error

__all__ = ["TorchMetric"]

COUNTS = "counts"  # the name in a state_dict


class TorchMetric(torchmetrics.Metric):  # type: ignore[misc]
    """A metric of this package with the interface of `torchmetrics.Metric`.

    Parameters
    ----------
    metric : str, sequence of str, Metric or MetricSet
        A key of the catalog, whose value is a tensor; several keys or a `MetricSet`, whose values are a dict of
        tensors; or a metric. A metric or a set that is given is copied, without its samples.
    classes : sequence of Label, optional
        The classes that targets and predictions are indices of, and that columns of scores belong to. By default the
        indices are the labels.
    **options : Any
        Options of `torchmetrics.Metric`: `process_group`, `sync_on_compute`, `dist_sync_on_step`, ...

    Attributes
    ----------
    counts : Metric or MetricSet
        What this rank has counted; between `sync` and `unsync` what all ranks have.
    classes : tuple of Label or None
        The classes, if they were given.

    Raises
    ------
    UnknownMetricError
        If a key is not in the catalog.
    ValueError
        If `metric` is something else, or `dist_sync_fn` is given: states are merged, which no function can replace.

    Notes
    -----
    `state_dict` has the counts as a tensor of bytes, unless `persistent(False)` was called. They are those of one rank:
    in a checkpoint of a distributed run, sync first. When such a dictionary is loaded, rank 0 takes the counts and all
    other ranks start empty, so nothing is counted twice.

    Examples
    --------
    >>> import torch
    >>> from stream_metrics.integrations.torchmetrics import TorchMetric
    >>> metric = TorchMetric("accuracy")
    >>> metric(torch.tensor([[0.9, 0.1], [0.4, 0.6]]), torch.tensor([0, 0]))
    tensor(0.5000, dtype=torch.float64)
    >>> metric.update(torch.tensor([1, 1]), torch.tensor([1, 1]))
    >>> metric.compute()
    tensor(0.7500, dtype=torch.float64)
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metric: str | Sequence[str] | Metric | MetricSet,
        *,
        classes: Iterable[Label] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if self.dist_sync_fn is not None:
            raise ValueError("Expected no `dist_sync_fn`: the states of all ranks are merged by `all_reduce`")
        self.single = isinstance(metric, str | Metric)
        self.classes = None if classes is None else unique(classes, "classes")
        self._empty: Any = empty_of(metric)
        self.counts: Any = self._empty.copy()
        self._is_synced: bool = False
        self._update_count: int = 0
        self._local: Any = None  # what this rank has counted, while `counts` is that of all
        self._persistent[COUNTS] = True

    def update(self, preds: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None) -> None:
        """Count a batch; one bad row rejects the whole batch.

        Parameters
        ----------
        preds : Tensor of shape (n,) or (n, K)
            Predictions: labels as integers, scores of each class, or the score of `pos_label`. A metric of labels takes
            the class of the largest score, or class 1 from a probability of 0.5 on. Scores of metrics of probabilities
            are probabilities, and not logits.
        target : Tensor of shape (n,)
            True labels; for metrics of labels 0 or 1 beside a single probability, unless there are `classes`.
        weight : Tensor of shape (n,), optional
            Weights >= 0; 1 for every sample by default.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        self._count(self.counts, preds, target, weight)

    def compute(self) -> torch.Tensor | dict[str, torch.Tensor]:
        """Return the values of what all ranks have counted.

        Returns
        -------
        Tensor or dict from str to Tensor
            The value; of a set of metrics the values by key, without those that are not numbers.
        """
        return self._values(self.counts)

    def forward(self, *arguments: Any, **named: Any) -> torch.Tensor | dict[str, torch.Tensor]:
        """Count a batch and return its own values, with `dist_sync_on_step` those of all ranks' batches.

        Parameters
        ----------
        *arguments, **named : Any
            Those of `update`.

        Returns
        -------
        Tensor or dict from str to Tensor
            What `compute` returns, of the batch alone.

        Raises
        ------
        TorchMetricsUserError
            If the metric is synced.
        """
        if self._is_synced:
            raise TorchMetricsUserError("Expected a metric that is not synced: call `unsync` before `forward`")
        batch = self._empty.copy()
        self._count(batch, *arguments, **named)
        self.counts.merge(batch)
        self._computed, self._update_count = None, self._update_count + 1
        if self.dist_sync_on_step and self.distributed_available_fn():
            batch = self._all_reduce(batch, None)
        self._forward_cache = self._values(batch)
        return self._forward_cache

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        super().reset()
        self.counts, self._local = self._empty.copy(), None

    def merge_state(self, incoming_state: TorchMetric) -> None:
        """Add the counts of another such metric.

        Parameters
        ----------
        incoming_state : TorchMetric
            A metric with the same configuration. It stays as it is.

        Raises
        ------
        MergeError
            If it is something else, or configurations differ.
        """
        if not isinstance(incoming_state, TorchMetric):
            raise other_kind("TorchMetric", incoming_state)
        self.counts.merge(incoming_state.counts)
        self._computed, self._update_count = None, self._update_count + incoming_state._update_count

    def sync(
        self,
        dist_sync_fn: Callable[..., Any] | None = None,
        process_group: Any = None,
        should_sync: bool = True,
        distributed_available: Callable[[], bool] | None = None,
    ) -> None:
        """Let `counts` be the merge of the counts of all ranks, until `unsync`.

        Parameters
        ----------
        dist_sync_fn : None
            For torchmetrics; states are merged and not gathered.
        process_group : ProcessGroup, optional
            The group of ranks; by default that of the metric.
        should_sync : bool, default True
            Whether to do anything.
        distributed_available : callable, optional
            Whether there are several ranks; by default what torch.distributed says.

        Raises
        ------
        TorchMetricsUserError
            If the metric is synced already.
        MergeError
            On every rank, if the states do not merge.
        """
        if self._is_synced and should_sync:
            raise TorchMetricsUserError("Expected a metric that is not synced, but it is")
        if dist_sync_fn is not None:
            raise ValueError("Expected no `dist_sync_fn`: the states of all ranks are merged by `all_reduce`")
        available = distributed_available or self.distributed_available_fn
        if not should_sync or not available():
            return
        total = self._all_reduce(self.counts, process_group)
        self._local, self.counts, self._is_synced = self.counts, total, True

    def unsync(self, should_unsync: bool = True) -> None:
        """Let `counts` be those of this rank again.

        Parameters
        ----------
        should_unsync : bool, default True
            Whether to do anything.

        Raises
        ------
        TorchMetricsUserError
            If the metric is not synced.
        """
        if not should_unsync:
            return
        if self._local is None:
            raise TorchMetricsUserError("Expected a metric that is synced, but it is not")
        self.counts, self._local, self._is_synced = self._local, None, False

    def state_dict(
        self, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return the counts as a tensor of bytes, beside what torchmetrics returns.

        Parameters
        ----------
        destination : dict, optional
            A dictionary to add to.
        prefix : str, default ""
            What names of tensors start with.
        keep_vars : bool, default False
            For torch, without effect.

        Returns
        -------
        dict
            The tensors by name.
        """
        saved: dict[str, Any] = super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        if self._persistent[COUNTS]:
            saved[prefix + COUNTS] = torch.frombuffer(bytearray(self.counts.to_bytes()), dtype=torch.uint8)
        return saved

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Take the counts of a dictionary, on rank 0 only."""
        saved = state_dict.pop(prefix + COUNTS, None)
        if saved is not None:
            counts = self._empty.copy()
            try:
                counts.merge(from_bytes(saved.cpu().numpy().tobytes()))
            except Exception as error:
                arguments[-1].append(f"{prefix}{COUNTS}: {error}")  # the messages from which torch makes its error
            else:
                self.reset()
                if not (self.distributed_available_fn() and dist.get_rank() > 0):
                    self.counts, self._update_count = counts, int(counts.n + counts.abstained > 0)
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def _all_reduce(self, counts: Any, group: Any) -> Any:
        from stream_metrics.integrations.torch import all_reduce

        return all_reduce(counts, group or self.process_group)

    def _count(self, counts: Any, preds: Any, target: Any, weight: Any = None) -> None:
        """Let a state count a batch."""
        outputs, targets = (
            tensor_to_numpy(x.detach().cpu(), name) for x, name in ((preds, "preds"), (target, "target"))
        )
        w = None if weight is None else weight.detach().cpu()
        count_outputs(counts, outputs, targets, w, self.classes, ("preds", "target"))

    def _values(self, counts: Any) -> Any:
        """Return the values of a state as tensors."""
        values = {key: self._tensor(value) for key, value in numbers_of(counts).items()}
        return next(iter(values.values())) if self.single else values

    def _tensor(self, value: float) -> torch.Tensor:
        exact = torch.float32 if self.device.type == "mps" else torch.float64  # mps has no other
        return torch.tensor(value, dtype=exact, device=self.device)
