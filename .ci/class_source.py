"""The text of `stream_metrics/metrics/classes.pyi`: a signature and a docstring for each row that names a class."""

import math
import re
import sys
import textwrap
from pathlib import Path

from stream_metrics.catalog.table import CLASS_ROWS
from stream_metrics.metrics.metric import metric_class, signature
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch

sys.path.append(str(Path(__file__).parents[1] / "docs" / "hooks"))
from bibliography import references

WIDTH = 120
HEAD = '''"""Signatures and docstrings of the metric classes. Written by .ci/generate.py; do not edit."""

from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Literal

from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric
'''
SHOWN = {  # annotations that the docstrings write in words
    "Iterable[Label] | None": "iterable of Label, optional",
    "Mapping[Label, float] | Sequence[float] | None": "mapping from label to float or sequence of float, optional",
}
OPTIONS = {
    "adjusted": "Whether the value is adjusted for chance.",
    "alpha": "Number >= 0 that is added to every cell first.",
    "average": "Mean over the classes.",
    "beta": "Number >= 0: how many times as much recall counts as precision.",
    "bins": "Number of bins of scores, at most 2**20.",
    "direction": (
        "Whether later classes (in the order of the labels) are expected to have higher or lower scores. "
        '"auto" decides for each pair by the medians.'
    ),
    "fpr": "Largest false positive rate, in [0, 1].",
    "k": "Number of classes from 1 to 10.",
    "max_fpr": "Largest false positive rate, in (0, 1].",
    "metric": (
        'Metric of two classes: "accuracy", "cohen_kappa", "matthews_corrcoef", "p4", "fowlkes_mallows" or a rate of '
        'one class such as "recall".'
    ),
    "normalize": "Whether the value is the mean over the samples; otherwise it is their sum.",
    "p": 'Exponent of the power mean; needed if `average` is "power".',
    "recall": "Smallest recall, in [0, 1].",
    "scale_by_half": (
        'Whether the value is halved. "auto" halves the loss of a single probability and of a row of False and True; '
        "in a set with `labels`, of every sample if they are two, of none if they are more."
    ),
    "standardized": "Whether the area is scaled so that chance is 1/2 and a perfect score 1.",
    "strategy": "Whether bins have the same width or hold the same number of samples.",
    "variant": "Mean of the F1 of the classes, or F1 of macro precision and macro recall.",
    "weights": (
        "Weight of each class, >= 0; a sequence is in the order of the labels. By default all classes weigh the same."
    ),
    "labels": (
        "The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. "
        "By default, labels appear as they come."
    ),
    "other": "The label that stands for all labels that are not in `labels`.",
    "pos_label": "The class whose score a single number is.",
    "buckets": "Number of different scores of a class up to which the value is exact.",
    "sample": "Number of scores of each class that are kept in full beyond that.",
    "zero_division": "Value that stands for 0/0: 0.0, 1.0 or nan.",
    "missing": (
        "What a missing prediction is: in no metric but counted in `abstained`; a prediction of the class "
        '"(missing)", which is never true (labels only); or an error.'
    ),
    "ignore_index": "A true label whose samples are left out.",
}
COST = "Cost of a miss: its distance in the order of the labels, or the square of the distance."
COMPONENTS = " A component that is 0/0 counts as this number; nan leaves it out of the mean."
MEMORY = {
    "counts": "at most 9 bytes for each of K * K cells up to 1,024 classes, else at most 43 for each occupied cell.",
    "ranks": (
        f"bounded, whatever is counted: for a class against the rest at most {RankSketch().memory_bound() // 1024} KiB "
        "by default."
    ),
    "losses": "under 600 bytes, whatever is counted.",
}
PREDICTION = {  # what `y_pred` is
    "labels": (
        "the predicted label, or a mapping from label to score, whose largest is predicted. None is an abstention."
    ),
    "score": (
        "the score of `pos_label`, as one number, or a mapping from label to score, not the predicted label. A batch "
        "is a column of such scores, or a table with a column for each of `classes`. `scores=` is another name of it. "
        "None is an abstention."
    ),
    "scores": (
        "the scores of all classes, as a mapping from label to score, not the predicted label; one number is the score "
        "of `pos_label`. A batch is a table with a column for each of `classes`, such as `predict_proba` returns, or a "
        "data frame, which names its columns. `scores=` is another name of it. None is an abstention."
    ),
}
PAIRED_MEMORY = "bounded by the number of classes, at most 64, and by `buckets` and `sample`; see `RankSketch`."

