"""``--format csv`` of ``run`` and ``show``: every value of JSON is a row, running values are records."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

RECORDS = [
    {
        "y_true": "ab"[at % 2],
        "y_pred": "aab"[at % 3],
        "land": ["fi", 'd"e,'][at % 5 > 2],
        "scores": {"a": 0.5, "b": 0.5},
    }
    for at in range(60)
]
DATA = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()


def flat(data: dict[str, Any]) -> dict[tuple[str, str], tuple[Any, Any, Any]]:
    """Return the values of a snapshot in JSON by metric and class, with the ends of their intervals."""
    ends = data.get("intervals", {"metrics": {}, "per_class": {}})
    rows: dict[tuple[str, str], tuple[Any, Any, Any]] = {}
    for count in ("n", "weight", "abstained"):
        rows[count, ""] = data[count], None, None
    for key, value in data["metrics"].items():
        interval = ends["metrics"].get(key, {})
        rows[key, ""] = value, interval.get("low"), interval.get("high")
    for key, by_class in data["per_class"].items():
        for name, value in by_class.items():
            interval = ends["per_class"].get(key, {}).get(name, {})
            rows[key, name] = value, interval.get("low"), interval.get("high")
    return rows


def number(text: str | None) -> Any:
    """Return what a cell holds."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text


@pytest.mark.parametrize(
    ("options", "by"),
    [
        (("--intervals",), ()),
        (("--metrics", "recall,accuracy"), ("--by", "land")),
        (("--scores",), ("--by", "land", "--max-groups", "1")),
    ],
)
def test_rows_are_the_values_of_json(cli, tmp_path, options, by):
    """Group, class, value and interval of each metric; show prints the same as run."""
    state = ("--state", tmp_path / "state")
    table = cli("run", "-", *options, *by, *state, "--format", "csv", stdin=DATA)
    data = json.loads(cli("run", "-", *options, *by, "--format", "json", stdin=DATA).out)
    shown = [option for option in options if option != "--scores"]

    rows = list(csv.DictReader(io.StringIO(table.out)))
    cells = {
        (row.get("group", ""), row["metric"], row["class"]): tuple(
            number(row.get(name)) for name in ("value", "low", "high")
        )
        for row in rows
    }

    views = {"": data}
    if by:
        views = {**data["groups"], "": data["overall"], **({"other": data["other"]} if data["other"] else {})}
        views = {("(other)" if name == "other" else name): view for name, view in views.items()}
    expected = {(name, *place): values for name, view in views.items() for place, values in flat(view).items()}
    assert len(cells) == len(rows)
    names = sorted({name for name, *_ in cells})
    assert len(names) == len(views)
    if "--max-groups" not in by:
        assert cells == expected
    assert cli("show", tmp_path / "state", *shown, "--format", "csv").out == table.out


def test_running_values_are_records(cli):
    """With --every the records of all lines are the whole output."""
    options = ("--every", "20", "--metrics", "recall,accuracy", "--pos-label", "b", "--intervals")
    table = cli("run", "-", *options, "--format", "csv", stdin=DATA)
    lines = [json.loads(line) for line in cli("run", "-", *options, "--format", "json", stdin=DATA).out.splitlines()]

    rows = list(csv.DictReader(io.StringIO(table.out)))

    assert list(rows[0]) == ["n", "recall", "recall_low", "recall_high", "accuracy", "accuracy_low", "accuracy_high"]
    assert len(rows) == len(lines) - 1 == 3
    for row, line in zip(rows, lines, strict=False):
        for key in ("recall", "accuracy"):
            assert number(row[key]) == line[key]
            assert [number(row[f"{key}_{end}"]) for end in ("low", "high")] == line["intervals"][key]
