"""Whatever is asked for, and however badly: what every answer of the system carries."""

from __future__ import annotations

import httpx
import pytest

from tests.security.fortress import Fortress
from tests.web.house import ADMIN, PASSWORD

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

PLACES = (
    *(("GET", path) for path in ("/sign-in", "/", "/nothing", "/static/x/y.js", "/healthz")),
    *(("GET", path) for path in ("/readyz", "/metrics", "/api/v1/epics", "/api/v1", "/rpc")),
    *(("GET", path) for path in ("/api/v1/openapi.json", "/rpc/openrpc.json", "/rpc/explore")),
    *(("GET", path) for path in ("/api/v1/mcp", "/a2a", "/.well-known/agent-card.json")),
    *(("POST", path) for path in ("/sign-in", "/rpc", "/api/v1/mcp", "/api/v1/webhooks/x")),
    *(("TRACE", path) for path in ("/", "/api/v1/epics", "/rpc", "/healthz")),
    ("OPTIONS", "/api/v1/epics"),
    ("DELETE", "/healthz"),
)
MALFORMED = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/3.0\r\nhost: x\r\n\r\n",
    b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    b"POST /rpc HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nabc",
)


def told(answer: httpx.Response) -> dict[str, list[str]]:
    """What an answer says for browsers."""
    names = (
        *("strict-transport-security", "x-content-type-options", "content-security-policy"),
        "referrer-policy",
    )
    return {name: answer.headers.get_list(name) for name in names}


@pytest.mark.parametrize(("verb", "path"), PLACES)
async def test_every_answer_tells_browsers_what_not_to_do(
    fortress: Fortress, verb: str, path: str
) -> None:
    for headers in ({}, await fortress.bearer()):
        answer = await fortress.nobody.request(verb, path, headers=headers)
        said = told(answer)
        assert said["strict-transport-security"] == ["max-age=31536000; includeSubDomains"]
        assert said["x-content-type-options"] == ["nosniff"]
        [policy] = said["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "base-uri 'none'" in policy
        assert "frame-ancestors 'none'" in policy or path == "/rpc/explore"
        assert len(said["referrer-policy"]) == 1
        if answer.content:
            kind = answer.headers["content-type"]
            assert "charset=utf-8" in kind or not kind.startswith("text/"), kind


async def test_a_request_that_is_none_is_answered_under_the_same_rules(fortress: Fortress) -> None:
    for answer in map(bytes.lower, await fortress.raw(*MALFORMED)):
        assert answer.startswith((b"http/1.1 400 ", b"http/1.1 431 ", b"http/1.1 505 "))
        assert b"\r\nx-content-type-options: nosniff\r\n" in answer
        assert b"\r\nstrict-transport-security: max-age=31536000; includesubdomains\r\n" in answer


async def test_all_cookies_are_bound_to_the_host_over_https(fortress: Fortress) -> None:
    nobody = fortress.nobody
    given = {"username": ADMIN, "password": PASSWORD}
    answer = await nobody.post("/sign-in", data=given)
    lines = answer.headers.get_list("set-cookie")
    theme = await nobody.post("/theme", data={"theme": "dark"})
    lines += theme.headers.get_list("set-cookie")
    assert [line.partition("=")[0] for line in lines] == [
        "__Host-accord_session",
        "__Host-accord_theme",
    ]
    for line in lines:
        assert line.endswith("; Secure")
        assert "; Path=/; HttpOnly; SameSite=Lax; " in line
        assert "domain" not in line.lower()
    page = (await nobody.get("/sign-in", headers={"cookie": "accord_theme=dark"})).text
    assert 'data-theme="dark"' not in page, "what another host may have set"
    page = (await nobody.get("/sign-in", headers={"cookie": "__Host-accord_theme=dark"})).text
    assert 'data-theme="dark"' in page
    nobody.cookies.clear()


async def test_what_was_kept_in_a_browser_is_gone_with_the_session(fortress: Fortress) -> None:
    accounts = fortress.house.system.runtime.accounts
    signed_in = await accounts.sign_in(ADMIN, PASSWORD, face="web")
    headers = {"cookie": f"__Host-accord_session={signed_in.token}"}
    csrf = {"csrf": signed_in.csrf_token}
    answer = await fortress.nobody.post("/sign-out", data=csrf, headers=headers)
    assert answer.headers["clear-site-data"] == '"storage"'
    assert answer.headers.get_list("set-cookie")[0].startswith("__Host-accord_session=; ")
    again = await fortress.nobody.get("/account", headers=headers)
    assert (again.status_code, again.headers["location"]) == (303, "/sign-in?next=/account")
