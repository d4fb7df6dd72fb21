"""The metric classes by name, second names such as LogLoss included."""

from __future__ import annotations

import stream_metrics as sm

PUBLIC = {name: getattr(sm, name) for name in sm.__all__}
CLASSES: dict[str, type[sm.Metric]] = {
    name: each
    for name, each in PUBLIC.items()
    if isinstance(each, type) and issubclass(each, sm.Metric) and each is not sm.Metric
}
