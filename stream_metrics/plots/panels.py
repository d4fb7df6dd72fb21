"""Several figures in one: square panels of one size in rows and columns, each with its legend beside it.

The places of the panels are computed and not left to a layout engine, which would move every panel by the length of
its own names and legend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from stream_metrics.errors import quantity
from stream_metrics.plots.base import NAME, THIN, names, new_figure, samples, text_width
from stream_metrics.plots.calibration import draw_reliability
from stream_metrics.plots.classes import CLASSES, per_class
from stream_metrics.plots.curves import precision_recall, roc
from stream_metrics.plots.matrix import BAR, confusion_matrix
from stream_metrics.report.content import row_labels
from stream_metrics.report.layout import fit_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stream_metrics.snapshots.snapshot import Snapshot


SMALLEST, LARGEST = 4.2, 8.0  # inches of a panel
SIDE = 0.7  # inches left of a panel for the numbers and the title of its axis
AREA = 25  # characters behind a name in a legend: its area with bounds
ABOVE, BELOW = 0.95, 0.65  # inches above the first row and below the last one
BETWEEN = 1.1  # inches between rows
WEIGHTS, GAP = 0.2, 0.06  # of the height of a reliability diagram: the weights of its bins, and what is above them
ROW = 0.24  # inches of a class in a panel


class Grid(NamedTuple):
    """Where panels lie: inches of a side, left of and right of each column, and between rows."""

    side: float
    left: float
    right: float
    between: float = BETWEEN
    columns: int = 2
    rows: int = 1
    lowest: float = BELOW
    last: float | None = None  # inches right of the last column, where these differ

    def figure(self) -> Figure:
        """Return a figure that has room for all panels."""
        last = self.right if self.last is None else self.last
        width = self.left + self.columns * self.side + (self.columns - 1) * (self.right + SIDE) + last
        height = ABOVE + self.rows * self.side + (self.rows - 1) * self.between + self.lowest
        figure = new_figure((width, height))
        figure.set_layout_engine("none")
        return figure

    def box(self, row: int, column: int) -> tuple[float, float, float]:
        """Return left edge, lower edge and side of a panel in inches."""
        left = self.left + column * (self.side + self.right + SIDE)
        return left, self.lowest + (self.rows - 1 - row) * (self.side + self.between), self.side


def scores(snapshot: Snapshot) -> Figure:
    """Draw ROC, precision-recall and reliability side by side, and return the figure.

    `KeyError` where the snapshot has no scores.
    """
    snapshot.evaluation.view("ranks", "roc_auc")
    grid = Grid(SMALLEST, SIDE, _legend(snapshot), columns=3)
    figure = _titled(grid, snapshot)
    _panel(figure, grid, (0, 0), snapshot, roc)
    _panel(figure, grid, (0, 1), snapshot, precision_recall)
    _reliability(figure, grid, (0, 2), snapshot)
    return figure


def overview(snapshot: Snapshot) -> Figure:
    """Draw the confusion matrix, ROC, precision-recall and reliability in two rows, and return the figure.

    Without scores: the matrix and precision, recall and F1 of each class; without labels: `scores`. `ValueError` above
    4096 classes.
    """
    if "counts" not in snapshot.evaluation.states:
        return scores(snapshot)
    count = len(snapshot.labels)
    texts = fit_names(names(snapshot.labels), NAME)
    size = 10.0 if count <= 15 else 8.5
    wide = text_width(texts, size)
    upright = wide + 0.35 if max(map(len, texts), default=0) > 2 else 0.35
    if "ranks" not in snapshot.evaluation.states:
        side = min(max(SMALLEST, 0.4 * count, ROW * min(count, CLASSES)), LARGEST + 1.6)
        grid = Grid(side, wide + 0.5, BAR + 0.3 + text_width(texts), lowest=upright + 0.3, last=0.3)
        figure = _titled(grid, snapshot)
        _panel(figure, grid, (0, 0), snapshot, confusion_matrix)
        _panel(figure, grid, (0, 1), snapshot, per_class).set_title("Per class", pad=24)
        return figure
    side = min(max(SMALLEST, 0.4 * count), LARGEST)
    grid = Grid(side, max(wide + 0.5, SIDE), max(_legend(snapshot), BAR + 0.3), upright + 0.9, rows=2)
    figure = _titled(grid, snapshot)
    _panel(figure, grid, (0, 0), snapshot, confusion_matrix)
    _panel(figure, grid, (0, 1), snapshot, roc)
    _panel(figure, grid, (1, 0), snapshot, precision_recall)
    _reliability(figure, grid, (1, 1), snapshot)
    return figure


def _legend(snapshot: Snapshot) -> float:
    """Return the inches that a legend beside a panel takes."""
    texts = fit_names(names(row_labels(snapshot)), NAME)
    return 0.6 + text_width([text + "0" * AREA for text in [*texts, ""]], 8.0)


def _titled(grid: Grid, snapshot: Snapshot) -> Figure:
    """Return a figure with its size in words as its title."""
    figure = grid.figure()
    words = f"{samples(snapshot.n)}, {quantity(len(row_labels(snapshot)), 'class', THIN)}"
    figure.suptitle(words, y=1 - 0.15 / figure.get_figheight(), va="top", fontsize=11)
    return figure


def _panel(
    figure: Figure,
    grid: Grid,
    place: tuple[int, int],
    snapshot: Snapshot,
    draw: Callable[..., Axes],
) -> Axes:
    """Draw one panel, without the number of samples in its title."""
    ax = _axes(figure, grid.box(*place))
    draw(snapshot, ax=ax)
    _without_size(ax, snapshot)
    return ax


def _reliability(figure: Figure, grid: Grid, place: tuple[int, int], snapshot: Snapshot) -> None:
    """Draw a reliability diagram, and below it the weights of its bins."""
    left, low, side = grid.box(*place)
    above = _axes(figure, (left, low + (WEIGHTS + GAP) * side, side), (1 - WEIGHTS - GAP) * side)
    below = figure.add_axes(_fractions(figure, (left, low, side), WEIGHTS * side), sharex=above)
    above.tick_params(labelbottom=False)
    draw_reliability(snapshot, None, above, below)
    _without_size(above, snapshot)


def _axes(figure: Figure, box: tuple[float, float, float], height: float | None = None) -> Axes:
    return figure.add_axes(_fractions(figure, box, height))


def _fractions(
    figure: Figure, box: tuple[float, float, float], height: float | None = None
) -> tuple[float, float, float, float]:
    """Return a box in inches as fractions of the figure."""
    left, low, side = box
    width, whole = figure.get_size_inches()
    return left / width, low / whole, side / width, (side if height is None else height) / whole


def _without_size(ax: Axes, snapshot: Snapshot) -> None:
    """Leave the number of samples out of a title, as the figure has it."""
    for count in (snapshot.n, snapshot.scored):
        ax.set_title(ax.get_title().replace(f", {samples(count)}", ""))
