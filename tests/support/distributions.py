"""The functions of probability that tests compare with SciPy and with exact sums: the one place that imports them."""

from stream_metrics.formulas.stats.normal import beta_cdf, beta_quantile, log_beta, normal_quantile, t_quantile
from stream_metrics.formulas.stats.tails import beta_tail, binomial_tail, chi_square_tail

__all__ = [
    "beta_cdf",
    "beta_quantile",
    "beta_tail",
    "binomial_tail",
    "chi_square_tail",
    "log_beta",
    "normal_quantile",
    "t_quantile",
]
