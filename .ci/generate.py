"""Write what repeats the catalog: stream_metrics/__init__.pyi, which editors read, and the README's list of metrics.

`python .ci/generate.py` writes both, `python .ci/generate.py --check` fails if one is out of date.
"""

import inspect
import pathlib
import sys

import stream_metrics
from stream_metrics.catalog.table import CATALOG
from stream_metrics.metrics.metric import CLASSES

ROOT = pathlib.Path(__file__).parents[1]
STUB, README = ROOT / "stream_metrics" / "__init__.pyi", ROOT / "README.md"
BEGIN, END = "<!-- metrics: written by .ci/generate.py -->\n", "<!-- end of metrics -->"
PLAIN = {"bool", "float", "float | None", "int", "str"}
COMMON = {
    "pos_label": "Label",
    "buckets": "int",
    "sample": "int",
    "labels": "Iterable[Label] | None",
    "other": "Label | None",
    "zero_division": "float",
}
HEAD = """# Written by .ci/generate.py from the catalog; do not edit.
from collections.abc import Iterable
from typing import Any

from stream_metrics.containers.aggregate import Aggregate as Aggregate
from stream_metrics.containers.aggregate import merge as merge
from stream_metrics.containers.fading import Fading as Fading
from stream_metrics.containers.groups import ByGroup as ByGroup
from stream_metrics.containers.rolling import Rolling as Rolling
from stream_metrics.containers.timed import TimeWindow as TimeWindow
from stream_metrics.errors import DecodeError as DecodeError
from stream_metrics.errors import LabelError as LabelError
from stream_metrics.errors import MergeError as MergeError
from stream_metrics.errors import ScoreError as ScoreError
from stream_metrics.errors import StreamMetricsError as StreamMetricsError
from stream_metrics.errors import WeightError as WeightError
from stream_metrics.inference.intervals.interval import Interval as Interval
from stream_metrics.inference.planning import power as power
from stream_metrics.inference.planning import samples_for_power as samples_for_power
from stream_metrics.inference.planning import samples_needed as samples_needed
from stream_metrics.inference.running import RunningInterval as RunningInterval
from stream_metrics.inputs.columns import Categorical as Categorical
from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric as Metric
from stream_metrics.metrics.metric_set import MetricSet as MetricSet
from stream_metrics.snapshots.groups import GroupSnapshot as GroupSnapshot
from stream_metrics.snapshots.snapshot import Estimate as Estimate
from stream_metrics.snapshots.snapshot import Snapshot as Snapshot
from stream_metrics.states.confusion import ConfusionMatrix as ConfusionMatrix
from stream_metrics.states.detector import ChangeDetector as ChangeDetector
from stream_metrics.states.detector import outcome as outcome
from stream_metrics.states.joint import Comparison as Comparison
from stream_metrics.states.losses import ProbabilityLosses as ProbabilityLosses
from stream_metrics.states.ranks import RankSketch as RankSketch
from stream_metrics.wire import from_bytes as from_bytes

__version__: str
"""


def annotation(metric, name):
    """Return the type of an argument: that of the formula's option where it can stand alone."""
    if name in COMMON:
        return COMMON[name]
    written = str(inspect.signature(metric.row.formula).parameters[name].annotation)
    return written if written in PLAIN else "Any"


def class_stub(name, metric):
    """Return the lines of one class."""
    if name != metric.__name__:
        return f"\n{name} = {metric.__name__}\n"
    arguments, starred = ["self"], False
    for parameter in inspect.signature(metric).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        arguments.append(f"{parameter.name}: {annotation(metric, parameter.name)} = ...")
    joined = ",\n        ".join(arguments)
    return f"\nclass {name}(Metric):\n    def __init__(\n        {joined},\n    ) -> None: ...\n"


def stub():
    """Return the text of the stub."""
    names = "".join(f'    "{name}",\n' for name in stream_metrics.__all__)
    return HEAD + f"__all__ = [\n{names}]\n" + "".join(class_stub(*item) for item in sorted(CLASSES.items()))


def readme():
    """Return the README with its list of metrics made anew."""
    families = {}
    for row in CATALOG.values():
        classes = ", ".join(name for name in (row.class_name, row.alias) if name)
        name = f"`{row.key}`" + (f" ({classes})" if classes else "")
        families.setdefault(row.family, {}).setdefault("per class" if row.kind == "per_class" else "whole", []).append(
            name
        )
    lines = ["| | whole matrix | per class |", "|---|---|---|"]
    for family, kinds in families.items():
        lines.append(f"| {family} | {', '.join(kinds.get('whole', ()))} | {', '.join(kinds.get('per class', ()))} |")
    text = README.read_text()
    before, after = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:before] + "\n" + "\n".join(lines) + "\n\n" + text[after:]


def main():
    """Write or check both."""
    for path, text in ((STUB, stub()), (README, readme())):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} is out of date: run python .ci/generate.py")


main()
