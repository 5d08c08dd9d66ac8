"""Checks of the port, the broker and the MCP clients on this machine."""

from __future__ import annotations

import errno
import re
import shutil
import socket
import ssl
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

import msgspec
from msgspec import Struct

from accord import __version__
from accord.a2a.protocol.card import WELL_KNOWN
from accord.app.database import is_served
from accord.app.engine import EMBEDDED_BUS, KAFKA_SCHEME
from accord.app.settings import Settings
from accord.app.system import MCP, TITLE
from accord.cli.doctor.environment import CheckResult, not_checked, ok, problem, warning
from accord.cli.exits import UsageError
from accord.cli.mcp_server import SettingsFile
from accord.jsonrpc.protocol.codec import decode_json
from accord.mcp.hosts import HOSTS, Host, Scope
from accord.transports.urls import shown

# The port


OTHER: Final = "choose another by --port (0 picks a free one), or stop what uses it"
EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def check_port(settings: Settings) -> Iterator[CheckResult]:
    place = f"{settings.host}:{settings.port}"
    if settings.port == 0:
        yield ok("port", "a free one is picked")
        return
    taken = _listen_problem(settings.host, settings.port)
    if taken is None:
        yield ok("port", f"{place} is free")
    elif not taken:
        yield from _identify_listener(settings, place)
    else:
        yield problem("port", f"{place} cannot be listened on: {taken}", OTHER)


def _listen_problem(host: str, port: int) -> str | None:
    """Try to bind to a port, and return why that fails.

    Returns None if the port is free, "" if another program uses it, and otherwise the error message
    of the system.
    """
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


def _identify_listener(settings: Settings, place: str) -> Iterator[CheckResult]:
    """Check whether the program that uses the port is this installation's server."""
    host = EVERYWHERE.get(settings.host, settings.host)
    netloc = f"{f'[{host}]' if ':' in host else host}:{settings.port}"
    url, answer = next(
        (each for each in map(_card, (f"http://{netloc}", f"https://{netloc}")) if each[1]),
        ("", {}),
    )
    if answer.get("name") != TITLE:
        yield problem("port", f"{place} is taken by another program", OTHER)
        return
    if not settings.is_shared and not is_served(Path(settings.data)):
        detail = f"{place} is taken by an Accord that has another data directory"
        yield problem("port", detail, f"{OTHER}; or name its data directory by --data")
        return
    yield _health(url, place)
    if answer.get("version") != __version__:
        detail = f"{answer.get('version')} runs, {__version__} is installed"
        yield warning("release", detail, "restart the server")


def _card(url: str) -> tuple[str, dict[str, Any]]:
    """Fetch the agent card of a server. Return its URL, and the card or {}."""
    card = ask(f"{url}{WELL_KNOWN}")
    body = card.body if isinstance(card, Answer) else None
    return url, body if isinstance(body, dict) else {}


def _health(url: str, place: str) -> CheckResult:
    answer = ask(f"{url}/readyz")
    if isinstance(answer, Answer) and answer.status == 200:
        return ok("port", f"an Accord is ready at {place}")
    detail = f"the Accord at {place} is not ready"
    return problem("port", detail, f"see its log, and curl {url}/readyz")


# The broker


BROKER_SECONDS: Final = 5.0


def check_broker(settings: Settings) -> Iterator[CheckResult]:
    if settings.bus == EMBEDDED_BUS:
        yield ok("bus", "embedded: no broker is needed")
    elif not settings.bus.startswith(KAFKA_SCHEME):
        detail = "the bus is neither embedded nor kafka://host:port"
        yield problem("bus", detail, "see --bus in accord config")
    else:
        yield _kafka(settings.bus)


def _kafka(url: str) -> CheckResult:
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        from accord.workflows.bus.bus import BusError
        from accord.workflows.bus.topics import read_address
    except ImportError:
        return problem("bus", "confluent-kafka is not installed", "pip install 'accord[kafka]'")
    try:
        address = read_address(url)
    except BusError as error:
        return problem("bus", str(error), "see --bus in accord config")
    try:
        client = AdminClient(
            {**address.options, "bootstrap.servers": address.servers, "log_level": 0}
        )
        found = client.list_topics(timeout=BROKER_SECONDS)
    except KafkaException as error:
        reason = error.args[0].str() if hasattr(error.args[0], "str") else str(error)
        advice = "check that the broker runs, and --bus or ACCORD_BUS"
        return problem("bus", f"no broker answers at {address.servers}: {reason}", advice)
    missing = [name for name in address.names.all() if name not in found.topics]
    topics = f"; the server will make {len(missing)} topics" if missing else ", with all topics"
    return ok("bus", f"{len(found.brokers)} brokers answer at {address.servers}{topics}")


