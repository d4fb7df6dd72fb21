"""What is in docs/deploy: configurations that are taken, manifests that are valid, a page for each alert."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.monitor.alerts.rule_reading import rules_of
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.config.reading import configured
from stream_metrics.monitor.partition import validate
from stream_metrics.monitor.serve.rules import alerts_of

FOLDER = Path(__file__).parents[2] / "docs" / "deploy"


def documents(name: str) -> list[Any]:
    """The documents of a YAML file."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def checked(order: list[str]) -> None:
    """A program finds nothing wrong."""
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def accepted(text: str, tmp_path: Path) -> Config:
    """The configuration that a text is, once it was checked as a run checks it."""
    tables = tomllib.loads(text)
    token = tmp_path / "token"
    token.write_text("secret")
    tables["serve"]["token_file"] = str(token)
    config = configured(tables)
    validate(config)
    assert len(rules_of(config.alerts.rules, config.counting)) == len(config.alerts.rules)
    return config


def test_every_alert_has_a_page() -> None:
    """In the folder, the index and the navigation, with its severity."""
    alerts = alerts_of(Config())
    index = (FOLDER / "runbook" / "index.md").read_text()
    navigation = (FOLDER.parents[1] / "mkdocs.yml").read_text()
    pages = {path.stem for path in (FOLDER / "runbook").glob("*.md")} - {"index"}

    assert pages == {alert.name for alert in alerts} == set(re.findall(r"deploy/runbook/(Model\w+)\.md", navigation))
    for alert in alerts:
        assert f"| [{alert.name}]({alert.name}.md) | {alert.severity} | " in index
        assert (FOLDER / "runbook" / f"{alert.name}.md").read_text().startswith(f"# {alert.name}\n")


def test_configurations_are_accepted(tmp_path: Path) -> None:
    """That of the compose file, and that of the manifests."""
    config = accepted((FOLDER / "monitor.toml").read_text(), tmp_path)
    manifest = accepted(documents("kubernetes.yaml")[0]["data"]["monitor.toml"], tmp_path)

    assert config.source.kind == manifest.source.kind == "kafka"
    assert config.serve.port == manifest.serve.port == 8765
    assert config.serve.health == manifest.serve.health == "0.0.0.0:8766"


def test_parts_fit_together() -> None:
    """Ports, paths, users and secrets are alike in the image, the compose file, the manifests and the unit."""
    image = (FOLDER / "Dockerfile").read_text()
    services = documents("compose.yaml")[0]["services"]
    container = documents("kubernetes.yaml")[2]["spec"]["template"]["spec"]["containers"][0]
    user = re.search(r"USER (\d+)", image).group(1)
    command = re.search(r"CMD (.*)", image).group(1)

    assert [port["containerPort"] for port in container["ports"]] == [8765, 8766]
    assert re.search("EXPOSE 8765 8766\n", image)
    assert str(documents("kubernetes.yaml")[2]["spec"]["template"]["spec"]["securityContext"]["runAsUser"]) == user
    assert str(container["args"]).replace("'", '"') == command
    assert services["prometheus"]["volumes"][0].startswith("./prometheus.yml:")
    assert documents("prometheus.yml")[0]["scrape_configs"][0]["static_configs"][0]["targets"] == ["monitor:8765"]
    assert f"--config {container['args'][1]} " in (FOLDER / "stream-metrics-monitor.service").read_text()
    for path in re.findall(r"\./([\w.-]+):", (FOLDER / "compose.yaml").read_text()):
        assert (FOLDER / path).exists(), path


def test_kubernetes_takes_the_manifests() -> None:
    """By the schemas of Kubernetes, with no field that there is not."""
    pytest.importorskip("kubernetes_validate", reason="needs kubernetes-validate")
    for version in ("1.30", "1.33"):
        order = ["-k", version, "--strict", str(FOLDER / "kubernetes.yaml")]
        checked([str(Path(sys.executable).parent / "kubernetes-validate"), *order])


def test_the_compose_file_is_one() -> None:
    """By the schema of the Compose Specification."""
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema")
    order = ["--builtin-schema", "vendor.compose-spec", str(FOLDER / "compose.yaml")]
    checked([str(Path(sys.executable).parent / "check-jsonschema"), *order])


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """With another program, which exists here."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "stream-metrics-monitor.service"
    text = (FOLDER / unit.name).read_text()
    unit.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", text))
    checked(["systemd-analyze", "verify", str(unit)])


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    """With a token and rules that exist here."""
    if shutil.which("promtool") is None:
        pytest.skip("needs promtool, of Debian's package prometheus")
    (tmp_path / "token").write_text("secret")
    text = (FOLDER / "prometheus.yml").read_text().replace("/run/secrets", str(tmp_path))
    (tmp_path / "prometheus.yml").write_text(text.replace("/dashboards", str(tmp_path)))
    checked(["promtool", "check", "config", str(tmp_path / "prometheus.yml")])
