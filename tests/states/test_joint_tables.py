"""Two models whose scores are tables: every form counts as mappings do, and errors name argument and position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm

CLASSES = ["cat", "dog", "fox"]
RNG = np.random.default_rng(0)
TRUTH = RNG.choice(CLASSES, 60).tolist()
TABLES = [RNG.dirichlet(np.ones(3), 60) for _ in range(2)]


def mappings(table: np.ndarray) -> list[dict[str, float]]:
    """Return the rows as mappings."""
    return [dict(zip(CLASSES, row, strict=True)) for row in table.tolist()]


def arrow(table: np.ndarray) -> Any:
    """Return an Arrow table."""
    return pytest.importorskip("pyarrow").table(dict(zip(CLASSES, table.T, strict=True)))


FORMS: dict[str, tuple[Callable[[np.ndarray], Any], bool]] = {  # and whether a table names its classes
    "array": (lambda table: table, False),
    "rows": (lambda table: table.tolist(), False),
    "frame": (lambda table: pd.DataFrame(table, columns=CLASSES), True),
    "reordered frame": (lambda table: pd.DataFrame(table, columns=CLASSES)[["fox", "cat", "dog"]], True),
    "arrow": (arrow, True),
}


@pytest.mark.parametrize("scores", [True, "any"])
@pytest.mark.parametrize("form", FORMS)
def test_tables_count_as_mappings(form: str, scores: Any) -> None:
    """Also with weights and units; an array needs the names of its columns."""
    make, named = FORMS[form]
    weights, units = RNG.random(60), RNG.integers(0, 9, 60)
    expected, counted = sm.Comparison(scores=scores), sm.Comparison(scores=scores)
    expected.update_many(TRUTH, *map(mappings, TABLES), weights, unit=units)
    counted.update_many(TRUTH, *map(make, TABLES), weights, unit=units, **({} if named else {"classes": CLASSES}))

    assert counted == expected
    assert counted.n == 60


def test_models_may_have_different_forms_and_rows_may_come_alone() -> None:
    """A row of scores with `classes` is a mapping, one by one too."""
    expected, counted, alone = (sm.Comparison(scores=True) for _ in range(3))
    expected.update_many(TRUTH, *map(mappings, TABLES))
    counted.update_many(TRUTH, pd.DataFrame(TABLES[0], columns=CLASSES), mappings(TABLES[1]))
    for truth, a, b in zip(TRUTH, *TABLES, strict=True):
        alone.update(truth, a, b.tolist(), classes=CLASSES)

    assert counted == expected
    assert alone == expected


@pytest.mark.parametrize(
    ("arguments", "more", "error", "message"),
    [
        ((TRUTH, TABLES[0], TABLES[1]), {}, "pred_a", "`classes`"),
        ((TRUTH, TABLES[0], TABLES[1][:3]), {"classes": CLASSES}, "pred_b", "`pred_b` to have as many rows .*got 3"),
        ((TRUTH, TABLES[0], TABLES[1][:, :2]), {"classes": CLASSES}, "pred_b", "`pred_b` to have 3 columns"),
        ((TRUTH, TABLES[0], np.where(np.arange(60)[:, None] == 7, np.nan, TABLES[1])), {"classes": CLASSES}, "pred_b",
         "finite number, but got nan .*position 7"),
        ((["cat"], np.zeros((1, 3, 1)), TABLES[1][:1]), {"classes": CLASSES}, "pred_a", "`pred_a` .*dimension"),
        ((["cat"], ["cat"], [{"cat": 1.0}]), {}, "pred_a", "`pred_a` at position 0 .*, but got 'cat'"),
        ((["cat"], None, [{"cat": 1.0}]), {}, "pred_a", "`pred_a` .*, but got None"),
    ],
)  # fmt: skip
def test_errors_name_the_model(arguments: Any, more: Any, error: str, message: str) -> None:
    """Argument and position, and nothing is counted."""
    state = sm.Comparison(scores=True)
    with pytest.raises(sm.ScoreError, match=message) as caught:
        state.update_many(*arguments, **more)

    assert caught.value.argument == error
    assert state == sm.Comparison(scores=True)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda state: state.update_many(TRUTH, *TABLES), "pred_a"),
        (lambda state: state.update_many(TRUTH, TRUTH, pd.DataFrame(TABLES[0], columns=CLASSES)), "pred_b"),
        (lambda state: state.update_many(TRUTH, TRUTH, TRUTH, classes=CLASSES), "classes"),
        (lambda state: state.update("cat", "cat", "dog", classes=CLASSES), "classes"),
    ],
)
def test_a_comparison_of_labels_names_the_option(call: Callable[[sm.Comparison], None], argument: str) -> None:
    """Tables of scores need `scores=True`."""
    state = sm.Comparison()
    with pytest.raises(sm.ScoreError, match=r"Comparison\(scores=True\)") as caught:
        call(state)

    assert caught.value.argument == argument
    assert state == sm.Comparison()


def test_weights_by_another_name() -> None:
    """The message points to `w`."""
    with pytest.raises(TypeError, match=r"^Comparison\.update_many\(\) .*did you mean `w`"):
        sm.Comparison().update_many(TRUTH, TRUTH, TRUTH, sample_weight=[1] * 60)
