"""Runs tests with the lowest version of each dependency that pyproject.toml allows.

A check like this is easily green for the wrong reason: a resolver that chose something newer, a
package found elsewhere, tests that were not there. So it compares what is installed with what is
declared, asks from where the package was imported, and counts the tests at every place that it
names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT: Final = Path(__file__).parent.parent
PLACE: Final = ROOT / "build" / "floors"

TOOLS: Final = (
    "fastapi",
    "httpx",
    "hypothesis",
    "jsonschema",
    "openapi-spec-validator",
    "opentelemetry-sdk",
    "playwright",
    "prometheus-client",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-xdist",
    "python-multipart",
    "uvicorn",
    "websockets",
)
"""What the tests below need beside the package; which versions does not matter."""

TESTS: Final = (
    "tests/jsonrpc",
    "tests/schema",
    "tests/telemetry",
    "tests/store/test_store.py",
    "tests/store/test_postgres.py",
    "tests/transports/http/test_requests.py",
    "tests/transports/http/test_heads.py",
    "tests/transports/http/test_client.py",
    "tests/mcp/server/auth/test_jwt_verifier.py",
    "tests/mcp/server/auth/test_dpop.py",
    "tests/mcp/server",
    "tests/operations/auth/test_passwords.py",
    "tests/operations/auth/test_operations_tokens.py",
    "tests/operations/ratelimit/test_redis.py",
    "tests/operations/adapters/test_rest.py",
    "tests/operations/adapters/test_rpc.py",
    "tests/hub/operations/test_items.py",
    "tests/hub/exchange/test_reqif_writer.py",
    "tests/web/test_redline.py",
    "tests/security/test_every_answer.py",
    "tests/workflows/core",
    "tests/workflows/bus/test_envelope.py",
)
"""What uses each dependency: a few minutes of tests."""

TOLD_OTHERWISE: Final = (
    "tests/jsonrpc/methods/test_param_values_msgspec.py::test_an_error_names_the_path_what_was_expected_and_what_came",
    "tests/schema/test_types.py::test_type_is_described_the_same_way_as_parameter_and_as_result",
    "tests/schema/test_types.py::test_model_has_parts_that_only_pydantic_can_write",
)
"""Tests of how types are told in words and schemas, which msgspec before 0.22 and pydantic before
2.14 do in another order. That schemas take what the router takes is tested all the same."""

# All modules are imported: what needs Kafka has no tests that run without a broker.
ASK: Final = """
import importlib, importlib.metadata, json, pkgutil, sys
import accord
for module in pkgutil.walk_packages(accord.__path__, "accord."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps({
    "from": accord.__file__,
    "versions": {name: importlib.metadata.version(name) for name in sys.argv[1:]},
}))
"""


class FloorError(Exception):
    """The check failed; the message says why."""


def floors(project: Mapping[str, Any]) -> dict[str, Version]:
    """The lowest version of each direct dependency, extras included. Raises FloorError for one that
    has no lower bound, or two."""
    found: dict[str, Version] = {}
    for requirement in direct(project):
        name = canonicalize_name(requirement.name)
        bounds = [each.version for each in requirement.specifier if each.operator == ">="]
        if len(bounds) != 1:
            raise FloorError(f"{requirement} must have one lower bound")
        lowest = Version(bounds[0])
        if found.setdefault(name, lowest) != lowest:
            raise FloorError(f"{name} has two lower bounds: {found[name]} and {lowest}")
    return found


def direct(project: Mapping[str, Any]) -> list[Requirement]:
    """What the package says that it needs, but for itself."""
    extras = project.get("optional-dependencies", {}).values()
    lines = [*project["dependencies"], *(line for each in extras for line in each)]
    found = [Requirement(line) for line in lines]
    return [each for each in found if canonicalize_name(each.name) != project["name"]]


def wrong_versions(lowest: Mapping[str, Version], installed: Mapping[str, str]) -> list[str]:
    """What is not installed in the very version that is declared as the lowest."""
    return [
        f"{name} is declared from {version} on, and {installed.get(name, 'nothing')} is installed"
        for name, version in lowest.items()
        if name not in installed or Version(installed[name]) != version
    ]


def passed(report: Path, places: Sequence[str]) -> Counter[str]:
    """How many tests passed at each of the places, by a report of pytest in XML."""
    counts: Counter[str] = Counter(dict.fromkeys(places, 0))
    for case in ElementTree.parse(report).iter("testcase"):
        if any(child.tag in ("failure", "error", "skipped") for child in case):
            continue
        module = case.get("classname", "")
        for place in places:
            dotted = place.removesuffix(".py").replace("/", ".")
            if module == dotted or module.startswith(f"{dotted}."):
                counts[place] += 1
    return counts


def check(uv: str) -> None:
    """Build an environment of lowest versions, and run the tests in it. Raises FloorError."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lowest = floors(project)
    python = _environment(uv)
    asked = json.loads(_run(python, "-c", ASK, *lowest, text=True))
    if not Path(asked["from"]).is_relative_to(PLACE / "venv"):
        raise FloorError(f"the package was imported from {asked['from']}")
    if wrong := wrong_versions(lowest, asked["versions"]):
        raise FloorError("; ".join(wrong))
    for name, version in sorted(asked["versions"].items()):
        sys.stdout.write(f"{name} {version}\n")
    report = PLACE / "report.xml"
    report.unlink(missing_ok=True)
    _run(
        *(python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"),
        *("-p", "no:cacheprovider", f"--junitxml={report}"),
        *(f"--deselect={test}" for test in TOLD_OTHERWISE),
        *TESTS,
    )
    counts = passed(report, TESTS)
    if empty := [place for place in TESTS if not counts[place]]:
        raise FloorError(f"no test passed in {', '.join(empty)}")
    sys.stdout.write(f"{sum(counts.values())} tests passed with the lowest versions\n")


def _environment(uv: str) -> str:
    """The interpreter of an environment that is made anew."""
    venv, pins = PLACE / "venv", PLACE / "floors.txt"
    PLACE.mkdir(parents=True, exist_ok=True)
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv))
    python = str(venv / "bin" / "python")
    _run(
        *(uv, "pip", "compile", "--quiet", "--all-extras", "--resolution", "lowest-direct"),
        *("--python", python, "--no-header", "--no-annotate", "--no-emit-index-url"),
        *("--output-file", str(pins), "pyproject.toml"),
    )
    install = (uv, "pip", "install", "--quiet", "--python", python)
    _run(*install, "-r", str(pins), *TOOLS)
    # Not editable: what is tested is what others would install.
    _run(*install, "--no-deps", "--reinstall-package", "accord", ".")
    return python


def _run(*command: str, text: bool = False) -> str:
    """Raises FloorError when it fails."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE if text else None,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FloorError(f"{' '.join(command[:4])} … ended with {done.returncode}")
    return done.stdout or ""


def main(arguments: Iterable[str]) -> int:
    parser = argparse.ArgumentParser(prog="dependency_floor", description=__doc__)
    parser.add_argument("--uv", default="uv", help="the resolver")
    try:
        check(parser.parse_args(list(arguments)).uv)
    except FloorError as error:
        sys.stderr.write(f"the lowest versions do not hold: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
