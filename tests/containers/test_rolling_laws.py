"""The laws of an accumulator hold for rolling windows, except merging, which raises with the reason."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from support.rank_streams import binary, several

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.containers.rolling import Rolling
from stream_metrics.wire import MAGIC, decoded, encoded, zlib

STATES: dict[str, tuple[Callable[[], Any], Any]] = {
    "matrix": (lambda: Rolling(sm.ConfusionMatrix(), 3), testing.samples()),
    "metric": (lambda: Rolling(sm.FBeta(2.0, pos_label="a"), 5), testing.samples()),
    "set": (lambda: Rolling(sm.MetricSet([sm.MCC]), 2), testing.samples(weighted=False)),
    "areas": (lambda: Rolling(sm.ROCAUC(), 3), binary()),
    "sketch": (lambda: Rolling(sm.RankSketch(buckets=2), 9), several()),
    "losses": (lambda: Rolling(sm.ProbabilityLosses(), 4), testing.soft_samples(hard=False)),
    "scores": (lambda: Rolling(sm.MetricSet(scores=True), 4), testing.soft_samples()),
}
LAWS = [law for law in testing.LAWS if not {"merge", "split", "identity"} & set(law.__name__.split("_"))]


def test_all_laws_but_those_of_merging_are_checked() -> None:
    """The laws that are left out are those of merging."""
    assert {law.__name__ for law in testing.LAWS} - {law.__name__ for law in LAWS} == {
        "empty_is_identity", "merge_commutes", "merge_associates", "split_equals_whole",
    }  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize(("make", "samples"), STATES.values(), ids=STATES)
def test_windows_obey_the_laws(law: testing.Law, make: Callable[[], Any], samples: Any) -> None:
    """Bytes, copies, pickles, snapshots and resets."""
    law(make, samples)


def test_merging_says_why_not() -> None:
    """The error names what can be merged instead."""
    with pytest.raises(sm.MergeError, match=r"last N samples of two streams .* TimeWindow"):
        Rolling(sm.MCC(), 5).merge(Rolling(sm.MCC(), 5))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Rolling(sm.MCC(), 0), "from 1 to"),
        (lambda: Rolling(sm.MCC(), True), "from 1 to"),
        (lambda: Rolling(sm.MCC(), 2.0), "from 1 to"),
        (lambda: Rolling(sm.MCC, 5), "a state, a metric or a set"),
        (lambda: Rolling(Rolling(sm.MCC(), 5), 5), "got a Rolling"),
        (lambda: Rolling(sm.ROCAUC(), 2**25), "at most 16777216"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any], reason: str) -> None:
    """A window that is none, a class, a state that cannot take samples back."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_a_state_without_revert_is_refused() -> None:
    """The reason is named."""

    class Once(sm.ConfusionMatrix):
        KIND = "once"
        revert = property(lambda self: (_ for _ in ()).throw(AttributeError("revert")))  # type: ignore[assignment]

    with pytest.raises(ValueError, match="Once, which has no `revert`"):
        Rolling(Once(), 5)


def test_what_the_inner_has_counted_is_not_taken_over() -> None:
    """Only the configuration is, and neither touches the other."""
    inner = sm.Accuracy()
    inner.update("a", "a")
    rolling = Rolling(inner, 3)
    rolling.update("a", "b")

    assert (inner.n, inner.get()) == (1, 1.0)
    assert (rolling.n, rolling.get(), rolling.inner.n) == (1, 0.0, 0)


def test_bytes_are_a_function_of_the_window() -> None:
    """What came before, the objects that were labels and weights, and the order in mappings leave no trace."""
    a, b = (Rolling(sm.MetricSet(scores=True), 3) for _ in range(2))
    for i in range(10):
        a.update("old", {"old": 0.5, f"x{i}": 0.1}, 7)
    a.update(str(b"text", "ascii"), {"text": 0.5, "b": 0.25}, 2.0)
    a.update(True, 0.5, 0.0)
    a.update(1, None, 0.5)
    b.update("text", {"b": 0.25, "text": 0.5}, 2)
    b.update(True, 0.5, 0)
    b.update(1, {}, 0.5)

    assert a.to_bytes() == b.to_bytes()
    assert a.state.to_bytes() == b.state.to_bytes()


def rewritten(state: Rolling, change: Callable[[list[Any]], None]) -> bytes:
    """Return the bytes of a window after a change of their content."""
    content = state._content()
    change(content)
    body = encoded([state.KIND, content])
    return MAGIC + b"\x01" + zlib.crc32(body).to_bytes(4, "little") + body


