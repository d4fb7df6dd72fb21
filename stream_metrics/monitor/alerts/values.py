"""What a rule compares: one number of a view, and of how many samples it is.

    balanced_accuracy[1h]          a metric of a window; without one, of the total
    recall["cat"][1h]              of a class: precision, recall, f1, roc_auc, support or predicted
    max_gap(recall, country)[1d]   the largest difference between two groups of 30 samples, or `with n >=` as many, and
                                   more; means are over the classes of a group; the second name is for the reader
    n[1h]  abstained[1h]  classes_folded[1h]  coverage[1h]  delay_p50[1h]  delay_p90[1h]  delay_p99[1h]
    source_up  silence  lag  lag_seconds  checkpoint_age  rejected  unreadable  incomplete  pending  records_per_second
    expired_early  forgotten  corrections_refused  labels_unmatched  rejected_share  rejected_decode (or another
    reason: field, time, label, score, weight, other)  mismatched_labels

`precision`, `recall` and `f1` without a class are the mean over classes (`macro_recall`). A number that is not known,
or 0/0, is None.

`source_up` is 1, or 0 while the source cannot be read or gives no partitions; `silence` is for how many seconds no
event has come, whatever its time; `lag_seconds` is how old the newest event is by its own time. While the source cannot
be read, `lag` is not known. `unreadable` is the number of partitions of which no record was an event so far,
`incomplete` the number of reasons why counts lack records. `expired_early` are predictions that were given up because
more than `max_pending` waited, `forgotten` ids beyond `max_ids`. `rejected_share` is of the last 5 minutes, or of the
last 1,000 records if these took longer. `mismatched_labels` is 1 if true labels and predictions of the first window
that has samples seem to be written differently, 1 and "1", else 0. `classes_folded` are samples with a class beyond
`max_classes`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from stream_metrics.catalog.table import CATALOG
from stream_metrics.monitor.events.records import REASONS
from stream_metrics.monitor.view.types import GAP_SAMPLES, GroupRow, View, WindowView

__all__ = ["CLASS", "METRICS", "OPERATION", "TOTAL", "WINDOW", "Value", "suggestion"]

TOTAL = "total"
CLASS = ("precision", "recall", "f1", "roc_auc", "support", "predicted")
MEANS = {"precision": "macro_precision", "recall": "macro_recall", "f1": "macro_f1"}
METRICS = {row.key: row for row in CATALOG.values() if row.kind == "whole"}
METRICS |= {name: CATALOG[mean] for name, mean in MEANS.items()}
DELAYS = {"delay_p50": "p50", "delay_p90": "p90", "delay_p99": "p99"}
WINDOW = ("n", "abstained", "classes_folded", "coverage", *DELAYS)


def _rejected(reason: str, view: View) -> int:
    return view.records.rejected.get(reason, 0)


def _mismatched(view: View) -> int:
    names = [name for name in view.windows if name != TOTAL and view.by_window[name].n] or [TOTAL]
    part = view.by_window.get(names[0])
    return int(part is not None and bool(part.mismatch))


OPERATION: dict[str, Callable[[View], float | None]] = {
    "source_up": lambda view: int(view.source.up),
    "silence": lambda view: view.source.silence,
    "lag": lambda view: view.lag.records,
    "lag_seconds": lambda view: view.lag.seconds,
    "checkpoint_age": lambda view: view.checkpoint.age,
    "rejected": lambda view: sum(view.records.rejected.values()),
    "unreadable": lambda view: len(view.unreadable),
    "incomplete": lambda view: len(view.incomplete),
    "pending": lambda view: view.join.pending,
    "records_per_second": lambda view: view.records.per_second,
    "expired_early": lambda view: view.join.expired_early,
    "forgotten": lambda view: view.join.forgotten,
    "corrections_refused": lambda view: view.join.corrections_refused,
    "alerts_undelivered": lambda view: len(view.undelivered),
    "labels_unmatched": lambda view: view.join.labels_unmatched,
    "rejected_share": lambda view: view.records.rejected_share,
    **{f"rejected_{reason}": partial(_rejected, reason) for reason in REASONS},
    "mismatched_labels": _mismatched,
}


@dataclass(frozen=True)
class Value:
    """One number: `label` is of a class, as the page shows it; `window` None of the process."""

    name: str
    label: str | None = None
    window: str | None = None
    gap: bool = False

    @property
    def metric(self) -> str | None:
        """The key of the metric that a view must hold, or None if it holds the value anyway."""
        return METRICS[self.name].key if self.label is None and self.name in METRICS else None

    def read(self, view: View, least: int = 0) -> float | None:
        """Return the number; None if it is not known, or of fewer than `least` samples.

        The samples of a class are those that are truly of it; of groups, only those with enough are compared, by
        default 30.
        """
        if self.window is None:
            return OPERATION[self.name](view)
        part = view.by_window.get(self.window)
        if part is None:
            return None
        if self.gap:
            return self._gap(part.groups.rows, least)
        value, samples = self._of_class(part) if self.label is not None else self._of_window(part)
        return value if samples >= least else None

    def why_unknown(self, view: View, least: int = 0) -> str:
        """Return in words why `read` returns None."""
        part = view.by_window.get(self.window or "")
        if part is None:
            return "not known yet" if view.source.up else "the source cannot be read"
        if self.gap:
            enough = sum(row.n >= (least or GAP_SAMPLES) for row in part.groups.rows)
            return f"{enough} of the two groups that a gap needs have samples enough"
        if self.label is not None and all(row.label != self.label for row in part.classes):
            return f"no class {self.label!r} so far"
        samples = (self._of_class(part) if self.label is not None else self._of_window(part))[1]
        if samples < max(least, 1):
            return f"{samples:,.12g} of {least:,} samples" if least > 1 else "no samples"
        return "undefined, 0/0"

    def _of_class(self, part: WindowView) -> tuple[float | None, float]:
        row = next((row for row in part.classes if row.label == self.label), None)
        return (None, 0) if row is None else (getattr(row, self.name), row.support)

    def _of_window(self, part: WindowView) -> tuple[float | None, float]:
        if self.name == "coverage":
            return part.coverage.ratio, part.coverage.due
        if self.name in DELAYS:
            return getattr(part.delay, DELAYS[self.name]), part.n
        return (getattr(part, self.name) if self.name in WINDOW else part.metrics.get(self.metric or "")), part.n

    def _gap(self, rows: Sequence[GroupRow], least: int) -> float | None:
        values = [row.metrics.get(self.metric or "") for row in rows if row.n >= (least or GAP_SAMPLES)]
        known = [value for value in values if value is not None]
        return max(known) - min(known) if len(known) > 1 else None


def suggestion(name: str, names: list[str]) -> str:
    """Return the end of a message about an unknown name."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
