"""TLS settings as flags."""

from __future__ import annotations

import ssl
from pathlib import Path

from accord.cli.exits import UsageError


def client_tls(*, ca: Path | None, insecure: bool) -> ssl.SSLContext | None:
    """What a client trusts; None for what the system trusts. Raises `UsageError`."""
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise UsageError(f"--ca {ca}: {_why(error)}") from error


def server_tls(cert: Path, key: Path | None) -> ssl.SSLContext:
    """What a server shows; the key may stand in the certificate's file. Raises `UsageError`."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(cert, key)
    except OSError as error:
        named = f"--tls-cert {cert}" if key is None else f"--tls-cert {cert}, --tls-key {key}"
        raise UsageError(f"{named}: {_why(error)}") from error
    return context


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"not a usable PEM file ({error.reason or error})"
    return error.strerror or str(error)
