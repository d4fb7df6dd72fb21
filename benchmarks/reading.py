"""What does it cost to read one metric after every sample, beside river?"""

from __future__ import annotations

from collections.abc import Iterator

import streams
from river import metrics
from timing import Line, per_sample, reading_loop, update_loop

import stream_metrics as sm

CASES = ((10, 200, 600, 2.0), (1000, 40, 12, 20.0))  # classes, samples a turn, turns, target


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    for classes, samples, rounds, target in CASES:
        for name in ("MacroF1", "CohenKappa", "BalancedAccuracy", "Accuracy"):
            ours, theirs = read(name, classes, samples, rounds)
            figures = f"{theirs:.0f} / {ours:.0f} ns"
            if name == "Accuracy":
                what = f"`Accuracy().get()` / river's, {classes} classes"
                yield Line(what, ours / theirs, target=1, figures=f"{ours:.0f} / {theirs:.0f} ns")
            else:
                what = f"river `{name}().get()` / ours, {classes} classes"
                yield Line(what, theirs / ours, target=target, at_least=True, figures=figures)


def read(name: str, classes: int, samples: int, rounds: int) -> tuple[float, float]:
    """Return the nanoseconds of one `get` right after an update, net of loop and update: ours, river's."""
    stream = streams.pairs(streams.names(classes), 20 * classes)
    ours, theirs = getattr(sm, name)(), getattr(metrics, name)()
    for y_true, y_pred in stream:
        ours.update(y_true, y_pred)
        theirs.update(y_true, y_pred)
    assert abs(ours.get() - theirs.get()) < 1e-9
    some = stream[:samples]
    loops = {"update": update_loop, "get": reading_loop}
    objects = {"ours": ours, "river": theirs}
    runs = {f"{who} {what}": (loop, obj, lambda: some) for who, obj in objects.items() for what, loop in loops.items()}
    ns = per_sample(runs, rounds)
    return ns["ours get"] - ns["ours update"], ns["river get"] - ns["river update"]
