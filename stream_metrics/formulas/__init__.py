"""Formulas: pure functions from counts to values, one file per family.

A formula takes counts (`protocol.Counts`) and keyword-only options, keeps no state, and returns nan exactly where its
value is 0/0, which it decides from exact counts. What a 0/0 is replaced by is the caller's business; only formulas
that average components take `zero_division`, because a component of an average may be 0/0 while the average is not.

Sources are cited by author, year and equation; `t_k`, `p_k` and `C_kk` are the true total, the predicted total and
the diagonal cell of class k, `N` is the sum of all weights and `c` the weight on the diagonal.
"""
