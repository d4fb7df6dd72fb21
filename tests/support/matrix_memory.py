"""Print what confusion matrices take, in a process without other allocations: a JSON object a line."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import stream_metrics as sm


def report(name: str, make: Callable[[], sm.ConfusionMatrix], classes: int, occupied: int, **more: Any) -> None:
    """Print the bytes that are allocated while `make` runs and still after it."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    state = make()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] - before
    assert (state.k, len(state.cells()[0])) == (classes, occupied)
    print(json.dumps({"name": name, "classes": classes, "occupied": occupied, "bytes": size, **more}), flush=True)


def streamed(names: list[str], pairs: np.ndarray, weight: float = 1) -> sm.ConfusionMatrix:
    """Return a state that counted pairs one by one."""
    state = sm.ConfusionMatrix()
    for truth, predicted in pairs.tolist():
        state.update(names[truth], names[predicted], weight)
    return state


def growing(names: list[str]) -> None:
    """Report a state whose classes come one by one, each with all its cells, after every class."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    state = sm.ConfusionMatrix()
    for k, new in enumerate(names, 1):
        for name in names[:k]:
            state.update(new, name)
            state.update(name, new)
        size = tracemalloc.get_traced_memory()[0] - before
        print(json.dumps({"name": "growing", "classes": k, "occupied": k * k, "bytes": size, "single": True}))


def main() -> None:
    """Report states made in every way, for full, sparse and weighted tables."""
    names = [f"class {i:06}" for i in range(20_000)]
    rng = np.random.default_rng(7)
    everything = {k: np.argwhere(np.ones((k, k))) for k in (2, 9, 33, 65, 129, 257)}
    few = {k: np.column_stack([np.arange(k), rng.integers(0, k, k)]) for k in (100, 1000, 1025, 20_000)}
    streamed(names, few[100]).merge(streamed(names, few[100])).to_bytes()  # allocations that happen once
    tracemalloc.start()
    for k, pairs in (everything | few).items():
        cells = len(pairs)
        for weight in (1, 0.5):
            state = streamed(names, pairs, weight)
            data, more = state.to_bytes(), {"fractions": weight != 1}
            report("one by one", lambda pairs=pairs, weight=weight: streamed(names, pairs, weight), k, cells,
                   single=True, **more)  # fmt: skip
            report("restored", lambda data=data: sm.from_bytes(data), k, cells, **more)
            report("merged", lambda state=state: sm.ConfusionMatrix().merge(state), k, cells, **more)
            report("copied", lambda state=state: state.copy(), k, cells, growth=True, **more)
            columns = [sm.Categorical(column, names[:k]) for column in pairs.T]
            report("batch", lambda columns=columns, weight=weight, cells=cells: batch(columns, [weight] * cells),
                   k, cells, growth=True, **more)  # fmt: skip
    growing(names[:140])


def batch(columns: list[sm.Categorical], w: list[float]) -> sm.ConfusionMatrix:
    """Return a state that counted a batch."""
    state = sm.ConfusionMatrix()
    state.update_many(*columns, w)
    return state


if __name__ == "__main__":
    main()
