"""A token that may do everything: the one of a first start reads and proposes, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import httpx

from tests.patience import PATIENCE
from tests.plain_http import NO_TLS

SCOPES = ("read", "comment", "write", "propose", "run", "admin")


def working_token(url: str, told: Path) -> str:
    """Make a token of the administrator whose password is in `told`, by signing in."""
    found = re.search(r"administrator +(\S+)\n +password +(\S+)", told.read_text())
    assert found is not None
    with httpx.Client(base_url=f"{url}/api/v1", timeout=PATIENCE, verify=NO_TLS) as client:
        signed_in = client.post("/sessions", json={"username": found[1], "password": found[2]})
        assert signed_in.status_code == 201, signed_in.text
        client.cookies.clear()
        client.headers["authorization"] = f"Bearer {signed_in.json()['token']}"
        name = f"everything {uuid4()}"
        made = client.post("/tokens", json={"name": name, "scopes": SCOPES})
        assert made.status_code == 201, made.text
        client.delete("/sessions/current")
    token: str = made.json()["token"]
    return token