TRUTH = ["cat", "cat", "cat", "dog", "dog", "fox"]
PREDICTED = ["cat", "cat", "dog", "dog", "fox", "fox"]
GRADES = [1, 2, 3, 3, 2], [1, 2, 2, 3, 3]
SPAM = ["spam", "ham", "spam", "ham", "spam"], [0.9, 0.2, 0.4, 0.6, 0.7]
CLASSES = ["cat", "dog", "fox"]
ROWS = [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6], [0.5, 0.3, 0.2]]
ROWS_TRUTH = ["cat", "cat", "dog", "fox", "fox"]
CHOSEN = {  # options of the examples, where the default shows less
    "fbeta": {"beta": 2.0},
    "macro_fbeta": {"beta": 2.0},
    "micro_fbeta": {"beta": 2.0},
    "weighted_fbeta": {"beta": 2.0},
    "weighted_balanced_accuracy": {"weights": {"cat": 1.0, "dog": 2.0, "fox": 3.0}},
    "general_f1": {"average": "harmonic"},
    "general_fowlkes_mallows": {"average": "geometric"},
    "ovo": {"metric": "recall"},
    "weighted_kappa": {"weights": "quadratic"},
    "partial_roc_auc": {"max_fpr": 0.5},
    "tpr_at_fpr": {"fpr": 0.5},
    "precision_at_recall": {"recall": 0.5},
    "expected_calibration_error": {"bins": 5},
    "maximum_calibration_error": {"bins": 5},
    "debiased_calibration_error": {"bins": 2},
    "expected_calibration_error_ovr": {"bins": 5},
}


def classes_source():
    """Return the text of the stub."""
    names = sorted(CLASS_ROWS)
    classes = [_class(CLASS_ROWS[name]) for name in names if CLASS_ROWS[name].class_name == name]
    aliases = [f"\n{name} = {row.class_name}\n" for name, row in CLASS_ROWS.items() if row.alias == name]
    return HEAD + "".join([*classes, *aliases])


def _class(row):
    header = f"class {row.class_name}({metric_class(row).__base__.__name__}):"
    lines = [header, f'    """{row.summary}', "", *_sections(row), '    """', "", *_constructor(row)]
    return "\n" + "\n".join(lines) + "\n"


def _constructor(row):
    """Return the lines of the constructor: options of the formula, then those that are passed by name."""
    parameters = [*signature(row).parameters.values()]
    written = [f"{each.name}: {_annotation(each)} = {_literal(each.default)}" for each in parameters[1:]]
    first = next(at for at, each in enumerate(parameters) if each.kind is each.KEYWORD_ONLY)
    lines = ["self", *written[: first - 1], "*", *written[first - 1 :]]
    return ["    def __init__(", *(f"        {line}," for line in lines), "    ) -> None: ..."]


def _described(row, name):
    """Return what an option of a class means."""
    if name == "weights" and row.key == "weighted_kappa":
        return COST
    if name == "pos_label" and row.kind == "per_class":
        return "The class that is measured against the rest."
    if name == "p" and row.options["p"] is not None:
        return "Exponent of the power mean."
    return OPTIONS[name] + (COMPONENTS if name == "zero_division" and row.uses_zero_division else "")


def _annotation(parameter):
    return parameter.annotation.replace("'", '"')


def _shown(annotation):
    """Return an annotation as docstrings write it: `{"up", "down"}`, `float, optional`."""
    text = SHOWN.get(annotation) or re.sub(r"^Literal\[(.*)\]$", r"{\1}", annotation)
    return re.sub(r"Literal\[(.*)\]", r"\1", text.replace(" | None", ", optional").replace(" | ", " or "))


def _literal(value):
    if isinstance(value, str):
        return f'"{value}"'
    return "nan" if isinstance(value, float) and math.isnan(value) else repr(value)