HOSTILE: list[Callable[[list[Any]], None]] = [
    lambda c: c.__setitem__(0, 1),
    lambda c: c.__setitem__(0, 0),
    lambda c: c.__setitem__(0, "5"),
    lambda c: c.__setitem__(1, ["nothing", []]),
    lambda c: c[2].append("never used"),
    lambda c: c[3].pop(),
    lambda c: c[3].__setitem__(0, 99),
    lambda c: c[3].__setitem__(0, -1),
    lambda c: c[4].__setitem__(0, [[0], [0.5]]),
    lambda c: c[4].__setitem__(0, [0, 0, []]),
    lambda c: c[4].__setitem__(0, [0, 0, [["group", 0]]]),
    lambda c: c[4].__setitem__(0, 0.5),
    lambda c: c.__setitem__(5, [1, 1, 1]),
    lambda c: c.__setitem__(5, [1.0, 2, 2]),
    lambda c: c.__setitem__(5, [-1, 2, 2]),
    lambda c: c.append([]),
    lambda c: c.clear(),
]


@pytest.mark.parametrize("change", HOSTILE)
def test_bytes_that_no_window_would_write_are_refused(change: Callable[[list[Any]], None]) -> None:
    """Any content raises DecodeError or is read; nothing else is raised."""
    rolling = Rolling(sm.MCC(), 5)
    rolling.update_many(["a", "b", "c"], ["a", None, "b"])
    assert sm.from_bytes(rewritten(rolling, lambda content: None)) == rolling
    with pytest.raises(sm.DecodeError):
        sm.from_bytes(rewritten(rolling, change))


def test_the_inner_state_is_written_empty() -> None:
    """Bytes whose configuration has counted something are refused."""
    rolling, full = Rolling(sm.MCC(), 5), sm.MCC()
    full.update("a", "b")
    with pytest.raises(sm.DecodeError):
        sm.from_bytes(rewritten(rolling, lambda content: content.__setitem__(1, ["metric", full._content()])))
    assert decoded(rolling.to_bytes()[9:])[1][0] == 5


def test_memory_of_a_window_is_what_is_stated() -> None:
    """24 bytes a sample for fresh text, 24 for the float and at most 24 for the area of a score, 360 for a dict."""
    n, rng = 50_000, random.Random(0)

    def grown(rolling: Rolling, samples: Callable[[int], tuple[Any, Any]]) -> float:
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for i in range(n + n // 2):
            rolling.update(*samples(i))
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return (after - before) / n

    text = grown(Rolling(sm.Accuracy(), n), lambda i: (f"class {i % 10}", f"class {i % 7}"))
    area = grown(Rolling(sm.ROCAUC(), n), lambda i: (i % 3 == 0, rng.random()))
    names = [f"class {i}" for i in range(5)]
    soft = grown(Rolling(sm.CrossEntropy(), n), lambda i: ("class 1", {name: rng.random() / 5 for name in names}))

    assert 23 < text < 25.5
    assert area < 24 + 24 + 24
    assert soft < 24 + 360
    assert Rolling(sm.MetricSet(), 10**9).memory() == 0


def test_windows_leak_nothing() -> None:
    """Windows that are filled, refused, copied, read and dropped leave no memory behind."""
    script = """
import gc, sys
import stream_metrics as sm
from stream_metrics.containers.rolling import Rolling
def task(n):
    for i in range(n):
        for inner in (sm.MCC(), sm.ROCAUC(), sm.CrossEntropy()):
            rolling = Rolling(inner, 4)
            for k in range(9):
                soft = {True: 0.5, False: k / 9 + i / 10**6}
                rolling.update(k % 2 == 0, (k % 3 == 0) if inner.requires_labels else soft, 1.5 if k == 5 else 1)
            for bad in ((None, True), (True, float("nan")), (True, True, -1)):
                try:
                    rolling.update(*bad)
                except ValueError:
                    pass
            rolling.copy().update_many([True, False], [True, False] if inner.requires_labels else [0.5, 0.25])
            sm.from_bytes(rolling.to_bytes()).snapshot()
            rolling.reset()
grown = []
for _ in range(5):
    gc.collect()
    before = sys.getallocatedblocks()
    task(60)
    gc.collect()
    grown.append(sys.getallocatedblocks() - before)
print(min(grown))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert int(done.stdout) < 60  # the first rounds fill free lists
