"""Is one of two models right more often? Tests on the discordant samples, those that exactly one of them gets right.

With b samples that only the first gets right and c that only the second does, b is binomial with b + c trials of
probability 1/2 if both are equally good on these. McNemar's tests are for one look. The e-value is for any number of
looks: its mean is 1 at every moment if both are equally good, so it reaches 1/alpha at any time at all with probability
alpha at most (Ville 1939), and 1/E is a p-value that stays valid while one watches.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from stream_metrics.formulas.stats.normal import beta_cdf, log_beta
from stream_metrics.formulas.stats.tails import binomial_tail, chi_square_tail, log_beta_term
from stream_metrics.inference.intervals.anytime import beta_binomial_sequence

MIX = 0.5  # both parameters of the mixing beta distribution
LEAST = -700.0  # of the logarithm of a share, which could be 0

Better = Literal["a", "b", "either"]


class Evidence(NamedTuple):
    """Evidence that a model is better, valid at any time.

    `log_e` is the natural logarithm of the e-value: by how much a stake bet against the hypothesis that the model is
    not better would have grown. `p_value` = min(1, 1/e) stays valid for any number of looks; neither is the
    probability that the model is better. `low` and `high` hold the share of the discordant samples that the second
    model gets right, at all looks together.
    """

    better: str
    log_e: float
    p_value: float
    low: float
    high: float

    @property
    def e(self) -> float:
        """The e-value; infinite beyond 1e308."""
        return math.exp(self.log_e) if self.log_e < 709 else math.inf

    def at_least(self, alpha: float = 0.05) -> bool:
        """Whether the e-value has reached 1/alpha: then the hypothesis that it speaks against may be rejected."""
        return self.log_e >= -math.log(alpha)


def mcnemar_test(b: int, c: int, method: str = "midp") -> float:
    """Two-sided p-value of equal probabilities of the two kinds of discordant samples, for one look.

    "exact": min(1, 2 P[X >= max(b, c)]) for X binomial, b + c trials of probability 1/2; "midp", whose level is closer
    to the nominal one, but up to 6.5 % instead of 5 % for some numbers of discordant samples below 50: that less
    P[X = max], and 1 - P[X = b]/2 if b = c; "chi2": P[Y >= (b - c)^2 / (b + c)] for Y
    chi-square with one degree of freedom. In [0, 1]; 1 without discordant samples. McNemar 1947; Fagerland et al. 2013.
    """
    if method not in ("midp", "exact", "chi2"):
        raise ValueError(f"Expected `method` to be 'midp', 'exact' or 'chi2', but got {method!r}")
    n, most = b + c, max(b, c)
    if n == 0:
        return 1.0
    if method == "chi2":
        return chi_square_tail((b - c) ** 2 / n, 1)
    above, beyond = binomial_tail(most, n, 1, 2), binomial_tail(most + 1, n, 1, 2)
    if method == "exact":
        return min(1.0, 2 * above)
    return 1 - (above - beyond) / 2 if b == c else min(1.0, above + beyond)


def log_e_discordant(b: int, c: int, better: Better = "either") -> float:
    """Logarithm of the e-value against equal shares of the two kinds of discordant samples.

    B(b + 1/2, c + 1/2) / B(1/2, 1/2) 2^(b + c), the likelihood of a share mixed over beta(1/2, 1/2) against that of
    1/2. With `better` "b" ("a") the mixture is over shares above (below) 1/2 only, against all shares that are not:
    twice P[share > 1/2] under beta(c + 1/2, b + 1/2) times the same. Any sign; 0 without discordant samples. Robbins
    1970.
    """
    if not b + c:
        return 0.0
    # B(b + 1/2, c + 1/2) 2^(b + c) is 1 / 2 over the term of the beta distribution at 1/2
    both = -log_beta(MIX, MIX) - math.log(2) - log_beta_term(MIX + b, MIX + c, 0.5, 0.5, (b - c) / 2)
    if better == "either":
        return both
    share = beta_cdf(0.5, MIX + b, MIX + c) if better == "b" else beta_cdf(0.5, MIX + c, MIX + b)
    return both + math.log(2) + (math.log(share) if share > 0 else LEAST)


def discordant_evidence(
    b: int, c: int, names: tuple[str, str], better: Better = "either", level: float = 0.95
) -> Evidence:
    """Return the evidence that a model is better, from the numbers of samples that only one of them gets right."""
    log_e = log_e_discordant(b, c, better)
    p_value = min(1.0, math.exp(-log_e)) if log_e > -700 else 1.0
    low, high = beta_binomial_sequence(np.array(c), np.array(b + c), level)
    name = {"a": names[0], "b": names[1], "either": "either"}[better]
    return Evidence(name, log_e, p_value, float(low), float(high))
