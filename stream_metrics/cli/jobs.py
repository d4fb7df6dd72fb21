"""``run --jobs N``: row groups, or files, dealt out to processes that each count into a state of their own.

Each process gets the next piece when it is done with the last, so pieces of uneven cost balance. It counts into an
empty state of the configuration of the run and sends it as bytes at the end; the merge of all is what one process would
have counted, byte for byte. Pieces are numbered, so bad records are reported in their order whoever met them; of errors
that end the run, the first.

Processes are spawned, which takes about half a second. A fork takes none, but has a copy of the locks of Arrow's and
NumPy's threads without the threads that would release them, so that it may wait for ever.

Ctrl-C reaches all processes of a terminal. Those that count ignore it: the one that deals tells them to stop, and they
do after the batch at hand, so what is merged is what was counted. They stop as well when the one that deals is gone,
and it ends the run when one of them is.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli.counting import SHOWN, Counter, Skipped
from stream_metrics.cli.interrupts import interrupts_held
from stream_metrics.cli.problems import Problem, UsageProblem
from stream_metrics.cli.progress import INTERVAL, Progress
from stream_metrics.cli.reading import Fields, rows
from stream_metrics.cli.sources import PARQUET, opened

__all__ = ["Dealer", "Task"]

LINES = 4096  # of text between two looks at the dealer
STOP = None


class Task(NamedTuple):
    """What all pieces have in common: the format, the fields, the empty state as bytes, whether bad records may be."""

    form: str
    fields: Fields
    empty: bytes
    skip: bool


class _Stopped(Exception):
    """The dealer wants no more."""


class _Worker:
    """One process: counts the pieces that come, one after another."""

    def __init__(self, dealer: Connection, task: Task) -> None:
        self._dealer, self._task = dealer, task
        self._place = "row" if task.form == PARQUET else "line"
        state = sm.from_bytes(task.empty)
        self._counter = Counter(state, task.fields, Skipped(task.skip, self._place), 0, lambda: None)
        self._next = 0.0
        if task.form == PARQUET:
            from stream_metrics.cli.parquet import Reader

            self._reader = Reader(task.fields)

    def run(self) -> None:
        """Count until told to stop, then send the state."""
        while (piece := self._dealer.recv()) is not STOP:
            if not self._count(piece):
                break
        self._dealer.send(("state", self._counter.state.to_bytes()))

    def _count(self, piece: Any) -> bool:
        """Count a piece and say what came of it; False if told to stop."""
        skipped = self._counter.skipped = Skipped(self._task.skip, self._place)
        going = True
        try:
            (self._count_text if isinstance(piece, str) else self._count_groups)(piece)
        except _Stopped:
            self._counter.flush()
            going = False
        except (Problem, MemoryError) as error:
            self._dealer.send(("problem", str(error) or "out of memory", getattr(error, "status", 1)))
            return True
        self._dealer.send(("done", self._counter.seen, skipped.count, skipped.first))
        return going

    def _count_groups(self, unit: Any) -> None:
        before = self._counter.passed
        batches = self._reader.batches(unit)
        self._counter.feed_batches(unit.path, batches, lambda: self._tick(self._counter.passed - before))

    def _count_text(self, path: str) -> None:
        with opened(path, self._task.form) as source:
            number = 0

            def tick() -> None:
                nonlocal number
                number += 1
                if number % LINES == 0:
                    self._tick(source.position())

            self._counter.feed(source.name, rows(source, self._task.fields, self._counter.refuse), tick)

    def _tick(self, done: int) -> None:
        """Tell the dealer, now and then, how much of the piece is done; stop if it says so."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + INTERVAL / 2
            self._dealer.send(("seen", self._counter.seen, done))
        if self._dealer.poll():
            self._dealer.recv()  # it says nothing but to stop meanwhile, or is gone
            raise _Stopped


