"""The laws of a mergeable state, for rank sketches of all sizes; and that broken sketches would break them."""

from __future__ import annotations

from typing import Any

import pytest
from support.rank_streams import binary, several

from stream_metrics import testing
from stream_metrics.states.ranks import RankSketch

LAWS = [law for law in testing.LAWS if law.__name__ not in ("revert_undoes", "copies_are_independent")]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize(("buckets", "sample"), [(2, 1), (3, 2), (8, 4), (1024, 512)])
def test_every_law_holds(law: Any, pairs: bool, buckets: int, sample: int) -> None:
    """Splits, orders, batches, merge trees and round trips through bytes leave the same bytes."""
    law(lambda: RankSketch(buckets, sample, pairs=pairs), binary())
    law(lambda: RankSketch(buckets, sample, "a", pairs), several())
    law(lambda: RankSketch(buckets, sample, pairs=pairs), binary(weighted=False))
    law(lambda: RankSketch(buckets, sample, pairs=pairs), several(weighted=False))


@pytest.mark.parametrize("pairs", [True, False])
def test_reverting_leaves_no_trace(pairs: bool) -> None:
    """While every score is exact, updates that are taken back in any order leave the bytes as they were."""
    testing.LAWS[6](lambda: RankSketch(pairs=pairs), binary())
    testing.LAWS[6](lambda: RankSketch(pairs=pairs), several())
