"""Workers of an aggregate that restart, are retired, come back and are forgotten; and what `put` says of each state."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import stream_metrics as sm
from stream_metrics import PutResult
from stream_metrics.containers import aggregate as module

ACCEPTED, DUPLICATE, STALE, FENCED = PutResult


def counted(n: int) -> sm.ConfusionMatrix:
    """Return a matrix of n samples."""
    state = sm.ConfusionMatrix()
    state.update_many(["a"] * n, ["a"] * n)
    return state


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the aggregate: a list of one time."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_put_says_what_became_of_a_state() -> None:
    """Accepted, duplicate, stale and fenced; only the first is true, and each is counted by worker."""
    total = sm.Aggregate()

    results = [
        total.put("w", counted(2), 2, 1),
        total.put("w", counted(2), 2, 1),
        total.put("w", counted(1), 1, 1),
        total.put("w", counted(9), 9, 0),
        total.put("w", counted(1), 0, 2),
        total.put("w", counted(3), 3, 1),
    ]

    assert results == [ACCEPTED, DUPLICATE, STALE, FENCED, ACCEPTED, FENCED]
    assert [bool(result) for result in results] == [True, False, False, False, True, False]
    assert [str(result) for result in PutResult] == ["accepted", "duplicate", "stale", "fenced"]
    assert total.workers()["w"][4:] == (2, 1, 1, 2)
    assert total.copy().workers()["w"][4:] == (2, 1, 1, 2)
    assert sm.from_bytes(total.to_bytes()).workers()["w"][4:] == (0, 0, 0, 0)


@given(st.lists(st.integers(-(2**62), 2**62), max_size=5))
def test_a_registered_epoch_is_larger_than_all_before(epochs: list[int]) -> None:
    """Also than those that come from clocks in nanoseconds, and those in bytes; and two aggregates differ."""
    total = sm.Aggregate()
    for at, epoch in enumerate(epochs):
        total.put(at, counted(1), 1, epoch)

    first, second = total.register("w"), total.register("other")
    restored = sm.from_bytes(total.to_bytes()).register("w")

    assert max([0, *epochs]) < first < second < 2**63
    assert restored > max([0, *epochs])
    assert restored not in (first, second)


def test_a_worker_whose_clock_is_behind() -> None:
    """A restarted worker that registers counts at once, for any clock; one that does not is fenced."""
    total = sm.Aggregate()
    total.put("w", counted(5), 1, epoch=1_700_000_000_000_000_000)

    assert total.put("w", counted(1), 1, epoch=1_699_999_000_000_000_000) is FENCED
    assert total.put("w", counted(1), 1, epoch=total.register("w"), fold=True) is ACCEPTED
    assert total.n == 6


def test_an_earlier_life_is_replaced_or_folded() -> None:
    """From a checkpoint the new states contain the old counts; from nothing they do not."""
    replaced, folded = sm.Aggregate(), sm.Aggregate()
    for total, fold in ((replaced, False), (folded, True)):
        total.put("w", counted(5), 1, 1)
        epoch = total.register("w")
        assert total.put("w", counted(6), 2, 1)  # the old life goes on until the new one reports
        assert total.put("w", counted(2), 1, epoch, fold=fold)
        assert total.put("w", counted(2), 1, epoch, fold=fold) is DUPLICATE
        assert total.put("w", counted(3), 2, epoch, fold=fold)
        assert total.put("w", counted(7), 3, 1) is FENCED

    assert (replaced.n, folded.n) == (3, 9)
    assert folded.total() == counted(9)


def test_the_silent_are_expired_and_forgotten(clock: list[float]) -> None:
    """Their counts stay, and no late message counts again, before and after their numbers are forgotten."""
    total = sm.Aggregate()
    quiet = total.register("quiet")
    total.put("quiet", counted(3), 1, quiet)
    clock[0] += 50
    lively = total.register("lively")
    total.put("lively", counted(4), 1, lively)
    clock[0] += 20

    assert total.expire(older_than=60) == ["quiet"]
    assert total.expire(older_than=60) == []
    assert list(total.workers()) == ["lively"]
    assert total.put("quiet", counted(4), 2, quiet) is FENCED
    assert total.compact(older_than=1) == 0
    clock[0] += 1
    assert total.compact(older_than=1) == 1
    assert total.put("quiet", counted(4), 2, quiet) is FENCED
    assert total.put("lively", counted(5), 2, lively) is ACCEPTED
    assert total.put("quiet", counted(1), 1, total.register("quiet")) is ACCEPTED
    assert total.n == total.snapshot().n == 3 + 5 + 1
    assert total.total() == counted(9)


def test_a_worker_that_was_retired_is_none() -> None:
    """It cannot be retired or dropped again, and its counts stay without any worker."""
    total = sm.Aggregate()
    total.put("w", counted(3), 1)
    total.retire("w")

    for change in (total.retire, total.drop):
        with pytest.raises(KeyError, match="w"):
            change("w")
    with pytest.raises(sm.LabelError, match="older_than"):
        total.expire(-1)
    with pytest.raises(sm.MergeError, match="Aggregate"):
        total.put("x", total, 1)  # type: ignore[arg-type]
    with pytest.raises(sm.MergeError, match="ConfusionMatrix"):
        total.put("x", sm.MetricSet(), 1)
    assert (total.workers(), total.total()) == ({}, counted(3))


def test_many_workers_that_came_and_went_need_little_memory() -> None:
    """Ten thousand workers with a name of their own leave one state in the bytes."""
    total = sm.Aggregate()
    for number in range(300):
        total.put(f"pod-{number}", counted(10), 1, total.register(f"pod-{number}"))
        total.retire(f"pod-{number}")
    assert total.compact() == 300

    assert len(total.to_bytes()) < len(counted(3000).to_bytes()) + 100
    assert total.total() == counted(3000)


def test_aggregates_merge_if_one_at_most_has_retired_workers() -> None:
    """A worker that one has retired and the other still counts is counted once; two bases are refused."""
    a, b = sm.Aggregate(), sm.Aggregate()
    for total in a, b:
        total.put("w", counted(3), 1, 1)
    b.put("w", counted(4), 2, 1)
    b.put("x", counted(2), 1, 1)
    a.retire("w")

    one, other = a.copy().merge(b), b.copy().merge(a)

    assert one.to_bytes() == other.to_bytes() == one.copy().merge(a).merge(b).to_bytes()
    assert one.n == 3 + 2
    assert one.put("w", counted(5), 3, 1) is FENCED
    b.retire("x")
    with pytest.raises(sm.MergeError, match="one at most has retired workers"):
        a.merge(b)


def test_a_worker_that_may_have_been_forgotten_is_not_merged() -> None:
    """It would be counted in the base and again by itself."""
    a, b = sm.Aggregate(), sm.Aggregate()
    for total in a, b:
        total.put("w", counted(3), 1, 7)
    a.retire("w")
    a.compact()

    for one, two in ((a, b), (b, a)):
        with pytest.raises(sm.MergeError, match="epochs above 7"):
            one.copy().merge(two)
    c = sm.Aggregate()
    c.put("w", counted(1), 1, 8)
    assert a.merge(c).n == b.n + 1


class Lives(RuleBasedStateMachine):
    """An aggregate against what each worker counted in each of its lives."""

    @initialize()
    def begin(self) -> None:
        self.total = sm.Aggregate()
        self.lives: dict[tuple[str, int], list[int]] = {}  # the counts that were sent, by worker and epoch
        self.counting: dict[str, int] = {}  # the epoch of each worker that counts
        self.over: set[tuple[str, int]] = set()
        self.base = 0

    @rule(worker=st.sampled_from("abc"), more=st.integers(0, 3))
    def start(self, worker: str, more: int) -> None:
        epoch = self.total.register(worker)
        self.lives[worker, epoch] = [more]
        assert self.total.put(worker, counted(more), 0, epoch, fold=True)
        if worker in self.counting:
            self.base += self._end(worker)
        self.counting[worker] = epoch

    def _end(self, worker: str) -> int:
        epoch = self.counting.pop(worker)
        self.over.add((worker, epoch))
        return self.lives[worker, epoch][-1]

    @rule(data=st.data(), more=st.integers(0, 3))
    def send(self, data: st.DataObject, more: int) -> None:
        if self.counting:
            worker = data.draw(st.sampled_from(sorted(self.counting)))
            sent = self.lives[worker, self.counting[worker]]
            sent.append(sent[-1] + more)
            assert self.total.put(worker, counted(sent[-1]), len(sent) - 1, self.counting[worker], fold=True)

    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        if self.lives:
            worker, epoch = data.draw(st.sampled_from(sorted(self.lives)))
            sent = self.lives[worker, epoch]
            at = data.draw(st.integers(0, len(sent) - 1))
            result = self.total.put(worker, counted(sent[at]), at, epoch, fold=True)
            fenced = (worker, epoch) in self.over
            assert result is (FENCED if fenced else DUPLICATE if at == len(sent) - 1 else STALE)

    @rule(worker=st.sampled_from("abc"))
    def retire(self, worker: str) -> None:
        if worker in self.counting:
            self.total.retire(worker)
            self.base += self._end(worker)

    @rule(worker=st.sampled_from("abc"))
    def drop(self, worker: str) -> None:
        if worker in self.counting:
            self.total.drop(worker)
            self._end(worker)

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
        assert self.total.merge_load[1] == live + self.base
        assert set(self.total.workers()) == set(self.counting)
        if self.total.n:
            assert self.total.total() == counted(live + self.base)


TestLives = Lives.TestCase


@pytest.mark.parametrize("seed", range(3))
def test_totals_of_scores_and_groups(seed: int) -> None:
    """Partial sums give the bytes of one merge, for states that cannot subtract as well."""
    rng = random.Random(seed)
    total, states = sm.Aggregate(), {}
    for _ in range(60):
        worker = rng.randrange(25)
        state: Any = sm.ByGroup(sm.MetricSet(scores=True))
        for _ in range(rng.randrange(4)):
            state.update(rng.random() < 0.5, rng.random(), group=rng.choice("xy"))
        sequence = total.workers()[worker].sequence + 1 if worker in states else 0
        assert total.put(worker, state, sequence)
        states[worker] = state
        assert total.total() == sm.merge(states.values())


def test_the_first_worker_by_name_says_what_is_shown() -> None:
    """Also after others came, were dropped, were retired or came back."""
    total = sm.Aggregate()
    sets = {name: sm.MetricSet([key]) for name, key in (("a", "accuracy"), ("b", "macro_f1"), (1, "micro_f1"))}

    def shown() -> str:
        return str(total.total().metrics[0])

    for name, key in (("b", "macro_f1"), ("a", "accuracy"), (1, "micro_f1")):
        assert total.put(name, sets[name], 1)
        assert shown() == sm.from_bytes(total.to_bytes()).total().metrics[0] == key
    total.drop(1)
    assert shown() == "accuracy"
    total.retire("a")
    assert shown() == total.copy().total().metrics[0] == "macro_f1"
    assert total.put("a", sets["a"], 1, total.register("a"))
    assert shown() == "accuracy"
    other = sm.Aggregate()
    other.put(0, sets["b"], 1)
    assert other.merge(total).total().metrics == ("macro_f1",)
    total.reset()
    assert total.put("b", sets["b"], 1)
    assert shown() == "macro_f1"


def test_a_worker_that_registered_may_report_late() -> None:
    """Its first state counts once, though larger epochs were forgotten before it came."""
    total = sm.Aggregate()
    late, later = total.register("late"), total.register("later")
    state = sm.Accuracy()
    state.update("a", "a")
    total.put("later", state, 1, later)
    total.retire("later")
    assert total.compact() == 1
    assert total.put("stranger", state, 1, late) is sm.PutResult.FENCED
    assert total.copy().put("late", state, 1, late) is sm.PutResult.ACCEPTED
    older = total.copy()
    assert total.put("late", state, 1, late) is sm.PutResult.ACCEPTED
    total.retire("late")
    assert total.compact() == 1
    for aggregate in (total, total.copy(), sm.Aggregate().merge(total), sm.from_bytes(total.to_bytes())):
        assert aggregate.put("late", state, 2, late) is sm.PutResult.FENCED
        assert aggregate.n == 2
    fresh = sm.Aggregate()
    fresh.restore_registered("late", late)  # as an older copy has it
    assert fresh.merge(total).put("late", state, 2, late) is sm.PutResult.FENCED
    with pytest.raises(sm.MergeError):
        older.merge(total)
