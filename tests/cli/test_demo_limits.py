"""Flags that are made from the structs of limits."""

from __future__ import annotations

import argparse

import pytest
from msgspec.structs import asdict, fields

from accord import Limits, ServerLimits
from accord.cli.demo import add_limit_flags, limits_from

NAMES = [field.name for struct in (Limits, ServerLimits) for field in fields(struct)]


def parse(*arguments: str) -> tuple[Limits, ServerLimits]:
    parser = argparse.ArgumentParser()
    add_limit_flags(parser)
    return limits_from(parser.parse_args(arguments))


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_has_a_flag(name: str) -> None:
    limits, server_limits = parse(f"--{name.replace('_', '-')}", "7")
    assert {**asdict(limits), **asdict(server_limits)} == {
        **asdict(Limits()),
        **asdict(ServerLimits()),
        name: 7,
    }


def test_every_flag_is_explained() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_limit_flags(parser)
    explained = {action.dest: action.help or "" for action in parser._actions}
    assert list(explained) == NAMES
    assert explained["max_message_bytes"] == (
        "Largest incoming message; a larger one is answered -32012 and skipped "
        "(default: 1,048,576; or unlimited)"
    )
    assert explained["idle_seconds"].endswith("(default: 75)")
    assert explained["call_seconds"].endswith("(default: 300; or none)")


def test_no_flags_are_the_defaults() -> None:
    assert parse() == (Limits(), ServerLimits())


@pytest.mark.parametrize("text", ["0", "unlimited"])
def test_a_size_can_be_unlimited(text: str) -> None:
    assert parse("--max-message-bytes", text)[0] == Limits(max_message_bytes=None)


def test_a_time_can_be_unlimited() -> None:
    assert parse("--call-seconds", "none")[0] == Limits(call_seconds=None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-depth", "-1"),
        ("--max-depth", "unlimited"),
        ("--max-message-bytes", "1.5"),
        ("--idle-seconds", "0"),
        ("--idle-seconds", "inf"),
        ("--idle-seconds", "soon"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[str, str]) -> None:
    with pytest.raises(SystemExit):
        parse(*arguments)
