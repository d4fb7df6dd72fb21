"""torchmetrics: a metric of this package in its module, in collections, in state dictionaries and on several ranks."""

from __future__ import annotations

import copy
import doctest
import io
import pickle
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
torchmetrics = pytest.importorskip("torchmetrics", reason="needs torchmetrics", exc_type=ImportError)

from support import torch_ranks as ranks  # noqa: E402
from support.refusals import refused  # noqa: E402
from torchmetrics.utilities.exceptions import TorchMetricsUserError  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import torchmetrics as adapter  # noqa: E402
from stream_metrics.integrations.torchmetrics import TorchMetric  # noqa: E402

HALF = slice(0, 500)
REST = slice(500, None)


def fed(metric: Any, *parts: slice, **options: Any) -> Any:
    """Return a metric that was updated with parts of the rows."""
    y, p = ranks.rows()
    module = metric if isinstance(metric, TorchMetric) else TorchMetric(metric, **options)
    for part in parts:
        module.update(p[part], y[part])
    return module


def whole(*keys: str) -> Any:
    """Return the values of all rows, by the package's own set."""
    y, p = ranks.rows()
    state = sm.MetricSet(list(keys), scores=True)
    state.update_many(y, scores=p, classes=ranks.CLASSES)
    return state.get()


def test_values_are_those_of_the_set() -> None:
    """A key, keys, a metric and a set give tensors of the exact values, on the device of the module."""
    keys = ["macro_f1", "log_loss"]
    expected = whole(*keys)

    assert fed("macro_f1", HALF, REST).compute().item() == expected["macro_f1"]
    assert fed(sm.LogLoss(), HALF, REST).compute().item() == expected["log_loss"]
    for metric in (keys, sm.MetricSet(keys)):
        values = fed(metric, HALF, REST).compute()
        assert {key: value.item() for key, value in values.items()} == expected
    everything = fed(sm.MetricSet(scores=True), slice(None)).compute()
    assert len(everything) > 50
    assert all(torch.is_tensor(value) and value.ndim == 0 for value in everything.values())
    moved = fed("macro_f1", HALF, REST).half().double().to(torch.device("cpu"))
    assert moved.compute().item() == expected["macro_f1"]
    assert torch.nn.ModuleList([moved]).to("meta")[0].compute().device.type == "meta"


def test_forward_returns_the_batch_and_counts_it() -> None:
    """Calling the module gives the value of the batch; the epoch has them all."""
    y, p = ranks.rows()
    metric = TorchMetric("accuracy")
    for part in (HALF, REST):
        right = (p[part].argmax(-1) == y[part]).double().mean().item()
        assert metric(p[part], y[part]).item() == pytest.approx(right)
    assert metric.compute().item() == whole("accuracy")["accuracy"]
    assert metric.update_count == 2


def test_a_bad_batch_leaves_everything_as_it_was() -> None:
    """An error names the position, and neither counts nor number of updates of the batch stay."""
    metric = fed("log_loss", HALF)
    before = metric.counts.to_bytes()
    bad = torch.tensor([[0.5, 0.5], [1.5, 0.5]])
    for call in (metric.update, metric):
        assert refused(partial(call, bad, torch.tensor([0, 1])), sm.ScoreError).position == 1
    assert metric.counts.to_bytes() == before


def test_reset_copies_and_merges() -> None:
    """A metric that was reset starts from nothing; copies and pickles are independent; counts of others are added."""
    metric = fed("macro_f1", HALF)
    twins = copy.deepcopy(metric), metric.clone(), pickle.loads(pickle.dumps(metric))
    metric.reset()
    fed(metric, HALF, REST)

    for twin in twins:
        assert twin.counts.n == 500
        assert twin.compute().item() != metric.compute().item()
        twin.merge_state(fed("macro_f1", REST))
        assert twin.compute().item() == metric.compute().item() == whole("macro_f1")["macro_f1"]
    refused(partial(metric.merge_state, {}), sm.MergeError, "Expected to merge a TorchMetric, but got a dict")


