"""Figures of a snapshot, with matplotlib (`pip install stream-metrics[plot]`), which is imported on the first call.

Without `ax` a figure is made that belongs to no window and no `pyplot` state, so nothing pops up or stays open, and
no display is needed; `ax.figure.savefig(...)` writes it. Global settings are read but never changed. Labels are drawn
as they are: never as mathematical markup, control characters escaped.

Colours. Cells run from light to dark blue on a square-root scale, zeros are white: on a linear scale, the errors of a
good model, a few per cent of a row, all look like zero. One hue serves every kind of colour vision; series of points
differ by marker as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from stream_metrics.catalog import CATALOG, Row, find
from stream_metrics.jsonable import label_names
from stream_metrics.report.content import HEADINGS, classes_shown, undefined_labels
from stream_metrics.report.layout import display_width, fit_names, number, numbers, visible
from stream_metrics.report.matrix import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from stream_metrics.snapshot import Snapshot

__all__ = ["confusion_matrix", "per_class"]

Numbers: TypeAlias = "np.ndarray[Any, Any]"

NAME = 22  # characters of a label
TICKS = 60  # more classes than this get a label every few rows
CLASSES = 40  # rows of a per-class figure
SMALLEST, LARGEST = 3.2, 9.0  # inches of a matrix
CELL = 0.45  # inches of a cell at least, as long as the matrix is between the two
READABLE = 7.0  # points; smaller figures are left out of the cells
FITTING = 1.5  # points of a cell's width per point of size and character
FAINTEST = 0.15  # where in the colour map the smallest count begins, so that it is told from a zero
THIN = "\u202f"  # narrow no-break space between thousands
SERIES = [  # colours of Okabe & Ito (2008), with markers
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
]
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
    names = fit_names(_names(snapshot), NAME)
    if ax is None:
        ax = _figure(_inches(names, texts))
    ax.set(xlabel="Predicted class", ylabel="True class")
    ax.set_title(f"Confusion matrix, {number(snapshot.n, THIN)} samples")
    if not names:
        return _nothing(ax)
    image = _heat(ax, _shares(counts, normalize), normalize)
    ticks = _ticks(float(image.get_clim()[1] or 1.0))
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, ticks=ticks)
    bar.ax.set_yticklabels([f"{tick:,.10g}".replace(",", THIN) for tick in ticks])
    unit = UNITS[normalize] if normalize or snapshot.weight == snapshot.n else "sum of weights"
    bar.set_label(f"{unit} (square-root scale)")
    _label(ax, names)
    _write(ax, image, texts)
    return ax


def per_class(
    snapshot: Snapshot, metrics: Sequence[str] = ("precision", "recall", "f1"), *, ax: Axes | None = None
) -> Axes:
    """Draw the values of `metrics`, which are per-class keys, one class a row, and return the axes.

    Of more than 40 classes, the 40 with the lowest F1 are drawn, worst on top. Hollow markers are undefined values
    (0/0).
    """
    rows = _rows(metrics)
    shown = classes_shown(snapshot, CLASSES)
    if ax is None:
        ax = _figure((7.0, 1.6 + 0.32 * max(len(shown), 2)))
    total = len(snapshot.labels)
    title = f"Per class, {number(snapshot.n, THIN)} samples"
    if len(shown) < total:
        title = f"The {len(shown)} classes with the lowest F1, of {number(total, THIN)}"
    ax.set_title(title, pad=24)
    ax.set(xlabel=_title(rows[0].key) if len(rows) == 1 else "Value", ylabel="Class")
    if not shown:
        return _nothing(ax)
    for at, row in enumerate(rows):
        _series(ax, snapshot, row.key, shown, at, len(rows))
    if any(undefined_labels(snapshot, row.key) for row in rows):
        ax.scatter([], [], facecolors="none", edgecolors="0.5", marker="o", s=26, label="undefined (0/0)")
    names = _names(snapshot)
    ax.set_yticks(range(len(shown)), fit_names([names[at] for at in shown], NAME, shown), parse_math=False)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    if math.isfinite(low) and math.isfinite(high):
        ax.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    for at in range(0, len(shown), 2):
        ax.axhspan(at - 0.5, at + 0.5, color="0.5", alpha=0.08, linewidth=0)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(rows) + 1,
        frameon=False,
        borderaxespad=0.1,
        handletextpad=0.2,
    )
    return ax


def _rows(metrics: Sequence[str]) -> list[Row]:
    """Return the rows of the catalogue for `metrics`, if all are per class and not too many to tell apart."""
    if isinstance(metrics, str) or not 1 <= len(metrics) <= len(SERIES):
        raise ValueError(f"Expected `metrics` to be a sequence of 1 to {len(SERIES)} keys, but got {metrics!r}")
    rows = [find(key) for key in metrics]
    for row in rows:
        if row.kind != "per_class":
            raise ValueError(f"Expected `metrics` to be per-class keys, but got {row.key!r}")
    return rows


def _figure(inches: tuple[float, float]) -> Axes:
    """Return the axes of a new figure outside pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("stream_metrics.plots needs matplotlib: pip install stream-metrics[plot]") from error
    return Figure(figsize=inches, layout="constrained").add_subplot()


def _inches(names: Sequence[str], texts: dict[tuple[int, int], str]) -> tuple[float, float]:
    """Return the size of a figure whose cells hold their figures, beside the names and the colour bar."""
    cell = max(CELL, (READABLE + 0.5) * max(map(len, texts.values()), default=0) / FITTING / 72)
    side = min(max(SMALLEST, cell * len(names)), LARGEST)
    space = 0.085 * max(map(display_width, names), default=0)
    return 1.15 * side + space + 1.3, side + (space if _upright(names) else 0.2) + 0.9


def _nothing(ax: Axes) -> Axes:
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, "nothing counted yet", transform=ax.transAxes, ha="center", va="center")
    return ax


def _title(key: str) -> str:
    return HEADINGS[key][0] if key in HEADINGS else CATALOG[key].title


def _names(snapshot: Snapshot) -> list[str]:
    return [visible(name) for name in label_names(snapshot.labels)]


def _shares(counts: Numbers, normalize: str | None) -> Numbers:
    """Return the counts, or per cent; nan where the whole is 0."""
    values = counts.astype(np.float64)
    if normalize is None:
        return values
    whole = {"true": values.sum(axis=1, keepdims=True), "pred": values.sum(axis=0, keepdims=True), "all": values.sum()}
    with np.errstate(invalid="ignore"):
        return np.asarray(100 * values / whole[normalize])


def _texts(counts: Numbers, shares: Numbers, normalize: str | None) -> dict[tuple[int, int], str]:
    """Return what to write into the cells that are not 0, by row and column; nothing if there are too many of them."""
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
    """Write the figures into the cells, in the more legible of black and white, if there is room for all of them."""
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


def _series(ax: Axes, snapshot: Snapshot, key: str, shown: Sequence[int], at: int, of: int) -> None:
    """Draw one metric: a point per class, hollow where undefined, the series side by side."""
    colour, marker = SERIES[at]
    values = snapshot._entry(key)[0][list(shown)]
    undefined = undefined_labels(snapshot, key)
    hollow = np.array([snapshot.labels[position] in undefined for position in shown])
    height = np.arange(len(shown)) + 0.16 * (at - (of - 1) / 2)
    ax.scatter(values[~hollow], height[~hollow], color=colour, marker=marker, s=26, label=_title(key), zorder=3)
    ax.scatter(values[hollow], height[hollow], facecolors="none", edgecolors=colour, marker=marker, s=26, zorder=3)