def _sections(row):
    """Return the lines of a docstring after its summary."""
    lines = ["    Parameters", "    ----------"]
    for name, parameter in [*signature(row).parameters.items()][1:]:
        shown = _shown(_annotation(parameter))
        suffix = "" if shown.endswith("optional") else f", default {_literal(parameter.default)}"
        lines += [f"    {name} : {shown}{suffix}", *_wrapped(_described(row, name), 8)]
    lines += ["", "    Notes", "    -----", *_notes(row)]
    lines += ["", "    References", "    ----------"]
    for number, text in enumerate(references(row.source), 1):
        lines += _wrapped(f".. [{number}] {text}", 4, 7)
    return [*lines, "", "    Examples", "    --------", *_example(row)]


def _notes(row):
    direction = {"higher": "; higher is better", "lower": "; lower is better", None: ""}[row.direction]
    ends = f"{'[' if math.isfinite(row.low) else '('}{row.low:g}, {row.high:g}{']' if math.isfinite(row.high) else ')'}"
    paired = row.state == "ranks" and row.quadratic
    items = [
        f"Key: ``{row.key}``.",
        f"Formula: ``{row.definition}``, in the notation of `Metric`.",
        f"Range: {ends}{direction}.",
        f"Prediction (`y_pred` of `update` and `update_many`): {PREDICTION[_prediction(row)]}",
        f"0/0: {row.undefined_when}.",
        f"Memory: {PAIRED_MEMORY if paired else MEMORY[row.state]}",
    ]
    lines = [line for item in items for line in _wrapped(f"- {item}", 4, 6)]
    return [*lines, "", *_wrapped(row.notes, 4)] if row.notes else lines


def _prediction(row):
    """Return which sort of prediction a metric reads."""
    if row.state == "counts":
        return "labels"
    return "score" if row.kind == "per_class" or row.key == "roc_auc_single_score" else "scores"


def _wrapped(text, indent, hanging=None):
    """Return lines of a paragraph."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent if hanging is None else hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _example(row):
    """Return the lines of an example; its value is computed from a snapshot, which needs no class."""
    options = CHOSEN.get(row.key, {})
    state, fed = _stream(row)
    label = None
    if row.kind == "per_class":
        label = "cat" if row.state == "counts" else "spam"
    snapshot = state.snapshot()
    value = snapshot.value(row.key, **options)
    value = value if label is None else value[label]
    arguments = {**options, **({} if label is None else {"pos_label": label})}
    if row.key == "roc_auc_single_score":
        arguments["pos_label"] = "spam"
    call = ", ".join(f"{name}={_literal(value)}" for name, value in arguments.items()).replace("'", '"')
    return [
        f"    >>> from stream_metrics import {row.class_name}",
        f"    >>> metric = {row.class_name}({call})",
        *(f"    {line}" for line in fed),
        "    >>> round(metric.get(), 4)",
        f"    {round(value, 4)!r}",
    ]


def _stream(row):
    """Return a state that has counted the samples of the example, and the lines that count them."""
    if row.state == "counts":
        truth, predicted = GRADES if row.key == "weighted_kappa" else (TRUTH, PREDICTED)
        state = ConfusionMatrix()
        state.update_many(truth, predicted)
        return state, [f">>> metric.update_many({_list(truth)}, {_list(predicted)})"]
    if row.kind == "per_class" or row.key == "roc_auc_single_score":
        state = RankSketch(pos_label="spam")
        state.update_many(*SPAM)
        return state, [f">>> metric.update_many({_list(SPAM[0])}, {_list(SPAM[1])})"]
    state = ProbabilityLosses() if row.state == "losses" else RankSketch()
    state.update_many(ROWS_TRUTH, ROWS, classes=CLASSES)
    return state, [
        f">>> truth = {_list(ROWS_TRUTH)}",
        f">>> scores = [{_list(ROWS[0])}, {_list(ROWS[1])}, {_list(ROWS[2])},",
        f"...           {_list(ROWS[3])}, {_list(ROWS[4])}]",
        f">>> metric.update_many(truth, scores, classes={_list(CLASSES)})",
    ]


def _list(values):
    return "[" + ", ".join(map(_literal, values)) + "]"
