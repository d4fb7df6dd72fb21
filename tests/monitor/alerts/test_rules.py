"""Alert rules: their meaning, the values that they read from a view, and errors of invalid rules."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.monitor.alerts.rule_reading import parse, rules_of
from stream_metrics.monitor.alerts.rules import Changed, Comparison, Rule, RuleError
from stream_metrics.monitor.alerts.values import Value
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.view.types import Checkpoint, JoinCounts, Lag, Records, View, WindowView

MORE = {"true_positives": 24, "f1": None}
PART: dict[str, Any] = {
    "n": 200,
    "abstained": 3,
    "metrics": {"accuracy": 0.9, "macro_recall": 0.7, "log_loss": None},
    "classes": [
        {"label": 'c"at', "support": 40, "predicted": 50, "recall": 0.6, "precision": None, "roc_auc": 0.8, **MORE}
    ],
    "groups": {
        "rows": [
            {"group": "fr", "n": 100, "metrics": {"macro_recall": 0.5}},
            {"group": "de", "n": 90, "metrics": {"macro_recall": 0.75}},
            {"group": "it", "n": 2, "metrics": {"macro_recall": 0.0}},
            {"group": "es", "n": 95, "metrics": {"macro_recall": None}},
        ]
    },
    "coverage": {"ratio": 0.95, "labelled": 190, "due": 200},
    "delay": {"p50": 1.0, "p90": 2.0, "p99": None},
}
VIEW = View(
    by_window={name: msgspec.convert(PART | {"n": n}, WindowView) for name, n in (("total", 200), ("1h", 7))},
    lag=Lag(12),
    checkpoint=Checkpoint(0.5),
    records=Records(5, {"decode": 2, "time": 3}, 10.0),
    join=JoinCounts(4),
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("balanced_accuracy[1h] < 0.8 for 5m", (Value("balanced_accuracy", None, "1h"), Comparison("<", 0.8), 300.0)),
        ("max_gap(recall, country)[1d]>0.1", (Value("recall", None, "1d", True), Comparison(">", 0.1))),
        ('recall["cat"][1h] <= .7', (Value("recall", "cat", "1h"), Comparison("<=", 0.7))),
        ("lag >= 1e4", (Value("lag"), Comparison(">=", 10000.0))),
        (
            " accuracy < 0.8 until > 0.82 with n >= 100 for 1h30m\n",
            (Value("accuracy", None, "total"), Comparison("<", 0.8), 5400.0, Comparison(">", 0.82), 100),
        ),
        ("lag > 5 until <= 5", (Value("lag"), Comparison(">", 5.0), 0.0, Comparison("<=", 5.0))),
    ],
)
def test_what_rules_mean(text, rule) -> None:
    """A rule names a value, a comparison, and in any order how long, until when and of how many samples."""
    assert parse(text) == Rule(text.strip(), *rule)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('changed(recall["cat"]) arl=10000', Changed("", Value("recall", "cat", "total"), 10000)),
        ("changed( accuracy ) arl = 500", Changed("", Value("accuracy", None, "total"), 500)),
        (
            'changed(npv["1"]) reference=50 direction=both arl=9',
            Changed("", Value("npv", "1", "total"), 9, None, 50, "both"),
        ),
        (
            'changed(specificity["cat"]) arl=1000 p0=.05',
            Changed("", Value("specificity", "cat", "total"), 1000, 0.05),
        ),
    ],
)
def test_rules_about_changes(text, rule) -> None:
    """They name a rate, the run length, what is normal, and in which direction."""
    assert parse(text) == dataclasses.replace(rule, text=text)
    assert rules_of([text, text], Counting()) == [parse(text)]


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("acuracy < 1", 0, "did you mean accuracy"),
        ("accuracy[1h] = 0.8", 13, "a comparison"),
        ("accuracy[1x] < 3", 9, "length of time"),
        ("accuracy < 0.8 for", 18, "the end"),
        ("accuracy < 0.8abc", 11, "a number"),
        ("accuracy <  1e999", 12, "a number that a double can hold"),
        ('recall["cat] < 3', 7, 'a class of a metric that has them, such as "cat"'),
        ('recall["\\q"] < 3', 7, "as in JSON"),
        ("lag[1h] > 3", 3, "no window"),
        ("roc_auc < 3", 8, 'as in roc_auc["cat"]'),
        ("accuracy < 0.8 for 5m for 3m", 22, "only once"),
        ("lag > 3 with n >= 3", 8, "no number of samples"),
        ("max_gap(recall)[1h] > 1", 14, "a comma"),
        ("accuracy < 0.8 5m", 15, "to end here"),
        ("changed(lag) arl=5", 8, "the name of a value"),
        ("changed(recall) arl=5", 14, 'as in recall["cat"]'),
        ("changed(accuracy[1h]) arl=5", 16, "no window"),
        ("changed(accuracy) arl=1", 22, "above 1"),
        ("changed(accuracy) arl=0.5", 22, "above 1"),
        ("changed(accuracy) p0=0.1", 24, "arl=NUMBER"),
        ("changed(accuracy) arl=5 p0=1", 27, "between 0 and 1"),
        ("changed(accuracy) arl=5 arl=6", 24, "only once"),
        ("changed(accuracy) arl=5 p0=0.1 reference=9", 31, "either p0 or reference"),
        ("changed(accuracy) arl=5 reference=0", 34, "above 0"),
        ("changed(accuracy) arl=5 direction=up", 34, "worse, better or both"),
        ("changed(accuracy) arl=5 for 5m", 24, "to end here"),
        ('accuracy["cat"] < 1', 9, "a window"),
        ("accuracy < 0.8 until > 0.7", 21, "false wherever the rule is broken"),
        ("accuracy < 0.8 until  < 0.9 for 5m", 22, "false wherever the rule is broken"),
        ("lag >= 5 until <= 5", 15, "false wherever the rule is broken"),
        ("", 0, "the name of a value"),
        ("x" * 600, 0, "at most 500 characters"),
    ],
)
def test_bad_rules_show_where(text, at, message) -> None:
    """The error names what was expected, and a caret stands below the place."""
    with pytest.raises(RuleError) as refused:
        parse(text)

    first, rule, caret = str(refused.value).split("\n")
    assert message in first
    assert caret == "  " + " " * at + "^"
    assert rule[2:12] == text[:10]


ALIKE = st.text('acurylg[]()"<>=.08 for5mniltwh,', max_size=40)
OPTIONS = st.text("chnged(acuryl) =0159.pfbot", max_size=30)


@given(st.text(max_size=30) | ALIKE | OPTIONS.map("changed(accuracy) arl=9 ".__add__))
def test_any_text_is_a_rule_or_an_error(text) -> None:
    """Nothing but RuleError comes of a text that is no rule."""
    with suppress(RuleError):
        assert parse(text).text == text.strip()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("accuracy < 1", 0.9),
        ("accuracy < 1 with n >= 201", None),
        ("accuracy[1h] < 1 with n >= 7", 0.9),
        ("recall < 1", 0.7),
        ("log_loss < 1", None),
        ('recall["c\\"at"] < 1', 0.6),
        ('recall["c\\"at"] < 1 with n >= 41', None),
        ('precision["c\\"at"] < 1', None),
        ('support["c\\"at"] < 1', 40),
        ('recall["fox"] < 1', None),
        ("max_gap(recall, country) > 0", 0.25),
        ("max_gap(recall, country) > 0 with n >= 1", 0.75),
        ("max_gap(recall, country) > 0 with n >= 50", 0.25),
        ("max_gap(recall, country) > 0 with n >= 99", None),
        ("n[1h] < 1", 7),
        ("coverage[1h] < 1", 0.95),
        ("delay_p90 > 1", 2.0),
        ("delay_p99 > 1", None),
        ("lag > 1", 12),
        ("lag_seconds > 1", None),
        ("checkpoint_age > 1", 0.5),
        ("rejected > 1", 5),
        ("pending > 1", 4),
        ("records_per_second < 1", 10.0),
        ("accuracy[2h] < 1", None),
    ],
)
def test_what_rules_read(text, value) -> None:
    """The value is that of the view; None where it is unknown or of too few samples."""
    rule = parse(text)

    assert isinstance(rule, Rule)
    assert rule.read(VIEW) == value


def test_rules_must_fit_what_is_counted() -> None:
    """A window that is not counted, and a metric of scores without scores, are refused; the same rule counts once."""
    assert len(rules_of(["accuracy[1h] < 1", "accuracy[1h] < 1", 'roc_auc["a"] < 1'], Counting(scores=True))) == 2

    with pytest.raises(RuleError, match=r"\['total', '1h', '1d'\], but got '2h'"):
        rules_of(["accuracy[2h] < 1"], Counting())
    for text in ("log_loss > 1", 'roc_auc["a"] < 1'):
        with pytest.raises(RuleError, match="Expected `scores` to be counted"):
            rules_of([text], Counting())
