"""Pages of others, forged forms, cookies and redirects: what the pages refuse."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser

from accord.web.pages import PAGES
from accord.web.request import PageRoute
from accord.web.responses import POLICY
from tests.patience import PATIENCE
from tests.web.house import ADMIN, PASSWORD, House, housed, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21", "H-18")]

EVIL = "https://evil.example"
FROM_ELSEWHERE = "this comes from a page of another site\n"
PUBLIC_FORMS = {"/sign-in", "/theme"}
"""Forms for people who have not signed in: the one has no session yet, the other holds no secret.
Both take what comes from our own pages only."""
FOREIGN = (
    *("//evil.example", "///evil.example", "https://evil.example/", "/\\evil.example"),
    *("\\/evil.example", "javascript:alert(1)", "evil.example", "/\r\nset-cookie: a=b"),
    *("/\tx", "/\u2028", "data:text/html,x", " //evil.example", ""),
)


def routes(verb: str) -> list[PageRoute]:
    return [route for pages in PAGES for route in pages if route.verb == verb]


def path_of(route: PageRoute) -> str:
    """A path at which the page answers, whatever it says."""
    return re.sub(r"\{[^}]*\}", "EP-001", route.path)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A program that sends the administrator's cookie, as a browser would by itself."""
    cookies = {"accord_session": await house.session()}
    async with httpx.AsyncClient(base_url=house.url, cookies=cookies, timeout=PATIENCE) as client:
        yield client


async def test_every_form_but_two_is_refused_without_the_token_of_its_session(
    house: House, client: httpx.AsyncClient
) -> None:
    await house.add_person("mallory", "Administrator")
    signed_in = await house.system.runtime.accounts.sign_in("mallory", PASSWORD, face="web")
    forms = routes("POST")
    assert {route.path for route in forms if route.is_public} == PUBLIC_FORMS
    before = await house.system.runtime.store.fetch("SELECT count(*) AS total FROM changes")
    answers: dict[str, set[int]] = {}
    for route in forms:
        if route.is_public:
            continue
        answer = await client.post(path_of(route), data={"a": "b"})
        theirs = await client.post(path_of(route), data={"csrf": signed_in.csrf_token})
        answers[route.path] = {answer.status_code, theirs.status_code}
    for forged in ({"csrf": ""}, {"csrf": "guess"}, {"csrf": "x" * 100_000}):
        answers[str(forged)] = {(await client.post("/sign-out", data=forged)).status_code}
    headers = {"X-CSRF-Token": signed_in.csrf_token, "HX-Request": "true"}
    by_script = await client.post("/sign-out", data={"a": "b"}, headers=headers)
    answers["by a script"] = {by_script.status_code}
    assert {path: found for path, found in answers.items() if found != {403}} == {}
    after = await house.system.runtime.store.fetch("SELECT count(*) AS total FROM changes")
    assert [dict(row) for row in after] == [dict(row) for row in before]


async def test_forms_of_other_sites_are_refused_by_their_origin(
    house: House, client: httpx.AsyncClient
) -> None:
    host = house.url.removeprefix("http://")
    refused = (
        {"Origin": "null"},
        {"Origin": f"https://{host}.evil.example"},
        {"Origin": "http://evil.example", "Host": "evil.example"},  # DNS rebinding
        {"Origin": "http://127.0.0.1:1"},
    )
    for route in routes("POST"):
        answer = await client.post(path_of(route), data={"a": "b"}, headers={"Origin": EVIL})
        # Not for want of the token of the session, which is 403 as well.
        assert (answer.status_code, answer.text) == (403, FROM_ELSEWHERE), route.path
    for headers in refused:
        answer = await client.post("/sign-in", data={"a": "b"}, headers=headers)
        assert (answer.status_code, answer.text) == (403, FROM_ELSEWHERE), headers
    ours = await client.post("/theme", data={"theme": "dark"}, headers={"Origin": house.url})
    assert ours.status_code == 303


async def test_a_proxy_in_between_may_ask_by_the_public_name(
    new_data: Path, tmp_path: Path
) -> None:
    public = "https://hub.example"
    async with housed(
        new_data, tmp_path / "data", public_url=public, trusted_proxies=("127.0.0.0/8",)
    ) as house:
        headers = {"Origin": public, "X-Forwarded-Proto": "https"}
        async with httpx.AsyncClient(base_url=house.url, headers=headers) as client:
            given = {"username": ADMIN, "password": PASSWORD}
            answer = await client.post("/sign-in", data=given)
            assert answer.status_code == 303
            [cookie] = answer.headers.get_list("set-cookie")
            assert re.fullmatch(
                r"__Host-accord_session=accord_ses_\w{36}; Path=/; HttpOnly; SameSite=Lax; "
                r"Max-Age=2592000; Secure",
                cookie,
            )
            evil = await client.post("/sign-in", data=given, headers={"Origin": EVIL})
            assert evil.status_code == 403


async def test_nobody_without_a_session_gets_further_than_the_door(house: House) -> None:
    async with httpx.AsyncClient(base_url=house.url) as nobody:
        for route in (*routes("GET"), *routes("POST")):
            if route.is_public:
                continue
            answer = await nobody.request(route.verb, path_of(route), data={"a": "b"})
            assert answer.status_code == 303, route.path
            assert answer.headers["location"].startswith("/sign-in"), route.path
            assert answer.content == b""


