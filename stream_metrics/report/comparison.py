"""The comparison of two models as a report and as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.inference.comparison.tests import Better, discordant_evidence
from stream_metrics.inputs.arguments import real
from stream_metrics.report.document import Element, Medium, Notes, Section, Title, Warnings
from stream_metrics.report.headlines import (
    COMPARED,
    COMPARED_BINARY_RANKS,
    COMPARED_LOSSES,
    COMPARED_RANKS,
    LINES,
    short_title,
)
from stream_metrics.report.intervals import bracketed
from stream_metrics.report.layout import fit_names, number, visible
from stream_metrics.report.table import ReportColumn, Table

if TYPE_CHECKING:
    from stream_metrics.snapshots.comparison import ComparisonSnapshot, Difference


ASSUMPTION = "Intervals and tests assume independent samples, or independent units where samples have them."
NAME, SHORT_NAME = 12, 8  # columns of the name of a model above its values
SIDES: tuple[Better, ...] = ("either", "a", "b")


def keys_of(snapshot: ComparisonSnapshot) -> tuple[str, ...]:
    """Return the keys that a report has."""
    ranks = COMPARED_BINARY_RANKS if len(snapshot.labels) <= 2 else COMPARED_RANKS
    keys = {"ranks": ranks, "losses": COMPARED_LOSSES}
    return COMPARED + tuple(key for kind in snapshot.scored for key in keys[kind])


def differences(snapshot: ComparisonSnapshot, level: float) -> dict[str, tuple[Difference, Difference] | str]:
    """Return the differences by key, for one look and for any number of looks, or why there are none."""
    if not 0 < real(level, "level") < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, but got {level!r}")
    pairs: dict[str, tuple[Difference, Difference] | str] = {}
    for key in keys_of(snapshot):
        try:
            pairs[key] = snapshot.difference(key, level), snapshot.difference(key, level, valid="anytime")
        except (KeyError, ValueError) as error:
            pairs[key] = str(error)
    return pairs


def to_dict(snapshot: ComparisonSnapshot, level: float) -> dict[str, Any]:
    """Return names, sizes, tests, evidence, and differences for one look and for many."""
    return _data(snapshot, level, differences(snapshot, level))


def _data(
    snapshot: ComparisonSnapshot, level: float, pairs: Mapping[str, tuple[Difference, Difference] | str]
) -> dict[str, Any]:
    a, b = snapshot.names
    data: dict[str, Any] = {"a": a, "b": b, "n": snapshot.n, "abstentions": list(snapshot.abstentions), "level": level}
    try:
        only = snapshot.discordant
    except ValueError as error:
        data["discordant"] = {"omitted": str(error)}
    else:
        data["discordant"] = {"only_a": only[0], "only_b": only[1]}
        data["mcnemar"] = {method: snapshot.mcnemar(method) for method in ("midp", "exact", "chi2")}
        evidence = {side: discordant_evidence(*only, (a, b), side, level) for side in SIDES}
        data["evidence"] = {side: one._asdict() for side, one in evidence.items()}
    data["differences"] = {key: _plain(pair) for key, pair in pairs.items()}
    data["warnings"] = list(snapshot.warnings)
    return data


def _plain(pair: tuple[Difference, Difference] | str) -> dict[str, Any]:
    if isinstance(pair, str):
        return {"omitted": pair}
    once, always = pair
    shown = {name: getattr(once, name) for name in ("a", "b", "value", "se", "method", "note", "low", "high")}
    return {**shown, "anytime": {"low": always.low, "high": always.high, "note": always.note}}


def document(snapshot: ComparisonSnapshot, medium: Medium, level: float = 0.95) -> list[Element]:
    """Return the report of a comparison: sizes, both models with their differences, tests."""
    pairs = differences(snapshot, level)
    data = _data(snapshot, level, pairs)
    table = medium.fit(_table(data, pairs, NAME if medium.width else 3 * NAME))
    if table.left_out:
        short = medium.fit(_table(data, pairs, NAME, short_title))
        table = short if len(short.left_out) < len(table.left_out) else table
    return [
        Title(_title(data, medium.separator)),
        Warnings(snapshot.warnings),
        Section(table, [*_notes(data, pairs), *table.width_note()]),
        Notes(_tests(data, medium.separator), "  "),
    ]


def _title(data: dict[str, Any], separator: str) -> str:
    """Return names and sizes."""
    head = f"{visible(data['b'])} against {visible(data['a'])}: {quantity(data['n'], 'sample', separator)}"
    gone = sum(data["abstentions"])
    return head + (f", {number(gone, separator)} more without a prediction of one or both" if gone else "")


def _title_of(key: str) -> str:
    return LINES.get(key, CATALOG[key].title)


def _table(
    data: dict[str, Any],
    pairs: Mapping[str, tuple[Difference, Difference] | str],
    widest: int,
    name: Callable[[str], str] = _title_of,
) -> Table:
    """Return the metrics of both models with their differences."""
    shown = {key: pair for key, pair in pairs.items() if data["n"] and not isinstance(pair, str)}
    models = [visible(data["a"]), visible(data["b"])]
    (long_a, long_b), (a, b) = fit_names(models, widest), fit_names(models, SHORT_NAME)
    share = f"{100 * data['level']:g} %"
    rows = [once for once, _ in shown.values()]
    columns = [
        ReportColumn(long_a, a, [_value(row.a) for row in rows], drop=1),
        ReportColumn(long_b, b, [_value(row.b) for row in rows], drop=1),
        ReportColumn("difference", "change", [_value(row.value, "+") for row in rows]),
        ReportColumn(f"{share}, one look", "one look", _intervals(rows)),
        ReportColumn(f"{share}, any look", "any look", _intervals([always for _, always in shown.values()]), drop=2),
    ]
    return Table("Score", [name(key) for key in shown], columns, least=17)


def _notes(data: dict[str, Any], pairs: Mapping[str, tuple[Difference, Difference] | str]) -> list[str]:
    """Return the footnotes of the table of differences."""
    if not data["n"]:
        return []
    both = [pair for pair in pairs.values() if not isinstance(pair, str)]
    omitted: dict[str, list[str]] = {}
    for key, pair in pairs.items():
        if isinstance(pair, str):
            omitted.setdefault(pair, []).append(_title_of(key))
    left_out = [f"Left out: {', '.join(titles)}. {reason}" for reason, titles in omitted.items()]
    if not both:
        return left_out
    notes = [
        f"Differences are {visible(data['b'])} less {visible(data['a'])}. {100 * data['level']:g} % intervals: for one "
        f"look at a moment chosen beforehand, and for any number of looks. {ASSUMPTION}"
    ]
    for heading, at in (("one look", 0), ("any look", 1)):
        if reasons := dict.fromkeys(pair[at].note for pair in both if pair[at].note):
            notes.append(f"-: no trustworthy interval for {heading}: {'; '.join(reasons)}")
    return notes + left_out


def _intervals(rows: Sequence[Difference]) -> list[str]:
    """Return intervals as text, "-" for one that is not to be trusted."""
    return [text or "-" for text in bracketed([None if row.note or math.isnan(row.low) else row for row in rows])]


def _value(value: float, sign: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:{sign}.4f}"


def _tests(data: dict[str, Any], separator: str) -> list[str]:
    """Return the tests whether one of the models is right more often."""
    if not data["n"]:
        return ["Nothing compared yet."]
    if "evidence" not in data:
        return [f"No tests. {data['discordant']['omitted']}"]
    names = {side: visible(data[side]) for side in "ab"}
    only = data["discordant"]
    lines = [
        f"Only {names['a']} is right: {quantity(only['only_a'], 'sample', separator)}; "
        f"only {names['b']}: {number(only['only_b'], separator)}. "
        f"McNemar (mid-p), for one look: p = {data['mcnemar']['midp']:.3g}"
    ]
    alpha = 1 - data["level"]
    for side in "ba":
        evidence = data["evidence"][side]
        shown = "shown" if evidence["log_e"] >= -math.log(alpha) else "not shown"
        lines.append(
            f"{names[side]} is right more often: {shown} at {100 * alpha:.3g} %, at any number of looks "
            f"(e-value {_e_value(evidence['log_e'])}, p = {evidence['p_value']:.3g})"
        )
    return lines


def _e_value(log_e: float) -> str:
    """Return an e-value as text, however large."""
    return f"{math.exp(log_e):.3g}" if log_e < 700 else f"10^{log_e / math.log(10):.0f}"
