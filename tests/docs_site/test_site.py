"""The documentation site as it is built: whole, without a network, and the same as on GitHub."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from os.path import normpath
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio
from markdown_it import MarkdownIt
from msgspec import Struct
from playwright.async_api import Page, expect

from tests.browser import Watched, launched, program
from tests.docs_site.built_page import STRUCTURE, BuiltPage
from tools.source_links import source_of

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 120_000
NARROW = ("hub/settings.html", "reference/tools.html")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
CODE = {"fence": "pre", "code_block": "pre"}
pytestmark = pytest.mark.timeout(180)  # a build and a browser may wait for a busy machine
OTHER_HOST = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


class Site(Struct, frozen=True):
    """The site, built once."""

    docs: Path
    folder: Path
    told: str
    """What the builder said."""
    pages: dict[Path, BuiltPage]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Built from a copy, as the builder writes below the folder of its settings only."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "zensical.toml", folder)
    for each in ("docs", "tools/site_theme"):
        shutil.copytree(ROOT / each, folder / each)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", folder / "zensical.toml"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    told = COLOUR.sub("", done.stdout)
    assert done.returncode == 0, told
    built = folder / "build" / "site"
    pages = {path: BuiltPage(path) for path in sorted(built.rglob("*.html"))}
    return Site(folder / "docs", built, told, pages)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def window() -> AsyncIterator[Page]:
    """A narrow window without a network."""
    if program() is None:
        pytest.skip("needs chromium")
    async with launched() as browser:
        context = await browser.new_context(
            offline=True, viewport={"width": 320, "height": 720}, reduced_motion="reduce"
        )
        yield await context.new_page()


def test_it_is_built_without_a_warning(site: Site) -> None:
    assert "No issues found" in site.told


def test_every_page_is_in_the_navigation(site: Site) -> None:
    start = site.pages[site.folder / "index.html"]
    named = {Path(normpath(site.folder / urlsplit(link).path)) for link in start.navigation}
    assert [str(page) for page in _sources(site) if _built(site, page) not in named] == []


def test_links_lead_to_pages_and_places_that_are_there(site: Site) -> None:
    assert list(_broken(site)) == []


def test_what_a_page_loads_is_there_and_on_no_other_host(site: Site) -> None:
    loaded = [(page, each) for page in site.pages.values() for each in page.loaded]
    missing = [
        (page.path.name, each)
        for page, each in loaded
        if OTHER_HOST.match(each) or not _target(site, page, each).is_file()
    ]
    assert (len(loaded) > len(site.pages), missing) == (True, [])


def test_pages_read_the_same_on_the_site_and_on_github(site: Site) -> None:
    reader = MarkdownIt("commonmark").enable("table")
    for page in _sources(site):
        tokens = reader.parse((site.docs / page).read_text(encoding="utf-8"))
        tags = (CODE.get(each.type, each.tag) for each in tokens if each.nesting >= 0)
        meant = Counter(tag for tag in tags if tag in STRUCTURE)
        assert site.pages[_built(site, page)].structure == meant, page


@pytest.mark.parametrize(
    ("link", "source"),
    [
        ("../../examples/agents/go/main.go", "examples/agents/go/main.go"),
        ("../../tests/mcp/server/cluster", "tests/mcp/server/cluster"),
        ("../errors.md#codes", None),
        ("#codes", None),
        ("https://example.com/../x", None),
    ],
)
def test_only_links_out_of_the_docs_lead_to_a_source(link: str, source: str | None) -> None:
    assert source_of(link, PurePosixPath("agents/examples.md")) == source


def test_a_link_to_a_source_is_its_path_on_the_site(site: Site) -> None:
    text = (site.folder / "exposure.html").read_text(encoding="utf-8")
    assert "<small> (src/accord/exposure/routes.py)</small>" in text


def test_a_bar_in_code_is_a_bar_in_tables_too(site: Site) -> None:
    text = (site.folder / "clients.html").read_text(encoding="utf-8")
    assert ("<code>A | B</code>" in text, "\\|" in text) == (True, False)


@pytest.mark.asyncio(loop_scope="module")
async def test_search_finds_words_from_a_folder_and_without_a_network(
    site: Site, window: Page
) -> None:
    watched = Watched(window, "file://", patience=PATIENCE)
    await window.goto((site.folder / "index.html").as_uri())
    await window.keyboard.press("Control+k")
    await window.keyboard.type("idempotency")
    await expect(window.get_by_text(re.compile(r"\d+ results"))).to_be_visible(timeout=PATIENCE)
    await window.get_by_role("option").filter(has_text="idempotency").first.click()
    await window.wait_for_url("**/*.html?h=idempotency*")
    watched.leave()
    assert watched.faults == []


@pytest.mark.asyncio(loop_scope="module")
async def test_tables_scroll_in_themselves_on_a_narrow_screen(site: Site, window: Page) -> None:
    for page in NARROW:
        await window.goto((site.folder / page).as_uri())
        width = await window.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, page


def _sources(site: Site) -> list[Path]:
    return [path.relative_to(site.docs) for path in sorted(site.docs.rglob("*.md"))]


def _built(site: Site, page: Path) -> Path:
    name = "index" if page.stem == "README" else page.stem
    return site.folder / page.with_name(f"{name}.html")


def _target(site: Site, page: BuiltPage, address: str) -> Path:
    """The file that an address on a page stands for; the page for what is not found, which is
    answered anywhere, counts from the root."""
    path = unquote(urlsplit(address).path)
    if not path:
        return page.path
    folder = site.folder if path.startswith("/") else page.path.parent
    return Path(normpath(folder / path.lstrip("/")))


def _broken(site: Site) -> Iterator[str]:
    for path, page in site.pages.items():
        for link in dict.fromkeys(page.links):
            if OTHER_HOST.match(link):
                continue
            found = site.pages.get(_target(site, page, link))
            place = unquote(urlsplit(link).fragment)
            if found is None or (place and place not in found.ids):
                yield f"{path.relative_to(site.folder)}: {link}"
