"""Write what type checkers and editors read: names and metric classes of the package, and the keys of metrics.

`python .ci/generate.py` writes the stubs, `python .ci/generate.py --check` fails if one is out of date.
"""

import pathlib
import sys

from class_source import classes_source

import stream_metrics as sm
from stream_metrics.catalog.table import ALIASES, CATALOG, LABEL_VALUED

PACKAGE = pathlib.Path(sm.__file__).parent
HEAD = '"""The names of the package. Written by .ci/generate.py; do not edit."""\n\n'


def package_source():
    """Return the stub of the package: where each name is defined."""
    modules = {name: sm._MODULES.get(name, "metrics.classes") for name in sm.__all__}
    imports = [f"from stream_metrics import {name} as {name}\n" for name in sorted(sm._FOLDERS)]
    pairs = sorted(modules.items(), key=lambda pair: pair[1])
    imports += [f"from stream_metrics.{module} import {name} as {name}\n" for name, module in pairs]  # `as` for jedi
    names = "".join(f'    "{name}",\n' for name in modules)
    return HEAD + "".join(imports) + f"\n__version__: str\n\n__all__ = [\n{names}]\n"


def keys_source():
    """Return a stub with the keys and aliases of metrics by what `snapshot[key]` is."""
    kinds = {"NumberKey": [], "ClassKey": [], "ScoreClassKey": [], "MatrixKey": []}
    for key in [*CATALOG, *ALIASES]:
        row = CATALOG[ALIASES.get(key, key)]
        of_class = "ClassKey" if row.state == "counts" else "ScoreClassKey"
        if row.key not in LABEL_VALUED:
            kinds[{"whole": "NumberKey", "per_class": of_class, "matrix": "MatrixKey"}[row.kind]].append(key)
    literals = [f"{name} = Literal[\n" + "".join(f'    "{key}",\n' for key in kinds[name]) + "]\n" for name in kinds]
    head = '"""The keys of metrics by what `snapshot[key]` is. Written by .ci/generate.py; do not edit."""\n\n'
    return head + "from typing import Literal\n\n" + "".join(literals)


for path, text in (
    (PACKAGE / "catalog" / "keys.pyi", keys_source()),
    (PACKAGE / "__init__.pyi", package_source()),
    (PACKAGE / "metrics" / "classes.pyi", classes_source()),
):
    if "--check" not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path.relative_to(PACKAGE.parent)} is out of date: run python .ci/generate.py")
