"""The aggregate of many workers: the sum of the newest state of each, for messages in any order, repeated or not.

Workers restart, are retired, come back and are forgotten; `put` tells what became of each state.
"""

from __future__ import annotations

import pickle
import random
import time
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.refusals import all_refused, refused
from support.state_checks import fed

import stream_metrics as sm
from stream_metrics import PutResult

ACCEPTED, DUPLICATE, STALE, FENCED = PutResult
WORKERS = ["a", "b", 3, ("host", 1), b"raw"]
PAIRS = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz"), st.sampled_from([1, 2, 0.1])), max_size=6)


class Message(NamedTuple):
    """What a worker sends."""

    worker: Any
    state: Any
    sequence: int
    epoch: int


@st.composite
def histories(draw: Any) -> list[Message]:
    """All messages of some workers: in each epoch they start from zero and send all that they have counted since."""
    sent = []
    for worker in draw(st.lists(st.sampled_from(WORKERS), unique=True, min_size=1)):
        for epoch in draw(st.lists(st.integers(-1, 4), unique=True, min_size=1, max_size=3)):
            state = sm.MetricSet()
            for sequence in sorted(draw(st.sets(st.integers(0, 9), min_size=1, max_size=4))):
                fed(state, draw(PAIRS))
                sent.append(Message(worker, state.copy(), sequence, epoch))
    return sent


def received(messages: list[Message], *, as_bytes: bool = False) -> sm.Aggregate:
    """Return an aggregate that got the messages."""
    total = sm.Aggregate()
    for worker, state, sequence, epoch in messages:
        total.put(worker, state.to_bytes() if as_bytes else state, sequence, epoch)
    return total


def matrix(n: int) -> sm.ConfusionMatrix:
    """Return a matrix of n samples."""
    return sm.ConfusionMatrix.from_counts(["a"], ["a"], [n])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the aggregate: a list of one time."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.mark.quick
@given(histories(), st.data())
def test_it_is_the_sum_of_the_newest_states(messages: list[Message], data: st.DataObject) -> None:
    """Lost, repeated and shuffled messages, workers that start again, in one aggregate or in several that merge."""
    arriving = data.draw(st.lists(st.sampled_from(messages), min_size=1, max_size=30))
    a, b, c = (received([arriving[0], *data.draw(st.lists(st.sampled_from(arriving)))]) for _ in range(3))
    rest = received(arriving)
    newest = {message.worker: message for message in sorted(arriving, key=lambda m: (m.epoch, m.sequence))}
    total = received(arriving, as_bytes=data.draw(st.booleans()))

    assert total.total() == sm.merge(message.state for message in newest.values())
    assert {name: worker[:3] for name, worker in total.workers().items()} == {
        name: (message.epoch, message.sequence, message.state.n) for name, message in newest.items()
    }
    assert received(data.draw(st.permutations(arriving))).to_bytes() == total.to_bytes()
    assert received(arriving + arriving).to_bytes() == total.to_bytes()
    assert a.copy().merge(b).merge(c).merge(rest).to_bytes() == total.to_bytes()
    assert rest.copy().merge(c.copy().merge(b.copy().merge(a))).to_bytes() == total.to_bytes()
    assert a.copy().merge(a).to_bytes() == a.to_bytes()


@given(histories(), st.data())
def test_dropping_is_an_event_like_any_other(messages: list[Message], data: st.DataObject) -> None:
    """A dropped worker stays away until something newer comes, also in aggregates that merge, and in copies."""
    before = received(messages)
    gone = data.draw(st.sampled_from(list(before.workers())))
    dropped = before.copy()
    dropped.drop(gone)
    rest = [message for message in messages if message.worker != gone]

    assert before.copy().merge(dropped).to_bytes() == dropped.copy().merge(before).to_bytes() == dropped.to_bytes()
    assert not rest or dropped.total() == received(rest).total()
    for twin in (dropped.copy(), sm.from_bytes(dropped.to_bytes()), pickle.loads(pickle.dumps(dropped))):
        assert twin == dropped
        assert set(twin.workers()) == set(before.workers()) - {gone}
        assert not any(twin.put(*message) for message in messages)
        assert twin.to_bytes() == dropped.to_bytes()
        assert twin.put(gone, sm.MetricSet(), 0, 9)
        assert gone in twin.workers()


