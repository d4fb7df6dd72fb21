"""Made-up views for the page, as JSON has them; `typed` returns the same as a `View`.

Metrics are computed from the matrix, so that the numbers of a view agree, and `drift` from 0 to 1 makes the model worse
in all that is shown.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np

import stream_metrics as sm
from support.inner_views import View as TypedView
from support.inner_views import to_json
from support.monitor_runs import Clock, config, feed, started

NOW = 1_700_000_000.0
WINDOWS = {"total": 1.0, "1h": 0.02, "1d": 0.3}  # the share of all samples that each holds
HEADLINE = ["accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef"]
ANIMALS = ["cat", "cow", "dog", "emu", "fox", "hen", "owl", "pig"]
PLACES = ["fr", "de", "it", "es", "pl", "nl", "pt", "se"]
POINTS = 121
JOIN = {
    "pending": 18_250, "labels_unmatched": 12, "labels_late": 31, "labels_duplicate": 4, "predictions_duplicate": 9,
    "predictions_expired": 1_204, "corrections": 77, "corrections_refused": 0,
}  # fmt: skip
DELAYS = {
    "le": [1, 3, 10, 30, 60, 180, 600, 1800, 3600],
    "counts": [0, 410, 2_900, 9_800, 14_200, 8_100, 3_300, 900, 120, 14],
    "sum": 4_211_000.0,
}

View = dict[str, Any]


def typed(view: View) -> TypedView:
    """Return a view of plain data as `Monitor.view` would; an error if it does not follow the contract."""
    return msgspec.convert(view, TypedView)


def plain(view: TypedView) -> View:
    """Return a view as JSON has it."""
    data: View = json.loads(to_json(view))
    return data


def make_view(
    classes: int = 4, groups: int = 6, *, drift: float = 0.0, step: int = 0, labels: list[str] | None = None
) -> View:
    """Return a view after `step` seconds of a model over `classes` classes, worse the nearer `drift` is to 1."""
    labels = labels or (ANIMALS[:classes] if classes <= 8 else [f"class {i:03}" for i in range(classes)])
    now = NOW + step
    parts = {
        name: _part(labels, groups, share, 0.1 * drift if name == "total" else drift, step)
        for name, share in WINDOWS.items()
    }
    for name, part in parts.items():
        part["comparisons"] = _comparisons(part["metrics"], drift, now, WINDOWS[name])
    read, rejected = 2_412_345 + 1_200 * step, {"decode": 41, "no id": 3}
    flows = {"records_read": read, "labels_joined": parts["total"]["n"]}
    view = {
        "version": 1,
        "title": "animals",
        "now": now,
        "started": NOW - 93_600,
        "event_time": now - 0.4,
        "windows": list(WINDOWS),
        "headline": HEADLINE,
        "by_window": parts,
        "history": {name: _history(part, name, now) for name, part in parts.items()},
        "history_covers": {"total": 3600.0, "1h": 3600.0, "1d": 86_400.0},
        "reference": {"window": "1d", "start": NOW - 180_000, "at": NOW - 93_600, "n": 180_000},
        "join": JOIN | {"joined": parts["total"]["n"]},
        "delays": DELAYS,
        "records": {"read": read, "rejected": rejected, "per_second": 1_204.0},
        "flows": {"counts": flows, "rejected": rejected, "delays": DELAYS},
        "lag": {"records": 240, "seconds": 0.2},
        "source": {"state": "live", "problem": None, "silence": 0.2, "idle": 300.0, "time": now - 0.4},
        "checkpoint": {"age": 0.8, "duration": 0.0042, "bytes": 1_234_560, "error": None},
        "partitions": [
            {"partition": i, "next": {"predictions": 301_440 + i + step, "labels": 287_110 - i + step}, "lag": 30 * i}
            for i in range(4)
        ],
        "incomplete": [],
        "alerts": _alerts(parts["1h"]["metrics"]["balanced_accuracy"], now),
        "firings": [{"rule": "accuracy[1h] < 0.9 for 5m", "began": NOW - 5_000, "ended": NOW - 4_300, "value": 0.88}],
        "annotations": [{"at": NOW - 6_000, "text": "deployed 2.1"}],
        "dead_letters": [_letter("decode", f"Expected JSON, but got b'\\x00{i}'", i) for i in range(5)],
    }
    return plain(typed(view))


def real_view(samples: int = 600) -> View:
    """Return the view of a monitor that has read half an hour of scored predictions, labels and broken records."""
    rng, clock = np.random.default_rng(5), Clock(NOW)
    counting = {"title": "pets", "scores": True, "windows": ["5m", "1h"]}
    monitor = started(config(counting=counting), clock=clock)
    for start in range(0, samples, 50):
        events: list[Any] = [b"broken"]
        for i in range(start, start + 50):
            truth, scores = rng.choice(ANIMALS[:3]), rng.dirichlet(np.ones(3))
            scores = (scores + (np.array(ANIMALS[:3]) == truth)) / 2
            asked = {"id": i, "time": NOW + 3 * i, "scores": dict(zip(ANIMALS, scores.tolist(), strict=False))}
            events += [asked | {"group": PLACES[i % 4]}, {"id": i, "time": NOW + 3 * i + 40, "truth": str(truth)}]
        feed(monitor, events, 1000, 10 * start)
        clock.now += 150
        monitor.view()
    monitor.checkpoint()  # trends come from stored counts
    return plain(monitor.view(whole=True))


def empty_view() -> View:
    """Return the view of a monitor that has counted nothing and has no rules."""
    counting = {"title": "animals", "windows": ["1h", "1d"]}
    return plain(started(config(counting=counting), clock=Clock(NOW)).view())


def hostile_view(texts: list[str]) -> View:
    """Return a view whose labels, groups, rules, reasons, topics and title are these texts."""
    view = make_view(labels=texts, drift=0.5)
    for part in view["by_window"].values():
        for row, text in zip(part["groups"]["rows"], texts, strict=False):
            row["group"] = text
    view["undelivered"] = [
        {"sink": text, "rule": text, "state": "firing", "at": NOW, "problem": text} for text in texts
    ]
    view["alerts"] += [{"rule": text * 5, "state": "firing", "since": None, "value": None} for text in texts]
    view["records"]["rejected"] = view["flows"]["rejected"] = dict.fromkeys(texts, 3)
    letters = [_letter(text, text, i) | {"topic": text} for i, text in enumerate(texts)]
    return view | {"title": texts[0], "dead_letters": letters, "incomplete": texts}


def _comparisons(metrics: dict[str, Any], drift: float, now: float, share: float) -> View:
    """What is said of a change: that of a window follows the drift, and is shown beyond 0.05."""
    shown: View = {key: [] for key in HEADLINE}
    for against, at, by in (("before", now - 90_000 * share**0.8, -0.2), ("reference", NOW - 93_600, -0.3)):
        change = by * drift + 0.0004
        row = {"against": against, "at": at, "difference": change, "low": change - 0.05, "high": change + 0.05}
        row |= {"verdict": "worse"} if row["high"] < 0 else {"reason": "no more than chance may be"}
        for key in HEADLINE:
            shown[key].append(row | {"value": metrics[key] - change})
    return shown


def _letter(reason: str, detail: str, i: int) -> View:
    return {"topic": "labels", "partition": i % 4, "offset": 21_310 + i, "reason": reason, "detail": detail}


def _alerts(recent: float, now: float) -> list[View]:
    firing = {"state": "firing", "since": now - 740} if recent < 0.8 else {"state": "ok", "since": None}
    return [
        {"rule": "balanced_accuracy[1h] < 0.8 for 5m", "value": recent} | firing,
        {"rule": "coverage[1d] < 0.9", "state": "ok", "since": None, "value": 0.962},
        {"rule": "max_gap(recall, group)[1d] > 0.25", "state": "ok", "since": None, "value": 0.118},
    ]


def _part(labels: list[str], groups: int, share: float, drift: float, step: int) -> View:
    """What is shown of one window."""
    matrix = _matrix(len(labels), share, drift, step)
    metrics, rows = _metrics(matrix, labels)
    n = int(matrix.sum())
    shown = sorted(np.argsort(-matrix.sum(1), kind="stable")[:50].tolist())
    areas = [key for key in metrics if key in ("roc_auc_ovr", "average_precision_ovr")]
    cells = matrix[np.ix_(shown, shown)].tolist()
    return {
        "n": n,
        "late": 3,
        "weight": float(n),
        "correct": int(matrix.diagonal().sum()),
        "abstained": n // 900,
        "metrics": metrics,
        "estimates": {key: {"low": metrics[key] - 0.0004, "high": metrics[key] + 0.0003} for key in areas},
        "better": {key: "lower" if key == "log_loss" else "higher" for key in metrics},
        "range": {key: [0, 1] for key in metrics} | {"matthews_corrcoef": [-1, 1], "log_loss": [0, None]},
        "classes": rows[:200],
        "classes_omitted": max(0, len(rows) - 200),
        "matrix": {"labels": [labels[i] for i in shown], "counts": cells, "omitted": len(labels) - len(shown)},
        "curves": _curves(rows[:10]),
        "groups": _groups(groups, metrics, n, step),
        "coverage": {"ratio": 0.962, "labelled": n, "due": round(n / 0.962)},
        "delay": {"p50": 41.0, "p90": 190.0, "p99": 1_130.0},
    }


def _matrix(classes: int, share: float, drift: float, step: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    support = share * 600_000 * rng.dirichlet(np.full(classes, 3.0))
    wrong = rng.dirichlet(np.full(classes, 0.25), classes) + 1e-9
    np.fill_diagonal(wrong, 0)
    wrong /= wrong.sum(1, keepdims=True)
    right = np.clip(rng.beta(30, 3, classes) - drift * rng.uniform(0.15, 0.4, classes), 0, 1)
    cells = support[:, None] * (np.diag(right) + (1 - right)[:, None] * wrong)
    return rng.poisson(cells * (1 + 0.001 * step))


def _metrics(matrix: np.ndarray, labels: list[str]) -> tuple[dict[str, Any], list[View]]:
    state = sm.ConfusionMatrix(labels=labels)
    cells = true, said = matrix.nonzero()
    state.update_counts([labels[i] for i in true], [labels[i] for i in said], matrix[cells])
    snapshot = state.snapshot()
    metrics: dict[str, Any] = {key: snapshot[key] for key in (*HEADLINE, "cohen_kappa")} | {"fowlkes_mallows": None}
    accuracy = metrics["accuracy"]
    metrics |= {"roc_auc_ovr": 0.49 + accuracy / 2, "average_precision_ovr": accuracy - 0.02}
    metrics |= {"log_loss": 3 * (1 - accuracy)}
    columns = {"support": "support", "predicted": "predicted_count", "true_positives": "tp"}
    columns |= {key: key for key in ("precision", "recall", "f1")}
    rows, each, lost = list[View](), snapshot.per_class, set(snapshot.undefined)
    for label in labels:
        row = {name: None if (key, label) in lost else each[key][label] for name, key in columns.items()}
        area = 0.55 + 0.44 * row["recall"] if row["recall"] is not None else None
        rows.append({"label": label, **row, "roc_auc": area})
    return metrics, rows


def _curves(rows: list[View]) -> View:
    x = np.linspace(0, 1, 200)
    curves: dict[str, list[View]] = {"roc": [], "pr": [], "reliability": []}
    for row in rows:
        area = row["roc_auc"] or 0.5
        curves["roc"].append({"label": row["label"], "x": x.tolist(), "y": (x ** (1 / area - 1)).tolist()})
        falling = 1 - 0.6 * x ** (area / (1 - area))
        curves["pr"].append({"label": row["label"], "x": x.tolist(), "y": falling.tolist()})
    middle = np.linspace(0.05, 0.95, 10)
    weights = (4_000 * middle**3 + 30).round().tolist()
    curves["reliability"] = [{"label": "top", "x": middle.tolist(), "y": (0.9 * middle).tolist(), "w": weights}]
    return curves


def _groups(count: int, metrics: dict[str, Any], n: int, step: int) -> View:
    rows = []
    for at, group in enumerate(PLACES[:count] if count <= 8 else [f"shop {i:03}" for i in range(count)]):
        values = {key: metrics[key] - 0.08 * (1 - at / count) + 0.0001 * step for key in HEADLINE}
        bounds = {key: [round(value - 0.02, 4), round(value + 0.015, 4)] for key, value in values.items()}
        row = {"group": group, "n": n * (1 + at % 3) // (3 * count), "metrics": values, "intervals": bounds}
        rows.append(row | {"interval_notes": {}, "classes_absent": 0})
    size = 0.08 * (1 - 1 / count) if rows else 0.0
    gap = {"size": size, "interval": [max(size - 0.03, 0), size + 0.03], "note": ""}
    gap |= {"lowest": rows[0]["group"], "highest": rows[-1]["group"]} if rows else {}
    return {"rows": rows, "gaps": dict.fromkeys(HEADLINE, gap) if count > 1 else {}, "folded": 3 * (count > 50)}


def _history(part: View, window: str, now: float) -> dict[str, list[float]]:
    """Trend lines that end at the values of the window, two and a half windows long."""
    t = np.linspace(now - {"total": 93_600, "1h": 9_000, "1d": 216_000}[window], now, POINTS)
    lines = {"t": t.tolist(), "n": np.linspace(0.02 * part["n"], part["n"], POINTS).round().tolist()}
    for key in (*HEADLINE, "log_loss"):
        lines[key] = np.linspace(0.95, part["metrics"][key], POINTS).tolist()
    return lines
