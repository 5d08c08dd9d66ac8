"""The port: free, or taken by an Accord that runs, or by something else."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from accord import __version__
from accord.a2a.protocol.card import WELL_KNOWN
from accord.app.server_lock import is_served
from accord.app.settings import Settings
from accord.app.system import TITLE
from accord.cli.checkup.asking import Answer, ask
from accord.cli.checkup.finding import Finding, ok, problem, warning

OTHER: Final = "choose another by --port (0 picks a free one), or stop what uses it"
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def look(settings: Settings) -> Iterator[Finding]:
    place = f"{settings.host}:{settings.port}"
    if settings.port == 0:
        yield ok("port", "a free one is picked")
        return
    taken = _taken(settings.host, settings.port)
    if taken is None:
        yield ok("port", f"{place} is free")
    elif not taken:
        yield from _who(settings, place)
    else:
        yield problem("port", f"{place} cannot be listened on: {taken}", OTHER)


def _taken(host: str, port: int) -> str | None:
    """Why nothing can listen there, empty where something else does; None where it can."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        return "" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
    return None


def _who(settings: Settings, place: str) -> Iterator[Finding]:
    """Who listens there, as far as they say."""
    host = EVERYWHERE.get(settings.host, settings.host)
    netloc = f"{f'[{host}]' if ':' in host else host}:{settings.port}"
    url, told = next(
        (each for each in map(_card, (f"http://{netloc}", f"https://{netloc}")) if each[1]),
        ("", {}),
    )
    if told.get("name") != TITLE:
        yield problem("port", f"{place} is taken by another program", OTHER)
        return
    if not settings.is_shared and not is_served(Path(settings.data)):
        detail = f"{place} is taken by an Accord that has another data directory"
        yield problem("port", detail, f"{OTHER}; or name its data directory by --data")
        return
    yield _health(url, place)
    if told.get("version") != __version__:
        detail = f"{told.get('version')} runs, {__version__} is installed"
        yield warning("release", detail, "restart the server")


def _card(url: str) -> tuple[str, dict[str, Any]]:
    """The URL, and what whoever answers there says of itself."""
    card = ask(f"{url}{WELL_KNOWN}")
    told = card.body if isinstance(card, Answer) else None
    return url, told if isinstance(told, dict) else {}


def _health(url: str, place: str) -> Finding:
    answer = ask(f"{url}/readyz")
    if isinstance(answer, Answer) and answer.status == 200:
        return ok("port", f"an Accord is ready at {place}")
    detail = f"the Accord at {place} is not ready"
    return problem("port", detail, f"see its log, and curl {url}/readyz")
