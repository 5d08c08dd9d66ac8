"""The route that is exposed elsewhere, served by uvicorn as FastAPI's users serve it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from benchmarks.peers.echo_route import app
from benchmarks.peers.uvicorn_server import run

run(app)
