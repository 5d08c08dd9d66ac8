"""Both carriers of an endpoint."""

from __future__ import annotations

import pytest

from tests.mcp.server.http.service import CARRIERS, Carrier


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> Carrier:
    chosen: Carrier = request.param
    return chosen
