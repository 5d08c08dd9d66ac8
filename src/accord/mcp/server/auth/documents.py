"""Requests to those who vouch for tokens: small, bounded and in time.

Redirects are not followed. What fails is that nobody can tell, not that a token is invalid.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from accord.jsonrpc.errors import TransportError
from accord.jsonrpc.nesting import check_nesting
from accord.mcp.server.auth.verifier import UnavailableError
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.web_address import WebAddress

REQUEST_SECONDS: Final = 10.0
MAX_BODY: Final = 512 * 1024

_decode = msgspec.json.Decoder(dict[str, Any]).decode


async def get_document(address: WebAddress, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """Return the JSON object at `address`.

    Raises UnavailableError.
    """
    return await _ask("GET", address, {}, None, tls)


async def post_form(
    address: WebAddress,
    form: Mapping[str, str],
    headers: Mapping[str, str],
    tls: ssl.SSLContext | None,
) -> dict[str, Any]:
    """Return the JSON object that answers a form.

    Raises UnavailableError.
    """
    fields = {"content-type": "application/x-www-form-urlencoded", **headers}
    return await _ask("POST", address, fields, urlencode(form).encode("ascii"), tls)


async def _ask(
    method: str,
    address: WebAddress,
    headers: Mapping[str, str],
    body: bytes | None,
    tls: ssl.SSLContext | None,
) -> dict[str, Any]:
    requester = Requester(Options(tls=tls, connect_seconds=REQUEST_SECONDS))
    fields = {"accept": "application/json", **headers}
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            response = await requester.request(method, address, fields, body)
            if response.status != 200:
                raise UnavailableError(f"{address} answered with status {response.status}")
            body = await response.read(MAX_BODY)
            check_nesting(body)
            return _decode(body)
    except TimeoutError:
        raise UnavailableError(f"{address} did not answer in time") from None
    except TransportError as error:
        raise UnavailableError(f"{address} cannot be asked: {error.message}") from error
    except (msgspec.DecodeError, UnicodeError):
        raise UnavailableError(f"{address} did not answer with a JSON object") from None
    finally:
        requester.close()
