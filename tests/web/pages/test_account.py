"""Signing in, one's own account, tokens and people."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.web.checks import overflow, violations
from tests.web.house import PASSWORD, House, Visitor, visiting

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.req("H-21")]

PATHS = ("/account", "/tokens", "/tokens/new", "/users", "/users/new", "/users/admin")
LONG = "x" * 100


async def test_too_many_wrong_passwords_are_told_with_how_long_to_wait(house: House) -> None:
    given = {"username": "someone", "password": "guess"}
    async with httpx.AsyncClient(base_url=house.url) as client:
        answer = await client.post("/sign-in", data=given)
        while answer.status_code != 429:  # a slow machine may have waited long enough each time
            assert answer.status_code == 401
            answer = await client.post("/sign-in", data=given)
    seconds = int(answer.headers["retry-after"])
    assert 1 <= seconds <= 60
    assert "<strong>Too many attempts</strong>" in answer.text
    assert f"Try again in {seconds} second" in answer.text
    assert 'value="someone"' in answer.text
    assert "guess" not in answer.text


async def test_who_has_signed_in_goes_on_and_a_dead_cookie_goes_away(house: House) -> None:
    cookies = {"accord_session": await house.session()}
    async with httpx.AsyncClient(base_url=house.url, cookies=cookies) as client:
        answer = await client.get("/sign-in", params={"next": "/tokens"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/tokens")
    async with httpx.AsyncClient(base_url=house.url, cookies={"accord_session": "gone"}) as client:
        answer = await client.get("/sign-in")
        assert answer.status_code == 200
        assert answer.headers["set-cookie"].startswith("accord_session=; Path=/; HttpOnly")


async def test_a_password_of_somebody_else_leads_to_the_set_up_until_it_is_ones_own(
    browser: Browser, house: House
) -> None:
    await house.add_person("pia", "Commenter")
    async with visiting(browser, house, "", java_script_enabled=False) as visitor:
        page = visitor.page
        for password in (PASSWORD, PASSWORD):  # leaving it out is no way around it
            await page.context.clear_cookies()
            await visitor.open("/sign-in?next=/tokens")
            await page.get_by_label("Username").fill("pia")
            await page.get_by_label("Password").fill(password)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page).to_have_url(f"{house.url}/set-up")
        await page.get_by_label("The password that you were given").fill(PASSWORD)
        for label in ("New password", "New password again"):
            await page.get_by_label(label, exact=True).fill("my own password")
        await page.get_by_role("button", name="Choose password").click()
        await expect(page).to_have_url(f"{house.url}/set-up/assistant")
        await page.get_by_role("link", name="Skip").click()
        await expect(page.get_by_text("epics here already")).to_be_visible()
        await visitor.open("/set-up")
        await expect(page).to_have_url(f"{house.url}/set-up/assistant")


async def test_people_change_their_password_and_see_where_they_are_signed_in(
    browser: Browser, house: House
) -> None:
    await house.add_person("rolf", "User")
    elsewhere = await house.system.runtime.accounts.sign_in(
        "rolf", PASSWORD, face="web", client="curl/9", address="192.0.2.7"
    )
    async with visiting(browser, house, "rolf") as visitor:
        page = visitor.page
        await visitor.open("/account")
        row = page.get_by_role("row").filter(has_text="curl/9")
        await expect(row).to_contain_text("192.0.2.7")
        await row.get_by_role("button", name="End").click()
        await expect(page.get_by_text("The session is ended.")).to_be_visible()
        await expect(row).to_have_count(0)
        cookies = {"accord_session": elsewhere.token}
        async with httpx.AsyncClient(base_url=house.url, cookies=cookies) as client:
            assert (await client.get("/account")).status_code == 303
        await page.get_by_label("Current password").fill("wrong password")
        await page.get_by_label("New password", exact=True).fill("my own password")
        await page.get_by_label("New password again").fill("my own password")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("alert")).to_contain_text("is not your password")
        visitor.faults.clear()  # browsers log what was answered 422
        await page.get_by_label("Current password").fill(PASSWORD)
        await page.get_by_label("New password", exact=True).fill("my own password")
        await page.get_by_label("New password again").fill("my own password")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_text("Your password is changed")).to_be_visible()
        await page.get_by_label("Email").fill("rolf@example.org")
        await page.get_by_role("button", name="Change email").click()
        await expect(page.get_by_text("Your email is changed.")).to_be_visible()
        await page.get_by_text("Sign out everywhere", exact=True).click()
        await page.get_by_role("button", name="Sign out everywhere now").click()
        await expect(page.get_by_text("You are signed out everywhere.")).to_be_visible()
        await visitor.open("/account")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_the_theme_is_kept_without_a_script(browser: Browser, house: House) -> None:
    async with visiting(browser, house, java_script_enabled=False) as visitor:
        page = visitor.page
        await visitor.open("/account")
        await page.get_by_label("Dark").check()
        await page.get_by_role("button", name="Change theme").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await expect(page.get_by_label("Dark")).to_be_checked()
        await page.get_by_label("As the system").check()
        await page.get_by_role("button", name="Change theme").click()
        await expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


async def test_a_token_is_made_by_keys_alone_shown_once_and_revoked(visitor: Visitor) -> None:
    page, house = visitor.page, visitor.house
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await visitor.open("/tokens")
    await page.keyboard.press("c")
    await expect(page).to_have_url(f"{house.url}/tokens/new")
    await page.get_by_label("Name").focus()
    await page.keyboard.type("laptop")
    await page.get_by_role("radio", name="Propose only (recommended)").focus()
    for _ in range(3):  # to the last one: the scopes themselves
        await page.keyboard.press("ArrowDown")
    for scope in ("propose", "comment"):
        await page.get_by_role("checkbox", name=re.compile(f"^{scope} ")).focus()
        await page.keyboard.press("Space")
    await page.get_by_label("Expires in days").focus()
    await page.keyboard.press("Enter")
    shown = page.locator("#new-token")
    token = await shown.inner_text()
    await page.get_by_role("button", name="Copy The token").click()
    await expect(page.get_by_text("Copied.")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == token
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=house.url, headers=headers) as program:
        assert (await program.get("/api/v1/epics")).status_code == 200
        refused = await program.post("/api/v1/epics", json={"title": "No"})
        assert refused.status_code == 403
        await visitor.open("/tokens")
        row = page.get_by_role("row").filter(has_text="laptop")
        await expect(row).to_contain_text("read, comment")
        assert token not in await page.content()
        await row.get_by_text("Revoke", exact=True).click()
        await row.get_by_role("button", name="Revoke laptop").click()
        await expect(page.get_by_text("laptop is revoked")).to_be_visible()
        await expect(row).to_contain_text("Revoked")
        assert (await program.get("/api/v1/epics")).status_code == 401


@pytest.mark.req("H-33")
@pytest.mark.parametrize(
    ("preset", "scopes"),
    [
        ("", "read, propose"),
        ("Write", "read, comment, write, propose"),
        ("Everything", "read, comment, write, propose, run, admin"),
    ],
)
async def test_a_new_token_proposes_unless_more_is_chosen(
    visitor: Visitor, preset: str, scopes: str
) -> None:
    page, name = visitor.page, f"preset {preset}"
    await visitor.open("/tokens/new")
    await expect(page.get_by_role("checkbox", name="admin")).to_be_hidden()
    await page.get_by_label("Name").fill(name)
    if preset:
        await (
            page.get_by_role("radio", name=preset, exact=False)
            .and_(page.locator(f"[value={preset.lower()}]"))
            .check()
        )
    await page.get_by_role("button", name="Create token").click()
    await expect(page.get_by_text(f"It may {scopes}, and expires")).to_be_visible()


@pytest.mark.req("H-33")
async def test_who_only_comments_chooses_between_reading_and_commenting(
    browser: Browser, house: House
) -> None:
    await house.add_person("cora", "Commenter")
    async with visiting(browser, house, "cora") as visitor:
        page = visitor.page
        await visitor.open("/tokens/new")
        radios = await page.get_by_role("radio").evaluate_all("all => all.map(one => one.value)")
        assert radios == ["read", "comment", "chosen"]
        await page.get_by_label("Name").fill("reader")
        await page.get_by_role("button", name="Create token").click()
        await expect(page.get_by_text("It may read, and expires")).to_be_visible()


async def test_a_token_that_cannot_be_made_is_told_with_what_was_typed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.house.do("create_token", name="taken")
    await visitor.open("/tokens/new")
    await page.get_by_label("Name").fill("taken")
    await page.get_by_role("radio", name="Choose scopes").check()
    await page.get_by_role("checkbox", name="run Start").check()
    await page.get_by_role("button", name="Create token").click()
    await expect(page.get_by_role("alert")).to_contain_text("has a token 'taken' already")
    await expect(page.get_by_label("Name")).to_have_value("taken")
    await expect(page.get_by_role("radio", name="Choose scopes")).to_be_checked()
    await expect(page.get_by_role("checkbox", name="run Start")).to_be_checked()
    await expect(page.get_by_role("checkbox", name="admin")).not_to_be_checked()
    visitor.faults.clear()  # browsers log what was answered 409


async def test_an_administrator_adds_somebody_and_lets_them_in_no_longer(
    visitor: Visitor,
) -> None:
    page, house = visitor.page, visitor.house
    await visitor.open("/users")
    await page.keyboard.press("c")
    await page.get_by_label("Username").fill("hedda")
    await page.get_by_label("Commenter").check()
    await page.get_by_role("button", name="Create user").click()
    password = await page.locator("#new-password").inner_text()
    accounts = house.system.runtime.accounts
    signed_in = await accounts.sign_in("hedda", password, face="web")
    assert (signed_in.user.role, signed_in.user.temporary_password) == ("Commenter", True)
    await visitor.open("/users")
    await page.get_by_role("link", name="hedda").click()
    await page.get_by_label("User read").check()
    await page.get_by_label("Email").fill("hedda@example.org")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("hedda is changed.")).to_be_visible()
    changed = await house.do("get_user", id="hedda")
    assert (changed.role, changed.email) == ("User", "hedda@example.org")
    await page.get_by_text("Give another password", exact=True).click()
    await page.get_by_role("button", name="Give another password now").click()
    assert await page.locator("#new-password").inner_text() != password
    await visitor.open("/users/hedda")
    await page.get_by_text("Deactivate", exact=True).click()
    await page.get_by_role("button", name="Deactivate hedda").click()
    await expect(page.get_by_role("button", name="Activate")).to_be_visible()
    assert not (await house.do("get_user", id="hedda")).active
    await page.get_by_role("button", name="Activate").click()
    await expect(page.get_by_text("Deactivate", exact=True)).to_be_visible()


async def test_the_last_administrator_stays_one(empty_house: House, browser: Browser) -> None:
    async with visiting(browser, empty_house) as visitor:
        await visitor.open("/users/admin")
        await visitor.page.get_by_label("Commenter").check()
        await visitor.page.get_by_role("button", name="Save").click()
        await expect(visitor.page.get_by_role("alert")).to_contain_text("last active administrator")
        visitor.faults.clear()  # browsers log what was answered 409


async def test_who_may_not_administrate_neither_sees_nor_gets_the_pages(
    browser: Browser, house: House
) -> None:
    await house.add_person("uwe", "User")
    async with visiting(browser, house, "uwe") as visitor:
        await visitor.open("/account")
        places = visitor.page.get_by_role("navigation", name="Places")
        await expect(places.get_by_role("link", name="Tokens")).to_be_visible()
        for name in ("Users", "Audit log", "Types and labels"):
            await expect(places.get_by_role("link", name=name)).to_have_count(0)
    cookies = {"accord_session": await house.session("uwe")}
    async with httpx.AsyncClient(base_url=house.url, cookies=cookies) as client:
        for path in ("/users", "/users/new", "/users/admin", "/audit", "/settings", "/prompts/new"):
            assert (await client.get(path)).status_code == 403, path


async def test_everybody_can_use_the_pages_in_both_themes_and_in_narrow_windows(
    browser: Browser, house: House, axe: str
) -> None:
    await house.do("create_token", name=LONG)
    await house.do("create_user", username="y" * 50, email=f"{'m' * 64}@{'x' * 180}.org")
    for scheme, paths in (("light", PATHS), ("dark", PATHS[::3])):
        async with visiting(browser, house, color_scheme=scheme) as visitor:
            for path in paths:
                await visitor.open(path)
                assert await violations(visitor.page, axe) == [], (path, scheme)
    async with visiting(browser, house, viewport={"width": 320, "height": 640}) as visitor:
        for path in PATHS:
            await visitor.open(path)
            assert await overflow(visitor.page) == [], path
