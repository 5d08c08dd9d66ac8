"""`accord config` shows every setting."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import fields

from accord.app.settings import Settings
from accord.cli import main


def test_every_setting_is_shown_with_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    shown = capsys.readouterr().out
    for each in fields(Settings):
        assert f"\n{each.name} = " in f"\n{shown}"
        assert f"(ACCORD_{each.name.upper()})" in shown


def test_flags_are_shown_as_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--json", "--port", "9", "--allowed-hosts", "a.example"]) == 0
    shown = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert (shown["port"]["value"], shown["port"]["source"]) == (9, "--port")
    assert shown["allowed_hosts"]["value"] == ["a.example"]


def test_a_wrong_value_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--port", "many"]) == 2
    assert capsys.readouterr().err == (
        "error: --port: Expected `int`, got `str`; accord config tells what each setting is\n"
    )
