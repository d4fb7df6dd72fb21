"""Groups fed with tables of counts have the bytes of groups fed with the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.errors import OptionError

Row = tuple[Any, Any, int, Any]
INNER: dict[str, Any] = {
    "matrix": sm.ConfusionMatrix,
    "set": sm.MetricSet,
    "metric": lambda: sm.Accuracy(labels=["a", "b", 1], other="c"),
}
keys = st.sampled_from(["x", "y", 1, True, 1.0, ("z", 2)])
tables = st.lists(
    st.tuples(testing.labels(), st.one_of(st.none(), testing.labels()), st.integers(0, 3), keys), max_size=30
)


@given(table=tables, data=st.data())
@pytest.mark.parametrize("max_groups", [None, 2])
@pytest.mark.parametrize("name", INNER)
def test_the_bytes_are_those_of_the_samples(
    name: str, max_groups: int | None, table: list[Row], data: st.DataObject
) -> None:
    """Groups without samples do not exist, folded ones neither, and types of keys are counted by samples."""
    groups, expected = (sm.ByGroup(INNER[name](), max_groups) for _ in range(2))
    for truth, predicted, n, key in table:
        for _ in range(n):
            expected.update(truth, predicted, group=key)
    cut = data.draw(st.integers(0, len(table)))
    for part in (table[:cut], table[cut:]):
        truth, predicted, n, key = ([row[i] for row in part] for i in range(4))
        groups.update_counts(truth, predicted, n, group=key)

    assert groups.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("rows", [30, 5000])
def test_weights_and_one_group(rows: int) -> None:
    """Small groups are counted row by row, large ones as batches; one group may be named for all rows."""
    rng = np.random.default_rng(rows)
    truth, predicted, n, group = rng.integers(0, (3, 3, 4, 5), (rows, 4)).T
    w = n * rng.choice([1, 0.5, 3], rows)
    each = np.where(n > 0, w / np.maximum(n, 1), 0)
    repeated = [np.repeat(column, n) for column in (truth, predicted, each, group)]
    for inner in (sm.ConfusionMatrix(), sm.MetricSet()):
        groups, expected = sm.ByGroup(inner), sm.ByGroup(inner)
        groups.update_counts(truth, pd.Series(predicted), n, w, group=pd.Series(group))
        expected.update_many(*repeated[:3], group=repeated[3])
        assert groups.to_bytes() == expected.to_bytes()
        groups.update_counts(truth, predicted, n, group="all")
        expected.update_many(*repeated[:2], group="all")
        assert groups.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize(
    ("arguments", "group", "error", "field", "position"),
    [
        (([0, 1], [0, 1], [1, -1]), "x", sm.WeightError, "n", 1),
        (([0, 1], [0, 1], [1, 0], [1, 2]), ["x", "y"], sm.WeightError, "w", 1),
        (([0, None], [0, 1], [1, 1]), ["x", "y"], sm.LabelError, "y_true", 1),
        (([0, 1], [0, 7], [1, 1]), ["x", "y"], sm.LabelError, "y_pred", 1),
        (([0, 1], [0, 1], [1, 1]), ["x", None], sm.LabelError, "group", 1),
        (([0, 1], [0, 1], [1, 1]), ["x"], sm.LabelError, "group", None),
        (([0, 1], [0, 1], [1, 1], [2**62, 2**62]), ["x", "x"], sm.WeightError, "w", None),
    ],
)
def test_tables_that_are_refused(
    arguments: Any, group: Any, error: Any, field: str, position: int | None
) -> None:
    """One bad row rejects the table, and the error names the row of the table."""
    groups = sm.ByGroup(sm.ConfusionMatrix([0, 1]))
    groups.update_counts([0], [1], [5], group="x")
    before = groups.to_bytes()
    with pytest.raises(error) as caught:
        groups.update_counts(*arguments, group=group)

    assert (caught.value.argument, caught.value.position) == (field, position)
    assert groups.to_bytes() == before


@pytest.mark.parametrize(
    "inner", [sm.RankSketch(), sm.ROCAUC(), sm.MetricSet(scores=True), sm.Rolling(sm.Accuracy(), 5)], ids=repr
)
def test_what_does_not_read_labels_only_is_refused(inner: Any) -> None:
    """The error names the argument of the groups."""
    with pytest.raises(OptionError, match="to read labels only") as caught:
        sm.ByGroup(inner).update_counts([0], [0], [1], group="x")
    assert caught.value.argument == "inner"
