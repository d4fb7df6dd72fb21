"""The comparison of two models as text and as data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from stream_metrics.report.headlines import COMPARED, COMPARED_BINARY_RANKS, COMPARED_LOSSES, COMPARED_RANKS
from stream_metrics.report.table import Column, Table

if TYPE_CHECKING:
    from stream_metrics.snapshots.comparison import ComparisonSnapshot

__all__ = ["report", "to_dict"]

ASSUMPTION = "Intervals and tests assume independent samples, or independent units where samples have them."


def keys_of(snapshot: ComparisonSnapshot) -> tuple[str, ...]:
    """Return the keys that a report has."""
    ranks = COMPARED_BINARY_RANKS if len(snapshot.labels) <= 2 else COMPARED_RANKS
    keys = {"ranks": ranks, "losses": COMPARED_LOSSES}
    return COMPARED + tuple(key for kind in snapshot.scored for key in keys[kind])


def to_dict(snapshot: ComparisonSnapshot, level: float) -> dict[str, Any]:
    """Return names, sizes, tests, evidence, and differences for one look and for many."""
    if not 0 < level < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, but got {level!r}")
    a, b = snapshot.names
    data: dict[str, Any] = {"a": a, "b": b, "n": snapshot.n, "abstentions": list(snapshot.abstentions), "level": level}
    try:
        only = snapshot.discordant
    except ValueError as error:
        data["discordant"] = {"omitted": str(error)}
    else:
        data["discordant"] = {"only_a": only[0], "only_b": only[1]}
        data["mcnemar"] = {method: snapshot.mcnemar(method) for method in ("midp", "exact", "chi2")}
        evidence_by_side = {side: snapshot.evidence(side, level) for side in ("either", "a", "b")}
        data["evidence"] = {side: evidence._asdict() for side, evidence in evidence_by_side.items()}
    data["differences"] = {}
    for key in keys_of(snapshot):
        try:
            once, always = (snapshot.difference(key, level=level, valid=valid) for valid in ("fixed", "anytime"))
        except ValueError as error:
            data["differences"][key] = {"omitted": str(error)}
            continue
        shown = {name: getattr(once, name) for name in ("a", "b", "value", "se", "method", "note", "low", "high")}
        data["differences"][key] = {**shown, "anytime": {"low": always.low, "high": always.high, "note": always.note}}
    return data


def report(snapshot: ComparisonSnapshot, level: float) -> str:
    """Return the report as text."""
    a, b = snapshot.names
    data = to_dict(snapshot, level)
    gone = sum(snapshot.abstentions)
    head = f"{b} less {a}: {snapshot.n:,} samples" + (f", {gone:,} more without a prediction of one" if gone else "")
    share = f"{100 * level:g} %"
    headings = (a, b, "difference", f"{share}, this look", f"{share}, all looks")
    rows = [_row(row) for row in data["differences"].values()]
    columns = [Column(text, text, cells) for text, *cells in zip(headings, *(row[:5] for row in rows), strict=True)]
    columns.append(Column("", "", [row[5] for row in rows], align="<"))
    table = Table("", list(data["differences"]), columns).lines()
    return "\n".join([head, "", *table, "", ASSUMPTION, *_tests(snapshot, data)])


def _row(row: dict[str, Any]) -> tuple[str, str, str, str, str, str]:
    """Return the cells of a difference: both values, the difference, its intervals, and a remark."""
    if "omitted" in row:
        return "", "", "", "", "", row["omitted"]
    once, always = (_limits(side["low"], side["high"]) for side in (row, row["anytime"]))
    remark = "; ".join(filter(None, (row["method"], row["note"])))
    return _number(row["a"]), _number(row["b"]), _number(row["value"], "+"), once, always, remark


def _tests(snapshot: ComparisonSnapshot, data: dict[str, Any]) -> list[str]:
    if "evidence" not in data:
        return [data["discordant"]["omitted"]]
    a, b = snapshot.names
    only = data["discordant"]
    lines = [
        f"Only {a} right: {only['only_a']:,}; only {b} right: {only['only_b']:,}. "
        f"McNemar (mid-p), for one look: p = {data['mcnemar']['midp']:.3g}"
    ]
    alpha = 1 - data["level"]
    for side, name in (("b", b), ("a", a)):
        evidence = data["evidence"][side]
        shown = "shown" if evidence["log_e"] >= -math.log(alpha) else "not shown"
        lines.append(
            f"{name} is right more often: {shown} at {100 * alpha:.3g} %, at any number of looks "
            f"(e-value {_e_value(evidence['log_e'])}, p = {evidence['p_value']:.3g})"
        )
    return lines


def _e_value(log_e: float) -> str:
    """Return an e-value as text, however large."""
    return f"{math.exp(log_e):.3g}" if log_e < 700 else f"10^{log_e / math.log(10):.0f}"


def _number(value: float, sign: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:{sign}.4f}"


def _limits(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{low:+.4f} to {high:+.4f}"
