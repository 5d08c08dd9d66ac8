"""What is declared, what is locked, and the check of the lowest versions."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.dependency_floor import (
    ROOT,
    TESTS,
    TOLD_OTHERWISE,
    FloorError,
    direct,
    floors,
    passed,
    wrong_versions,
)

LOCKED = re.compile(r"^(\S+?)==(\S+)( ;[^\\]*)?( \\)?$", re.MULTILINE)

REPORT = """<testsuites><testsuite>
<testcase classname="tests.jsonrpc.test_ids" name="test_a"/>
<testcase classname="tests.jsonrpc.test_ids" name="test_b"><skipped/></testcase>
<testcase classname="tests.jsonrpc_other.test_ids" name="test_c"/>
<testcase classname="tests.web.test_redline" name="test_d"><failure/></testcase>
</testsuite></testsuites>"""


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked() -> dict[str, tuple[str, str]]:
    """Versions by name, with the lines of each up to the next."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    found = list(LOCKED.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {
        canonicalize_name(Requirement(each[1]).name): (each[2], text[each.start() : end])
        for each, end in zip(found, ends, strict=True)
    }


def test_every_dependency_is_locked_within_its_bounds_and_by_hash() -> None:
    kept = locked()
    for requirement in direct(project()):
        version, _ = kept[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"
    for name, (_, lines) in kept.items():
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}(?= |$)", lines, re.MULTILINE)
        assert hashes, f"{name} has no hash"
        assert len(hashes) == lines.count("--hash="), name


def test_what_tests_need_is_locked_too() -> None:
    wanted = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    names = {canonicalize_name(line) for line in wanted if line and not line.startswith("#")}
    assert names - set(locked()) == set()


def with_extras() -> dict[str, frozenset[str]]:
    """The extras of each locked package, by its name."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = [Requirement(each[1]) for each in LOCKED.finditer(text)]
    return {canonicalize_name(each.name): frozenset(each.extras) for each in pins}


def wanted_by(package: str, extras: frozenset[str]) -> list[Requirement]:
    """Return what an installed package asks for with these extras; nothing if it is missing."""
    try:
        asked = distribution(package).requires or []
    except PackageNotFoundError:
        return []
    return [
        each
        for each in map(Requirement, asked)
        if each.marker is None
        or any(each.marker.evaluate({"extra": extra}) for extra in (*extras, ""))
    ]


def missing_extras(kept: Mapping[str, frozenset[str]]) -> list[str]:
    """Return a line for each extra that a locked package asks for and that the lock leaves out."""
    return [
        f"{package} asks for {each}, and requirements.lock pins {each.name} without [{missing}]"
        for package, extras in kept.items()
        for each in wanted_by(package, extras)
        if (
            missing := ",".join(sorted(each.extras - kept.get(canonicalize_name(each.name), set())))
        )
    ]


@pytest.mark.req("Q-03")
def test_every_extra_that_a_locked_package_asks_for_is_pinned_with_it() -> None:
    """With hashes pip installs `a` and `a[b]` from two lines: what only says `a` stops `make
    setup` on the day that a newer `a` is published."""
    kept = with_extras()
    assert missing_extras(kept) == []
    without = {**kept, "coverage": frozenset()}
    [complaint] = missing_extras(without)
    assert complaint.startswith("pytest-cov asks for coverage[toml]")
    assert complaint.endswith("requirements.lock pins coverage without [toml]")


@pytest.mark.req("Q-03")
def test_every_extra_that_we_ask_for_ourselves_is_pinned_with_it() -> None:
    kept = with_extras()
    wanted = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    ours = [Requirement(line) for line in wanted if line and not line.startswith("#")]
    for each in (*direct(project()), *ours):
        assert each.extras <= kept[canonicalize_name(each.name)], f"{each} is pinned without"


def test_every_dependency_has_one_lowest_version() -> None:
    lowest = floors(project())
    assert set(lowest) == {canonicalize_name(each.name) for each in direct(project())}
    for lines in (["a"], ["a>=1", "a>=2"], ["a>=1,>=2"], ["a==1"]):
        with pytest.raises(FloorError, match="lower bound"):
            floors({"name": "accord", "dependencies": lines})


def test_a_newer_version_than_the_lowest_is_found() -> None:
    lowest = {"msgspec": Version("0.19"), "httptools": Version("0.6.4")}
    assert wrong_versions(lowest, {"msgspec": "0.19.0", "httptools": "0.6.4"}) == []
    assert wrong_versions(lowest, {"msgspec": "0.19.1"}) == [
        "msgspec is declared from 0.19 on, and 0.19.1 is installed",
        "httptools is declared from 0.6.4 on, and nothing is installed",
    ]


def test_tests_that_did_not_pass_are_not_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    places = ("tests/jsonrpc", "tests/web/test_redline.py")
    assert passed(report, places) == Counter({places[0]: 1, places[1]: 0})


def test_the_tests_for_the_lowest_versions_are_there() -> None:
    assert [place for place in TESTS if not (ROOT / place).exists()] == []
    for test in TOLD_OTHERWISE:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
