"""The public surface is pinned: a change of it is a change of this file."""

from __future__ import annotations

import subprocess
import sys

import pytest

import accord

SURFACE = [
    "AccordError",
    "Backoff",
    "BusyError",
    "CallTimeoutError",
    "ConnectError",
    "ConnectionClosedError",
    "ConnectionLostError",
    "Context",
    "IdsExhaustedError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "InvalidResultError",
    "Limits",
    "MessageTooLargeError",
    "MethodNotFoundError",
    "ParseError",
    "Peer",
    "RegistrationError",
    "Router",
    "RpcError",
    "ServerError",
    "ServerLimits",
    "State",
    "ThreadPool",
    "TransportError",
    "__version__",
    "connect",
    "method",
    "run",
    "serve",
]


def test_the_public_names_are_these() -> None:
    assert sorted(accord.__all__) == sorted(SURFACE)
    assert sorted(dir(accord)) == sorted(SURFACE)


@pytest.mark.parametrize("name", SURFACE)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(accord, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = accord.nope


def test_importing_accord_loads_nothing_before_it_is_used() -> None:
    code = "import sys, accord; print([m for m in sys.modules if m.startswith('accord.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_transports_that_are_not_used_are_not_loaded() -> None:
    code = (
        "import sys, accord; accord.connect, accord.serve, accord.Router\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'httptools', 'ssl', 'pydantic'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout in ("[]\n", "['ssl']\n")  # asyncio itself loads ssl


def test_websockets_load_no_http_server_or_client() -> None:
    code = (
        "import sys, accord.transports.websocket.endpoints, accord.transports.websocket.endpoints\n"
        "print(sorted(m for m in sys.modules if m.startswith('accord.transports.http.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [f"accord.transports.http.{name}" for name in ("heads", "replies")]
    assert done.stdout == f"{loaded}\n"
