"""The page on the wire format is enough to read states: a reader written from it gets the counters of the package."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import vectors, wire_reader
from support.wire_reader import Column, confusion_cells, fold_of_int, loss_sums, rank_columns

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

GOLDEN = {path.stem: path for path in (Path(__file__).parents[1] / "golden").glob("*_v1_*.bin")}
PAGE = Path(__file__).parents[2] / "docs" / "wire-format.md"
UNIT = 2**64
LABELS = st.one_of(
    st.integers(-(2**70), 2**70), st.booleans(), st.text(max_size=3), st.binary(max_size=2), st.tuples(st.just(3))
)
WEIGHTS = st.one_of(st.integers(0, 2**40), st.integers(1, 2**30).map(lambda x: x / 2**20))


def check_confusion(state: sm.ConfusionMatrix, content: Any) -> None:
    """Compare what the reader got with a matrix."""
    classes, weights = confusion_cells(content)
    rows, columns, values = state.unit_cells()
    scale = UNIT // state.unit

    assert repr(tuple(classes)) == repr(state.labels)
    assert weights == {(i, j): x * scale for i, j, x in zip(rows.tolist(), columns.tolist(), values, strict=True)}
    assert (content[2], content[3], sum(content[7:])) == (state.n, state.abstained, state.weighted)


def check_ranks(state: sm.RankSketch, content: Any) -> None:
    """Compare what the reader got with a sketch: levels, cells, sole codes, weights and samples of own and rest."""
    labels, _, columns = rank_columns(content)

    assert repr(tuple(labels)) == repr(state.labels)
    for at, (label, column) in enumerate(zip(labels, columns, strict=True)):
        check_column(state.column(label), column, at if state.pairs else 1)


def check_column(expected: Any, column: Column | None, own: int) -> None:
    """Compare one column with that of the package, whose cells, moments and samples have an oracle of their own."""
    cells, scale = [] if column is None else column.cells, UNIT // expected.units
    weights = [(sum(cell.weights.values()), cell.weights.get(own, 0)) for cell in cells]

    assert expected.level == (0 if column is None else column.level)
    assert expected.cells.tolist() == [cell.key for cell in cells]
    assert (expected.counts.astype(object) * scale).tolist() == [[total - mine, mine] for total, mine in weights]
    if column is not None and column.level:
        mine = column.samples[own]
        assert expected.sole.tolist() == [2**64 - 1 if cell.sole is None else cell.sole for cell in cells]
        assert expected.sample_codes[1].tolist() == sorted(mine)
        assert [int(x) * scale for x in expected.sample_weights[1]] == [mine[code] for code in sorted(mine)]
        for cell, (_, mean) in zip(cells, expected.offsets.tolist(), strict=True):
            if not math.isnan(mean):
                assert cell.moments[own] == pytest.approx(mean * cell.weights[own] * 2 ** (column.level - 20))


def check_losses(state: sm.ProbabilityLosses, content: Any) -> None:
    """Compare what the reader got with sums of losses."""
    sums = loss_sums(content)
    snapshot = state.snapshot()

    assert (sums["n"], sums["abstained"]) == (state.n, state.abstained)
    if sums["weight"]:
        half = sums["binary"] if state.classes is None else sums["brier"] * (len(state.classes) <= 2)
        sums["brier"] -= half / 2
        assert float(sums["weight"]) == state.weight
        for name in ("log_loss", "brier_score", "spherical_score"):
            assert float(sums[name.removesuffix("_score")] / sums["weight"]) == pytest.approx(snapshot[name], rel=1e-15)
        top = (sums["rank_1"] + sums["rank_2"]) / sums["weight"]
        assert float(top) == pytest.approx(snapshot.value("top_k_accuracy", k=2), rel=1e-15)


CHECKS = {"confusion": check_confusion, "ranks": check_ranks, "losses": check_losses}


def check(state: Any, kind: str, content: Any) -> None:
    """Compare a state of any kind with its content, as the page describes it."""
    if kind in CHECKS:
        CHECKS[kind](state, content)
    elif kind in ("metric", "set"):
        assert kind == "metric" or len(content[0]) <= 8 or content[0][8] == state.score_states
        own = state._states()
        parts = list(zip(own, content[1:], strict=False))
        for fold, states in [*content[1 + len(own) :], ()][0]:
            parts += zip(state._unit_folds[fold]._states(), states, strict=True)
        for part, part_content in parts:
            check(part, part.KIND, part_content)
    elif kind == "comparison":
        cells = [column.tolist() for column in state.cells() if column is not None]
        assert cells == [list(column) for column in content[4]]
        assert list(content[1][1:4]) == [state.n, state.keyed, state.weighted]
        assert [*(content[0][2] or ()), *content[2]] == list(state.labels)
    else:
        check_container(state, kind, content)


def check_container(state: Any, kind: str, content: Any) -> None:
    """Compare a container: what it holds, and the states inside."""
    if kind == "rolling":
        window, _, labels, truths, predictions, weights = content
        assert (window, len(truths)) == (state.window, state.held)
        if all(at is None or type(at) is int for at in predictions):
            again = sm.ConfusionMatrix()
            for truth, predicted, w in zip(truths, predictions, weights or [1] * len(truths), strict=True):
                again.update(labels[truth], None if predicted is None else labels[predicted], w)
            assert again.labels == state.snapshot().labels
            assert (again.matrix == state.snapshot().confusion_matrix).all()
    elif kind == "timed":
        inner, pane, panes, _, _, _, states = content
        assert panes == state.panes
        assert n_in(inner[0], [each for _, each in states]) >= state.n  # panes that have expired are still there
        assert sm.TimeWindow(sm.MetricSet(), timedelta(microseconds=pane * panes / 1000), panes).period == state.period
    elif kind == "fading":
        inner, _, _, _, states = content
        assert max((n_of(inner[0], each) for _, each in states), default=0) == state.n
    elif kind == "groups":
        inner, limit, other, groups, rest = content
        assert [name for name, _, _ in groups] == list(state.groups)
        assert ([*limit, None][0], other) == (state.max_groups, state.other)
        assert inner[0] == "timed" or n_in(inner[0], [*(each for _, _, each in groups), *rest]) == state.n
        for name, _, each in groups:
            check(state.state(name), inner[0], each)
    elif kind == "multilabel":
        options, counts, sizes, sets = content
        assert options == (state.metrics, state.zero_division, state.scores, state.threshold)
        labels, weights = confusion_cells(counts)
        right = {label: weights.get((at, at), 0) / UNIT for at, label in enumerate(labels) if label != ()}
        assert right == {label: view.confusion_matrix[1, 1] for label, view in state.snapshot().by_label.items()}
        assert (sizes[2], sizes[3], len(sets)) == (state.n, state.abstained, len(state.labels) if state.scores else 0)
    elif kind == "aggregate":
        listed = [each for each in content if len(each) == 4]
        workers = {name: (epoch, sequence) for name, epoch, sequence, packed in listed if len(packed) == 2}
        assert workers == {name: (worker.epoch, worker.sequence) for name, worker in state.workers().items()}
    else:
        assert kind == "detector"
        assert content[1][:3] == (state.n, state.abstained, state.alarms)


def n_of(kind: str, content: Any) -> int:
    """Return the number of samples of a content."""
    if kind in ("metric", "set"):
        return n_of("confusion", content[1])
    return int(content[2 if kind == "confusion" else 1])


def n_in(kind: str, contents: list[Any]) -> int:
    """Return the number of samples of several contents."""
    return sum(n_of(kind, content) for content in contents)


@pytest.mark.quick
def test_reads_golden_files() -> None:
    """Golden files hold what the reader says they hold."""
    assert len(GOLDEN) > 50
    for path in GOLDEN.values():
        data = path.read_bytes()
        check(sm.from_bytes(data), *wire_reader.read(data))


def appearances(content: Any, samples: list[Any]) -> list[int]:
    """Return how often each number that is not fixed was seen, with a weight, as boolean, as integer and as float."""
    seen = [x for truth, predicted, w in samples if w and predicted is not None for x in (truth, predicted)]
    numbers = [x for x in content[4] if isinstance(x, int | float)]
    return [sum(type(y) is kind and y == x for y in seen) for x in numbers for kind in (bool, int, float)]


@given(st.lists(st.tuples(LABELS, st.none() | LABELS, WEIGHTS)), st.booleans())
def test_reads_random_matrices(samples: list[tuple[Any, Any, Any]], fixed: bool) -> None:
    """The reader gets labels and cells of any matrix."""
    first = list(dict.fromkeys(truth for truth, _, _ in samples[: len(samples) // 2]))
    state = sm.ConfusionMatrix(first, other="any other") if fixed and first else sm.ConfusionMatrix()
    for sample in samples:
        state.update(*sample)
    kind, content = wire_reader.read(state.to_bytes())

    assert kind == "confusion"
    check_confusion(state, content)
    assert list(content[5]) == appearances(content, samples)


ROWS = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda x: [value / sum(x) for value in x])
STREAM = st.lists(st.tuples(st.sampled_from("abc"), ROWS, st.integers(0, 3), st.integers(0, 90)), max_size=30)


MAKES = {
    "set": lambda: sm.MetricSet(scores=True),
    "coarse set": lambda: sm.MetricSet(scores=True, buckets=2, sample=2),
    "sketch": lambda: sm.RankSketch(buckets=3, sample=1, pairs=False),
    "set of less": lambda: sm.MetricSet(["roc_auc", "log_loss"]).reconfigured(metrics=["accuracy"]),
    "groups": lambda: sm.ByGroup(sm.MetricSet(scores=True), max_groups=2),
    "timed": lambda: sm.TimeWindow(sm.MetricSet(), period="1m", panes=6),
    "fading": lambda: sm.Fading(sm.MetricSet(), half_life=4),
    "rolling": lambda: sm.Rolling(sm.MetricSet(), window=5),
}


@pytest.mark.parametrize("kind", MAKES)
@given(samples=STREAM)
def test_reads_random_sets_and_containers(kind: str, samples: list[Any]) -> None:
    """The reader gets every state inside a set, a group or a window."""
    state: Any = MAKES[kind]()
    for truth, row, w, number in samples:
        scores = dict(zip("abc", row, strict=True))
        if isinstance(state, sm.ByGroup):
            state.update(truth, None, w, scores=scores, group=f"g{number % 3}", unit=number)
        elif isinstance(state, sm.TimeWindow):
            state.update(truth, scores, w, t=1_700_000_000 + number)
        else:
            state.update(truth, scores, w)
    check(state, *wire_reader.read(state.to_bytes()))


@given(st.integers(-(2**63), 2**63 - 1))
def test_folds_of_units(unit: int) -> None:
    """The fold of a unit is the one that the page says."""
    state = sm.MetricSet(["accuracy"])
    state.update("a", "a", unit=unit)
    folds = wire_reader.read(state.to_bytes())[1][2]

    assert [fold for fold, _ in folds] == [fold_of_int(unit)]


def test_example_of_the_page() -> None:
    """The bytes of the example are those of its samples."""
    section = PAGE.read_text(encoding="utf-8").split("### Example\n")[1].split("\n## ")[0]
    data = bytes.fromhex("".join(re.findall(r"^\| `([0-9a-f ]+)` \|", section, flags=re.MULTILINE)))
    state = sm.ConfusionMatrix()
    state.update_many(["cat", "cat", "dog"], ["dog", "cat", None])

    assert data == state.to_bytes()


def untagged(item: dict[str, Any]) -> Any:
    """Return the value of an object of JSON that stands for one."""
    kinds: dict[str, Any] = {"int": int, "float": float, "bytes": bytes.fromhex, "tuple": tuple}
    return kinds[min(item)](*item.values()) if min(item, default="") in kinds and len(item) == 1 else item


def test_states_of_tables_have_their_bytes() -> None:
    """Python writes the bytes that writers in other languages are checked against."""
    for table in json.loads((vectors.FOLDER / "tables.json").read_text(), object_hook=untagged):
        state = {"confusion": sm.ConfusionMatrix, "set": sm.MetricSet}[table["kind"]](**table["options"])
        for sample in table["samples"]:
            state.update(*sample)
        assert state.to_bytes().hex() == table["bytes"]


def test_javascript_reads_and_writes() -> None:
    """The reader in JavaScript gets what golden files hold, refuses newer ones, and writes the bytes of the tables."""
    node = shutil.which("node") or pytest.skip("needs node, which runs the reader")
    subprocess.run([node, Path(__file__).parent / "check_reader.mjs", vectors.GOLDEN], check=True, timeout=120)


def test_javascript_and_page_know_all_keys() -> None:
    """The reader lists the keys of the catalog by the state that they read, the page those that do not read labels."""
    text = (PAGE.parent / "readers" / "javascript" / "keys.mjs").read_text()
    keys = json.loads(text[text.index("{") : text.rindex(";")])
    reads = {key: (row.state, "pairs" * row.quadratic) for key, row in CATALOG.items()}

    assert keys == {name: [key for key, states in reads.items() if name in states] for name in keys}
    for name in keys.keys() - {"counts"}:
        assert ", ".join(f"`{key}`" for key in keys[name]) in " ".join(PAGE.read_text().split())
