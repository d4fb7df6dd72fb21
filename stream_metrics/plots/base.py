"""Names, styles and new figures for all plots.

Series differ by line style and marker as well as by colour, so that they are told apart by every kind of colour vision
and in print. A legend stands beside the axes and not on them, as a curve may run through any corner. But a figure of
the caller without a layout engine keeps no space there.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import quantity
from stream_metrics.labels.json_names import label_names
from stream_metrics.report.headlines import column_title
from stream_metrics.report.layout import display_width, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stream_metrics.labels import Label

Numbers: TypeAlias = NDArray[np.generic]

NAME = 22  # characters of a label
THIN = "\u202f"  # narrow no-break space between thousands


class Style(NamedTuple):
    """How one series looks."""

    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]  # as matplotlib takes it


SERIES = [  # colours of Okabe & Ito (2008)
    Style("#0072B2", "o", "-"),
    Style("#D55E00", "s", "--"),
    Style("#009E73", "^", "-."),
    Style("#CC79A7", "D", (0, (1, 1))),
    Style("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1))),
    Style("#56B4E9", "P", (0, (9, 2))),
]


def new_figure(inches: tuple[float, float]) -> Figure:
    """Return an empty figure outside pyplot, which notebooks show; by themselves they show the figures of pyplot only.

    It is no class of its own, because trackers of experiments know figures by the name of their class.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("stream_metrics.plots needs matplotlib: pip install stream-metrics[plot]") from error
    figure: Any = Figure(figsize=inches, layout="constrained")
    figure._repr_png_ = partial(_picture, figure)
    return figure  # type: ignore[no-any-return]


def new_axes(inches: tuple[float, float], **options: Any) -> Axes:
    """Return the only axes of a new figure."""
    return shown(new_figure(inches).add_subplot(**options))


def shown(axes: Any) -> Axes:
    """Let notebooks show axes of a new figure as it is."""
    axes._repr_png_ = axes.figure._repr_png_
    return axes  # type: ignore[no-any-return]


def _picture(figure: Figure) -> bytes:
    png = io.BytesIO()
    figure.savefig(png, format="png")
    return png.getvalue()


def thousands(tick: float, _: object) -> str:
    """Return the text of a tick; a function of the module, so that figures can be pickled."""
    return f"{tick:,.10g}".replace(",", THIN)


def has_margins(ax: Axes) -> bool:
    """Return whether the figure of the axes keeps space for what stands beside them."""
    return ax.figure.get_layout_engine() is not None


def legend_beside(ax: Axes, heading: str = "") -> Axes:
    """Put the legend to the right of the axes, or on them if it would cover other axes there; labels as they are."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False}
    if not has_margins(ax):
        place = {"loc": "best"}
    legend = ax.legend(title=heading, fontsize=9, title_fontsize=9, alignment="left", handlelength=2.6, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax


def show_empty(ax: Axes, text: str = "nothing counted yet") -> Axes:
    """Say in the middle of the axes why they are empty."""
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center")
    return ax


def title(key: str) -> str:
    """Return the name of a metric in a figure."""
    return column_title(key)


def text_width(texts: Iterable[str], points: float = 10.0) -> float:
    """Return the inches that the longest of some texts takes at most, of common letters."""
    return 0.0092 * points * max(map(display_width, texts), default=0)


def names(labels: Sequence[Label]) -> list[str]:
    """Return the labels as text on one line."""
    return [visible(name) for name in label_names(labels)]


def samples(count: int) -> str:
    """Return a number of samples in words."""
    return quantity(count, "sample", THIN)
