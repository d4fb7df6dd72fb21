"""Which values are one ratio of two linear forms, so that compiled code can read them after each sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_metrics.formulas.counts import DETECTION_PREVALENCE, PREVALENCE
from stream_metrics.formulas.protocol import Form
from stream_metrics.formulas.rates import FORMS, JACCARD, RECALL, fbeta_forms

POOLED: dict[str, tuple[Form, Form]] = {  # of all samples together, where t_k, p_k and N are all N
    **dict.fromkeys(
        ("accuracy", "micro_precision", "micro_recall", "micro_f1", "micro_fbeta", "weighted_recall"), RECALL
    ),
    "micro_jaccard": JACCARD,
    "zero_one_loss": ((-1, 0, 0, 1), (0, 0, 0, 1)),
}
ONE_CLASS: dict[str, tuple[Form, Form]] = {
    **FORMS,
    "prevalence": PREVALENCE,
    "detection_prevalence": DETECTION_PREVALENCE,
}


def linear_forms(key: str, options: Mapping[str, Any]) -> tuple[Form, Form] | None:
    """Return the forms of the row with a key: of `pos_label` if it is per class, of all samples if not; None if none.

    A value of forms that are not whole may exceed 1 by a rounding error.
    """
    return fbeta_forms(**options) if key == "fbeta" else POOLED.get(key) or ONE_CLASS.get(key)
