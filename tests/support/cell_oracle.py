"""What the samples of two classes show of one crowded cell, on arrays; see `_core/ranks/crowded_cells.pxi`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Floats = np.ndarray
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
    assert s.atom is not None
    places, mass, unresolved = np.append(s.places, place), np.append(s.mass, s.atom[2]), np.append(s.unresolved, False)
    return s._replace(places=places, mass=mass, unresolved=unresolved)


class Comparison(NamedTuple):
    """How often own is above rest within a cell, ties half."""

    share: float
    se: float
    """The standard error of the share, for deciding whether it differs from another guess."""
    std_error: float
    """How far the share may be off, everything considered that the sample cannot show."""


def compare(rest: CellDistribution, own: CellDistribution) -> Comparison:
    """Return the share of pairs in which own is above, with its errors."""
    above_rest = _mass_below(own.places, rest)
    below_own = 1.0 - _mass_below(rest.places, own)
    share = float(own.mass.dot(above_rest))
    both = (rest, below_own), (own, above_rest)
    atoms = sum((MISSED * s.unseen) ** 2 for s, _ in both if s.atom)
    se = math.sqrt(sum(_variance(s, v, s.calibrated) for s, v in both) + atoms)
    std_error = sum(_variance(s, v, False) for s, v in both) + atoms
    for s, _ in both:
        hidden = UNIFORM * s.unseen if s.atom else abs(share - 0.5) * max(0.0, s.unseen - 2 * s.noise)
        std_error += hidden**2
    few = UNIFORM * sum(1 / (len(s.places) - (s.atom is not None)) for s, _ in both)
    return Comparison(share, se, min(UNIFORM, math.sqrt(std_error + few**2)))


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
