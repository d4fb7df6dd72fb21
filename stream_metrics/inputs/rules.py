"""Which samples are left out, and what a missing prediction stands for: options of metrics and of sets of metrics."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

from stream_metrics.errors import LabelError
from stream_metrics.inputs.score_tables import is_mapping
from stream_metrics.labels import Label, canonical, is_missing

Missing: TypeAlias = Literal["abstain", "wrong", "raise"]
MISSING_CLASS = "(missing)"


class SampleRule(NamedTuple):
    """What differs from counting every sample, and a missing prediction as an abstention.

    Samples whose true label is `ignore_index` are left out. A `missing` prediction raises, or is the class
    `MISSING_CLASS`, which is never true.
    """

    missing: Missing = "abstain"
    ignore_index: Label | None = None

    def ignores(self, y_true: object) -> bool:
        """Tell whether a sample is left out; LabelError if its truth is the class of missing predictions."""
        if self.missing == "wrong" and type(y_true) is str and y_true == MISSING_CLASS:
            raise true_missing_class()
        return self.ignore_index is not None and canonical(y_true, "y_true") == self.ignore_index

    def predicted(self, y_pred: object, scores: object) -> object:
        """Return the prediction that is counted; LabelError if it is missing and must not be."""
        if self.missing == "abstain" or not (_is_absent(y_pred) and _is_absent(scores)):
            return y_pred
        if self.missing == "raise":
            raise missing_prediction("y_pred")
        return MISSING_CLASS


def _is_absent(value: object) -> bool:
    return not value if value is None or is_mapping(value) else is_missing(value)


def missing_prediction(argument: str, position: int | None = None) -> LabelError:
    """Return the error for a prediction that must not be missing."""
    return LabelError(argument=argument, position=position, expected="to be a prediction", but="it is missing")


def true_missing_class(position: int | None = None) -> LabelError:
    """Return the error for a true label that stands for missing predictions."""
    but = f"got {MISSING_CLASS!r}, which stands for missing predictions"
    return LabelError(argument="y_true", position=position, expected="to be a class that can be true", but=but)


def sample_rule(missing: Missing, ignore_index: Label | None) -> SampleRule | None:
    """Return the rule of these options, None for the default ones; ``ValueError`` if one is not valid."""
    if missing not in get_args(Missing):
        raise ValueError(f"Expected `missing` to be 'abstain', 'wrong' or 'raise', but got {missing!r}")
    ignored = None if ignore_index is None else canonical(ignore_index, "ignore_index")
    if isinstance(ignored, bool | float) and ignored == int(ignored):  # equal, whatever the data have
        ignored = int(ignored)
    return None if missing == "abstain" and ignored is None else SampleRule(missing, ignored)
