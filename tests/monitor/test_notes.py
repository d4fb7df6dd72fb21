"""Notes: what is written of them, by whom, and what another worker's become."""

from __future__ import annotations

from typing import Any

from stream_metrics.monitor.notes import Notes
from stream_metrics.wire import encoded


def test_only_what_has_changed_is_written() -> None:
    """A value that equals what is stored is not, and an empty one that any worker may change was never written."""
    values: dict[str, Any] = {"a": [1], "b": 2, "common": []}
    notes = Notes({"a": encoded([1])})
    assert notes.attach("a", lambda: values["a"]) == (1,)
    assert notes.attach("b", lambda: values["b"]) is None
    notes.attach_common("common", lambda: values["common"], lambda stored: None)

    first = notes.changed(True, {"more": 3})
    notes.written(first)
    values |= {"a": [1, 2], "common": ["x"]}

    assert first == {"b": encoded(2), "more": encoded(3)}
    assert notes.changed(True, {"more": 3}) == {"a": encoded([1, 2]), "common": encoded(["x"])}
    assert notes.changed(False, {}) == {"common": encoded(["x"])}
    assert notes.value("more") == 3


def test_another_worker_goes_on_from_what_is_stored() -> None:
    """It takes what the one before stored, and keeps what both may change, which it merges once."""
    taken: list[Any] = []
    merged: list[Any] = []
    notes = Notes({})
    notes.attach("a", lambda: 1, taken.append)
    notes.attach("b", lambda: 1, taken.append)
    notes.attach_common("common", list, merged.append)

    for _ in range(2):
        notes.merge({"common": encoded(["x"]), "a": encoded(5)}.get)
    notes.take_over({"a": encoded(5), "common": encoded(["old"])})

    assert merged == [None, ("x",)]
    assert taken == [5, None]
    assert notes.value("common") == ("x",)
