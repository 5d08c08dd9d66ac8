"""Files for operators name commands, flags and settings that exist, and their tools read them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from accord.app.settings import Settings
from accord.cli.commands import command_parser

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
SETTINGS = {f"ACCORD_{name.upper()}" for name in Settings.__struct_fields__}
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
SECRETS = {"ACCORD_SECRET_KEY": "0" * 64, "POSTGRES_PASSWORD": "0" * 32}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    assert set(re.findall(r"ACCORD_[A-Z_]+", path.read_text())) - SETTINGS == set()


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **SECRETS}
    return subprocess.run(command, env=env, check=False, capture_output=True, text=True)


def commands() -> Iterator[list[str]]:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for service in compose["services"].values():
        if service["image"] == "accord":
            yield service["command"]
    for document in yaml.safe_load_all((DEPLOY / "kubernetes" / "accord.yaml").read_text()):
        if document["kind"] == "Deployment":
            [container] = document["spec"]["template"]["spec"]["containers"]
            yield container["args"]
    for unit in (DEPLOY / "systemd").glob("*.service"):
        found = re.search(r"^ExecStart=\S+/accord (.*)$", unit.read_text(), re.MULTILINE)
        assert found is not None
        yield found[1].split()


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_is_one_of_ours(words: list[str]) -> None:
    command, *arguments = words
    parser, _ = command_parser(command)
    parser.parse_args(arguments)


def test_docker_reads_the_compose_file() -> None:
    if not shutil.which("docker") or ran("docker", "compose", "version").returncode:
        pytest.skip("only on machines with docker compose")
    read = ran("docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet")
    assert (read.returncode, read.stderr) == (0, "")


def test_systemd_reads_the_units(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("only on machines with systemd")
    program = shutil.which("true")
    units = []
    for path in (DEPLOY / "systemd").glob("*.service"):
        units.append(tmp_path / path.name)
        text = path.read_text().replace("/opt/accord/bin/accord", str(program))
        units[-1].write_text(text)
    asked = ran("systemd-analyze", "verify", "--man=no", *map(str, units))
    about = [line for line in asked.stderr.splitlines() if "accord" in line]
    assert about == []


def test_pods_of_kubernetes_may_do_nothing_beyond_their_work() -> None:
    documents: list[dict[str, Any]] = list(
        yaml.safe_load_all((DEPLOY / "kubernetes" / "accord.yaml").read_text())
    )
    pods = [each["spec"]["template"]["spec"] for each in documents if each["kind"] == "Deployment"]
    assert len(pods) == 3
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"readinessProbe", "livenessProbe", "resources"} <= container.keys()
