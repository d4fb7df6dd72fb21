"""The confusion matrix as a heat map.

Cells run from light to dark blue on a square-root scale, zeros are white: on a linear scale, the errors of a good
model, a few per cent of a row, all look like zero. One hue serves every kind of colour vision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from stream_metrics.plots.base import NAME, THIN, Numbers, names, new_figure, samples, show_empty
from stream_metrics.report.layout import display_width, fit_names, numbers
from stream_metrics.report.matrix import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["confusion_matrix"]

TICKS = 60  # more classes than this get a label every few rows
SMALLEST, LARGEST = 3.2, 9.0  # inches of a matrix
CELL = 0.45  # inches of a cell at least, as long as the matrix is between the two
READABLE = 7.0  # points; smaller figures are left out of the cells
FITTING = 1.5  # points of a cell's width per point of size and character
FAINTEST = 0.15  # where in the colour map the smallest count begins, so that it differs from a zero
UNITS = {None: "samples", "true": "% of the true class", "pred": "% of the predicted class", "all": "% of all samples"}


def confusion_matrix(
    snapshot: Snapshot, *, normalize: Literal["true", "pred", "all"] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the confusion matrix as a heat map, rows true, and return its axes.

    `normalize` shows counts (None), or per cent of the row ("true"), of the column ("pred") or of everything ("all");
    a row or column without samples is grey. Cells carry their figures while these are legible. `ValueError` above
    4096 classes.
    """
    if normalize not in UNITS:
        raise ValueError(f'Expected `normalize` to be None, "true", "pred" or "all", but got {normalize!r}')
    counts = snapshot.confusion_matrix
    texts = _texts(counts, _shares(counts, normalize), normalize)
    short = fit_names(names(snapshot.labels), NAME)
    if ax is None:
        ax = new_figure(_inches(short, texts)).add_subplot()
    ax.set(xlabel="Predicted class", ylabel="True class")
    ax.set_title(f"Confusion matrix, {samples(snapshot.n)}")
    if not short:
        return show_empty(ax)
    image = _heat(ax, _shares(counts, normalize), normalize)
    whole = normalize is None and snapshot.weight == snapshot.n
    ticks = [tick for tick in _ticks(float(image.get_clim()[1] or 1.0)) if tick >= 1 or not whole]
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, ticks=ticks)
    bar.ax.set_yticklabels([f"{tick:,.10g}".replace(",", THIN) for tick in ticks])
    unit = UNITS[normalize] if normalize or snapshot.weight == snapshot.n else "sum of weights"
    bar.set_label(f"{unit} (square-root scale)")
    _label(ax, short)
    _write(ax, image, texts)
    return ax


def _inches(names: Sequence[str], texts: dict[tuple[int, int], str]) -> tuple[float, float]:
    """Return the size of a figure whose cells hold their figures, beside the names and the colour bar."""
    cell = max(CELL, (READABLE + 0.5) * max(map(len, texts.values()), default=0) / FITTING / 72)
    side = min(max(SMALLEST, cell * len(names)), LARGEST)
    space = 0.085 * max(map(display_width, names), default=0)
    return 1.15 * side + space + 1.3, side + (space if _upright(names) else 0.2) + 0.9


def _shares(counts: Numbers, normalize: str | None) -> Numbers:
    """Return the counts, or per cent; nan where the whole is 0."""
    values = counts.astype(np.float64)
    if normalize is None:
        return values
    whole = {"true": values.sum(axis=1, keepdims=True), "pred": values.sum(axis=0, keepdims=True), "all": values.sum()}
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * values / whole[normalize])


def _texts(counts: Numbers, shares: Numbers, normalize: str | None) -> dict[tuple[int, int], str]:
    """Return the figures of the cells that are not 0, by row and column; none if there are too many of them."""
    if len(counts) > TICKS:
        return {}
    cells = list(zip(*(part.tolist() for part in np.nonzero(counts)), strict=True))
    if normalize is None:
        return dict(zip(cells, numbers([counts[cell].item() for cell in cells], THIN), strict=True))
    return {cell: percent(shares[cell].item(), 100.0) for cell in cells}


def _heat(ax: Axes, shares: Numbers, normalize: str | None) -> AxesImage:
    """Draw the cells: zeros white, all others from a visible blue on, cells that are not a number grey."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    blues = LinearSegmentedColormap.from_list("blues", colormaps["Blues"](np.linspace(FAINTEST, 1.0, 256)))
    top = 100.0 if normalize in ("true", "pred") else float(np.nanmax(shares, initial=0)) or 1.0
    norm = PowerNorm(0.5, vmin=1e-9 * top, vmax=top)
    colours = blues.with_extremes(bad="0.8", under="white")
    return ax.imshow(np.ma.masked_invalid(shares), cmap=colours, norm=norm, aspect="equal", interpolation="nearest")


def _ticks(top: float) -> list[float]:
    """Return round values up to `top` that lie apart on a square-root scale, largest first."""
    ticks: list[float] = []
    for exponent in range(math.floor(math.log10(top)), math.floor(math.log10(top)) - 4, -1):
        for digit in (5, 2, 1):
            tick = digit * 10.0**exponent
            if tick <= top and (not ticks or math.sqrt(ticks[-1] / top) - math.sqrt(tick / top) > 0.08):
                ticks.append(tick)
    return ticks


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