# MCP clients on this machine


SCOPES: Final[tuple[Scope, ...]] = ("user", "project")
INSTALL: Final = f"accord mcp install http://127.0.0.1:8000{MCP} --client NAME --token …"
_URL: Final = re.compile(r"https?://\S+")
_MEMBERS: Final = ("url", "httpUrl", "serverUrl")


def check_clients() -> Iterator[CheckResult]:
    found = [finding for host in HOSTS.values() for finding in _of(host)]
    yield from found
    if not found:
        yield not_checked("clients", "none on this machine knows of Accord", f"tell one: {INSTALL}")


def _of(host: Host) -> Iterator[CheckResult]:
    files = [path for scope in SCOPES if (path := host.file(scope)) is not None]
    # In the home directory both scopes have the same file.
    for path in {path.resolve(): path for path in files if path.exists()}.values():
        try:
            entries = SettingsFile(path).entries(host.table)
        except UsageError:
            yield not_checked(host.title, f"{path} cannot be read as plain JSON or TOML")
            continue
        for name, entry in entries.items():
            if isinstance(entry, dict) and (finding := _entry(host, name, entry)):
                yield finding


def _entry(host: Host, name: str, entry: dict[str, Any]) -> CheckResult | None:
    """Check the entry of one MCP server in the settings file of an MCP client.

    Returns None if the entry has nothing to do with Accord.
    """
    words = [str(entry.get("command", "")), *map(str, _listed(entry.get("args")))]
    url = _url(entry, words)
    if url is not None and (MCP in url or "accord" in name.lower()):
        return _remote(host, name, url)
    if any(Path(word).name == "accord" for word in words) and "mcp" in words:
        return _local(host, name, words)
    return None


def _remote(host: Host, name: str, url: str) -> CheckResult:
    answer = ask(url)
    if isinstance(answer, Answer):
        if answer.status in (404, 410):
            detail = f"{name}: there is nothing at {_without_query(url)}"
            return problem(host.title, detail, f"the address ends with {MCP}")
        return ok(host.title, f"{name}: {_without_query(url)} answers")
    detail = f"{name}: {_without_query(url)} does not answer ({answer})"
    return warning(host.title, detail, "start that server, or correct the address")


def _local(host: Host, name: str, words: list[str]) -> CheckResult:
    command = words[0]
    files = [word.partition(".py:")[0] for word in words if ".py" in word]
    missing = next((file for file in files if not Path(file).with_suffix(".py").exists()), None)
    if shutil.which(command) is None:
        return problem(host.title, f"{name}: there is no program {command}", "install it again")
    if missing is not None:
        return problem(host.title, f"{name}: there is no file {missing}", "correct the path")
    return ok(host.title, f"{name}: is started by {command}")


def _url(entry: dict[str, Any], words: list[str]) -> str | None:
    urls = [str(entry[member]) for member in _MEMBERS if member in entry]
    return next((text for text in (*urls, *words) if _URL.fullmatch(text)), None)


def _without_query(url: str) -> str:
    """Return a URL without its query and other parts that may be secret."""
    return shown(url.partition("?")[0])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# HTTP requests


HTTP_SECONDS: Final = 3.0
LARGEST: Final = 256 * 1024


class Answer(Struct, frozen=True):
    """The response to one HTTP request."""

    status: int
    body: Any = None
    """The decoded body, None if it is not JSON."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def ask(url: str) -> Answer | str:
    """Send a GET request without credentials, and follow no redirect.

    Returns the response, or an error message if there is no response.
    """
    # No certificate check: the request has no secrets, and only the identity is reported.
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    opener = build_opener(_NoRedirects, ProxyHandler({}), HTTPSHandler(context=anybody))
    try:
        request = Request(url, headers={"Accept": "application/json, text/event-stream"})
        with opener.open(request, timeout=HTTP_SECONDS) as answer:
            return Answer(answer.status, _json(answer.read(LARGEST)))
    except HTTPError as error:
        with error:
            return Answer(error.code)
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        return str(getattr(reason, "strerror", None) or reason)


def _json(body: bytes) -> Any:
    try:
        return decode_json(body)
    except msgspec.DecodeError:
        return None
