from stream_metrics.formulas.protocol import Floats

def refuted_distance(
    total: float,
    squares: float,
    n: float,
    goal: float,
    bets: tuple[Floats, Floats, Floats],
    distances: Floats,
    parts: Floats,
    refinements: int,
) -> float: ...
