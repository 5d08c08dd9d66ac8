"""Tokens: made once, shown once, checked at every request."""

from __future__ import annotations

import pytest

from accord.operations.errors import UnauthenticatedError
from tests.operations.accounts.world import World


@pytest.mark.req("H-15")
async def test_a_token_says_who_calls(world: World) -> None:
    token = await world.token("uma")
    caller = await world.caller(token)
    assert caller.username == "uma"
    await world.call("revoke_token", "uma", id="laptop")
    with pytest.raises(UnauthenticatedError):
        await world.caller(token)
