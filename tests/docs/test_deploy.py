"""What is in docs/deploy: configurations that are taken, manifests that are valid, a page for each alert."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run_command

FOLDER = Path(__file__).parents[2] / "docs" / "deploy"


def documents(name: str) -> list[Any]:
    """The documents of a YAML file."""
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def checked(order: list[str]) -> None:
    """A program finds nothing wrong."""
    done = subprocess.run(order, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def accepted(text: str, folder: Path) -> dict[str, Any]:
    """The configuration that a text is, once a run has taken it, on an empty file instead of Kafka."""
    config = folder / "monitor.toml"
    config.write_text(text)
    for name, content in (("token", "secret"), ("events.jsonl", "")):
        (folder / name).write_text(content)
    flags = ("--serve-token-file", folder / "token", "--store-path", folder / "state")
    taken = run_command("monitor", folder / "events.jsonl", "--config", config, *flags, "--once", "--format", "json")
    assert (taken.status, taken.err) == (0, "")
    return tomllib.loads(run_command("monitor", "--config", config, "--print-config").out)


def test_every_alert_has_a_page() -> None:
    """In the folder, the index and the navigation, with its severity."""
    rules = (FOLDER / "stream-metrics.rules.yaml").read_text()
    alerts = dict(re.findall(r'- alert: "(\w+)"(?:\n .*)*?\n +labels: \{severity: (\w+)\}', rules))
    index = (FOLDER / "runbook" / "index.md").read_text()
    navigation = (FOLDER.parents[1] / "mkdocs.yml").read_text()
    pages = {path.stem: path.read_text() for path in (FOLDER / "runbook").glob("Model*.md")}

    assert dict(re.findall(r"\| \[(\w+)\]\(\1\.md\) \| (\w+) \| ", index)) == alerts
    assert set(pages) == set(alerts) == set(re.findall(r"deploy/runbook/(Model\w+)\.md", navigation))
    assert [name for name, text in pages.items() if not text.startswith(f"# {name}\n")] == []


def test_configurations_are_accepted(tmp_path: Path) -> None:
    """That of the compose file, and that of the manifests."""
    texts = [(FOLDER / "monitor.toml").read_text()]
    if find_spec("yaml"):
        texts.append(documents("kubernetes.yaml")[0]["data"]["monitor.toml"])
    for text in texts:
        config = accepted(text, tmp_path)
        assert config["source"]["kind"] == "kafka"
        assert (config["serve"]["port"], config["serve"]["health"]) == (8765, "0.0.0.0:8766")


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


SCHEMAS = [
    ("kubernetes-validate", "-k 1.30 --strict", "kubernetes.yaml"),
    ("kubernetes-validate", "-k 1.33 --strict", "kubernetes.yaml"),
    ("check-jsonschema", "--builtin-schema vendor.compose-spec", "compose.yaml"),
]


@pytest.mark.parametrize(("program", "flags", "name"), SCHEMAS)
def test_the_schemas_of_others_take_the_files(program: str, flags: str, name: str) -> None:
    """Those of Kubernetes, and of the Compose Specification, with no field that there is not."""
    pytest.importorskip(program.replace("-", "_"), reason=f"needs {program}")
    checked([str(Path(sys.executable).parent / program), *flags.split(), str(FOLDER / name)])


PROGRAMS = {  # a check by a program of others, and what replaces what is not here
    "systemd-analyze": ("stream-metrics-monitor.service", {r"(ExecStart=)\S+": rf"\1{sys.executable}"}, ["verify"]),
    "promtool": ("prometheus.yml", {"/run/secrets": "{}", r'\["str': f'["{FOLDER}/str'}, ["check", "config"]),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_of_others_take_the_files(program: str, tmp_path: Path) -> None:
    """With another program, which exists here, in the unit; with a token and rules that exist here for Prometheus."""
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}, of the package systemd or prometheus")
    name, changes, command = PROGRAMS[program]
    (tmp_path / "token").write_text("secret")
    text = (FOLDER / name).read_text()
    for old, new in changes.items():
        text = re.sub(old, new.format(tmp_path), text)
    (tmp_path / name).write_text(text)
    checked([program, *command, str(tmp_path / name)])
