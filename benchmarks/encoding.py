"""How large is a state of ten classes in bytes, and are writing and reading it faster than pickling river's matrix?"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial

import streams
from river import metrics
from timing import Line, best

import stream_metrics as sm

CASES = ((10, 1_000_000, 300, 20), (1000, 100_000, 10, 1))  # classes, samples, turns, calls a turn


def lines() -> Iterator[Line]:
    """Yield what is measured; a thousand classes are there for information."""
    for classes, samples, rounds, calls in CASES:
        ours, theirs = sm.ConfusionMatrix(), metrics.ConfusionMatrix()
        for y_true, y_pred in streams.pairs(streams.names(classes), samples):
            ours.update(y_true, y_pred)
            theirs.update(y_true, y_pred)
        data, pickled = ours.to_bytes(), pickle.dumps(theirs)
        assert sm.from_bytes(data) == ours
        ns = best(
            {
                "encode": ours.to_bytes,
                "dumps": partial(pickle.dumps, theirs),
                "decode": partial(sm.from_bytes, data),
                "loads": partial(pickle.loads, pickled),
            },
            rounds,
            calls,
        )
        small = classes == 10
        which = f"{classes} classes, {samples:,} samples"
        figures = f"pickled river matrix {len(pickled):,} bytes"
        yield Line(f"`to_bytes()` of {which}", len(data), "bytes", 1000 if small else None, figures=figures)
        for ours_name, peer in (("encode", "dumps"), ("decode", "loads")):
            figures = f"{ns[peer] / 1e3:.1f} / {ns[ours_name] / 1e3:.1f} us"
            what = f"`pickle.{peer}` of river's matrix / {ours_name}, {which}"
            yield Line(what, ns[peer] / ns[ours_name], target=1 if small else None, at_least=True, figures=figures)