def test_collections() -> None:
    """Metrics in a collection share the call, keep their counts, and take prefixes."""
    y, p = ranks.rows()
    metrics = {"f1": TorchMetric("macro_f1"), "both": TorchMetric(["accuracy", "log_loss"])}
    collection = torchmetrics.MetricCollection(metrics, prefix="val_")
    collection.update(p[HALF], y[HALF])
    collection(p[REST], y[REST])
    expected = whole("macro_f1", "accuracy", "log_loss")

    values = {key: value.item() for key, value in collection.compute().items()}
    assert values["val_f1"] == expected["macro_f1"]
    assert {expected["accuracy"], expected["log_loss"]} <= set(values.values())
    collection.reset()
    assert {metric.counts.n for metric in collection.values()} == {0}


def test_state_dictionaries() -> None:
    """Counts are a tensor of bytes in the dictionary of the module around, unless they are not to be kept."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.metric = torch.nn.Linear(2, 2), TorchMetric("macro_f1")

    net, other = Net(), Net()
    fed(net.metric, HALF)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))

    assert other.metric.counts == net.metric.counts
    assert fed(other.metric, REST).compute().item() == whole("macro_f1")["macro_f1"]
    net.metric.persistent(False)
    assert set(net.state_dict()) == {"layer.weight", "layer.bias"}
    before = other.metric.counts.to_bytes()
    load = TorchMetric("log_loss").load_state_dict
    refused(partial(load, other.metric.state_dict()), RuntimeError, "Expected to merge a LogLoss, but got a MacroF1")
    assert other.metric.counts.to_bytes() == before


def test_classes_weights_and_single_scores() -> None:
    """With `classes`, targets and labels are indices; weights count, and a column of scores is that of class 1."""
    names = ["cat", "dog", "emu"]
    y, p = ranks.rows()
    metric = fed(sm.MetricSet(scores=True), slice(None), classes=names)
    labels = TorchMetric("accuracy", classes=names)
    labels.update(p.argmax(-1), y)
    assert metric.counts.state.labels == ("cat", "dog", "emu")
    assert metric.compute()["accuracy"] == labels.compute() == whole("accuracy")["accuracy"]
    refused(partial(metric.update, p, y.double()), sm.LabelError, "target")

    truth, scores, w = (y == 1).long(), p[:, 1], torch.arange(ranks.ROWS).double() / 4
    area, own = TorchMetric(sm.ROCAUC()), sm.ROCAUC()
    area.update(scores, truth, w)
    own.update_many(truth, scores, w)
    assert area.counts == own
    assert area.compute().item() == own.get()


def test_what_cannot_be_a_metric() -> None:
    """Something else, an unknown key, and a function that would gather states are refused."""
    for metric, options in [("precision", {"dist_sync_fn": print}), (0.5, {}), ({"accuracy"}, {}), ("recall_at_k", {})]:
        with pytest.raises((ValueError, KeyError)):
            TorchMetric(metric, **options)


def test_sync_without_ranks_and_twice() -> None:
    """Where there is one process nothing is synced; what is synced is not synced again, nor updated in between."""
    metric = fed("accuracy", HALF)
    metric.sync()
    refused(metric.unsync, TorchMetricsUserError, "that is synced, but it is not")
    own, sync = metric.counts, partial(metric.sync, distributed_available=lambda: True)
    sync()
    assert (metric.counts is own, metric.counts) == (False, own)
    for call in (sync, partial(metric, torch.tensor([0]), torch.tensor([0]))):
        refused(call, TorchMetricsUserError)
    metric.unsync()
    assert metric.counts is own


def test_the_example_of_the_class() -> None:
    """The doctest of `TorchMetric` runs."""
    assert doctest.testmod(adapter).failed == 0
