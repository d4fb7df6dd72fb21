"""Streams of scored samples for the tests of rank sketches: few or many scores, ties, zeros, ends of the range."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SPECIAL = [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 2.0, 1e-300, 5e-324, -5e-324, 1.7e308, -1.7e308, 1e308, 1 - 2**-53, 0.1, 0.3]


def scores() -> st.SearchStrategy[float]:
    """Scores: probabilities, a coarse grid, any finite double, and the places where the code changes its branch."""
    return st.one_of(
        st.floats(0, 1),
        st.integers(0, 20).map(lambda k: k / 20),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(SPECIAL),
    )


def weights() -> st.SearchStrategy[Any]:
    """Weights: mostly one, none, whole, fractions that are and are not multiples of 2^-20 and 2^-64, beyond 2^53."""
    odd = [0, 0.0, 2, 7, 0.5, 0.25, 0.1, 1.5, 2.0**-20, 2.0**-21, 2.0**-40, 1 / 3e6, 1e-18, 2.0**-64, 2**54]
    return st.one_of(st.just(1), st.sampled_from(odd))


def binary(*, weighted: bool = True) -> st.SearchStrategy[tuple[Any, ...]]:
    """Samples with one score, that of the positive class, or an abstention."""
    sample = (st.sampled_from([True, False, 1, 0]), st.one_of(scores(), scores(), scores(), st.none()))
    return st.tuples(*sample, weights()) if weighted else st.tuples(*sample)


def several(*, weighted: bool = True) -> st.SearchStrategy[tuple[Any, ...]]:
    """Samples with a mapping of labels to scores, numbers of all types among the labels."""
    row = st.dictionaries(st.sampled_from(["a", "b", "c", 1, True, 1.0, 2.0]), scores(), max_size=4)
    sample = (st.sampled_from(["a", "b", "c", 1, True, 1.0, 2.0]), row)
    return st.tuples(*sample, weights()) if weighted else st.tuples(*sample)
