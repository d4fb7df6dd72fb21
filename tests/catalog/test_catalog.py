"""The table of metrics: complete, consistent, and strict about keys and options."""

from __future__ import annotations

import math

import pytest
from support.refusals import all_refused, refused
from support.values import DEFAULT, OF_LABELS, snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
FIG2 = [[20, 5], [10, 15]]
BAD_OPTIONS = [
    ("accuracy", {"beta": 2}, "beta"),
    ("general_f1_geometric", {"average": "harmonic"}, "average"),
    ("fbeta", {"beta": -1}, "`beta`"),
    ("fbeta", {"beta": math.nan}, "`beta`"),
    ("macro_f1", {"variant": "x"}, "`variant`"),
    ("general_f1", {"average": "median"}, "`average`"),
    ("general_f1", {"average": "power"}, "`p`"),
    ("power_mean_precision_recall", {"p": math.nan}, "`p`"),
    ("weighted_kappa", {"weights": "cubic"}, "`weights`"),
    ("generalized_mcc", {"alpha": -1}, "`alpha`"),
    ("ovo", {"metric": "auc"}, "`metric`"),
    ("baseline_f1", {"strategy": "coin"}, "`strategy`"),
    ("baseline_f1", {"prior": {0: 0, 1: 0}}, "`prior`"),
    ("weighted_balanced_accuracy", {"weights": [1]}, "`weights`"),
    ("weighted_balanced_accuracy", {"weights": {0: 1}}, "`weights`"),
    ("weighted_balanced_accuracy", {"weights": [1, -1]}, "`weights`"),
    ("weighted_balanced_accuracy", {"weights": [1, math.inf]}, "`weights`"),
    ("weighted_balanced_accuracy", {"weights": ["1", 1]}, "`weights`"),
    ("weighted_balanced_accuracy_eq7_literal", {"weights": [0, 1]}, "`weights`"),
    ("nir_p_value", {"exact": True}, "exact"),
]


def test_rows() -> None:
    """A row has a range, sources, a short title and a summary; no two make a class of the same name."""
    failures = [
        info.key
        for key, info in METRICS.items()
        if info.key != key
        or not info.range[0] < info.range[1]
        or info.better not in ("higher", "lower", None)
        or not all((info.undefined, info.source, info.formula))
        or not info.summary.endswith(".")
        or len(info.title) > 60
    ]
    names = [info.class_name for info in METRICS.values() if info.class_name]

    assert not failures
    assert len(names) == len(set(names))
    assert all(issubclass(getattr(sm, name), sm.Metric) for name in names)
    assert not any(key.endswith("_literal") or METRICS[key].kind == "matrix" for key in DEFAULT)


def test_unknown_keys_are_answered_with_known_ones() -> None:
    """An unknown key raises a KeyError that suggests what may be meant, or says where the keys are."""
    for asked, answer in (("acuracy", "'accuracy'"), ("macro-f1", "'macro_f1'"), ("zzzzzz", "metrics()")):
        error = refused(lambda asked=asked: snapshot(FIG2)[asked], KeyError, answer)  # type: ignore[misc]
        assert repr(asked) in str(error)
    refused(lambda: snapshot(FIG2, keys=["macro_f11"]), KeyError, "macro_f11")
    assert snapshot(FIG2)["mcc"] == snapshot(FIG2)["matthews_corrcoef"]
    assert {"MCC", "mcc"} & {*METRICS["matthews_corrcoef"].aliases}


def test_bad_options_are_named() -> None:
    """A bad option is refused with its name; before the first sample too, so that no stream starts broken."""
    taken, three = snapshot(FIG2), snapshot([[1, 2, 0], [1, 1, 1], [0, 0, 1]])
    calls = [(lambda key=key, o=options: taken.value(key, **o), ValueError, name) for key, options, name in BAD_OPTIONS]

    all_refused(calls)  # type: ignore[arg-type]
    refused(lambda: three.value("mcnemar_p_value", exact=True), ValueError, "`exact`")
    refused(lambda: sm.ConfusionMatrix().snapshot().value("general_f1", average="median"), ValueError, "`average`")
    for zero in (0.5, -1, "nan", math.inf):
        refused(lambda zero=zero: snapshot(FIG2, zero_division=zero), ValueError, "`zero_division`")  # type: ignore[misc]


def test_a_snapshot_of_some_keys_has_the_values_of_all() -> None:
    """Sharing totals, cells and pairs between formulas changes no value, in any order."""
    matrix = [[6, 0, 1, 2], [3, 9, 1, 1], [1, 0, 10, 2], [1, 2, 1, 12]]
    shared, alone = snapshot(matrix, list("abcd")), {}
    for key in OF_LABELS:
        alone[key] = repr(snapshot(matrix, list("abcd")).value(key))

    assert {key: repr(shared.value(key)) for key in reversed(OF_LABELS)} == alone
