"""The published JSON Schema of the view: it is the one of the types, and views follow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.page_views import empty_view, hostile_view, make_view, real_view

from stream_metrics.cli.main import main
from stream_metrics.monitor.config import Config, keys
from stream_metrics.monitor.view.types import View, json_schema, to_json

PUBLISHED = Path(__file__).parents[2] / "docs" / "assets"


@pytest.mark.parametrize(
    ("name", "flag", "kind"), [("view", "--schema", View), ("config", "--config-schema", Config)], ids=["view", "toml"]
)
def test_the_published_schema_is_that_of_the_types(
    capsys: pytest.CaptureFixture[str], name: str, flag: str, kind: type
) -> None:
    """The file of the documentation is what the command prints; if not: `stream-metrics monitor FLAG`."""
    assert (PUBLISHED / f"{name}.schema.json").read_text(encoding="utf-8") == json_schema(kind)
    assert main(["monitor", flag]) == 0
    assert capsys.readouterr().out == json_schema(kind)


def test_the_schema_of_the_configuration_has_every_key() -> None:
    """Each with what it means, the values that are allowed, and its default."""
    tables = json.loads(json_schema(Config))["$defs"]
    for key in keys():
        described = tables[key.table.capitalize()]["properties"][key.name]
        assert described["description"] == key.meaning
        assert described["default"] == (list(key.default) if isinstance(key.default, tuple) else key.default)
        enums = [value for each in described.get("anyOf", [described]) for value in each.get("enum", [])]
        assert set(enums) == {value for value in key.allowed if isinstance(value, str)}


def undescribed(value: Any, schema: dict[str, Any], where: str) -> list[str]:
    """The keys of an object that the schema does not name, below it, too."""
    if "$ref" in schema:
        schema = DEFINITIONS[schema["$ref"].rpartition("/")[2]]
    for each in schema.get("anyOf", [schema]):
        target = DEFINITIONS[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if isinstance(value, dict) and target.get("type") == "object":
            names = target.get("properties")
            if names is None:
                return [
                    k for n, v in value.items() for k in undescribed(v, target["additionalProperties"], f"{where}.{n}")
                ]
            lost = [f"{where}.{name}" for name in value if name not in names]
            return lost + [k for n, v in value.items() if n in names for k in undescribed(v, names[n], f"{where}.{n}")]
        if isinstance(value, list) and target.get("type") == "array" and isinstance(target.get("items"), dict):
            return [key for each in value for key in undescribed(each, target["items"], f"{where}[]")]
    return []


DEFINITIONS = json.loads(json_schema())["$defs"]


@pytest.mark.parametrize("name", ["made", "empty", "hostile", "real"])
def test_every_key_of_a_view_is_in_the_schema(name: str) -> None:
    """What page and API get is described, however the view came about."""
    views = {
        "made": make_view,
        "empty": empty_view,
        "hostile": lambda: hostile_view(["\ud800", "a"]),
        "real": real_view,
    }

    assert undescribed(views[name](), {"$ref": "View"}, "view") == []
    assert undescribed({"windows": [], "other": 1}, {"$ref": "View"}, "view") == ["view.other"]


def test_views_are_valid() -> None:
    """A validator of JSON Schema takes them."""
    jsonschema = pytest.importorskip("jsonschema", reason="the test validates with jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(json_schema()))

    for view in (make_view(5, 4), empty_view(), real_view(), json.loads(to_json(View()))):
        assert [error.message for error in validator.iter_errors(view)] == []
