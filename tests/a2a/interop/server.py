"""Our demo agent as a program: serves on a free port, and prints its URL."""

from __future__ import annotations

from tests.a2a.server.demo import make_agent

if __name__ == "__main__":
    make_agent().run(
        "http://127.0.0.1:0/", on_listen=lambda serving: print(serving.url, flush=True)
    )
