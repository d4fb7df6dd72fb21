"""Names from inside the views of a monitor that tests need beside its documented face, imported once."""

from __future__ import annotations

from stream_metrics.catalog.table import CATALOG
from stream_metrics.monitor.serve import server as connections
from stream_metrics.monitor.serve.posts import routes
from stream_metrics.monitor.serve.security import Gate
from stream_metrics.monitor.view.group_view import Earlier, compared
from stream_metrics.monitor.view.summary import facts, summary
from stream_metrics.monitor.view.types import View, WindowView, to_json
from stream_metrics.monitor.view.window_reading import ViewCut, cut_if

__all__ = [
    "CATALOG", "Earlier", "Gate", "View", "ViewCut", "WindowView", "compared", "connections", "cut_if", "facts",
    "routes", "summary", "to_json",
]  # fmt: skip