@pytest.mark.quick
def test_a_state_that_is_put_is_copied() -> None:
    """The worker counts on without changing the aggregate, also while it is copied; the caller owns the total."""

    class Fed(sm.ConfusionMatrix):
        shared = False

        def copy(self) -> Any:
            twin = super().copy()
            if self.shared:
                self.update("a", "b")  # as another thread may
            return twin

    total, state = sm.Aggregate(), Fed()
    state.update("a", "a")
    state.shared = True
    total.put("w", state, 1)
    state.update("a", "b")
    total.total().update("x", "y")

    assert total.n == total.snapshot().n == total.workers()["w"].n == 1


def test_ages_tell_who_is_silent(clock: list[float]) -> None:
    """The age of a worker counts from its last news; messages that are none do not make it younger."""
    total = sm.Aggregate()
    total.put("quiet", matrix(1), 1)
    clock[0] += 60
    total.put("lively", matrix(1), 1)
    total.put("quiet", matrix(1), 1)
    clock[0] += 1.5

    for each in (total, total.copy()):
        assert {name: worker.age for name, worker in each.workers().items()} == {"lively": 1.5, "quiet": 61.5}
    assert [worker.age for worker in sm.from_bytes(total.to_bytes()).workers().values()] == [0, 0]


@pytest.mark.quick
def test_what_does_not_fit_is_refused() -> None:
    """Another kind or configuration, another state under the same numbers, names, numbers and bytes that are none."""
    total, other = sm.Aggregate(), sm.Aggregate()
    total.put("w", fed(sm.MetricSet(), ["xx"]), 1)
    other.put("a", sm.MetricSet(), 1)
    other.put("w", fed(sm.MetricSet(), ["xy"]), 1)
    before = total.to_bytes()
    put, empty = partial(total.put, "w"), sm.MetricSet()
    all_refused([
        *((partial(put, state, 1), sm.MergeError, about) for state, about in (
            (sm.ConfusionMatrix(), "merge a MetricSet, but got a Confusion"), (sm.MetricSet(labels=["x"]), "labels"),
            *((none, "an accumulator or its bytes") for none in (sm.Aggregate(), 42, sm.BadRows())),
            (fed(sm.MetricSet(), ["xy"]), "worker 'w' under epoch 0 and sequence 1"),
        )),
        *((partial(put, empty, *numbers), sm.LabelError, about)
          for numbers, about in (((1.5,), "`sequence`"), ((1, "x"), "`epoch`"))),
        (partial(put, empty.to_bytes()[:-1], 1), sm.DecodeError, ""),
        (partial(total.merge, empty), sm.MergeError, "to merge an Aggregate, but got a MetricSet"),
        (partial(total.merge, other), sm.MergeError, "two that differ, of 1 and 1 samples"),
        *((partial(total.put, name, empty, 1), sm.LabelError, "worker")
          for name in (True, 1.0, None, float("nan"), (1, 2.5), [1])),
        *((partial(change, "x"), KeyError, "'x'") for change in (total.drop, total.retire)),
        *((partial(act, x), sm.LabelError, "older") for act in (total.expire, total.compact) for x in (-1, True, "1")),
        (partial(sm.Aggregate().put, "w", sm.Rolling(sm.MCC(), 5), 1), sm.MergeError, "Rolling"),
        (sm.Aggregate().snapshot, sm.MergeError, "at least one state"),
        (partial(sm.merge, []), sm.MergeError, "at least one state"),
    ])  # fmt: skip

    assert total.to_bytes() == before
    assert sm.Aggregate().workers() == {}


def test_a_state_may_count_as_much_as_a_state_can() -> None:
    """One worker may have any state, and send it again; with a second one like it there is too much."""
    heavy = 2**63 - 2**11
    cases: list[tuple[Any, int, dict[str, Any]]] = [
        *((state, heavy, {}) for state in (sm.Accuracy(), sm.MetricSet(scores=True), sm.RankSketch(), sm.LogLoss())),
        (sm.ByGroup(sm.Accuracy()), heavy, {"group": 1}),
        (sm.TimeWindow(sm.Accuracy(), "1h"), heavy, {"t": 0.0}),
        (sm.Fading(sm.Accuracy(), 5), 2**62 - 2**20, {}),
    ]
    for state, most, more in cases:
        total = sm.Aggregate()
        state.update(1, 1.0, most, **more)
        assert all(total.put("worker", state, sequence) for sequence in (1, 2))
        assert total.total() == state
        before = total.to_bytes()
        refused(lambda: total.put("other", state, 1), sm.WeightError, "Expected the weights")  # noqa: B023
        assert total.to_bytes() == before
        assert sm.Aggregate.from_bytes(before) == total


