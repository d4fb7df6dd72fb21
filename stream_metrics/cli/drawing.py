"""--plot: the overview of a snapshot or of groups, or the running values of a stream, as an image."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics import plots
from stream_metrics.catalog.spec import SQUARE_LIMIT
from stream_metrics.cli import files
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.running import Ends, Point
from stream_metrics.plots.base import SERIES, new_figure
from stream_metrics.plots.time import INCHES
from stream_metrics.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stream_metrics.snapshots.groups import GroupSnapshot


def check(arguments: argparse.Namespace) -> None:
    """Refuse an image that cannot be drawn or written, before anything is counted for it."""
    if not arguments.plot:
        return
    running = getattr(arguments, "every", 0)
    if running and arguments.metrics is not None and len(arguments.metrics) > len(SERIES):
        raise UsageError(f"--plot tells {len(SERIES)} metrics apart, but --metrics names {len(arguments.metrics)}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError('--plot needs matplotlib: pip install "stream-metrics[plot]"') from None
    form = Path(arguments.plot).suffix.removeprefix(".").lower()
    if form not in Figure().canvas.get_supported_filetypes():
        raise UsageError(f"--plot {arguments.plot}: the name has to end in .png, .svg or .pdf")
    files.check_target(arguments.plot)


def draw(taken: Snapshot | GroupSnapshot, path: str) -> None:
    """Write the figure of a snapshot: what it is right and wrong about, and its curves; of groups, how they differ."""
    if isinstance(taken, Snapshot) and len(taken.labels) > SQUARE_LIMIT:
        raise CliError(f"{path}: nothing is drawn of {len(taken.labels)} classes, but of at most {SQUARE_LIMIT}")
    try:
        figure = taken.plot()
    except LookupError:
        raise CliError(f"{path}: nothing to draw, since the state has neither labels nor ranks of scores") from None
    _write(figure, path)


def draw_running(points: list[Point], path: str, bounds: list[Ends] | None = None) -> None:
    """Write the image; points are where in the stream, and the values there, `bounds` their intervals."""
    if not points:
        raise CliError(f"{path}: nothing to draw, since --every is more than the records that were counted")
    at = [where for where, _ in points]
    times = [where.removesuffix("Z") for where in at if isinstance(where, str)]
    places = np.array(times, "datetime64[us]") if times else np.array(at)
    columns = {
        key: [float(x) if isinstance(x := values[key], int | float) else math.nan for _, values in points]
        for key in points[0][1]
    }
    keyed = {key: [point[key] for point in bounds] for key in bounds[0]} if bounds else None
    figure = new_figure(INCHES)
    plots.running(places, columns, bounds=keyed, ax=figure.add_subplot())
    _write(figure, path)


def _write(figure: Figure, path: str) -> None:
    """Write a figure, and say so."""
    figure.savefig(path, dpi=150)
    print(f"stream-metrics: {path} is drawn", file=sys.stderr)
