"""Entity tags: the version of what was read, and what a client says about the one it has. Pure.

The tag of what a GET gives is its version and a checksum of the whole answer, `"3.5f1c2b8e"`: the
version counts changes of content only, and what else is told beside it may change without it.
What a write is to be compared with is the version alone.
"""

from __future__ import annotations

import re
from typing import Final
from zlib import crc32

from accord.operations.errors import MalformedError, StaleError

# RFC 9110, section 8.8.3. Numbers without quotes are no tags, yet they can mean one thing only.
_TAG: Final = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"|([0-9]{1,18})')
_LIST: Final = re.compile(rf"[ \t,]*(?:(?:{_TAG.pattern})[ \t]*(?:,[ \t,]*|\Z))+")
_VERSION: Final = re.compile(r"([0-9]{1,18})(?:\.[0-9a-f]{8})?")


def tag_of(version: int, body: bytes) -> str:
    """The tag of what was read."""
    return f'"{version}.{crc32(body):08x}"'


def expected_version(if_match: str) -> int | None:
    """The version that `If-Match` asks for; None for any.

    Raises MalformedError, and StaleError for tags that no version has.
    """
    if if_match.strip(" \t") == "*":
        return None
    versions = []
    for weak, tag, bare in _tags(if_match, "If-Match"):
        found = _VERSION.fullmatch(bare or tag)
        # RFC 9110, section 13.1.1: compared strongly, and a weak tag is never equal so.
        if found is not None and not weak:
            versions.append(int(found[1]))
    if not versions:
        raise StaleError(f"no version has the tag {if_match[:100]}: send the one that you read")
    # Versions only grow: of those that a client has seen, only the last can be there still.
    return max(versions)


def is_known(tag: str, if_none_match: str) -> bool:
    """Whether a client has what `tag` stands for. Raises MalformedError."""
    if if_none_match.strip(" \t") == "*":
        return True
    # RFC 9110, section 13.1.2: compared weakly
    return any(f'"{each}"' == tag for _, each, _ in _tags(if_none_match, "If-None-Match"))


def _tags(text: str, name: str) -> list[tuple[str, str, str]]:
    if _LIST.fullmatch(text) is None:
        raise MalformedError(f'{name} is no list of entity tags such as "3"')
    return _TAG.findall(text)