@pytest.mark.parametrize("seed", range(2))
def test_totals_of_scores_groups_and_windows(seed: int) -> None:
    """Partial sums give the bytes of one merge, for states that cannot subtract as well."""
    rng = random.Random(seed)
    total, states = sm.Aggregate(), {}
    for turn in range(60):
        worker = rng.randrange(25)
        state: Any = sm.TimeWindow(sm.ByGroup(sm.MetricSet(scores=True)), "1m", 6) if seed else sm.ByGroup(sm.MCC())
        for _ in range(rng.randrange(4)):
            truth, score = rng.random() < 0.5, rng.random()
            more = {"t": 1_700_000_000 + turn} if seed else {}
            state.update(truth, score if seed else score < 0.5, group=rng.choice("xy"), **more)
        sequence = total.workers()[worker].sequence + 1 if worker in states else 0
        assert total.put(worker, state, sequence)
        states[worker] = state
        assert total.total() == sm.merge(states.values())
    assert repr(total.snapshot().overall) == repr(sm.merge(states.values()).snapshot().overall)


def test_reading_after_each_change_costs_one_path() -> None:
    """Of 600 states one path of four levels is merged again, not all."""
    merges = []

    class Counting(sm.ConfusionMatrix):
        KIND = "counting"

        def merge(self, other: Any) -> Any:
            merges.append(1)
            return super().merge(other)

    total = sm.Aggregate()
    for name in range(600):
        total.put(name, Counting(), 1)
    total.total()
    merges.clear()
    for name in range(0, 600, 60):
        total.put(name, Counting(), 2)
        total.total()
    assert len(merges) <= 10 * (4 * 7 + 3)


@pytest.mark.quick
def test_put_says_what_became_of_a_state() -> None:
    """Accepted, duplicate, stale and fenced; only the first is true, and each is counted by worker."""
    total = sm.Aggregate()
    sent = [(2, 2, 1), (2, 2, 1), (1, 1, 1), (9, 9, 0), (1, 0, 2), (3, 3, 1)]  # samples, sequence, epoch
    results = [total.put("w", matrix(n), sequence, epoch) for n, sequence, epoch in sent]

    assert results == [ACCEPTED, DUPLICATE, STALE, FENCED, ACCEPTED, FENCED]
    assert [bool(result) for result in results] == [True, False, False, False, True, False]
    assert [str(result) for result in PutResult] == ["accepted", "duplicate", "stale", "fenced"]
    assert total.workers()["w"][:3] == (2, 0, 1)
    assert total.workers()["w"][4:] == total.copy().workers()["w"][4:] == (2, 1, 1, 2)
    assert sm.from_bytes(total.to_bytes()).workers()["w"][4:] == (0, 0, 0, 0)


@given(st.lists(st.integers(-(2**62), 2**62), max_size=5))
def test_a_registered_epoch_is_larger_than_all_before(epochs: list[int]) -> None:
    """Also than those that come from clocks in nanoseconds, and those in bytes; and two aggregates differ."""
    total = sm.Aggregate()
    for at, epoch in enumerate(epochs):
        total.put(at, matrix(1), 1, epoch)
    first, second = total.register("w"), total.register("other")
    restored = sm.from_bytes(total.to_bytes()).register("w")

    assert max([0, *epochs]) < first < second < 2**63
    assert restored > max([0, *epochs])
    assert restored not in (first, second)


@pytest.mark.quick
def test_an_earlier_life_is_replaced_or_folded() -> None:
    """From a checkpoint the new states contain the old counts; from nothing they do not; a late clock is fenced."""
    old, behind = 1_700_000_000_000_000_000, 1_699_999_000_000_000_000
    for fold in (False, True):
        total = sm.Aggregate()
        total.put("w", matrix(5), 1, old)
        assert total.put("w", matrix(1), 1, behind) is FENCED
        epoch = total.register("w")
        assert total.put("w", matrix(6), 2, old)  # the old life goes on until the new one reports
        assert total.put("w", matrix(2), 1, epoch, fold=fold)
        assert total.put("w", matrix(2), 1, epoch, fold=fold) is DUPLICATE
        assert total.put("w", matrix(3), 2, epoch, fold=fold)
        assert total.put("w", matrix(7), 3, old) is FENCED
        assert total.total() == matrix(9 if fold else 3)


