"""Programs annotate and choose the reference by HTTP; alerts that fired are remembered; all survives a restart."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from support.alert_receiver import alerting
from support.monitor_runs import START, Clock, feed, pair, read
from support.page_server import serving
from support.refusals import all_refused

COUNTING = {"windows": ["1h"]}


def pairs(n: int, said: str, start: int = 0) -> list[Any]:
    """Return pairs of the class `a`."""
    return [pair(at, "a", said, time=START) for at in range(start, start + n)]


def posted(url: str, path: str, body: object, **headers: str) -> tuple[int, str]:
    """Return status and text of the answer to a post."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{path}", data, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_programs_post_annotations_and_the_reference() -> None:
    """What is posted is in the next view; what cannot be used is refused with its reason, and browsers may not post."""
    monitor = read(pairs(50, "a"), clock=Clock(), counting=COUNTING)
    elsewhere = {"Origin": "http://elsewhere.example"}
    with serving(monitor) as url:
        answers = [
            posted(url, "/api/annotations", {"text": "deployed 2.1"}),
            posted(url, "/api/annotations", {"text": "before", "at": START - 60}),
            posted(url, "/api/reference", {"window": "1h"}),
            posted(url, "/api/annotations", {"text": " "}),
            posted(url, "/api/annotations", {"txt": "deployed"}),
            posted(url, "/api/annotations", b"deployed"),
            posted(url, "/api/reference", {"window": "7d"}),
            posted(url, "/api/annotations", {"text": "by a page"}, **elsewhere),
            posted(url, "/api/annotations", {"text": "x" * 20_000}),
        ]

    view = monitor.view()
    assert [status for status, _ in answers] == [200, 200, 200, 400, 400, 400, 400, 403, 413]
    assert "a text of 1 to 500 characters" in answers[3][1]
    assert "one of the windows that have samples, ['1h'], but got '7d'" in answers[6][1]
    assert [(note.at, note.text) for note in view.annotations] == [(START - 60, "before"), (START, "deployed 2.1")]
    assert view.reference.n == 50


def test_firings_and_annotations_survive_a_restart(tmp_path: Path) -> None:
    """An alert that fired is listed with its times, also once it has ended, and so after a restart."""
    clock, rule = Clock(), "accuracy[1h] < 0.5"
    how: dict[str, Any] = {"clock": clock, "counting": COUNTING, "rules": [rule]}
    monitor, alerts = alerting(tmp_path / "state", **how)
    feed(monitor, pairs(10, "b"))
    alerts.look()
    firing = monitor.view().firings
    clock.now += 60
    feed(monitor, pairs(90, "a", 10), start=10)
    alerts.look()
    monitor.annotate("rolled back")
    ended = monitor.view()
    alerts.close()
    monitor.close()
    again, more = alerting(tmp_path / "state", **how)
    restored = again.view()
    more.close()
    again.close()

    assert [(row.rule, row.began, row.ended, row.value) for row in firing] == [(rule, START, None, 0.0)]
    assert [(row.began, row.ended) for row in ended.firings] == [(START, START + 60)]
    assert (restored.firings, restored.annotations) == (ended.firings, ended.annotations)
    assert [note.text for note in restored.annotations] == ["rolled back"]


def test_annotations_are_bounded_and_checked() -> None:
    """The newest 200 stay, in order of time; no time, no text and more than 500 characters are refused."""
    monitor = read([])
    for at in range(300):
        monitor.annotate(f"note {at}", float(-at))
    all_refused([
        (lambda: monitor.annotate("never", float("nan")), ValueError, "a time in seconds"),
        (lambda: monitor.annotate("", 1.0), ValueError, "a text of 1 to 500 characters"),
        (lambda: monitor.annotate("x" * 501, 1.0), ValueError, "a text of 1 to 500 characters"),
    ])  # fmt: skip

    assert [row.at for row in monitor.view().annotations] == [float(at) for at in range(-199, 1)]
    monitor.annotate("x" * 500, 1.0)
    assert len(monitor.view().annotations) == 200