def _work(dealer: Connection, task: Task) -> None:
    """Be a process that counts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        _Worker(dealer, task).run()
    except (EOFError, ConnectionError):  # nobody is left to count for
        return


class _Hand:
    """What the dealer knows of a process: its end of the line, its piece, how far it is."""

    def __init__(self, context: Any, task: Task) -> None:
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, task), daemon=True)
        self.process.start()
        theirs.close()  # so that the line ends when the process does
        self.piece: int | None = None
        self.seen = self.done = 0
        self.state: bytes | None = None

    def send(self, message: Any) -> None:
        """Send, unless it is gone, which shows when it is listened to."""
        with suppress(ConnectionError):
            self.line.send(message)

    def receive(self) -> Any:
        """Return the next message; Problem if there is none any more."""
        try:
            return self.line.recv()
        except (EOFError, ConnectionError):
            self.process.join(5)
            code = self.process.exitcode or 0
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
            raise Problem(f"a process of --jobs {how}, out of memory perhaps; nothing is saved") from None

    def end(self) -> None:
        """End the process, whatever it does."""
        self.line.close()
        self.process.kill()
        self.process.join()


class Dealer:
    """Deals out pieces of known sizes to processes."""

    def __init__(self, task: Task, pieces: Sequence[tuple[Any, int]], number: int) -> None:
        self._task, self._pieces, self._number = task, pieces, number
        self._hands: list[_Hand] = []
        self._next = 0
        self._finished = 0
        self._reports: dict[int, tuple[int, list[dict[str, Any]]]] = {}
        self._problem: tuple[float, str, int] = (math.inf, "", 0)

    def reached(self) -> tuple[int, float]:
        """Return how many records were counted, and how much of all pieces is done."""
        return sum(hand.seen for hand in self._hands), self._finished + sum(hand.done for hand in self._hands)

    def count(self, state: Any, skipped: Skipped, progress: Progress) -> bool:
        """Count all pieces into ``state``; tell whether Ctrl-C ended it."""
        interrupted = False
        try:
            try:
                self._start()
                self._deal(progress)
            except KeyboardInterrupt:
                interrupted = True
            try:
                with interrupts_held():
                    self._collect()
                    self._merge(state)
            except KeyboardInterrupt:  # came at the end, when all was there
                interrupted = True
        finally:
            for hand in self._hands:
                hand.end()
        reports = [report for _, report in sorted(self._reports.items())]
        skipped.count += sum(count for count, _ in reports)
        skipped.first = list(chain(skipped.first, *(first for _, first in reports)))[:SHOWN]
        return interrupted

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        with _no_interrupts():
            for _ in range(self._number):
                self._hands.append(_Hand(context, self._task))
        with interrupts_held():
            for hand in self._hands:
                self._give(hand)

    def _give(self, hand: _Hand) -> None:
        """Give a process the next piece, if there is one and all before are well."""
        hand.piece, hand.done = None, 0
        if self._next < min(len(self._pieces), self._problem[0]):
            hand.piece = self._next
            self._next += 1
            hand.send(self._pieces[hand.piece][0])

    def _deal(self, progress: Progress) -> None:
        """Wait for messages until all pieces are done, or all before the one with the first problem."""
        while busy := [hand for hand in self._hands if hand.piece is not None and hand.piece < self._problem[0]]:
            ready = wait([hand.line for hand in busy], INTERVAL if progress.live else None)
            with interrupts_held():
                for hand in busy:
                    if hand.line in ready:
                        self._listen(hand)
            if progress.tick is not None:
                progress.tick()

    def _listen(self, hand: _Hand) -> None:
        kind, *held = hand.receive()
        if kind == "state":
            hand.state = held[0]
        elif kind == "seen":
            hand.seen, hand.done = held
        elif hand.piece is None:
            raise AssertionError(f"Expected no {kind} of a process without a piece")
        elif kind == "problem":
            self._problem = min(self._problem, (hand.piece, *held))
            hand.piece = None
        else:
            hand.seen, *report = held
            self._reports[hand.piece] = report
            self._finished += self._pieces[hand.piece][1]
            self._give(hand)

    def _collect(self) -> None:
        """Tell all processes to stop, and wait for their states."""
        self._raise_problem()
        self._next = len(self._pieces)
        for hand in self._hands:
            hand.send(STOP)
        for hand in self._hands:
            while hand.state is None:
                self._listen(hand)
        self._raise_problem()

    def _raise_problem(self) -> None:
        piece, reason, status = self._problem
        if piece < math.inf:
            raise (UsageProblem if status == UsageProblem.status else Problem)(reason)

    def _merge(self, state: Any) -> None:
        try:
            for hand in self._hands:
                state.merge(sm.from_bytes(hand.state or b""))
        except sm.StreamMetricsError as error:
            raise Problem(f"the counts of all processes together: {error}") from None


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C, also for the processes that are started meanwhile, which learn to ignore it first."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else it is started with the first process, and lets Ctrl-C through after that
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