def test_the_silent_are_expired_and_forgotten(clock: list[float]) -> None:
    """Their counts stay, and no late message counts again, before and after their numbers are forgotten."""
    total = sm.Aggregate()
    quiet = total.register("quiet")
    total.put("quiet", matrix(3), 1, quiet)
    clock[0] += 50
    lively = total.register("lively")
    total.put("lively", matrix(4), 1, lively)
    clock[0] += 20

    assert [total.expire(older_than=60) for _ in range(2)] == [["quiet"], []]
    assert list(total.workers()) == ["lively"]
    assert total.put("quiet", matrix(4), 2, quiet) is FENCED
    assert total.compact(older_than=1) == 0
    clock[0] += 1
    assert total.compact(older_than=1) == 1
    assert total.put("quiet", matrix(4), 2, quiet) is FENCED
    assert total.put("lively", matrix(5), 2, lively) is ACCEPTED
    assert total.put("quiet", matrix(1), 1, total.register("quiet")) is ACCEPTED
    assert total.n == total.snapshot().n == 3 + 5 + 1
    assert total.total() == matrix(9)


@pytest.mark.quick
def test_a_worker_that_was_retired_is_none() -> None:
    """It cannot be retired or dropped again, and its counts stay without any worker."""
    total, dropped = sm.Aggregate(), sm.Aggregate()
    for each, leave in ((total, total.retire), (dropped, dropped.drop)):
        each.put("w", matrix(3), 1)
        leave("w")
        all_refused((partial(change, "w"), KeyError, "'w'") for change in (each.retire, each.drop))
    for state, about in ((total, "Aggregate"), (sm.MetricSet(), "ConfusionMatrix")):
        refused(partial(total.put, "x", state, 1), sm.MergeError, about)
    assert (total.workers(), total.total()) == ({}, matrix(3))
    assert dropped.put("x", sm.MetricSet(), 1)  # of another kind, as nothing is there


def test_aggregates_merge_if_one_at_most_has_retired_workers() -> None:
    """A worker that one has retired and the other still counts is counted once; two bases are refused."""
    a, b = sm.Aggregate(), sm.Aggregate()
    for total in a, b:
        total.put("w", matrix(3), 1, 1)
    b.put("w", matrix(4), 2, 1)
    b.put("x", matrix(2), 1, 1)
    a.retire("w")
    one, other = a.copy().merge(b), b.copy().merge(a)

    assert one.to_bytes() == other.to_bytes() == one.copy().merge(a).merge(b).to_bytes()
    assert one.n == 3 + 2
    assert one.put("w", matrix(5), 3, 1) is FENCED
    b.retire("x")
    refused(lambda: a.merge(b), sm.MergeError, "one at most has retired workers")


def test_a_worker_that_may_have_been_forgotten_is_not_merged() -> None:
    """It would be counted in the base and again by itself."""
    a, b, c = sm.Aggregate(), sm.Aggregate(), sm.Aggregate()
    for total in a, b:
        total.put("w", matrix(3), 1, 7)
    a.retire("w")
    a.compact()
    for one, two in ((a, b), (b, a)):
        refused(lambda: one.copy().merge(two), sm.MergeError, "epochs above 7")  # noqa: B023
    c.put("w", matrix(1), 1, 8)
    assert a.merge(c).n == b.n + 1


