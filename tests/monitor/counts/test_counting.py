"""What is counted of pairs equals a plain recount, regardless of batches, order, partitions, restarts, corrections."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.monitor_oracle import countable, recount
from support.monitor_runs import START, Config, Monitor, config, feed, lines_of, read, started, window
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics import testing

Pair = dict[str, Any]
WINDOWS = {"total": None, "4s": 1, "8s": 2}  # with the lengths of their panes in seconds
COUNTING: dict[str, Any] = {"windows": ["4s", "8s"], "panes": 4, "max_groups": 2}
LABELS: dict[str, list[Any]] = {"text": ["a", "b", "c"], "number": [0, 1, 2.0], "truth": [True, False]}
GROUPS = st.sampled_from(["de", "fr", "us", 1, True, 1.0, None])


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Pairs with labels, single scores, mappings and abstentions, of which some cannot be counted."""
    kind = draw(st.sampled_from(["text", "text", "number", "truth"]))
    time = START + draw(st.integers(0, 160)) / 4
    pair = {"truth": draw(st.sampled_from(LABELS[kind])), "weight": draw(st.sampled_from([None, 1, 2, 0.5, 0]))}
    scores = draw(st.sampled_from([None, "many", "one"]))
    if scores == "one" and kind != "number":
        pair["scores"] = draw(testing.probabilities())
    elif scores == "many" and kind == "text":
        names = draw(st.permutations("abc"))[: draw(st.integers(1, 3))]
        pair["scores"] = {name: draw(testing.probabilities()) for name in names}
    if "scores" not in pair or draw(st.booleans()):
        pair["prediction"] = draw(st.sampled_from([*LABELS[kind], None]))
    delay = draw(st.integers(0, 40)) / 4 if draw(st.booleans()) else None  # None: the label comes in the same event
    labelled = time + (delay or 0.0)
    return pair | {"group": draw(GROUPS), "time": time, "labelled": labelled, "together": delay is None}


def events_of(number: int, pair: Pair) -> list[Pair]:
    """Return the events of a pair."""
    event = {"id": number, **{name: value for name, value in pair.items() if name not in ("labelled", "together")}}
    if pair["together"]:
        return [event]
    del event["truth"]
    return [event, {"id": number, "time": pair["labelled"], "truth": pair["truth"]}]


def delivered(
    monitor: Monitor, how: Config, path: Path, events: list[Pair], cuts: list[int], parts: int = 3
) -> Monitor:
    """Have a monitor read events in batches, with a restart after every second one; each id has its partition."""
    offsets, at = [0] * parts, 0
    for turn, size in enumerate([*cuts, len(events)]):
        for part in range(parts):
            some = [event for event in events[at : at + size] if event["id"] % parts == part]
            monitor.step(lines_of(some, offsets[part], part))
            offsets[part] += len(some)
        at += size
        if turn % 2:
            monitor.view()
            monitor.close()
            monitor = started(how, path, parts=range(parts))
    return monitor


def newest(pair: Pair, clock: str) -> float:
    """Return the time at which a pair counts."""
    return float(pair["labelled"] if clock == "label" else pair["time"])


def grouped(rows: Iterable[Pair], scores: bool) -> sm.ByGroup[sm.ConfusionMatrix]:
    """Return the labels of pairs by group."""
    groups = sm.ByGroup(sm.ConfusionMatrix(), 2)
    for pair in rows:
        if pair["group"] is not None:
            one = recount([pair | {"weight": 1}], scores).state
            said = [label for label, n in zip(one.labels, one.predicted_totals.tolist(), strict=True) if n]
            weight = 1 if pair["weight"] is None else pair["weight"]
            groups.update(pair["truth"], said[0] if said else None, weight, group=pair["group"])
    return groups


