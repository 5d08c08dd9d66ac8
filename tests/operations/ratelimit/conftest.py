"""A certificate for a Redis behind TLS."""

from __future__ import annotations

from tests.transports.conftest import certificate as certificate
