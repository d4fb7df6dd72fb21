"""The aggregate of many workers: the sum of the newest state of each, for messages in any order, repeated or not."""

from __future__ import annotations

import pickle
import threading
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.containers import aggregate as module
from stream_metrics.wire import packed


class Message(NamedTuple):
    """What a worker sends."""

    worker: Any
    state: Any
    sequence: int
    epoch: int


WORKERS = ["a", "b", 3, ("host", 1), b"raw"]
PAIRS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz"), st.sampled_from([1, 2, 0.1])), max_size=6)


@st.composite
def histories(draw: Any) -> list[Message]:
    """All messages of some workers: in each epoch they start from zero and send all that they have counted since."""
    sent = []
    for worker in draw(st.lists(st.sampled_from(WORKERS), unique=True, min_size=1)):
        for epoch in draw(st.lists(st.integers(-1, 4), unique=True, min_size=1, max_size=3)):
            state = sm.MetricSet()
            for sequence in sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4))):
                for sample in draw(PAIRS):
                    state.update(*sample)
                sent.append(Message(worker, state.copy(), sequence, epoch))
    return sent


def expected(messages: list[Message]) -> dict[Any, Message]:
    """Return the newest message of each worker."""
    newest: dict[Any, Message] = {}
    for message in messages:
        held = newest.get(message.worker)
        if held is None or (message.epoch, message.sequence) > (held.epoch, held.sequence):
            newest[message.worker] = message
    return newest


def received(messages: list[Message], *, as_bytes: bool = False) -> sm.Aggregate:
    """Return an aggregate that got the messages."""
    total = sm.Aggregate()
    for worker, state, sequence, epoch in messages:
        total.put(worker, state.to_bytes() if as_bytes else state, sequence, epoch)
    return total


def counted(*pairs: tuple[Any, Any]) -> sm.MetricSet:
    """Return a set that has counted some pairs."""
    state = sm.MetricSet()
    for pair in pairs:
        state.update(*pair)
    return state


@given(histories(), st.data())
def test_it_is_the_sum_of_the_newest_states(messages: list[Message], data: st.DataObject) -> None:
    """Lost, repeated, replayed and shuffled messages, workers that start again: of each worker the newest counts."""
    arriving = data.draw(st.lists(st.sampled_from(messages), min_size=1, max_size=30))
    newest = expected(arriving)

    total = received(arriving, as_bytes=data.draw(st.booleans()))

    assert total.total() == sm.merge(message.state for message in newest.values())
    assert {name: held[:3] for name, held in total.workers().items()} == {
        name: (message.epoch, message.sequence, message.state.n) for name, message in newest.items()
    }
    assert received(data.draw(st.permutations(arriving))).to_bytes() == total.to_bytes()
    assert received(arriving + arriving).to_bytes() == total.to_bytes()


@given(histories(), st.data())
def test_aggregates_merge_into_one_that_saw_all(messages: list[Message], data: st.DataObject) -> None:
    """Any split over aggregates, overlapping ones too, merged in any order, gives the same bytes."""
    parts = [data.draw(st.lists(st.sampled_from(messages))) for _ in range(3)]
    whole = received([message for part in parts for message in part]).to_bytes()
    a, b, c = (received(part) for part in parts)

    assert a.copy().merge(b).merge(c).to_bytes() == whole
    assert c.copy().merge(b.copy().merge(a)).to_bytes() == whole
    assert a.copy().merge(a).to_bytes() == a.to_bytes()


@given(histories(), st.data())
def test_dropping_is_an_event_like_any_other(messages: list[Message], data: st.DataObject) -> None:
    """A dropped worker stays away until something newer comes, also when aggregates meet that have not heard of it."""
    before = received(messages)
    gone = data.draw(st.sampled_from(list(before.workers())))
    dropped = before.copy()
    dropped.drop(gone)
    rest = [message for message in messages if message.worker != gone]

    merged, again = before.copy().merge(dropped), dropped.copy()
    for worker, state, sequence, epoch in messages:
        assert not again.put(worker, state, sequence, epoch)

    assert gone not in dropped.workers()
    assert merged.to_bytes() == dropped.to_bytes() == again.to_bytes() == dropped.copy().merge(before).to_bytes()
    assert not rest or dropped.total() == received(rest).total()
    assert again.put(gone, sm.MetricSet(), 0, 9)
    assert gone in again.workers()


