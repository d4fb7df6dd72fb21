"""Cells that samples show from inside: the compiled comparison agrees with one on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cell_oracle import cell_distribution, compare, place_atoms
from support.rank_shapes import HARD, draw, random_hard

import stream_metrics as sm
from stream_metrics._core.ranks.kernels import DENSE, crowded_cells
from stream_metrics.ranking.protocol import MIXED, OWN, REST, RankColumn
from stream_metrics.ranking.resolve import dense_cells, sampled_in
from stream_metrics.ranking.table import pairs_of


def crowded(column: RankColumn) -> list[int]:
    """Return the mixed cells with enough sampled codes of both classes."""
    mixed = np.flatnonzero(column.sole == np.uint64(MIXED)).tolist() if column.level else []
    return [i for i in mixed if min(len(sampled_in(column, i, c)[0]) for c in (REST, OWN)) >= DENSE]


def expected(column: RankColumn, cell: int) -> tuple[Any, Any, Any]:
    """Return the distributions of rest and of own, and their comparison."""
    sides, counts = [], (column.counts[cell].astype(np.float64) / column.units).tolist()
    for c in (REST, OWN):
        codes, sampled = sampled_in(column, cell, c)
        places = (codes - (column.cells[cell] << np.uint64(column.level))).astype(np.float64) * 2.0**-column.level
        mean = float(column.offsets[cell, c])
        sides.append(cell_distribution(places, sampled, counts[c], mean, column.tau[c]))
    rest, own = place_atoms(sides[REST], sides[OWN], counts[REST], counts[OWN])
    return rest, own, compare(rest, own)


def check(column: RankColumn) -> list[tuple[bool, bool]]:
    """Compare all crowded cells of a column; return for each whether it misses an atom, and is calibrated."""
    cells = pairs_of(column)[1].cells
    dense, kinds = dense_cells(column, cells), []
    assert [int(cells[cell.at]) for cell in dense] == crowded(column)
    for cell in dense:
        *sides, comparison = expected(column, int(cells[cell.at]))
        for mine, theirs in zip((cell.rest, cell.own), sides, strict=True):
            np.testing.assert_allclose(mine.places, theirs.places, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(mine.mass, theirs.mass, rtol=1e-9, atol=1e-15)
            assert mine.mass.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(cell[3:], comparison, rtol=1e-7, atol=1e-12)
        kinds.append((any(s.atom is not None for s in sides), any(s.calibrated for s in sides)))
    return kinds


@pytest.mark.parametrize("name", HARD)
def test_named_shapes(name: str) -> None:
    """Every hard shape has crowded cells, and they are read as on arrays."""
    scores, own = draw(name, 20_000, 0)
    state = sm.RankSketch(buckets=256)
    state.update_many(own, scores)

    assert check(state.column(True))


def test_random_shapes() -> None:
    """Random clusters, tails and atoms, with and without weights, give missed atoms and tilted samples too."""
    kinds = set()
    for seed in range(25):
        g = np.random.default_rng(seed)
        scores, own = random_hard(g, 3000)
        w = (None, g.integers(1, 5, 3000), g.random(3000), g.random(3000) * 1e-12, g.integers(1, 2**40, 3000))[seed % 5]
        state = sm.RankSketch(buckets=64, sample=int(g.choice([64, 512])))
        state.update_many(own, scores, w)
        kinds |= set(check(state.column(True)))

    assert {atom for atom, _ in kinds} == {calibrated for _, calibrated in kinds} == {False, True}


def test_runs_of_codes() -> None:
    """A cell is crowded from `DENSE` codes of each class on, if it is mixed and among the cells."""
    level, g = 40, np.random.default_rng(0)

    def codes(*counts: int) -> np.ndarray:
        low = [np.sort(g.choice(2**20, n, replace=False)) + (i << level) for i, n in enumerate(counts)]
        return np.concatenate(low).astype(np.uint64)

    many, rest = DENSE, codes(DENSE, DENSE, DENSE - 1, DENSE + 5, 0, DENSE)
    own = codes(DENSE, 3, DENSE, 25, DENSE, DENSE)
    cells, sole = np.array([0, 1, 2, 3, 5], np.uint64), np.full(5, MIXED, np.uint64)

    assert crowded_cells(level, cells, sole, rest, own) == [
        (0, 0, many, 0, many),
        (3, 3 * many - 1, 4 * many + 4, 2 * many + 3, 2 * many + 28),
        (4, 4 * many + 4, 5 * many + 4, 3 * many + 28, 4 * many + 28),
    ]
    sole[3] = 7
    assert [cell for cell, *_ in crowded_cells(level, cells[:4], sole[:4], rest, own)] == [0]
    assert crowded_cells(0, cells, sole, rest[:0], own[:0]) == []
