"""The examples in the docstrings of the package run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.snapshots.comparison import ComparisonSnapshot

OPTIONAL = ("stream_metrics.integrations", "stream_metrics.monitor", "stream_metrics.cli", "stream_metrics.__main__")
PUBLIC = {**{name: getattr(sm, name) for name in sm.__all__}, "ComparisonSnapshot": ComparisonSnapshot}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> Iterator[tuple[str, Any]]:
    """Yield every function, class and member of the package that has examples, under the name where it is defined."""
    for module in pkgutil.walk_packages(sm.__path__, "stream_metrics."):
        if module.name.startswith(OPTIONAL) or module.name == "stream_metrics.plots":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            own = getattr(value, "__module__", None) in (module.name, "stream_metrics")
            if not own or not (inspect.isclass(value) or callable(value)):
                continue
            members = vars(value).items() if inspect.isclass(value) else ()
            for qualified, item in [(name, value), *((f"{name}.{member}", item) for member, item in members)]:
                if ">>>" in str(getattr(item, "__doc__", None)):
                    yield f"{module.name}.{qualified}", item


EXAMPLES = dict(documented())


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    """An example shows what the code does."""
    parser, output = doctest.DocTestParser(), []
    test = parser.get_doctest(inspect.getdoc(EXAMPLES[name]) or "", {}, name, None, None)
    failed, attempted = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append)

    assert attempted
    assert not failed, "".join(output)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_examples(name: str) -> None:
    """Every public class and function but the exceptions has an example."""
    value = PUBLIC[name]
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert ">>>" in (inspect.getdoc(value) or "")
