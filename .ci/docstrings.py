"""Check the docstrings of everything public: sections, every parameter with a type and a description, every result.

The checks are those of numpydoc, named in its documentation. Members that a class inherits count as its own, compiled
ones too. A field of a compiled class, which can have no docstring, is an attribute in the docstring of the class.
Prints a line for each fault, and exits with status 1 if there is one.
"""

import enum
import importlib
import inspect
import sys

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

import stream_metrics

CHECKS = {
    "GL03", "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",  # layout and known sections
    "SS01", "SS02", "SS03", "SS04", "SS05", "SS06",  # a summary: one line, a capital, a full stop
    "PR01", "PR02", "PR03", "PR04", "PR06", "PR07", "PR08", "PR09", "PR10",  # parameters
    "RT01", "RT03", "RT05", "YD01",  # what is returned and yielded
}  # fmt: skip
MORE = ("stream_metrics.snapshots.comparison.ComparisonSnapshot",)


def public():
    """Yield the full names of all public classes, functions and members."""
    for path in [*(f"stream_metrics.{name}" for name in stream_metrics.__all__), *MORE]:
        value = load(path)
        if not inspect.isclass(value):
            yield f"{value.__module__}.{value.__qualname__}"  # `metrics` is a folder, too
            continue
        if not issubclass(value, Exception) or "__init__" in vars(value):  # its arguments are those of its base
            yield path
        for member in dir(value):
            if not member.startswith("_") and is_documented_here(value, member):
                yield f"{path}.{member}"


def load(path):
    """Return the object of a full name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def is_documented_here(owner, member):
    """Tell whether a member of a class is a method or property of this package, not of a base of Python's."""
    base = next(base for base in owner.__mro__ if member in vars(base))
    item = vars(base)[member]
    documented = isinstance(item, property | classmethod | staticmethod) or callable(item)
    return base.__module__.startswith("stream_metrics") and (documented or inspect.isgetsetdescriptor(item))


def attributes(owner):
    """Return the names in the sections Attributes and Parameters of a class and its bases."""
    names = set()
    for base in owner.__mro__:
        doc = NumpyDocString(inspect.cleandoc(base.__doc__ or ""))
        items = [*doc["Attributes"], *doc["Parameters"]]
        names |= {name for item in items for name in item[0].split(", ")}
    return names


def faults(path):
    """Yield the faults of one docstring: code and text."""
    for code, text in validate(path)["errors"]:
        if code not in CHECKS:
            continue
        owner, _, member = path.rpartition(".")
        if code == "GL08" and inspect.isclass(load(owner)) and member in attributes(load(owner)):
            continue
        if code == "PR01" and isinstance(load(path), enum.EnumType):  # its members are listed, not its constructor
            continue
        yield code, text


def main():
    """Print every fault."""
    lines = [f"{path}: {code} {text}" for path in public() for code, text in faults(path)]
    for line in lines:
        print(line)
    sys.exit(bool(lines))


main()
