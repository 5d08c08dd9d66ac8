"""How long pages take on the server with 50,000 requirements, by the clock on the wall."""

from __future__ import annotations

import time
from http.client import HTTPConnection
from urllib.parse import quote

import msgspec

from benchmarks.harness import Plan, percentile
from benchmarks.hub.corpus import COMMON, COUNT, RARE
from benchmarks.hub.filled import ENGINES, Engine, Hub, ours
from benchmarks.load import PATIENCE
from benchmarks.report import Row, at_most

TITLE = f"Pages over {COUNT:,} requirements, one in flight, in the calmest of three runs"
RUNS = 3
"""What disturbs a run only ever makes it slower."""
SAMPLES = 40
MILLISECONDS = 100
PASSWORD = "a password of the benchmark"

PAGES = {
    "home": "/",
    "the tree": "/requirements",
    "a story's children in the tree": "/requirements/children/US-100",
    "a requirement beside the tree": f"/items/REQ-{COUNT // 2}",
    "its history": f"/items/REQ-{COUNT // 2}/history",
    "search for a rare word": f"/search?q={quote(RARE)}",
    "search for a common word": f"/search?q={quote(COMMON)}",
    "the palette": "/palette?q=REQ-2500",
    "traceability": "/traceability",
    "the matrix": "/traceability/matrix",
    "relationships of a requirement": f"/traceability/graph?item=REQ-{COUNT // 2}",
    "suspect links": "/traceability/suspects",
    "baselines": "/baselines",
    "changes": "/changes",
    "runs": "/runs",
    "definitions": "/workflows",
    "prompts": "/prompts",
    "users": "/users",
    "the audit log": "/audit",
}


def rows(plan: Plan) -> list[Row]:
    return [row for engine in ENGINES for row in _on(engine)]


def _on(engine: Engine) -> list[Row]:
    reader = _Reader(ours(engine))
    return [
        Row(
            group="web_pages",
            what=f"{what}, {engine}: 95th percentile",
            ours=min(reader.percentile(path) for _ in range(RUNS)) * 1e3,
            unit="ms",
            bound=at_most(MILLISECONDS),
            proves=("H-21",),
        )
        for what, path in PAGES.items()
    ]


class _Reader:
    """Somebody who has signed in, on a connection that is kept."""

    def __init__(self, hub: Hub) -> None:
        self._connection = HTTPConnection("127.0.0.1", hub.port, timeout=PATIENCE)
        session = self._session(hub.password)
        changed = {"current_password": hub.password, "new_password": PASSWORD}
        self._ask("POST", "/api/v1/users/me/password", changed, token=session)
        self._cookie = f"accord_session={self._session(PASSWORD)}"

    def percentile(self, path: str) -> float:
        self._page(path)
        return percentile([self._page(path) for _ in range(SAMPLES)], 95)

    def _page(self, path: str) -> float:
        begun = time.perf_counter()
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - begun
        assert answer.status == 200, (path, answer.status, body[:500])
        return took

    def _session(self, password: str) -> str:
        given = {"username": "admin", "password": password}
        found: str = self._ask("POST", "/api/v1/sessions", given)["token"]
        return found

    def _ask(self, verb: str, path: str, body: object, token: str = "") -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._connection.request(verb, path, msgspec.json.encode(body), headers)
        answer = self._connection.getresponse()
        read = answer.read()
        assert answer.status < 300, (path, answer.status, read)
        return msgspec.json.decode(read, type=dict) if read else {}
