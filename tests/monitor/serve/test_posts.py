"""Programs annotate and choose the reference by HTTP; alerts that fired are remembered; all survives a restart."""

from __future__ import annotations

import contextlib
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from stream_metrics.monitor import config
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.posts import routes
from stream_metrics.monitor.serve.server import Server
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.view.annotations import Annotations

NOW = 1_700_000_000.0


def monitor_of(path: str | None = None, rules: tuple[str, ...] = ()) -> Monitor:
    """Return a monitor whose clock stands still."""
    settings = Config(counting=Counting(windows=("1h",)), alerts=config.Alerts(rules=rules, log=False))
    monitor = Monitor(settings, None if path is None else Store(path), clock=lambda: NOW)
    monitor.assign([0])
    return monitor


def fed(monitor: Monitor, start: int, n: int, right: bool) -> None:
    """Count pairs that are right, or wrong."""
    records = []
    for at in range(start, start + n):
        event = {"id": at, "time": NOW - 100, "truth": "a", "prediction": "a" if right else "b"}
        records.append(Record("t", 0, at, at + 1, None, None, json.dumps(event).encode()))
    monitor.step(records)


def posted(url: str, path: str, body: object, **headers: str) -> tuple[int, str]:
    """Return status and text of the answer to a post."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{path}", data, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_programs_post_annotations_and_the_reference() -> None:
    """What is posted is in the next view; what cannot be used is refused with its reason, and browsers may not post."""
    monitor = monitor_of()
    fed(monitor, 0, 50, True)
    alive = {"alive": lambda: True, "ready": lambda: True}
    server = Server(config.Serve(port=0), monitor.view, **alive, routes=routes(monitor))
    with contextlib.closing(server):
        url = server.start().rstrip("/")
        answers = [
            posted(url, "/api/annotations", {"text": "deployed 2.1"}),
            posted(url, "/api/annotations", {"text": "before", "at": NOW - 60}),
            posted(url, "/api/reference", {"window": "1h"}),
            posted(url, "/api/annotations", {"text": " "}),
            posted(url, "/api/annotations", {"txt": "deployed"}),
            posted(url, "/api/annotations", b"deployed"),
            posted(url, "/api/reference", {"window": "7d"}),
            posted(url, "/api/annotations", {"text": "by a page"}, Origin="http://elsewhere.example"),
        ]

    view = monitor.view()
    assert [status for status, _ in answers] == [200, 200, 200, 400, 400, 400, 400, 403]
    assert "a text of 1 to 500 characters" in answers[3][1]
    assert "one of the windows that have samples, ['1h'], but got '7d'" in answers[6][1]
    assert [(note.at, note.text) for note in view.annotations] == [(NOW - 60, "before"), (NOW, "deployed 2.1")]
    assert view.reference is not None
    assert view.reference.n == 50


def test_firings_and_annotations_survive_a_restart(tmp_path: Path) -> None:
    """An alert that fired is listed with its times, also once it has ended, and so after a restart."""
    path, rules = str(tmp_path / "state"), ("accuracy[1h] < 0.5",)
    monitor = monitor_of(path, rules)
    alerts = Alerts(monitor.config, monitor)
    fed(monitor, 0, 10, False)
    alerts.look()
    firing = monitor.view().firings
    monitor.clock = lambda: NOW + 60
    fed(monitor, 10, 90, True)
    alerts.look()
    monitor.annotate("rolled back")
    ended = monitor.view()
    alerts.close()
    monitor.close()
    again = monitor_of(path, rules)
    Alerts(again.config, again)
    restored = again.view()
    again.close()

    assert [(row.rule, row.began, row.ended, row.value) for row in firing] == [(rules[0], NOW, None, 0.0)]
    assert [(row.began, row.ended) for row in ended.firings] == [(NOW, NOW + 60)]
    assert restored.firings == ended.firings
    assert restored.annotations == ended.annotations
    assert [note.text for note in restored.annotations] == ["rolled back"]


def test_annotations_are_bounded_and_checked() -> None:
    """The newest are kept, in order of time; no time and damaged data are refused."""
    notes = Annotations()
    for at in range(300):
        notes.add(f"note {at}", float(-at))

    assert [row.at for row in notes.rows] == [float(at) for at in range(-199, 1)]
    with pytest.raises(ValueError, match="a time in seconds"):
        notes.add("never", float("nan"))
    with pytest.raises(ValueError, match="Expected annotations"):
        notes.merge([[1.0]])
    assert len(notes.rows) == 200
