"""Events for the benchmark of the monitor: JSON Lines with scores of three classes, labels beside them or later."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterator

__all__ = ["START", "both", "grouped", "later", "pending"]

START = 1_700_000_000.0
CLASSES = ("cat", "dog", "fox")


def prediction(chance: random.Random, time: float) -> tuple[str, str, str]:
    """Return an id, a line that has no end yet, and the truth."""
    key = f"{chance.getrandbits(64):016x}"
    draws = [chance.random() for _ in CLASSES]
    total = sum(draws)
    scores = {name: round(draw / total, 4) for name, draw in zip(CLASSES, draws, strict=True)}
    best = max(CLASSES, key=scores.__getitem__)
    truth = best if chance.random() < 0.7 else chance.choice(CLASSES)
    written = json.dumps(scores, separators=(",", ":"))
    return key, f'{{"id":"{key}","time":{time:.3f},"y_pred":"{best}","scores":{written}', truth


def both(n: int, rate: float) -> Iterator[bytes]:
    """Yield lines that hold prediction, scores and truth, so many a second."""
    chance = random.Random(0)
    for at in range(n):
        _, line, truth = prediction(chance, START + at / rate)
        yield f'{line},"y_true":"{truth}"}}\n'.encode()


def later(n: int, rate: float, delay: float, unlabelled: float = 0.0) -> Iterator[bytes]:
    """Yield predictions and, in lines of their own, labels after an exponential delay; some never get one."""
    chance, coming = random.Random(0), list[tuple[float, str, str]]()
    for number in range(n):
        time = START + number / rate
        if coming and coming[0][0] <= time:
            due, key, truth = heapq.heappop(coming)
            yield f'{{"id":"{key}","time":{due:.3f},"y_true":"{truth}"}}\n'.encode()
            continue
        key, line, truth = prediction(chance, time)
        if chance.random() >= unlabelled:
            heapq.heappush(coming, (time + chance.expovariate(1 / delay), key, truth))
        yield f"{line}}}\n".encode()


def grouped(n: int, rate: float, classes: int, groups: int) -> Iterator[bytes]:
    """Yield lines with prediction, truth and group, without scores."""
    chance = random.Random(0)
    names = [f"class-{at}" for at in range(classes)]
    for at in range(n):
        truth, group = chance.choice(names), f"group-{chance.randrange(groups)}"
        predicted = truth if chance.random() < 0.8 else chance.choice(names)
        event = {"id": str(at), "time": START + at / rate, "y_true": truth, "y_pred": predicted, "group": group}
        yield json.dumps(event).encode() + b"\n"


def pending(n: int, rate: float) -> Iterator[bytes]:
    """Yield predictions without labels."""
    chance = random.Random(0)
    for at in range(n):
        yield f"{prediction(chance, START + at / rate)[1]}}}\n".encode()
