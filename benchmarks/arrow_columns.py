"""What do Arrow columns cost beside the same codes in NumPy, and beside Arrow's own count of pairs?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import streams
from batch_integers import K, N, counted
from timing import Line, best

import stream_metrics as sm

ROUNDS = 15
CHUNKS = 100
TEXTS = 1_000_000
SCORED = 200_000


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from encoded()
    yield from integers()
    yield from text()
    yield from scores()


def dictionary(codes: Any, missing: Any = None, names: list[str] | None = None) -> pa.DictionaryArray:
    """Return codes as a dictionary-encoded column, null where they are missing."""
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), pa.array(names or streams.names(K)))


def cut(column: Any) -> pa.ChunkedArray:
    """Return a column in chunks."""
    size = -(-len(column) // CHUNKS)
    return pa.chunked_array([column.slice(start, size) for start in range(0, len(column), size)])


def alternating(column: Any) -> pa.ChunkedArray:
    """Return a column in chunks, every second of which has its names in the opposite order."""
    back = pa.array(streams.names(K)[::-1])
    turned = [
        pa.DictionaryArray.from_arrays(pa.array(K - 1 - chunk.indices.to_numpy()), back) if at % 2 else chunk
        for at, chunk in enumerate(cut(column).chunks)
    ]
    return pa.chunked_array(turned)


def encoded() -> Iterator[Line]:
    """Yield the cost of dictionary-encoded columns beside that of their codes, and that of Arrow's count."""
    t, p = (column.astype(np.int32) for column in streams.columns(N, K, 0.9))
    names, missing = streams.names(K), np.random.default_rng(3).random(N) < 0.05
    byte_t, byte_p = t.astype(np.int8), p.astype(np.int8)
    arrow_t, arrow_p = dictionary(t), dictionary(p)
    columns: dict[str, tuple[Any, Any]] = {
        "NumPy int32": (sm.Categorical(t, names), sm.Categorical(p, names)),
        "NumPy int8": (sm.Categorical(byte_t, names), sm.Categorical(byte_p, names)),
        "int32 codes": (arrow_t, arrow_p),
        "int8 codes": (dictionary(byte_t), dictionary(byte_p)),
        "int32 codes, 5 % of the predictions null": (arrow_t, dictionary(p, missing)),
        f"int32 codes, {CHUNKS} chunks, one dictionary": (cut(arrow_t), cut(arrow_p)),
        f"int32 codes, {CHUNKS} chunks, two dictionaries in turn": (alternating(arrow_t), alternating(arrow_p)),
    }
    for kind, pair in columns.items():
        assert "null" in kind or counted(*pair) == counted(*columns["NumPy int32"])
    contenders = {kind: lambda pair=pair: counted(*pair) for kind, pair in columns.items()}
    ns = {kind: time / N for kind, time in best(contenders, ROUNDS).items()}
    for kind in list(columns)[2:]:
        peer = "NumPy int8" if kind == "int8 codes" else "NumPy int32"
        yield Line(
            f"{kind} / `sm.Categorical`, {peer}", ns[kind] / ns[peer], target=1.1 if kind.endswith("codes") else None,
            figures=f"{ns[kind]:.2f} / {ns[peer]:.2f} ns a sample",
        )  # fmt: skip
    yield from grouped(arrow_t, arrow_p, ns["int32 codes"])


def grouped(t: Any, p: Any, ours: float) -> Iterator[Line]:
    """Yield what Arrow takes to count the pairs of two columns, encoded and as integers."""
    for kind, table in (
        ("dictionaries", pa.table({"t": t, "p": p})),
        ("their codes", pa.table({"t": t.indices, "p": p.indices})),
    ):
        group_by: dict[str, Callable[[], Any]] = {
            "": lambda table=table: table.group_by(["t", "p"]).aggregate([([], "count_all")])  # type: ignore[misc]
        }
        peer = best(group_by, 4)[""] / N
        yield Line(
            f"pyarrow `group_by(...).aggregate` of {kind} / `update_many` of dictionaries", peer / ours, target=5,
            at_least=True, figures=f"{peer:.1f} / {ours:.2f} ns a sample",
        )  # fmt: skip


def integers() -> Iterator[Line]:
    """Yield the cost of columns of integers that cannot be used where they lie."""
    t, p = streams.columns(N, K, 0.9)
    missing = np.random.default_rng(3).random(N) < 0.05
    arrow_t, arrow_p = pa.array(t), pa.array(p)
    columns: dict[str, tuple[Any, Any]] = {
        "NumPy": (t, p),
        "one chunk": (arrow_t, arrow_p),
        f"{CHUNKS} chunks": (cut(arrow_t), cut(arrow_p)),
        "5 % of the predictions null": (arrow_t, pa.array(p, mask=missing)),
    }
    contenders = {kind: lambda pair=pair: counted(*pair) for kind, pair in columns.items()}
    ns = {kind: time / N for kind, time in best(contenders, ROUNDS).items()}
    for kind in list(columns)[1:]:
        yield Line(
            f"int64, {kind} / int64, NumPy", ns[kind] / ns["NumPy"],
            figures=f"{ns[kind]:.2f} / {ns['NumPy']:.2f} ns a sample",
        )  # fmt: skip


def text() -> Iterator[Line]:
    """Yield the cost of text that has no dictionary."""
    t, p = streams.columns(TEXTS, K, 0.9)
    names = streams.names(K)
    shared = [[names[code] for code in codes.tolist()] for codes in (t, p)]
    kinds = {kind: [pa.array(column, kind) for column in shared] for kind in (pa.string(), pa.string_view())}
    contenders: dict[str, Callable[[], Any]] = {
        **{f"`{kind}`": lambda pair=pair: counted(*pair) for kind, pair in kinds.items()},
        "list of shared `str`": lambda: counted(*shared),
        "`to_pylist()`": lambda: counted(*(column.to_pylist() for column in kinds[pa.string()])),
    }
    ns = {kind: time / TEXTS for kind, time in best(contenders, 8).items()}
    for kind, time in ns.items():
        yield Line(f"text, {kind}", time, "ns a sample", target=15 if kind.startswith("`string") else None)


def scores() -> Iterator[Line]:
    """Yield the cost of a table of scores, a column a class, beside an array."""
    table = np.random.default_rng(4).dirichlet(np.ones(K), SCORED)
    truth, names = dictionary(streams.columns(SCORED, K, 0.9)[0]), streams.names(K)
    columns = pa.record_batch([pa.array(np.ascontiguousarray(column)) for column in table.T], names)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), K)
    forms = {"NumPy": table, "record batch": columns, "struct": columns.to_struct_array(), "lists of fixed size": lists}
    forms["maps"] = pa.MapArray.from_arrays(np.arange(0, SCORED * K + 1, K, np.int32), names * SCORED, table.ravel())

    def fed(scores: Any) -> sm.MetricSet:
        metrics = sm.MetricSet(scores=True)
        metrics.update_many(truth, scores=scores, classes=None if isinstance(scores, pa.MapArray) else names)
        return metrics

    assert len({fed(form).to_bytes() for form in forms.values()}) == 1
    contenders = {kind: lambda form=form: fed(form) for kind, form in forms.items()}
    ns = {kind: time / SCORED for kind, time in best(contenders, 5).items()}
    for kind in list(forms)[1:]:
        yield Line(
            f"{K} scores a sample, {kind} / NumPy (n, {K})", ns[kind] / ns["NumPy"],
            target=3 if kind == "maps" else None, figures=f"{ns[kind]:.0f} / {ns['NumPy']:.0f} ns a sample",
        )  # fmt: skip