@given(
    st.lists(pairs(), max_size=25),
    st.sampled_from([(True, "label"), (False, "label"), (True, "prediction")]),
    st.lists(st.integers(0, 10), max_size=5),
    st.sampled_from([0, 1, 3]),
    st.randoms(use_true_random=False),
)
def test_counts_are_a_plain_recount(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[Pair],
    counting: tuple[bool, str],
    cuts: list[int],
    due: int,
    chance: random.Random,
) -> None:
    """Total, windows and groups to the byte; coverage and delays by number; what cannot be counted is rejected."""
    path, (scores, clock) = tmp_path_factory.mktemp("counts") / "state", counting
    join = {"votes": 1, "due": f"{due}s"}
    how = config(counting={**COUNTING, "scores": scores, "clock": clock}, join=join)
    named = [p for p in drawn if scores or p.get("prediction") is not None or isinstance(p.get("scores", {}), dict)]
    good = {number: pair for number, pair in enumerate(named) if countable(pair, scores)}
    events = [event for number, pair in enumerate(named) for event in events_of(number, pair)]
    chance.shuffle(events)
    final = dict(good)
    for number in chance.sample(sorted(good), len(good) // 3):
        truths = [truth for each in LABELS.values() for truth in each]
        labelled = good[number]["labelled"] + chance.choice((0, 3))
        new = {**good[number], "truth": chance.choice(truths), "labelled": labelled}
        if new["truth"] != good[number]["truth"] and countable(new, scores):
            events.append({"id": number, "time": new["labelled"], "truth": new["truth"]})
            final[number] = new
    monitor = delivered(started(how, path, parts=range(3)), how, path, events, cuts)
    once = feed(started(how), events)

    at = max((event["time"] for event in events), default=0.0)
    counts, rows = monitor.counts(), final.values()
    window(monitor)
    view = monitor.view()
    whole = recount(rows, scores)
    assert counts.total.to_bytes() == once.counts().total.to_bytes() == whole.to_bytes()
    assert counts.total_groups.to_bytes() == once.counts().total_groups.to_bytes() == grouped(rows, scores).to_bytes()
    assert sum(view.records.rejected.values()) == len(named) - len(good)
    for name, pane in WINDOWS.items() if named else ():
        inside = [p for p in rows if pane is None or at // pane - 4 < newest(p, clock) // pane]
        state, shown = recount(inside, scores), view.by_window[name]
        assert (shown.n, shown.abstained) == (state.n, state.abstained)
        if pane is not None:
            assert counts.windows[name].merged(round(at * 1e9)) == state
            assert counts.groups[name].merged(round(at * 1e9)) == grouped(inside, scores)

        last = (at - due) // (pane or 1) - (1 if due else 0)
        old = [n for n, p in enumerate(named) if (pane is None and not due) or p["time"] // (pane or 1) <= last]
        old = [n for n in old if pane is None or named[n]["time"] // pane > last - 4]
        assert (shown.coverage.due, shown.coverage.labelled) == (len(old), sum(n in good for n in old))
        delays = sorted(
            p["labelled"] - p["time"]
            for p in good.values()
            if pane is None or at // pane - 4 < newest(p, clock) // pane
        )
        for key, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            quantile = getattr(shown.delay, key)
            exact = delays[max(math.ceil(share * len(delays)) - 1, 0)] if delays else None
            assert (quantile is None) == (exact is None)
            assert exact is None or exact / 1.125 - 2**-9 <= quantile <= exact * 1.125 + 2**-9
    monitor.close()


def sample(at: int, time: float, **said: Any) -> Pair:
    """Return an event of a pair; what is None is left out."""
    event = {"id": at, "time": START + time, "truth": "a", "prediction": "a"} | said
    return {name: value for name, value in event.items() if value is not None}


@pytest.mark.quick
def test_what_is_late_for_a_window_is_in_the_total_and_counted_as_late() -> None:
    """Nothing is silently left out."""
    monitor = read([sample(at, t) for at, t in enumerate((100, 95, 80))], 1, counting=COUNTING, join={"votes": 1})
    shown = [window(monitor, name) for name in WINDOWS]

    assert [each.n for each in shown] == [3, 1, 2]
    assert [each.late for each in shown] == [0, 2, 1]


def test_many_bad_pairs_among_many() -> None:
    """Good ones are counted however many are refused, and in whatever places; each is named with its record."""
    rows = [sample(at, at / 100, scores=0.5 if at % 3 == 0 else None) for at in range(1500)]
    monitor = read(rows, at_once=1500, counting={**COUNTING, "scores": True})
    letters = monitor.view().dead_letters

    assert monitor.view().records.rejected == {"label": 500}
    assert [letter.offset for letter in letters] == list(range(1497, 1197, -3))
    assert all(len(letter.detail) <= 200 for letter in letters)
    assert monitor.counts().total == recount(row for row in rows if "scores" not in row)


def test_weights_that_overflow_are_refused_and_nothing_breaks() -> None:
    """What the total has no room for is refused; what it has room for is counted, in all states alike."""
    heavy = [sample(at, 0, weight=2**53, group="de") for at in range(1027)]
    monitor = read([*heavy, sample(1027, 0, group="de")], at_once=2000, counting=COUNTING)
    total, short = window(monitor), window(monitor, "4s")

    assert monitor.view().records.rejected == {"weight": 4}
    assert [letter.offset for letter in monitor.view().dead_letters] == [1026, 1025, 1024, 1023]
    assert total.weight == short.weight == 1023 * 2**53 + 1
    assert total.groups.rows[0].n == 1024


def test_single_scores_need_to_know_the_other_class() -> None:
    """A refused label names none, in one batch or one by one; once it is known, single scores predict."""
    spam = {"scores": True, "pos_label": "a", "windows": []}
    alone = sample(0, 0, prediction=None, scores=0.25)
    monitor = read([alone], counting=spam)
    assert "the class beside 'a' is not known yet, but got 0.25" in monitor.view().dead_letters[0].detail

    long = "x" * 2_000_000
    for bad in (["x"], 1.5, long):
        good = [sample(1, 0, prediction="b"), alone | {"id": 2}, sample(3, 0, prediction="b", scores=0.375)]
        wrong = [sample(4, 0, truth=bad, prediction="b"), sample(5, 0, truth=bad, prediction="b", scores=0.5)]
        both = [good[0], *wrong, *good[1:]]
        monitors = [read(both, counting=spam), read(both, at_once=1, counting=spam), read(good, counting=spam)]
        assert [sum(each.view().records.rejected.values()) for each in monitors] == [2, 2, 0]
        assert len({each.counts().total.to_bytes() for each in monitors}) == 1


def test_options_without_sense_are_refused() -> None:
    """What cannot be counted is said at the start, and metrics that need scores where there are none."""
    wrong: list[tuple[dict[str, Any], str]] = [
        *(({"windows": names}, "windows") for names in (["1h", "1h"], ["1h", "60m", "1h"])),
        *(({"metrics": ["accuracy", key]}, "") for key in ("acuracy", "recall", "log_loss", "roc_auc", "brier", "ece")),
        *(({"panes": 7}, "period"), ({"labels": ["a", "a"]}, "labels")),
    ]
    all_refused((lambda how=how: started(config(counting=how)), Exception, about) for how, about in wrong)
    for key in ("log_loss", "brier", "ece"):
        assert started(config(counting={"metrics": ["accuracy", key], "scores": True})).partitions == [0]


def test_a_long_age_makes_panes_longer_and_not_more() -> None:
    """What is stored for coverage is bounded, whatever the age from which a label is due."""
    days = 86_400
    join = {"due": "30d", "ttl": "60d", "votes": 1, "ahead": "90d"}
    events = [{"id": at, "time": START + 600 * at, "prediction": "a"} for at in range(40 * 144)]
    monitor = read(events, counting={"windows": ["1h"]}, join=join)

    assert sum(map(len, monitor.counts().parts().values())) < 60_000
    due = window(monitor, "1h").coverage.due
    assert 6 <= due <= 6 + 32 * days / 1440 / 600


def test_another_due_loses_coverage_only(tmp_path: Path) -> None:
    """The age from which a label is due may be changed between runs."""
    rows = [sample(at, at, group="de") for at in range(20)]
    first = feed(started(config(counting=COUNTING), tmp_path / "state"), rows)
    total, before = first.counts().total, window(first, "8s")
    first.close()
    second = started(config(counting=COUNTING, join={"due": "30s"}), tmp_path / "state")
    after = window(second, "8s")

    assert second.counts().total == total
    assert (before.coverage.due, after.coverage.due, after.n) == (before.n, 0, before.n)
    second.close()


def test_parts_that_do_not_belong_together_are_refused() -> None:
    """A part that lacks, one of another state or cut short, a pane that is gone, another configuration."""
    how = config(counting={**COUNTING, "scores": True})
    counts = feed(started(how), [sample(at, at, group="de") for at in range(20)]).counts()
    parts, options = counts.parts(), how.counting
    pane = next(name for name in parts if name.startswith("window/4s"))
    empty = started(how).counts()
    wrong = [
        *({name: body for name, body in parts.items() if name != gone} for gone in ("total", "about")),
        *(parts | {name: parts["groups"]} for name in ("total", pane, "window/4s/1", "window/4s/x", "window/5s/1")),
        *(parts | {name: body} for name, body in (("about", b"\x01"), ("about", parts["total"]))),
        *(parts | {pane: body} for body in (parts["total"][:-1], empty.total.to_bytes())),
        parts | {"window/4s/10000000000000": parts[pane]},
        parts | {"classes": b"\x07"},
    ]

    assert counts.from_parts(options, parts).parts() == parts
    all_refused((lambda each=each: counts.from_parts(options, each), sm.DecodeError, "") for each in wrong)
    for name, value in (("scores", "any"), ("max_groups", 3), ("labels", ["a"]), ("pos_label", "a"), ("panes", 2)):
        other = started(config(counting={**COUNTING, "scores": True, name: value})).counts()
        name = "" if name == "panes" else name  # a window that moves otherwise
        refused(lambda other=other: counts.merge(other), sm.MergeError, name)
        refused(lambda other=other: other.from_parts(other.config, parts), sm.DecodeError, name)
    assert counts.parts() == parts
