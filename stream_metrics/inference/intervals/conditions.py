"""When an interval can be given: what may be asked, which weights and which windows allow one."""

from __future__ import annotations

from stream_metrics.catalog.obstacles import weighted as weights_of
from stream_metrics.inference.intervals.folds import some_without_unit
from stream_metrics.inference.intervals.interval import Asked, Snapshot
from stream_metrics.inference.intervals.resampling import DRAWS, SEED
from stream_metrics.inputs.options import real, whole

__all__ = ["check_asked", "checked", "refuse_looks", "refuse_weights", "weighted"]

MOST_DRAWS = 2**31
VALID = ("fixed", "anytime")


def check_asked(asked: Asked) -> Asked:
    """Return what is asked with its numbers as int and float; `ValueError` for what cannot be asked."""
    level, t_opt = real(asked.level, "level"), None if asked.t_opt is None else real(asked.t_opt, "t_opt")
    asked = asked._replace(level=level, t_opt=t_opt, draws=whole(asked.draws, "draws", 2, MOST_DRAWS))
    if not 0 < asked.level < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, such as 0.95, but got {asked.level!r}")
    if asked.valid not in VALID:
        raise ValueError(f"Expected `valid` to be 'fixed' or 'anytime', but got {asked.valid!r}")
    if asked.valid == "anytime" and asked.method is not None:
        raise ValueError(f"Expected no `method` with valid='anytime', which has its own, but got {asked.method!r}")
    if asked.t_opt is not None and not asked.t_opt > 0:
        raise ValueError(f"Expected `t_opt` to be a number of samples above 0, but got {asked.t_opt!r}")
    return asked


def refuse_looks(snapshot: Snapshot, valid: str) -> None:
    """Raise `ValueError` for intervals of all looks at a window, where each look is at another truth, and by folds."""
    if valid == "anytime" and snapshot._slides:
        raise ValueError(
            "Expected valid='fixed' for a window that forgets, whose value estimates something else at each look, "
            f"but got {valid!r}"
        )
    if valid == "anytime" and snapshot._folds:
        raise ValueError(f"Expected valid='fixed' for samples with a `unit`, but got {valid!r}")


def checked(level: float, valid: str, t_opt: float | None) -> tuple[float, str, float | None]:
    """Return what was asked for if it can be had; `ValueError` otherwise."""
    asked = check_asked(Asked(level, None, valid, t_opt, DRAWS, SEED))
    return asked.level, valid, asked.t_opt


def weighted(snapshot: Snapshot) -> str:
    """Return why the weights or units of a snapshot do not allow intervals; empty if they do.

    See `obstacles` for which weights can be told from 1. Samples with units may have any weights.
    """
    if snapshot._folds:
        return some_without_unit(snapshot)
    reason = next(filter(None, map(weights_of, snapshot._states.values())), "")
    return reason and (
        f"{reason}: intervals count independent samples, and the counts do not say how many stand behind a weight"
    )


def refuse_weights(snapshot: Snapshot) -> None:
    """Raise `ValueError` if a weight was not 1."""
    reason = weighted(snapshot)
    if reason:
        raise ValueError(f"Expected every sample to have the weight 1, but {reason}")
