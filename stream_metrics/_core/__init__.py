"""Compiled counters: a folder and an extension module per state, with what states share in `numeric`.

`intervals` has loops over arrays that intervals need. Nothing here reads what a caller passes or evaluates a metric;
`inputs`, `states` and `formulas` do.
"""

from importlib.util import find_spec

if find_spec(f"{__name__}.numeric.kernels") is None:
    raise ImportError(
        "stream_metrics is not built here. Run `pip install -e .` in the folder that has pyproject.toml (this needs a "
        "C compiler), or leave that folder to import an installed version."
    )
