"""When an interval can be given: valid options, and the weights and windows that allow one."""

from __future__ import annotations

from stream_metrics.catalog.obstacles import weighted
from stream_metrics.evaluation.evaluation import Evaluation
from stream_metrics.inference.intervals.folds import some_without_unit
from stream_metrics.inference.intervals.interval import IntervalRequest
from stream_metrics.inference.intervals.resampling import DRAWS, SEED
from stream_metrics.inputs.options import real, whole

__all__ = ["check_interval_options", "refuse_looks", "refuse_weights", "validate_request", "weight_problem"]

MOST_DRAWS = 2**31
VALID = ("fixed", "anytime")


def validate_request(request: IntervalRequest) -> IntervalRequest:
    """Return the request with its numbers as int and float; `ValueError` for invalid options."""
    level, t_opt = real(request.level, "level"), None if request.t_opt is None else real(request.t_opt, "t_opt")
    request = request._replace(level=level, t_opt=t_opt, draws=whole(request.draws, "draws", 2, MOST_DRAWS))
    if not 0 < request.level < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, such as 0.95, but got {request.level!r}")
    if request.valid not in VALID:
        raise ValueError(f"Expected `valid` to be 'fixed' or 'anytime', but got {request.valid!r}")
    if request.t_opt is not None and not request.t_opt > 0:
        raise ValueError(f"Expected `t_opt` to be a number of samples above 0, but got {request.t_opt!r}")
    return request


def refuse_looks(evaluation: Evaluation, valid: str) -> None:
    """Raise `ValueError` for intervals of all looks at a window, where each look is at another truth, and by folds."""
    if valid == "anytime" and evaluation.slides:
        raise ValueError(
            "Expected valid='fixed' for a window that forgets, whose value estimates something else at each look, "
            f"but got {valid!r}"
        )
    if valid == "anytime" and evaluation.folds:
        raise ValueError(f"Expected valid='fixed' for samples with a `unit`, but got {valid!r}")


def check_interval_options(level: float, valid: str, t_opt: float | None) -> tuple[float, str, float | None]:
    """Validate and return the options of an interval."""
    request = validate_request(IntervalRequest(level, valid, t_opt, DRAWS, SEED))
    return request.level, valid, request.t_opt


def weight_problem(evaluation: Evaluation) -> str:
    """Return why weights or units do not allow intervals; empty if they do.

    See `obstacles` for which weights can be told from 1. Samples with units may have any weights.
    """
    if evaluation.folds:
        return some_without_unit(evaluation)
    if evaluation.weight_problem is None:  # it is asked for once for each interval
        reason = next(filter(None, map(weighted, evaluation.states.values())), "")
        evaluation.weight_problem = reason and (
            f"{reason}: intervals count independent samples, and the counts do not say how many stand behind a "
            "weight; give each sample a `unit`, such as its number, for intervals with any weights"
        )
    return evaluation.weight_problem


def refuse_weights(evaluation: Evaluation) -> None:
    """Raise `ValueError` if a weight was not 1."""
    reason = weight_problem(evaluation)
    if reason:
        raise ValueError(f"Expected every sample to have the weight 1, but {reason}")
