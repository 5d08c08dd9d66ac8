"""Texts and forms that take long keep nobody waiting but those who sent or read them."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from markupsafe import Markup

from accord.operations.errors import MalformedRequestError
from accord.web.app import MAX_FORM
from accord.web.forms import MAX_PARTS, MULTIPART, read_form
from accord.web.markdown import MAX_KEPT, MAX_TEXT, MarkdownHtml, markdown
from accord.web.responses import Assets
from accord.web.templating import MAX_MARKDOWN_ON_LOOP, TakesLongError, Templates
from tests.web.house import House

pytestmark = [pytest.mark.asyncio(loop_scope="session")]

HOSTILE = "![" * (MAX_TEXT // 2)
PREVIEW = "items/_preview.html"


@pytest.fixture
def templates() -> Templates:
    return Templates(Assets())


@pytest_asyncio.fixture(loop_scope="session")
async def browser(empty_house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client of somebody who has signed in."""
    cookies = {"accord_session": await empty_house.session()}
    async with httpx.AsyncClient(
        base_url=empty_house.url, cookies=cookies, trust_env=False, timeout=60
    ) as client:
        yield client


@pytest.mark.req("F-43")
async def test_much_markdown_is_rendered_in_a_thread_of_its_own(templates: Templates) -> None:
    short, long = "*a* " * 10, "*b* " * MAX_MARKDOWN_ON_LOOP
    assert "<em>a</em>" in templates.fill(PREVIEW, {"text": short})
    with pytest.raises(TakesLongError):
        templates.fill(PREVIEW, {"text": long})
    filled = await templates.fill_in_thread(PREVIEW, {"text": long})
    assert filled.count("<em>b</em>") == MAX_MARKDOWN_ON_LOOP
    # What was rendered once is there at once.
    assert templates.fill(PREVIEW, {"text": long}) == filled
    templates.close()


@pytest.mark.req("F-43")
async def test_only_so_many_texts_are_remembered() -> None:
    rendered = MarkdownHtml()
    for number in range(MAX_KEPT + 1):
        assert rendered.render(f"text {number}") == Markup(f"<p>text {number}</p>\n")
    assert rendered.find("text 0") is None
    assert rendered.find("text 1") is not None


@pytest.mark.req("F-43")
async def test_a_text_over_the_limit_is_shown_as_it_is() -> None:
    text = "*a* <b>" + "x" * MAX_TEXT
    shown = markdown(text)
    assert shown == f"<pre>*a* &lt;b&gt;{'x' * MAX_TEXT}</pre>"


@pytest.mark.req("F-43")
async def test_a_page_with_a_hostile_text_is_shown(
    empty_house: House, browser: httpx.AsyncClient
) -> None:
    epic = await empty_house.do("create_epic", title="Hostile", description=HOSTILE)
    for _ in range(2):
        shown = await browser.get(f"/items/{epic.reference_id}")
        assert shown.status_code == 200
        assert "![![![" in shown.text
        assert "</html>" in shown.text


@pytest.mark.req("F-43")
async def test_a_form_has_so_many_parts() -> None:
    part = b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'
    kind = f"{MULTIPART}; boundary=x"
    read = read_form(kind, part * 10 + b"--x--\r\n")
    assert read.every("a") == ["1"] * 10
    with pytest.raises(MalformedRequestError, match="1,000 parts"):
        read_form(kind, part * (MAX_PARTS + 1) + b"--x--\r\n")


@pytest.mark.req("F-43")
async def test_only_a_form_with_files_may_be_larger_than_texts_are(
    empty_house: House, browser: httpx.AsyncClient
) -> None:
    epic = await empty_house.do("create_epic", title="Plain")
    form = {"description": "x" * (MAX_FORM + 1)}
    told = await browser.post(f"/items/{epic.reference_id}/preview", data=form)
    assert told.status_code == 413
    form = {"content": "x" * (MAX_FORM + 1)}
    told = await browser.post("/import", data=form)
    assert told.status_code == 403  # it was read, and has no token of the session


@pytest.mark.req("F-43")
async def test_templates_are_filled_in_one_thread(templates: Templates) -> None:
    threads = set()

    class Text(str):
        def strip(self, chars: str | None = None) -> str:
            threads.add(threading.current_thread().name)
            return self

    for number in range(3):
        await templates.fill_in_thread(PREVIEW, {"text": Text(f"a {number}")})
    assert len(threads) == 1
    assert threading.current_thread().name not in threads
    templates.close()
