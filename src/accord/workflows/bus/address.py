"""Where a Kafka is and how it is used, in one line:

    kafka://one:9092,two:9092?partitions=8&retention_days=7&tasks=our.tasks&options=/etc/kafka.conf

All that stands after `?` may be left out. What must not be in a line that everybody sees, such as
passwords, is in the file that `options` names: lines of `name=value`, as librdkafka calls them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from accord.workflows.bus.errors import BusError
from accord.workflows.bus.topics import Names, Shape

SCHEME: Final = "kafka://"
DAY: Final = 86_400

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER: Final = re.compile(r"[^\s,/@?#]+:\d{1,5}")
_TOPICS: Final = tuple(field.name for field in fields(Names))
_KNOWN: Final = (*_TOPICS, "group", "partitions", "retention_days", "options")


class Address(Struct, frozen=True, kw_only=True):
    """What such a line says."""

    servers: str
    names: Names = Names()
    shape: Shape = Shape()
    group: str = "accord"
    options: Mapping[str, str] = {}


def read_address(url: str) -> Address:
    """Raises BusError, which says what is wrong."""
    servers, _, query = url.removeprefix(SCHEME).partition("?")
    servers = servers.rstrip("/")
    if not url.startswith(SCHEME) or not all(map(_SERVER.fullmatch, servers.split(","))):
        raise BusError("a Kafka is written kafka://host:port,host:port")
    given = dict(parse_qsl(query, keep_blank_values=True))
    for name in given:
        if name not in _KNOWN:
            raise BusError(f"{name!r} cannot be said of a Kafka; {', '.join(_KNOWN)} can")
    return Address(
        servers=servers,
        names=_names({name: given[name] for name in _TOPICS if name in given}),
        shape=Shape(
            partitions=_number(given, "partitions", Shape().partitions),
            retention_seconds=DAY * _number(given, "retention_days", 7),
        ),
        group=_checked(given.get("group", "accord")),
        options=_options(given["options"]) if "options" in given else {},
    )


def _names(given: Mapping[str, str]) -> Names:
    names = Names(**{field: _checked(name) for field, name in given.items()})
    if len(set(names.all())) < len(names.all()):
        raise BusError("each topic needs a name of its own")
    return names


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BusError(f"{name[:80]!r} is no name of a topic or group")
    return name


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    try:
        number = msgspec.convert(given.get(name, default), int, strict=False)
    except msgspec.ValidationError:
        number = 0
    if not 1 <= number <= 10_000:
        raise BusError(f"{name} is a number from 1 to 10,000")
    return number


def _options(path: str) -> dict[str, str]:
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BusError(f"cannot read the options of Kafka: {error}") from None
    pairs = [line.partition("=") for line in map(str.strip, lines) if line and line[0] != "#"]
    if not all(sign for _, sign, _ in pairs):
        raise BusError(f"{path}: each line of options is name=value")
    return {name.strip(): value.strip() for name, _, value in pairs}
