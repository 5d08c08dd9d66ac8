"""What every answer of the system carries for browsers, and the certificate that it shows.

Pages say more than this by themselves, and what they say counts. It must not know what is served.
"""

from __future__ import annotations

import ssl
from typing import Final

from accord.app.settings import Settings

YEAR: Final = 365 * 86_400
ANYWHERE: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # What is no page runs nothing, loads nothing and stands in no other page.
    "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
}
ENCRYPTED: Final = {"strict-transport-security": f"max-age={YEAR}; includeSubDomains"}


class ProtectionError(Exception):
    """A certificate cannot be used; the message says why."""


def answer_headers(settings: Settings) -> dict[str, str]:
    """Header fields of all answers that do not have them themselves."""
    if settings.tls_certificate or settings.public_url.lower().startswith("https://"):
        return ANYWHERE | ENCRYPTED
    return ANYWHERE


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """How https is spoken; None where it is not. Raises ProtectionError."""
    if not settings.tls_certificate:
        if settings.tls_key:
            raise ProtectionError("tls_key is of no use without tls_certificate")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key with a password would have somebody asked for it at every start.
        context.load_cert_chain(
            settings.tls_certificate, settings.tls_key or None, password=_no_password
        )
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        named = " and ".join(filter(None, (settings.tls_certificate, settings.tls_key)))
        raise ProtectionError(f"{named} cannot be used for https: {error}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key has a password")
