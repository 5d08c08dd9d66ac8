"""What the tests of transports share: both event loops, and certificates for TLS."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, LoopFactory]:
    """Asynchronous tests of a module with `BOTH_LOOPS = True` run on asyncio and on uvloop."""
    module = item.getparent(pytest.Module)
    factories: dict[str, LoopFactory] = {"asyncio": asyncio.new_event_loop}
    if getattr(module and module.obj, "BOTH_LOOPS", False) and find_spec("uvloop"):
        import uvloop

        factories["uvloop"] = uvloop.new_event_loop
    return factories


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for localhost and 127.0.0.1, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command")
    folder = tmp_path_factory.mktemp("certificate")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    made = (folder / "certificate.pem", folder / "key.pem")
    options = f"-x509 -nodes -days 2 -subj /CN=localhost -addext {names} -newkey ec"
    curve = "-pkeyopt ec_paramgen_curve:prime256v1"
    files = ["-out", str(made[0]), "-keyout", str(made[1])]
    subprocess.run(
        [openssl, "req", *options.split(), *curve.split(), *files],
        check=True,
        capture_output=True,
    )
    return made


@pytest.fixture(scope="session")
def server_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """For a server that shows the certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture(scope="session")
def client_tls(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    """For a client that trusts the certificate."""
    return ssl.create_default_context(cafile=certificate[0])
