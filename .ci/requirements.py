"""Print what an extra of the package requires, for `pip install` without building the package again."""

import pathlib
import sys
import tomllib

PROJECT = tomllib.loads((pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

print(*PROJECT["optional-dependencies"][sys.argv[1]])
