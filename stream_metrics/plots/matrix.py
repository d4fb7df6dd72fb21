"""The confusion matrix as a heat map.

A cell is coloured by its share of the true class: right cells run from light to dark blue, wrong ones from light to
dark orange, a pair that every kind of colour vision tells apart, on a square-root scale. On a linear scale the errors
of a good model, a few per cent of a row, all look like zero. Zeros are white.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from stream_metrics.formulas.protocol import Floats
from stream_metrics.plots.base import NAME, THIN, Numbers, has_margins, names, new_axes, samples, show_empty
from stream_metrics.report.layout import display_width, fit_names, numbers
from stream_metrics.report.matrix import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, FuncNorm
    from matplotlib.image import AxesImage

    from stream_metrics.snapshots.snapshot import Snapshot


TICKS = 60  # more classes than this get a label every few rows
SMALLEST, LARGEST = 3.2, 9.0  # inches of a matrix
CELL = 0.45  # inches of a cell at least, as long as the matrix is between the two
READABLE = 7.0  # points; smaller figures are left out of the cells
FITTING = 1.5  # points of a cell's width per point of size and character
FAINTEST = 0.15  # where in a colour map the smallest share begins, so that it differs from a zero
SHADES = 256  # of right and of wrong cells
OF = {None: "the true class", "true": "the true class", "pred": "the predicted class", "all": "all samples"}
TICKED = (0, 1, 5, 20, 50, 100)  # per cent
BAR, STRIPS = 0.85, 0.26  # inches beside the matrix for its colours, and of the colours alone


def confusion_matrix(
    snapshot: Snapshot, *, normalize: Literal["true", "pred", "all"] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the confusion matrix as a heat map, rows true, and return its axes.

    `normalize` shows counts (None), or per cent of the row ("true"), of the column ("pred") or of everything ("all").
    Colours are shares of the same, with counts those of the row; a row or column without samples is grey. Cells carry
    their figures while these are legible. `ValueError` above 4096 classes.
    """
    if normalize not in OF:
        raise ValueError(f'Expected `normalize` to be None, "true", "pred" or "all", but got {normalize!r}')
    counts = snapshot.confusion_matrix
    shares = _shares(counts, normalize)
    texts = _texts(counts, shares, normalize)
    short = fit_names(names(snapshot.labels), NAME)
    if ax is None:
        ax = new_axes(_inches(short, texts))
    ax.set(xlabel="Predicted class", ylabel="True class")
    ax.set_title(f"Confusion matrix, {samples(snapshot.n)}")
    if not short:
        return show_empty(ax)
    top = 100.0 if normalize != "all" else float(np.nanmax(shares, initial=0)) or 1.0
    image = _heat(ax, shares, top)
    if has_margins(ax):
        _bar(ax, top, f"share of {OF[normalize]}, %")
    _label(ax, short)
    _write(ax, image, texts)
    return ax


def _inches(names: Sequence[str], texts: dict[tuple[int, int], str]) -> tuple[float, float]:
    """Return the size of a figure whose cells hold their figures, beside the names and the colour bar."""
    cell = max(CELL, (READABLE + 0.5) * max(map(len, texts.values()), default=0) / FITTING / 72)
    side = min(max(SMALLEST, cell * len(names)), LARGEST)
    space = 0.085 * max(map(display_width, names), default=0)
    return side + space + 0.6 + BAR + 0.4, side + (space if _upright(names) else 0.2) + 0.9


def _shares(counts: Numbers, normalize: str | None) -> Floats:
    """Return per cent of the whole, of the row by default; nan where the whole is 0."""
    values = counts.astype(np.float64)
    whole = {"true": values.sum(axis=1, keepdims=True), "pred": values.sum(axis=0, keepdims=True), "all": values.sum()}
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * values / whole[normalize or "true"])


