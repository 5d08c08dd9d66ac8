"""The public names of `accord.openrpc` are pinned: a change of them is a change of this file."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord.openrpc

SURFACE = [
    "About",
    "Api",
    "Contact",
    "ErrorAbout",
    "Example",
    "ExternalDocs",
    "License",
    "Link",
    "Server",
    "ServerVariable",
    "Tag",
    "expose",
]


def test_the_public_names_are_these() -> None:
    assert sorted(accord.openrpc.__all__) == SURFACE
    assert dir(accord.openrpc) == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(accord.openrpc, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = accord.openrpc.nope


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = (
        "import sys, accord.openrpc; print([m for m in sys.modules if m.startswith('accord.')]); "
        "from accord.openrpc import Api, expose; "
        "print(sorted({'fastapi', 'starlette', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['accord.openrpc']\n[]\n"
