"""Figures that notebooks show without pyplot, whose hooks know the figures of pyplot only."""

from __future__ import annotations

import io
from typing import Any

from matplotlib import figure
from matplotlib.axes import Axes

__all__ = ["Figure"]


class Figure(figure.Figure):
    """A figure that is shown where it, or axes of it, are the last value of a cell."""

    def _repr_png_(self) -> bytes:
        """Return the picture for notebooks."""
        png = io.BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()

    def add_subplot(self, *args: Any, **options: Any) -> Axes:
        """Return new axes, which are shown as the figure is."""
        axes: Any = super().add_subplot(*args, **options)
        axes._repr_png_ = self._repr_png_
        return axes  # type: ignore[no-any-return]
