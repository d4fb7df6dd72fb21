"""What does a batch of named classes cost: categorical columns, lists of text, NumPy text?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streams
from batch_integers import K, N, counted
from timing import Line, best

import stream_metrics as sm

ROUNDS = 10
TEXTS = 1_000_000


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    yield from categorical()
    yield from text()


def categorical() -> Iterator[Line]:
    """Yield the cost of codes with names beside that of the same codes as plain integers."""
    t, p = streams.columns(N, K, 0.9)
    small_t, small_p = t.astype(np.int8), p.astype(np.int8)
    names = streams.names(K)
    pandas_t, pandas_p = (pd.Categorical.from_codes(codes, names) for codes in (small_t, small_p))
    contenders: dict[str, Callable[[], Any]] = {
        "int64": lambda: counted(t, p),
        "int8": lambda: counted(small_t, small_p),
        "`pandas.Categorical`": lambda: counted(pandas_t, pandas_p),
        "`sm.Categorical`, int8 codes": lambda: counted(sm.Categorical(small_t, names), sm.Categorical(small_p, names)),
        "`sm.Categorical`, int64 codes": lambda: counted(sm.Categorical(t, names), sm.Categorical(p, names)),
    }
    ns = {name: time / N for name, time in best(contenders, ROUNDS).items()}
    for kind in list(contenders)[2:]:
        yield Line(
            f"{kind} / int64 labels", ns[kind] / ns["int64"], target=1.1,
            figures=f"{ns[kind]:.2f} / {ns['int64']:.2f} ns a sample; plain int8 {ns['int8']:.2f}",
        )  # fmt: skip


def text() -> Iterator[Line]:
    """Yield the cost of text, where every object is new and where all objects of a class are one."""
    t, p = streams.columns(TEXTS, K, 0.9)
    names = streams.names(K)
    shared_t, shared_p = [names[i] for i in t.tolist()], [names[i] for i in p.tolist()]
    array_t, array_p = np.array(names)[t], np.array(names)[p]
    encoded = json.dumps(shared_t), json.dumps(shared_p)
    expected = counted(shared_t, shared_p)
    kinds: dict[str, tuple[Callable[[], Any], int]] = {
        "list of shared `str` objects": (lambda: (shared_t, shared_p), 8),
        "list of fresh `str` objects": (lambda: tuple(json.loads(column) for column in encoded), 8),
        "NumPy `U7` array": (lambda: (array_t, array_p), 8),
        "NumPy object array of `str`": (lambda: (np.array(shared_t, object), np.array(shared_p, object)), 3),
    }
    for kind, (make, rounds) in kinds.items():
        assert counted(*make()) == expected
        times = []
        for _ in range(rounds):
            columns = make()  # fresh objects have not been hashed yet
            times.append(best({"": partial(counted, *columns)}, 1)[""] / TEXTS)
        target = 40 if kind.startswith("list of fresh") else 60
        yield Line(f"{kind}, `update_many`", min(times), "ns a sample", target=target)
