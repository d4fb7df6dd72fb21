"""The published JSON Schema of the view: it is the one of the types, and views follow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from support.command_line import run_command
from support.page_views import empty_view, hostile_view, make_view, real_view

from stream_metrics.monitor import Monitor, config

PUBLISHED = Path(__file__).parents[2] / "docs" / "assets"
SCHEMAS = {flag: run_command("monitor", flag).out for flag in ("--schema", "--config-schema")}
DEFINITIONS = json.loads(SCHEMAS["--schema"])["$defs"]


def test_the_published_schema_is_that_of_the_types() -> None:
    """The files of the documentation are what the command prints; if not: `stream-metrics monitor FLAG`."""
    for name, flag in (("view", "--schema"), ("config", "--config-schema")):
        assert (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8") == SCHEMAS[flag]


def undescribed(value: Any, schema: dict[str, Any], where: str) -> list[str]:
    """Return the keys of an object, or of an object in it, that the schema does not name."""
    lost = []
    for reference in schema.get("anyOf", [schema]):
        each = DEFINITIONS[reference["$ref"].rpartition("/")[2]] if "$ref" in reference else reference
        if isinstance(value, dict) and each.get("type") == "object":
            for name, inner in value.items():
                described, place = (
                    each.get("properties", {}).get(name, each.get("additionalProperties")),
                    f"{where}.{name}",
                )
                lost += [place] if described is None else undescribed(inner, described, place)
        if isinstance(value, list) and each.get("type") == "array" and isinstance(each.get("items"), dict):
            lost += [key for inner in value for key in undescribed(inner, each["items"], f"{where}[]")]
    return lost


VIEWS = {
    "page": make_view,
    "empty": empty_view,
    "real": real_view,
    "new": lambda: json.loads(json.dumps(to_builtins(Monitor(config.Config()).view()))),
    "hostile": lambda: hostile_view(["\ud800", "a"]),
}


def test_every_key_of_a_view_is_in_the_schema() -> None:
    """Every key that page and API get is described, however the view came about."""
    for view in VIEWS.values():
        assert undescribed(view(), {"$ref": "View"}, "view") == []
    assert undescribed({"windows": [], "other": 1}, {"$ref": "View"}, "view") == ["view.other"]


def test_views_are_valid() -> None:
    """A validator of JSON Schema takes them."""
    jsonschema = pytest.importorskip("jsonschema", reason="the test validates with jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMAS["--schema"]))
    for name, view in VIEWS.items():
        if name != "hostile":
            assert [error.message for error in validator.iter_errors(view())] == []
