"""The laws of a mergeable accumulator, on sums of losses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from stream_metrics import testing
from stream_metrics.states.losses import ProbabilityLosses

NAMES = ("a", "b", 1, 0, 2.5, b"a", (1, "x"))


def probabilities() -> st.SearchStrategy[float]:
    """Probabilities of every size, ties, the ends, and rounding beyond them."""
    return st.one_of(
        st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3, 1e-300, 2.0**-52, 2.0**-53, 1 - 2.0**-53, 1 + 1e-7, -1e-17, -0.0]),
        st.floats(0, 1),
        st.floats(0, 1, width=32),
    )


def mappings() -> st.SearchStrategy[dict[Any, float]]:
    """Scores by label, none at all included."""
    return st.dictionaries(testing.labels(), probabilities(), max_size=6)


def any_form() -> testing.Samples:
    """Samples whose scores are mappings, sequences or missing."""
    rows = st.lists(probabilities(), min_size=len(NAMES), max_size=len(NAMES))
    truth = st.one_of(testing.labels(), st.sampled_from(NAMES))
    return st.tuples(truth, st.one_of(mappings(), rows, st.none()), testing.weights())


def one_score() -> testing.Samples:
    """Samples with the probability of one label, which batches read as an array."""
    return st.tuples(st.sampled_from([True, False, 1, 0.0, 3]), probabilities(), testing.weights())


@pytest.mark.parametrize("law", testing.LAWS)
@pytest.mark.parametrize("samples", [any_form(), one_score()], ids=["any form", "one score"])
def test_laws(law: testing.Law, samples: testing.Samples) -> None:
    """Every law holds, whatever the form of the scores and whatever the weights."""
    law(lambda: ProbabilityLosses(classes=NAMES), samples)
