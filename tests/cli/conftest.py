"""Certificates for TLS, as the tests of transports have them."""

from __future__ import annotations

from tests.transports.conftest import (
    certificate as certificate,
    client_tls as client_tls,
    server_tls as server_tls,
)