@given(histories())
def test_bytes_hold_everything_but_ages(messages: list[Message]) -> None:
    """From bytes, unpickled or copied it is the same, and goes on as it would have."""
    total = received(messages)
    total.drop(next(iter(total.workers())))

    for twin in (sm.from_bytes(total.to_bytes()), pickle.loads(pickle.dumps(total)), total.copy()):
        assert twin == total
        assert twin.workers().keys() == total.workers().keys()
        for worker, state, sequence, epoch in messages:
            assert not twin.put(worker, state, sequence, epoch)


def test_a_state_that_is_put_is_copied() -> None:
    """The worker continues to count without changing the aggregate, and the caller owns the total."""
    total, state = sm.Aggregate(), counted(("x", "x"))

    total.put("w", state, 1)
    state.update("x", "y")
    total.total().update("x", "y")

    assert total.n == total.snapshot().n == 1


def test_a_predecessor_that_still_sends_changes_nothing() -> None:
    """A worker that was replaced by a later epoch is not heard any more, however large its sequence."""
    total = sm.Aggregate()

    assert total.put("w", counted(("x", "x")), sequence=7, epoch=0)
    assert total.put("w", counted(("y", "y")), sequence=0, epoch=1)
    assert not total.put("w", counted(("x", "x"), ("x", "x")), sequence=8, epoch=0)
    assert total.snapshot().labels == ("y",)


