"""The ROC area that a coarse column shows, in plain NumPy: exact between cells, estimated within crowded ones."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray
ZERO, MIXED, ENDS = 2**63, 2**64 - 1, (1, 2**64 - 2)  # codes of 0, of no score, and of scores that share one
DENSE = 20  # sampled codes of each class from which a cell is inspected
SINGLE, OVERALL = 3.0, 2.0  # standard errors by which one sample, and all others together, must contradict the means
CERTAIN = 0.01  # a code with this share of its cell is an atom whose weight is known, not one of many like it
CERTAIN_MEDIANS = 10.0  # ... if it also is that much heavier than its neighbours
CALIBRATE = 4.0  # standard errors between sampled and exact mean up to which the sample is merely off its mean
MISSING = 5.0  # standard errors of the sampled weight from which an atom must have been missed
SAME_PLACE = 4.0  # standard errors between two missed atoms up to which they are one
UNIFORM = 0.29  # 1/sqrt(12): the standard deviation of a share of which nothing is known
MISSED = 0.1  # the standard deviation of a share that an atom's place is to blame for


class CellDistribution(NamedTuple):
    """The mass of one class in one cell, on places in [0, 1)."""

    places: Floats
    mass: Floats
    """Sums to 1."""
    unresolved: np.ndarray
    """The codes that stand for others, unlike those whose mass is known."""
    calibrated: bool
    tau: float
    unseen: float
    """The share of the mass that the sample misses, as far as its weight tells."""
    noise: float
    """The standard error of that share."""
    atom: tuple[float, float, float] | None
    """Place, its standard error, and mass of a missed atom, which is not among the places."""


def cell_distribution(places: Floats, sampled: Floats, count: float, mean: float, tau: float) -> CellDistribution:
    """Return where the mass `count` of a class lies, given the sampled codes with their weights, and the exact mean."""
    unresolved = sampled < max(CERTAIN * count, CERTAIN_MEDIANS * float(np.median(sampled)))
    x, w = places[unresolved], sampled[unresolved]
    known = 0.0 if unresolved.all() else float(sampled[~unresolved].sum())
    seen, squares = float(w.sum()), float(w.dot(w))
    left = max(count - known, seen)  # what is left beside heavy codes may be lost in rounding
    centre = float(w.dot(x)) / seen
    deviation = math.sqrt(float(w.dot((x - centre) ** 2)) / seen)
    goal = centre if math.isnan(mean) else (count * mean - float(sampled[~unresolved].dot(places[~unresolved]))) / left
    unseen = max(0.0, 1 - seen / (tau * left))
    noise = math.sqrt((1 - tau) * squares / seen / (tau * left))
    mass, atom, calibrated = sampled / count, None, False
    mass[unresolved] *= left / seen
    if unseen > MISSING * noise:
        mass[unresolved] *= 1 - unseen
        place = min(max((goal - (1 - unseen) * centre) / unseen, 0.0), 1.0)
        atom = place, deviation / math.sqrt(len(x)) * (1 - unseen) / unseen, unseen * left / count
    elif not math.isnan(mean) and abs(goal - centre) < CALIBRATE * deviation * math.sqrt(squares) / seen:
        tilt = np.maximum(0.0, 1 + (goal - centre) / deviation**2 * (x - centre))
        mass[unresolved] *= tilt * (seen / float(w.dot(tilt)))
        calibrated = True
    return CellDistribution(places, mass, unresolved, calibrated, tau, unseen, noise, atom)


def place_atoms(
    rest: CellDistribution, own: CellDistribution, rest_count: float, own_count: float
) -> tuple[CellDistribution, CellDistribution]:
    """Return both classes with their missed atoms in place: on one place if the two cannot be told apart."""
    if rest.atom and own.atom:
        (a, a_error, a_mass), (b, b_error, b_mass) = rest.atom, own.atom
        if abs(a - b) <= SAME_PLACE * math.hypot(a_error, b_error):
            a_mass, b_mass = a_mass * rest_count, b_mass * own_count
            a = b = (a * a_mass + b * b_mass) / (a_mass + b_mass)
        return _with_atom(rest, a), _with_atom(own, b)
    return (_with_atom(s, s.atom[0]) if s.atom else s for s in (rest, own))  # type: ignore[return-value]


def _with_atom(s: CellDistribution, place: float) -> CellDistribution:
    places, mass = np.append(s.places, place), np.append(s.mass, s.atom[2] if s.atom else 0)
    return s._replace(places=places, mass=mass, unresolved=np.append(s.unresolved, False))


def compare(rest: CellDistribution, own: CellDistribution) -> tuple[float, float, float]:
    """Return how often own is above rest within a cell, ties half; its standard error, for deciding whether it differs
    from another guess; and how far it may be off, everything considered that the sample cannot show.
    """
    above_rest = _mass_below(own.places, rest)
    both = (rest, 1.0 - _mass_below(rest.places, own)), (own, above_rest)
    share = float(own.mass.dot(above_rest))
    atoms = sum((MISSED * s.unseen) ** 2 for s, _ in both if s.atom)
    se = math.sqrt(sum(_variance(s, v, s.calibrated) for s, v in both) + atoms)
    std_error = sum(_variance(s, v, False) for s, v in both) + atoms
    for s, _ in both:
        hidden = UNIFORM * s.unseen if s.atom else abs(share - 0.5) * max(0.0, s.unseen - 2 * s.noise)
        std_error += hidden**2
    few = UNIFORM * sum(1 / (len(s.places) - (s.atom is not None)) for s, _ in both)
    return share, se, min(UNIFORM, math.sqrt(std_error + few**2))


def _mass_below(places: Floats, other: CellDistribution) -> Floats:
    """Return the mass of the other class below each place, plus half the mass on it."""
    order = np.argsort(other.places, kind="stable")
    where, upto = other.places[order], np.concatenate([[0.0], np.cumsum(other.mass[order])])
    return np.asarray((upto[where.searchsorted(places)] + upto[where.searchsorted(places, "right")]) * (0.5 / upto[-1]))


def _variance(s: CellDistribution, values: Floats, calibrated: bool) -> float:
    """Return the variance of a weighted mean of the values over a uniform sample of codes."""
    mass, v, x = s.mass[s.unresolved], values[s.unresolved], s.places[s.unresolved]
    k, total, lost = len(v), float(mass.sum()), 2 if calibrated else 1
    if not total or k <= lost:
        return math.nan if not total else 0.0
    residual = v - float(mass.dot(v)) / total
    if calibrated:
        x = x - float(mass.dot(x)) / total
        residual = residual - x * (float((mass * x).dot(residual)) / float((mass * x).dot(x)))
    return (1 - s.tau) * k / (k - lost) * float((mass * residual).dot(mass * residual))


class Area(NamedTuple):
    """An estimate of the ROC area of a column, and what its crowded cells are like."""

    value: float
    low: float
    high: float
    se: float
    kinds: set[tuple[bool, bool]]
    """Of each crowded cell: whether it misses an atom, and whether its sample was calibrated."""


def roc_auc(column: Any) -> Area:
    """Return the area of a column: pairs between cells as integers, pairs within a cell by its means or its sample."""
    starts = [(int(cell) << column.level, 1) for cell in column.cells]
    is_mixed = [int(x) == MIXED for x in column.sole] if column.level else [int(x) in ENDS for x in column.cells]
    rows = [(at, int(rest), int(own), i) for i, (at, (rest, own)) in enumerate(zip(starts, column.counts, strict=True))]
    zeros = [int(column.totals[c]) - sum(row[1 + c] for row in rows) for c in (0, 1)]
    sure, below, inside, cells = 0, 0, [], []
    for _, rest, own, i in sorted([*rows, ((ZERO, 0), *zeros, -1)]):
        mixed = i >= 0 and is_mixed[i]
        sure += own * (2 * below + (0 if mixed else rest))
        below += rest
        if mixed:
            inside.append(own * rest)
            cells.append(i)
    every = below * int(column.totals[1])
    rest_places, own_places = column.offsets[cells].T
    means = np.clip(np.nan_to_num(0.5 + own_places - rest_places, nan=0.5), 0, 1)
    shares, errors, kinds = means.copy(), np.full(len(cells), UNIFORM), set()
    weights = np.array(inside, float) / every
    left, noise, seen = 0.0, 0.0, {}
    for at, cell in enumerate(cells if column.level else []):
        if min(len(_sampled(column, cell, c)[0]) for c in (0, 1)) >= DENSE:
            share, se, errors[at] = _inspected(column, cell, kinds)
            seen[at] = share, abs(share - means[at]) > SINGLE * se
            if not seen[at][1]:
                left, noise = left + weights[at] * (share - means[at]), noise + (weights[at] * se) ** 2
    together = abs(left) > OVERALL * math.sqrt(noise)
    for at, (share, contradicts) in seen.items():
        shares[at] = share if together or contradicts else shares[at]
    low, high = Fraction(sure, 2 * every), Fraction(sure + 2 * sum(inside), 2 * every)
    value, se = float(low) + float(shares @ weights), float(np.hypot.reduce(errors * weights))
    return Area(value, float(low), float(high), se, kinds)


def _sampled(column: Any, cell: int, c: int) -> tuple[np.ndarray, Floats]:
    inside = column.sample_codes[c] >> np.uint64(column.level) == column.cells[cell]
    return column.sample_codes[c][inside], column.sample_weights[c][inside].astype(np.float64) / column.units


def _inspected(column: Any, cell: int, kinds: set[tuple[bool, bool]]) -> tuple[float, float, float]:
    """Return what the samples of both classes show of a cell."""
    counts, sides = (column.counts[cell].astype(np.float64) / column.units).tolist(), []
    for c in (0, 1):
        codes, weights = _sampled(column, cell, c)
        places = (codes - (column.cells[cell] << np.uint64(column.level))).astype(np.float64) * 2.0**-column.level
        mean = float(column.offsets[cell, c])
        sides.append(cell_distribution(places, weights, counts[c], mean, column.tau[c]))
    kinds.add((any(s.atom is not None for s in sides), any(s.calibrated for s in sides)))
    return compare(*place_atoms(*sides, *counts))
