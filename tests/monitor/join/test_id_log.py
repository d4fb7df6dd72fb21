"""The log of remembered ids: small segments grow until they are full, and no kill or failure changes what is known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_metrics.monitor.join import id_memory
from stream_metrics.monitor.join.id_memory import IdMemory
from stream_metrics.monitor.store.rows import Segment


class Log:
    """The memory of ids of a partition and the rows that a store has of it; a checkpoint may fail."""

    def __init__(self) -> None:
        self.memory = IdMemory(64.0, 10)
        self.rows: dict[int, Segment] = {}
        self.content = self.memory.content()

    def checkpoint(self, fails: bool) -> None:
        """Write what has changed, all or nothing."""
        done, content = self.memory.prepared(), self.memory.content()
        if fails:
            return
        self.rows = {number: row for number, row in self.rows.items() if number >= done.first}
        if done.segment is not None:
            self.rows[done.segment.number] = done.segment
        self.content = content
        self.memory.written(done)

    def restart(self) -> None:
        """Go on with what was written last."""
        self.memory = IdMemory(64.0, 10)
        self.memory.load(self.content, [row for _, row in sorted(self.rows.items())])


ACTS = st.one_of(
    st.tuples(st.just("event"), st.integers(0, 60), st.sampled_from([0.0, 0.5, 3.0, 40.0])),
    st.tuples(st.just("remark"), st.integers(0, 60), st.integers(2, 255)),
    st.tuples(st.sampled_from(["checkpoint", "checkpoint", "failing checkpoint", "kill"])),
)


@settings(max_examples=150)
@given(st.lists(ACTS, max_size=120), st.sampled_from([1, 4, 512]))
def test_checkpoints_kills_and_replays_leave_the_same_ids(acts: list[Any], full: int) -> None:
    """After a kill the events since the last checkpoint come again: the ids are those of a run without kills."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(id_memory, "FULL", full)
        log, straight, since = Log(), IdMemory(64.0, 10), list[Any]()
        time = 1000.0
        for kind, *what in [*acts, ("checkpoint",), ("kill",)]:
            if kind == "event":
                time += what[1]
            if kind in ("event", "remark"):
                since.append((kind, time, *what))
                apply(log.memory, *since[-1])
                apply(straight, *since[-1])
            elif kind == "kill":
                log.restart()
                for each in since:
                    apply(log.memory, *each)
            else:
                log.checkpoint(fails=kind == "failing checkpoint")
                since = since if kind == "failing checkpoint" else []
            assert log.memory.content() == straight.content()
            assert [log.memory.mark(key) for key in range(61)] == [straight.mark(key) for key in range(61)]


def apply(memory: IdMemory, kind: str, time: float, key: int, mark: int | float) -> None:
    """Remember an id unless it is known, or change its mark."""
    if kind == "event":
        memory.advance(time)
        if memory.mark(key) is None:
            memory.put(key, key)
    else:
        memory.remark(key, int(mark))


def test_a_slow_stream_leaves_few_rows() -> None:
    """One id for each checkpoint: rows are as many as the ids need, and not as many as checkpoints."""
    log = Log()
    log.memory = IdMemory(86_400.0, 100_000)
    for at in range(4000):
        log.memory.advance(float(at))
        log.memory.put(at, 2)
        log.checkpoint(fails=False)

    assert len(log.rows) <= 4000 / id_memory.FULL + 1
    assert max(row.size for row in log.rows.values()) == id_memory.FULL