def test_ages_tell_who_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The age of a worker counts from its last news; messages that are none do not make it younger."""
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    total = sm.Aggregate()
    total.put("quiet", counted(("x", "x")), 1)
    now = 160.0
    total.put("lively", counted(("x", "x")), 1)
    total.put("quiet", counted(("x", "x")), 1)
    now = 161.5

    ages = {name: worker.age for name, worker in total.workers().items()}

    assert ages == {"lively": 1.5, "quiet": 61.5}
    assert {name: worker.age for name, worker in total.copy().workers().items()} == ages


def test_only_aggregates_merge() -> None:
    """Another accumulator is refused, and bytes cannot nest an aggregate in an aggregate."""
    total = sm.Aggregate()
    total.put("w", counted(("x", "x")), 1)
    with pytest.raises(sm.MergeError, match="to merge an Aggregate, but got a MetricSet"):
        total.merge(sm.MetricSet())  # type: ignore[arg-type]
    ((name, epoch, sequence, _),) = total._content()
    with pytest.raises(ValueError, match="states of workers"):
        sm.Aggregate._restore(((name, epoch, sequence, tuple(packed(sm.Aggregate()))),))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (sm.ConfusionMatrix(), "to merge a MetricSet, but got a ConfusionMatrix"),
        (sm.MetricSet(labels=["x", "y"]), "labels"),
        (sm.Aggregate(), "an accumulator or its bytes"),
        (42, "an accumulator or its bytes, but got 42"),
        (counted(("x", "y")), "one state of worker 'w' under epoch 0 and sequence 1, but got two that differ"),
    ],
)
def test_what_does_not_fit_is_refused(state: Any, reason: str) -> None:
    """Another kind or configuration, or another state under the same numbers, raises and changes nothing."""
    total = sm.Aggregate()
    total.put("w", counted(("x", "x")), 1)
    before = total.to_bytes()

    with pytest.raises(sm.MergeError, match=reason):
        total.put("w", state, 1)

    assert total.to_bytes() == before


def test_aggregates_that_contradict_do_not_merge() -> None:
    """Two different states under the same numbers are an error of the worker, and no half of a merge stays."""
    a, b = sm.Aggregate(), sm.Aggregate()
    for total, pair in ((a, ("x", "x")), (b, ("x", "y"))):
        total.put("w", counted(pair), 1)
    b.put("a", counted(), 1)
    before = a.to_bytes()

    with pytest.raises(sm.MergeError, match="two that differ, of 1 and 1 samples"):
        a.merge(b)

    assert a.to_bytes() == before


@pytest.mark.parametrize(
    ("make", "most", "more"),
    [
        (sm.Accuracy, 2**63 - 2**11, {}),
        (lambda: sm.MetricSet(scores=True), 2**63 - 2**11, {}),
        (sm.RankSketch, 2**63 - 2**11, {}),
        (sm.LogLoss, 2**63 - 2**11, {}),
        (lambda: sm.ByGroup(sm.Accuracy()), 2**63 - 2**11, {"group": 1}),
        (lambda: sm.TimeWindow(sm.Accuracy(), "1h"), 2**63 - 2**11, {"t": 0.0}),
        (lambda: sm.Fading(sm.Accuracy(), 5), 2**62 - 2**20, {}),
    ],
)
def test_a_state_may_count_as_much_as_a_state_can(make: Any, most: int, more: dict[str, Any]) -> None:
    """One worker may have any state, and send it again; with a second one like it there is too much."""
    state, total = make(), sm.Aggregate()
    state.update(1, 1.0, most, **more)
    assert total.put("worker", state, 1)
    assert total.put("worker", state, 2)
    assert total.total() == state
    before = total.to_bytes()
    with pytest.raises(sm.WeightError, match="Expected the weights"):
        total.put("other", state, 1)
    assert total.to_bytes() == before
    assert sm.Aggregate.from_bytes(before) == total


def test_states_that_cannot_merge_are_refused_at_once() -> None:
    """The last samples of two workers are not the last of both, so the first such state is already refused."""
    with pytest.raises(sm.MergeError, match="Rolling"):
        sm.Aggregate().put("w", sm.Rolling(sm.MCC(), 5), 1)


@pytest.mark.parametrize("name", [True, 1.0, None, float("nan"), (1, 2.5), [1]])
def test_names_of_workers_are_unambiguous(name: Any) -> None:
    """A name that equals another of a different type would make the bytes depend on which came first."""
    with pytest.raises(sm.LabelError, match="worker"):
        sm.Aggregate().put(name, sm.MCC(), 1)


def test_arguments_are_named() -> None:
    """Numbers that are no numbers, damaged bytes, an unknown worker, nothing to read."""
    total = sm.Aggregate()

    with pytest.raises(sm.LabelError, match=r"`sequence` to be a whole number, but got 1\.5"):
        total.put("w", sm.MCC(), 1.5)  # type: ignore[arg-type]
    with pytest.raises(sm.DecodeError):
        total.put("w", sm.MCC().to_bytes()[:-1], 1)
    with pytest.raises(KeyError, match="w"):
        total.drop("w")
    with pytest.raises(sm.MergeError, match="at least one state"):
        total.snapshot()
    assert total.workers() == {}


def test_threads_feed_one_aggregate() -> None:
    """The newest state wins, whatever thread brings it."""
    total = sm.Aggregate()
    states = [sm.MetricSet() for _ in range(200)]
    for i, state in enumerate(states):
        state.update_many(["x"] * i, ["x"] * i)

    def send(start: int) -> None:
        for i in range(start, 200, 4):
            total.put("w", states[i], i)

    threads = [threading.Thread(target=send, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert total.workers()["w"][:3] == (0, 199, 199)


def test_windows_and_groups_of_workers() -> None:
    """Panes and groups of all workers come together as they would in one process."""
    total, whole = sm.Aggregate(), sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "1m", 6)
    for worker in range(3):
        state = sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "1m", 6)
        for i in range(10):
            sample: Any = {"t": 1_700_000_000 + 7 * i + worker, "group": i % 2}
            state.update("x", "xy"[i % 2], **sample)
            whole.update("x", "xy"[i % 2], **sample)
        total.put(worker, state, 1)

    assert total.total() == whole
    assert total.snapshot().overall["accuracy"] == whole.snapshot().overall["accuracy"]


def test_a_state_that_is_still_fed_is_taken_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker counts while its state is taken is in the next one: all that is known of it is of one moment."""
    total, state = sm.Aggregate(), sm.ConfusionMatrix()
    state.update("a", "a")
    load_of = module.load_of

    def while_it_counts(states: Any) -> Any:
        load = load_of(states)
        state.update("a", "b")
        return load

    monkeypatch.setattr(module, "load_of", while_it_counts)
    total.put("w", state, 1)

    assert total.workers()["w"].n == total.merge_load[1] == 1
