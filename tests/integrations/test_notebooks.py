"""Notebooks and editors: figures are shown, names and keys complete, and results have types."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.metric_classes import CLASSES

import stream_metrics as sm

MAKE = """
import stream_metrics as sm
s = sm.evaluate([0, 1, 1], [0, 1, 0])
r = sm.evaluate([0, 1, 1], scores=[0.1, 0.4, 0.9])
g = sm.evaluate(["a", "b", "b"], ["a", "b", "a"], group=["x", "x", "y"])
c = sm.Comparison("old", "new")
c.update_many([0, 1, 1], [0, 1, 0], [0, 1, 1])
d, table, p = c.snapshot(), sm.metrics(), s.per_class
"""
FIGURES = ["s.plot()", "g.plot()", "d.plot()", "r.plot()", "sm.plots.roc(r)", "sm.plots.reliability(r)"]
TYPED = """
from typing import Any, assert_type
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.labels import Label
assert_type(s["accuracy"] + s["mcc"] + s["f1", 1], float)
assert_type(s["f1"], dict[Label, float])
assert_type(r["roc_auc"], Any)
print(s["confusion_matrix"].sum(), g["x"]["accuracy"], g.overall["accuracy"], d["accuracy"].low, dict(s)["accuracy"])
assert_type(s.interval("accuracy").low, float)
assert_type(s.interval(lambda counts: 1.0), Interval)
assert_type(s.interval("f1", 0.9), dict[Label, Interval])
assert_type(s.interval("f1", label=1), Interval)
def read(key: str) -> tuple[Any, Interval | dict[Label, Interval]]:
    return s[key], s.interval(key)
assert_type(sm.Accuracy().get(), float)
"""
SESSION: dict[str, Any] = {}
exec(MAKE, SESSION)


def test_figures_are_shown() -> None:
    """In a fresh notebook and beside pyplot, figures and axes are a picture, once, and results a report."""
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    image = pytest.importorskip("matplotlib.image", reason="matplotlib is not installed")
    book = pytest.importorskip("nbformat").v4
    pyplot = "import matplotlib.pyplot as plt\n%matplotlib inline"
    sources = [MAKE, *FIGURES, pyplot, "s.plot()", "_, ax = plt.subplots()\nsm.plots.roc(r, ax=ax);", "s", "g", "d"]
    notebook = book.new_notebook(cells=[book.new_code_cell(source) for source in sources])
    client.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = {cell.source: [output.get("data", {}) for output in cell.outputs] for cell in notebook.cells}

    assert [len(shown.pop(quiet)) for quiet in (MAKE, pyplot)] == [0, 0]
    for source, (data,) in shown.items():
        if source in ("s", "g", "d"):
            assert "Accuracy" in data["text/html"]
            continue
        pixels = image.imread(io.BytesIO(base64.b64decode(data["image/png"])))
        assert min(pixels.shape[:2]) > 200, source
        assert len(np.unique(pixels[..., :3].reshape(-1, 3), axis=0)) > 20, source


def test_names_complete() -> None:
    """jedi has every public name of metrics, sets, states, containers and results."""
    jedi = pytest.importorskip("jedi", reason="jedi is not installed")
    others: list[Any] = [sm.MetricSet(scores=True), sm.ConfusionMatrix(), sm.RankSketch(), sm.Rolling(sm.F1(), 10)]
    others += [sm.ByGroup(sm.F1()), sm.TimeWindow(sm.F1(), "1h"), sm.Fading(sm.F1(), 10)]
    failures = []
    for each in [*(each() for each in CLASSES.values()), *others, *(SESSION[name] for name in "srgcd")]:
        names = {completion.name for completion in jedi.Interpreter("each.", [{"each": each}]).complete()}
        failures += [(each, missing) for missing in dir(each) if missing[0] != "_" and missing not in names]

    assert not failures


def test_keys_complete() -> None:
    """IPython completes the keys of results in brackets, and behind a per-class key the labels."""
    completer = pytest.importorskip("IPython.core.completer", reason="IPython is not installed")
    complete = completer.IPCompleter(namespace=SESSION)
    with completer.provisionalcompleter():
        for text, some in (('s["acc', {"accuracy"}), ('s["', {"f1", "accuracy"}), ('s["f1", ', {"0", "1"}),
                           ('g["', {"x", "y"}), ('d["', {"accuracy"}), ('r["roc', {"roc_auc"}),
                           ('table["rec', {"recall"}), ('p["f1', {"f1"})):  # fmt: skip
            texts = {completion.text for completion in complete.completions(text, len(text))}
            assert some <= texts, text

    assert all(SESSION["s"][key] is not None for key in SESSION["s"]._ipython_key_completions_())
    assert len(sm.evaluate(range(5000), range(5000))._ipython_key_completions_()) < 10_000


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_results_have_types(checker: str, tmp_path: Path) -> None:
    """What users write passes type checkers, and keys decide the type of values and intervals."""
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    root, folder = Path(__file__).parents[2], str(Path(sm.__file__).parents[1])
    (tmp_path / "user.py").write_text(MAKE + TYPED)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [folder]}))
    options = ["--config-file", "pyproject.toml", str(tmp_path / "user.py")]  # of mypy, whose cache may be there
    if checker == "pyright":
        options = ["--pythonpath", sys.executable, "--project", str(tmp_path)]
    env = os.environ | ({} if folder.endswith("-packages") else {"MYPYPATH": folder})  # as for an editable installation
    given: Any = {"cwd": root, "env": env, "capture_output": True, "text": True, "timeout": 500}
    done = subprocess.run([sys.executable, "-m", checker, *options], **given)
    if checker == "pyright" and "error" not in done.stdout:
        pytest.skip(f"pyright does not start: {done.stderr[-200:]}")

    assert done.returncode == 0, done.stdout
    exec(TYPED, dict(SESSION))
