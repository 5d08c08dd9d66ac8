"""The explorer's files, as they are served."""

from __future__ import annotations

import re

import pytest

from accord.openrpc.explorer import explorer_pages

BUDGET = 150_000
"""Bytes, of all files together, before anything compresses them."""


@pytest.mark.req("O-13")
def test_all_files_together_are_small() -> None:
    assert sum(len(page().body) for page in explorer_pages().values()) < BUDGET


def test_the_page_is_beside_the_endpoint_and_its_files_below_it() -> None:
    pages = explorer_pages()
    assert {place.split("/")[0] for place in pages} == {"explore"}
    html = pages["explore"]().body.decode()
    used = set(re.findall(r'(?:src|href)="(explore/[^"]+)"', html))
    imported = {
        f"explore/{name}"
        for place, page in pages.items()
        if place.endswith(".js")
        for name in re.findall(r'^import .*"\./([^"]+)";$', page().body.decode(), re.MULTILINE)
    }
    assert used | imported == set(pages) - {"explore", "explore/"}


def test_a_slash_too_many_leads_to_the_page() -> None:
    page = explorer_pages()["explore/"]()
    assert (page.status, page.headers) == (307, (("location", "../explore"),))


def test_files_are_revalidated_and_say_what_they_are() -> None:
    pages = {place: page() for place, page in explorer_pages().items() if place != "explore/"}
    assert {(place.rsplit(".", 1)[-1], page.media_type) for place, page in pages.items()} == {
        ("explore", "text/html; charset=utf-8"),
        ("js", "text/javascript; charset=utf-8"),
        ("css", "text/css; charset=utf-8"),
        ("svg", "image/svg+xml"),
    }
    for page in pages.values():
        assert page.etag
        headers = dict(page.headers)
        assert headers["cache-control"] == "no-cache"
        assert headers["x-content-type-options"] == "nosniff"


def test_the_policy_lets_nothing_in_but_our_own_files() -> None:
    headers = dict(explorer_pages()["explore"]().headers)
    assert headers["content-security-policy"].split("; ") == [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]


def test_a_document_or_an_endpoint_elsewhere_may_be_connected_to() -> None:
    pages = explorer_pages(
        document="https://docs.example/openrpc.json", endpoint="https://api.example:8443/rpc"
    )
    policy = dict(pages["explore"]().headers)["content-security-policy"]
    assert "connect-src 'self' https://api.example:8443 https://docs.example;" in policy


def test_what_is_put_into_the_page_stays_text() -> None:
    pages = explorer_pages(document='"><script>', endpoint="'&", title="<b>{endpoint}</b>")
    html = pages["explore"]().body.decode()
    assert 'data-document="&quot;&gt;&lt;script&gt;" data-endpoint="&#x27;&amp;"' in html
    assert "<title>&lt;b&gt;{endpoint}&lt;/b&gt;</title>" in html


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    pages = {place: page().body.decode() for place, page in explorer_pages().items()}
    html = pages["explore"]
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", html) == []
    for place, text in pages.items():
        outside = re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]+", re.sub(r"(?m)^ *// .*$", "", text))
        assert outside == (["http://www.w3.org"] if place.endswith(".svg") else [])


def test_nothing_parses_html() -> None:
    for place, page in explorer_pages().items():
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function",
            page().body.decode(),
        )
        assert found == [], place


def test_types_are_not_sent_but_reasons_are() -> None:
    text = explorer_pages()["explore/wire.js"]().body.decode()
    assert "@typedef" not in text
    assert text.startswith("// Sends one body to the endpoint")
