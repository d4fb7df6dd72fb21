"""``stream-metrics metrics``, and keys in --metrics."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from support.command_line import refusal

import stream_metrics as sm

pytestmark = pytest.mark.quick
CATALOG = sm.metrics()
JSONL = b'{"y_true": "a", "y_pred": "a"}\n{"y_true": "b", "y_pred": "a"}\n'


def test_every_metric_is_listed(cli):
    """The table, JSON and CSV list all keys in the order of the catalog, with range and other names."""
    table, data, rows = (cli("metrics", "--format", form).out for form in ("table", "json", "csv"))

    assert [line.split()[0] for line in table.splitlines()[1:]] == list(CATALOG)
    assert "matthews_corrcoef               [-1, 1]      Matthews correlation (mcc)\n" in table
    assert [info["key"] for info in json.loads(data)] == list(CATALOG)
    assert list(json.loads(data)[0])[:4] == ["key", "title", "class_name", "aliases"]
    read = list(csv.DictReader(io.StringIO(rows)))
    assert [(row["key"], row["formula"]) for row in read] == [(i.key, i.formula) for i in sm.metrics().values()]


def test_a_text_narrows_the_list(cli):
    """Keys, titles, names, sources and descriptions are searched, in any case; no match is an error."""
    for text in ("mcc", "MCC", "GeneralizedMCC", "kappa", "Bleik and Gauher", "f1"):
        keys = [info["key"] for info in json.loads(cli("metrics", text, "--format", "json").out)]

        expected = [key for key, info in CATALOG.items() if text.lower() in str(info).lower()]
        assert 0 < len(keys) < len(CATALOG)
        assert set(keys) <= set(expected)
        assert all(key in keys for key in expected if text.lower() in key)
    said = "stream-metrics: no metric has 'zzz'; 'stream-metrics metrics' lists all\n"
    assert cli("metrics", "zzz") == (1, "", said)


def test_aliases_are_keys(cli):
    """--metrics takes every alias; what it prints has the key, and a metric that needs scores says so."""
    failures = []
    for key, info in CATALOG.items():
        for alias in info.aliases:
            result = cli("run", "-", "--metrics", alias, "--format", "json", stdin=JSONL)
            if info.reads == "labels":
                right = result.status == 0 and key in str(json.loads(result.out))
            else:
                right = result.status == 2 and f"--metrics names {key}, which needs" in result.err
            failures += [] if right else [(alias, result.err)]
    assert not failures


def test_unknown_key_says_which_command_lists_keys():
    """The hint names a command, not a Python object."""
    for command, flag in (("run", "--metrics"), ("show", "--metrics"), ("monitor", "--counting-metrics")):
        said = refusal(command, "-", flag, "qqqq", status=2)
        assert "'qqqq'; 'stream-metrics metrics' lists them" in said
        assert not re.search(r"\bsm\.|stream_metrics", said)