def _texts(counts: Numbers, shares: Numbers, normalize: str | None) -> dict[tuple[int, int], str]:
    """Return the figures of the cells that are not 0, by row and column; none if there are too many of them."""
    if len(counts) > TICKS:
        return {}
    cells = list(zip(*(part.tolist() for part in np.nonzero(counts)), strict=True))
    if normalize is None:
        return dict(zip(cells, numbers([counts[cell].item() for cell in cells], THIN), strict=True))
    return {cell: percent(shares[cell].item(), 100.0) for cell in cells}


def _heat(ax: Axes, shares: Floats, top: float) -> AxesImage:
    """Draw the cells: right ones as positive numbers, wrong ones as negative ones, grey where there is no share."""
    signed = np.where(np.eye(len(shares), dtype=bool), shares, -shares)
    values = np.ma.masked_invalid(signed)
    return ax.imshow(values, cmap=_colours(), norm=_scale(top), aspect="equal", interpolation="nearest")


def _scale(top: float) -> FuncNorm:
    """Return the square-root scale of shares up to `top`, negative ones for wrong cells."""
    from matplotlib.colors import FuncNorm

    return FuncNorm((_root, _square), vmin=-top, vmax=top)


def _root(share: Floats) -> Floats:
    return np.sign(share) * np.sqrt(np.abs(share))


def _square(root: Floats) -> Floats:
    return np.sign(root) * np.square(root)


def _colours() -> Colormap:
    """Return the colours from dark orange over white, which only 0 has, to dark blue."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    steps = np.linspace(FAINTEST, 1.0, SHADES)
    wrong, right = (colormaps[name](steps) for name in ("Oranges", "Blues"))
    return ListedColormap(np.vstack([wrong[::-1], np.ones(4), right])).with_extremes(bad="0.8")


def _bar(ax: Axes, top: float, unit: str) -> None:
    """Draw the colours of right and wrong cells beside the matrix, at its height."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    bar = ax.inset_axes((1 + 0.12 / inches, 0.0, STRIPS / inches, 1.0))
    shares = np.square(np.linspace(0.0, 1.0, SHADES))[:, None] * top
    strips = np.hstack([shares, -shares])
    bar.imshow(strips, cmap=_colours(), norm=_scale(top), aspect="auto", origin="lower", extent=(0, 2, 0, 1))
    ticks = [tick for tick in TICKED if tick <= top]
    bar.set_yticks([math.sqrt(tick / top) for tick in ticks], [str(tick) for tick in ticks], fontsize=8)
    bar.yaxis.tick_right()
    bar.yaxis.set_label_position("right")
    bar.set_ylabel(unit, fontsize=9)
    bar.set_xticks([0.5, 1.5], ["right", "wrong"], rotation=90, fontsize=8)
    bar.tick_params(axis="x", length=0)


def _upright(names: Sequence[str]) -> bool:
    """Tell whether the names of the columns must stand upright."""
    return max(map(len, names), default=0) > (8 if len(names) <= 4 else 2)


def _label(ax: Axes, names: Sequence[str]) -> None:
    """Put the names on both axes; every few rows if there are many."""
    step = math.ceil(len(names) / TICKS)
    ticks, texts = range(0, len(names), step), names[::step]
    size = 10 if len(names) <= 15 else 8 if len(names) <= 40 else 6.5
    ax.set_xticks(ticks, texts, parse_math=False, fontsize=size, rotation=90 if _upright(names) else 0)
    ax.set_yticks(ticks, texts, parse_math=False, fontsize=size)


def _write(ax: Axes, image: AxesImage, texts: dict[tuple[int, int], str]) -> None:
    """Write the figures into the cells, in the more legible of black and white, if all of them fit."""
    shares = np.asarray(image.get_array())
    box = ax.get_window_extent()
    cell = min(box.width, box.height) / ax.figure.dpi * 72 / len(shares)
    size = min(10.0, 0.5 * cell, FITTING * cell / max(map(len, texts.values()), default=1))
    if size < READABLE:
        return
    colours = image.to_rgba(shares)
    for (row, column), text in texts.items():
        colour = _contrasting(colours[row, column])
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=size)


def _contrasting(rgba: Sequence[float]) -> str:
    """Return black or white, whichever has the higher contrast on a colour (WCAG 2.1 relative luminance)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"
