"""What is at the root: where everything is, in a few lines for whoever looks with a browser."""

from __future__ import annotations

from html import escape
from typing import Final

from accord.transports.http.replies import Reply, page_reply, text_reply
from accord.transports.pages import Page, etag_of
from accord.transports.web.app import Exchange, WebRequest

PLACES: Final = {
    "/api/v1/openapi.json": "the REST interface, as an OpenAPI document",
    "/rpc/explore": "the same operations over JSON-RPC, to read and to try",
    "/rpc/openrpc.json": "their OpenRPC document",
    "/api/v1/mcp": "MCP, for assistants (POST, with a token)",
    "/api/v1/runs": "runs of workflows (with a token)",
    "/.well-known/agent-card.json": "workflows as an agent, its card (A2A at /a2a, with a token)",
    "/healthz": "whether the process answers",
    "/readyz": "whether it can do its work",
    "/metrics": "numbers, for Prometheus",
}
_POLICY: Final = "default-src 'none'; style-src 'none'; frame-ancestors 'none'; base-uri 'none'"


class Home:
    """Implements `WebApp` for the root, and 404 for everything that is nowhere."""

    def __init__(self, title: str) -> None:
        body = _page(title).encode()
        self._page = Page(
            body=body,
            media_type="text/html; charset=utf-8",
            etag=etag_of(body),
            headers=(
                ("content-security-policy", _POLICY),
                ("x-content-type-options", "nosniff"),
                ("referrer-policy", "no-referrer"),
            ),
        )

    def judge(self, request: WebRequest) -> Reply | None:
        if request.place != "":
            return text_reply(404, "there is nothing here")
        if request.method not in ("GET", "HEAD"):
            return text_reply(405, "only GET", b"allow: GET, HEAD\r\n")
        return page_reply(self._page, request.fields.get("if-none-match"))

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return text_reply(413, f"a request may have {most:,} bytes")

    def handle(self, judged: None, body: bytes, exchange: Exchange) -> None:
        raise AssertionError("every request is answered by its head")


def _page(title: str) -> str:
    rows = "".join(
        f'<li><a href="{escape(path)}">{escape(path)}</a> {escape(about)}</li>'
        for path, about in PLACES.items()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<h1>{escape(title)}</h1><p>It is running. Here is what it answers:</p><ul>{rows}</ul>"
        "</html>"
    )