async def test_a_token_is_for_programs_and_opens_no_page(house: House) -> None:
    made = await house.do("create_token", name="program")
    headers = {"Authorization": f"Bearer {made.token}"}
    async with httpx.AsyncClient(base_url=house.url, headers=headers) as program:
        assert (await program.get("/account")).status_code == 400


async def test_every_page_has_the_policy_and_is_kept_nowhere(
    client: httpx.AsyncClient,
) -> None:
    seen = {}
    for route in routes("GET"):
        answer = await client.get(path_of(route))
        headers = answer.headers
        assert headers["cache-control"] == "no-store", route.path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.status_code < 500, (route.path, answer.text)
        seen[route.path] = (headers["x-frame-options"], headers["content-security-policy"])
    inside = seen.pop("/explorer/frame")
    around = seen.pop("/explorer")
    assert set(seen.values()) == {("DENY", POLICY)}
    assert around == ("DENY", f"{POLICY}; frame-src 'self'")
    assert inside[0] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in inside[1]
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in inside[1]
    for policy in (POLICY, inside[1]):
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


async def test_no_page_shows_inside_of_another_site(browser: Browser, house: House) -> None:
    context = await browser.new_context()
    await house.enter(context)
    page = await context.new_page()
    paths = ("/account", "/sign-in", "/explorer", "/explorer/frame")
    frames = "".join(f'<iframe src="{house.url}{path}"></iframe>' for path in paths)
    await page.route(
        "http://evil.example/", lambda route: route.fulfill(body=frames, content_type="text/html")
    )
    await page.goto("http://evil.example/")
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"] * 4
    await context.close()


async def test_cookies_are_for_the_server_alone(browser: Browser, house: House) -> None:
    async with httpx.AsyncClient(base_url=house.url) as client:
        given = {"username": ADMIN, "password": PASSWORD}
        answer = await client.post("/sign-in", data=given)
        [cookie] = answer.headers.get_list("set-cookie")
        assert re.fullmatch(
            r"accord_session=accord_ses_\w{36}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000",
            cookie,
        )
        theme = await client.post("/theme", data={"theme": "dark", "next": "/"})
        [cookie] = theme.headers.get_list("set-cookie")
        assert cookie == "accord_theme=dark; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000"
    async with visiting(browser, house, "") as visitor:
        await visitor.open("/sign-in")
        await visitor.page.get_by_label("Username").fill(ADMIN)
        await visitor.page.get_by_label("Password").fill(PASSWORD)
        await visitor.page.get_by_role("button", name="Sign in").click()
        await visitor.page.wait_for_url(f"{house.url}/")
        assert await visitor.page.evaluate("document.cookie") == ""


async def test_a_session_has_another_token_after_each_sign_in_and_each_password(
    house: House,
) -> None:
    await house.add_person("rosa", "User")
    tokens: list[str] = []

    def keep(answer: httpx.Response) -> None:
        cookies = SimpleCookie()
        for line in answer.headers.get_list("set-cookie"):
            cookies.load(line)
        tokens.append(cookies["accord_session"].value)

    async with httpx.AsyncClient(base_url=house.url) as client:
        for _ in range(2):
            keep(await client.post("/sign-in", data={"username": "rosa", "password": PASSWORD}))
        page = (await client.get("/account")).text
        csrf = re.findall(r'name="csrf" value="(\w+)"', page)[0]
        form = {
            "csrf": csrf,
            "current_password": PASSWORD,
            "new_password": "another good password",
            "repeated": "another good password",
        }
        changed = await client.post("/account/password", data=form)
        assert changed.headers["location"] == "/account"
        keep(changed)
        assert (await client.get("/account")).status_code == 200
        assert len(set(tokens)) == 3
    for old in tokens[:2]:
        async with httpx.AsyncClient(base_url=house.url, cookies={"accord_session": old}) as client:
            assert (await client.get("/account")).status_code == 303


async def test_nobody_is_sent_on_to_another_site(house: House, client: httpx.AsyncClient) -> None:
    credentials = {"username": ADMIN, "password": PASSWORD}
    async with httpx.AsyncClient(base_url=house.url) as stranger:
        for path in FOREIGN:
            stranger.cookies.clear()
            answer = await stranger.post("/sign-in", data={**credentials, "next": path})
            assert (answer.status_code, answer.headers["location"]) == (303, "/"), path
    for path in FOREIGN:
        theme = await client.post("/theme", data={"theme": "", "next": path})
        assert theme.headers["location"] == "/", path
        again = await client.get("/sign-in", params={"next": path})
        assert (again.status_code, again.headers["location"]) == (303, "/"), path


async def test_forms_that_cannot_be_read_are_refused(client: httpx.AsyncClient) -> None:
    for media_type, body in (
        ("text/plain", b"csrf=x"),
        ("application/json", b'{"csrf": "x"}'),
        ("multipart/form-data", b"--x"),
        ("application/x-www-form-urlencoded", b"a=%ff"),
        ("application/x-www-form-urlencoded", "ä=1".encode()),
        ("application/x-www-form-urlencoded", b"&".join([b"a=1"] * 10_001)),
    ):
        answer = await client.post("/sign-out", content=body, headers={"Content-Type": media_type})
        assert answer.status_code == 400, (media_type, body[:20])
        assert "content-security-policy" in answer.headers