class Lives(RuleBasedStateMachine):
    """An aggregate against what each worker counted in each of its lives."""

    @initialize()
    def begin(self) -> None:
        self.total = sm.Aggregate()
        self.lives: dict[tuple[str, int], list[int]] = {}  # the counts that were sent, by worker and epoch
        self.counting: dict[str, int] = {}  # the epoch of each worker that counts
        self.base = 0

    def end(self, worker: str) -> int:
        return self.lives[worker, self.counting.pop(worker)][-1] if worker in self.counting else 0

    @rule(worker=st.sampled_from("abc"), more=st.integers(0, 3))
    def start(self, worker: str, more: int) -> None:
        epoch = self.total.register(worker)
        self.lives[worker, epoch] = [more]
        assert self.total.put(worker, matrix(more), 0, epoch, fold=True)
        self.base += self.end(worker)
        self.counting[worker] = epoch

    @rule(data=st.data(), more=st.integers(0, 3))
    def send(self, data: st.DataObject, more: int) -> None:
        if self.counting:
            worker = data.draw(st.sampled_from(sorted(self.counting)))
            sent = self.lives[worker, self.counting[worker]]
            sent.append(sent[-1] + more)
            assert self.total.put(worker, matrix(sent[-1]), len(sent) - 1, self.counting[worker], fold=True)

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        if self.lives:
            worker, epoch = data.draw(st.sampled_from(sorted(self.lives)))
            sent = self.lives[worker, epoch]
            at = data.draw(st.integers(0, len(sent) - 1))
            expected = DUPLICATE if at == len(sent) - 1 else STALE
            expected = expected if self.counting.get(worker) == epoch else FENCED
            assert self.total.put(worker, matrix(sent[at]), at, epoch, fold=True) is expected

    @rule(worker=st.sampled_from("abc"), method=st.sampled_from(["retire", "drop"]))
    def leave(self, worker: str, method: str) -> None:
        if worker in self.counting:
            getattr(self.total, method)(worker)
            counts = self.end(worker)
            self.base += counts if method == "retire" else 0

    @rule()
    def compact(self) -> None:
        self.total.compact()

    @rule()
    def travel(self) -> None:
        self.total = sm.from_bytes(self.total.to_bytes())

    @rule()
    def copy(self) -> None:
        before, self.total = self.total, self.total.copy()
        before.reset()

    @invariant()
    def every_sample_counts_once(self) -> None:
        live = sum(self.lives[life][-1] for life in self.counting.items())
        assert self.total.n == live + self.base
        assert set(self.total.workers()) == set(self.counting)
        if self.total.n:
            assert self.total.total() == matrix(live + self.base)


TestLives = Lives.TestCase


def test_the_first_worker_by_name_says_what_is_shown() -> None:
    """Also after others came, were dropped, were retired or came back."""
    total = sm.Aggregate()
    sets = {name: sm.MetricSet([key]) for name, key in (("a", "accuracy"), ("b", "macro_f1"), (1, "micro_f1"))}

    def shown(aggregate: sm.Aggregate = total) -> str:
        return str(aggregate.total().metrics[0])

    for name in ("b", "a", 1):
        assert total.put(name, sets[name], 1)
        assert shown() == shown(sm.from_bytes(total.to_bytes())) == sets[name].metrics[0]
    total.drop(1)
    assert shown() == "accuracy"
    total.retire("a")
    assert shown() == shown(total.copy()) == "macro_f1"
    assert total.put("a", sets["a"], 1, total.register("a"))
    assert shown() == "accuracy"
    other = sm.Aggregate()
    other.put(0, sets["b"], 1)
    assert shown(other.merge(total)) == "macro_f1"
    total.reset()
    assert total.put("b", sets["b"], 1)
    assert shown() == "macro_f1"


def test_a_worker_that_registered_may_report_late() -> None:
    """Its first state counts once, though larger epochs were forgotten before it came."""
    total, state = sm.Aggregate(), matrix(1)
    late, later = total.register("late"), total.register("later")
    total.put("later", state, 1, later)
    total.retire("later")
    assert total.compact() == 1
    assert total.put("stranger", state, 1, late) is FENCED
    assert total.copy().put("late", state, 1, late) is ACCEPTED
    older = total.copy()
    assert total.put("late", state, 1, late) is ACCEPTED
    total.retire("late")
    assert total.compact() == 1
    for aggregate in (total, total.copy(), sm.Aggregate().merge(total), sm.from_bytes(total.to_bytes())):
        assert aggregate.put("late", state, 2, late) is FENCED
        assert aggregate.n == 2
    fresh = sm.Aggregate()
    fresh._restore_registered("late", late)  # as an older copy has it
    assert fresh.merge(total).put("late", state, 2, late) is FENCED
    refused(lambda: older.merge(total), sm.MergeError)
