"""What do bad rows cost where they are counted apart, beside the same table without any?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import streams
from batch_integers import K
from timing import Line, best

import stream_metrics as sm

N = 1_000_000
ROUNDS = 5
SHARES = ((0.001, 2.0), (0.05, 4.0))  # share of bad rows, target


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    for what, tables, more in cases():
        clean, *others = tables
        for (share, target), table in zip(SHARES, others, strict=True):
            times = best({"bad": partial(count, table, more), "clean": partial(count, clean, more)}, ROUNDS)
            bad, good = times["bad"] / N, times["clean"] / N
            figures = f"{bad:.1f} / {good:.1f} ns a row"
            yield Line(f"{what}, {share:.1%} bad / none", bad / good, target=target, figures=figures)


def count(table: pa.Table, more: dict[str, str]) -> None:
    """Count a table."""
    sm.count(table, on_bad="count", **more)


def cases() -> Iterator[tuple[str, list[pa.Table], dict[str, Any]]]:
    """Yield what is bad, a table without and with some of it for each share, and which columns are named."""
    g = np.random.default_rng(1)
    truth, predicted = streams.columns(N, K, 0.9)
    names, weights, scores = np.array(streams.names(K)), g.random(N), g.random(N)
    bad = [np.zeros(N, bool), *(g.random(N) < share for share, _ in SHARES)]
    texts = names[truth], pa.array(names[predicted])
    yield "text, truth null", [table(pa.array(texts[0], mask=rows), texts[1]) for rows in bad], {}
    yield "int64, truth null", [table(pa.array(truth, mask=rows), predicted) for rows in bad], {}
    yield "weight negative", [table(truth, predicted, w=np.where(rows, -1.0, weights)) for rows in bad], {"w": "w"}
    columns = [pa.table({"y_true": truth % 2, "scores": np.where(rows, 1.5, scores)}) for rows in bad]
    yield "score above 1", columns, {"scores": "scores"}


def table(truth: Any, predicted: Any, **more: Any) -> pa.Table:
    """Return columns as a table."""
    return pa.table({"y_true": truth, "y_pred": predicted, **more})
