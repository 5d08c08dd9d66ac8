"""What is installed in the body of a test is noticed on every machine, also where it is there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.installing import install_once, note_installation


@pytest.fixture
def prepared() -> str:
    note_installation("what a fixture asks for")
    return "what a fixture asks for"


def test_what_a_fixture_asked_for_may_be_used(prepared: str) -> None:
    note_installation(prepared)


def test_what_no_fixture_asked_for_is_refused() -> None:
    with pytest.raises(AssertionError, match="may install Kafka while its time runs") as refused:
        note_installation("Kafka")
    assert "test_what_no_fixture_asked_for_is_refused" in str(refused.value)


def test_of_several_that_ask_at_once_one_installs(tmp_path: Path) -> None:
    made, installed = tmp_path / "cache" / "made", []

    def install(folder: Path) -> None:
        installed.append(folder)
        (folder / "package").touch()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: install_once(made, install), range(8)))
    assert len(installed) == 1
    assert [path.name for path in made.iterdir()] == ["package"]


def test_an_installation_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "package").touch()
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        install_once(tmp_path / "made", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["made.lock"]
