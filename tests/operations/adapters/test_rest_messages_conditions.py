"""Versions over HTTP: ETag, If-Match, If-None-Match (RFC 9110, section 13)."""

from __future__ import annotations

import pytest

from accord.operations.adapters.rest_messages import etag_of, expected_version, matches_etag
from accord.operations.errors import MalformedRequestError, StaleError
from tests.operations.adapters.shop import Shop


@pytest.mark.req("H-13")
async def test_an_update_of_what_was_read_succeeds_once(shop: Shop) -> None:
    await shop.pen()
    tag = (await shop.get("/pens/p1")).headers["etag"]
    first = await shop.patch("/pens/p1", json={"title": "One"}, headers={"if-match": tag})
    second = await shop.patch("/pens/p1", json={"title": "Two"}, headers={"if-match": tag})
    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    assert second.status_code == 412
    assert second.json()["detail"] == "it has the version 2, not 1"
    assert second.json()["difference"] == [{"field": "title", "after": "One"}]
    after = first.headers["etag"]
    third = await shop.patch("/pens/p1", json={"title": "Three"}, headers={"if-match": after})
    assert (third.status_code, third.json()["version"]) == (200, 3)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ('"1"', 200),
        ("1", 200),
        ("*", 200),
        ('"1", "0"', 200),
        ('"1.0123abcd"', 200),
        ('"nothing", "1"', 200),
        ('W/"1"', 412),
        ('"2"', 412),
        ('"1", "2"', 412),
        ('"one"', 412),
        ('""', 412),
        ("one", 400),
        ('"1', 400),
        ("", 400),
        ('"1" "2"', 400),
    ],
)
async def test_if_match_is_compared_strongly(local: Shop, header: str, status: int) -> None:
    await local.pen()
    answer = await local.patch("/pens/p1", json={"title": "x"}, headers={"if-match": header})
    assert answer.status_code == status


async def test_if_match_and_the_body_say_the_same_or_nothing(local: Shop) -> None:
    await local.pen()
    for version, status in ((2, 422), (1, 200)):
        answer = await local.patch(
            "/pens/p1", json={"expected_version": version}, headers={"if-match": '"1"'}
        )
        assert answer.status_code == status
    assert (await local.patch("/pens/p1", json={"expected_version": 1})).status_code == 412


async def test_a_version_that_is_required_may_be_in_the_header(local: Shop) -> None:
    await local.pen()
    without = await local.post("/pens/p1/sharpen")
    assert (without.status_code, without.json()["errors"]) == (
        422,
        [{"pointer": "/expected_version", "detail": "is required; the header If-Match may say it"}],
    )
    assert (await local.post("/pens/p1/sharpen", headers={"if-match": '"1"'})).status_code == 200
    anything = await local.post("/pens/p1/sharpen", headers={"if-match": "*"})
    assert anything.status_code == 422
    assert (await local.post("/pens/p1/sharpen", json={"expected_version": 1})).status_code == 200


async def test_what_compares_no_versions_does_not_pretend_to(local: Shop) -> None:
    await local.pen()
    refused = await local.delete("/pens/p1", headers={"if-match": '"1"'})
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_request")
    assert (await local.delete("/pens/p1", headers={"if-match": "*"})).status_code == 204


async def test_what_a_client_has_is_not_sent_again(shop: Shop) -> None:
    await shop.pen()
    read = await shop.get("/pens/p1")
    tag = read.headers["etag"]
    for header in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        again = await shop.get("/pens/p1", headers={"if-none-match": header})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    await shop.patch("/pens/p1", json={"title": "New"})
    changed = await shop.get("/pens/p1", headers={"if-none-match": tag})
    assert (changed.status_code, changed.json()["title"]) == (200, "New")
    other = await shop.get("/pens/p1", headers={"if-none-match": '"1"'})
    assert other.status_code == 200


async def test_what_changes_without_its_version_has_another_tag(local: Shop) -> None:
    await local.pen()
    tag = (await local.get("/pens/p1")).headers["etag"]
    await local.store.execute("UPDATE pens SET price = 9")
    again = await local.get("/pens/p1", headers={"if-none-match": tag})
    assert (again.status_code, again.json()["price"]) == (200, 9)
    # It is the same version, so that nobody is refused for what is no content.
    assert (
        await local.patch("/pens/p1", json={"title": "x"}, headers={"if-match": tag})
    ).status_code == 200


async def test_reading_too_can_be_conditional(local: Shop) -> None:
    await local.pen()
    assert (await local.get("/pens/p1", headers={"if-match": '"1"'})).status_code == 200
    stale = await local.get("/pens/p1", headers={"if-match": '"7"'})
    assert (stale.status_code, stale.json()["current_version"]) == (412, 1)


async def test_if_none_match_is_for_reading(local: Shop) -> None:
    refused = await local.post(
        "/pens", json={"id": "a", "title": "t"}, headers={"if-none-match": "*"}
    )
    assert (refused.status_code, refused.json()["code"]) == (400, "malformed_request")


async def test_lists_have_no_tag(local: Shop) -> None:
    listed = await local.get("/pens", headers={"if-none-match": "*"})
    assert listed.status_code == 200
    assert "etag" not in listed.headers


def test_tags_are_read_as_they_are_written() -> None:
    tag = etag_of(12, b"{}")
    assert expected_version(tag) == 12
    assert matches_etag(tag, tag)
    assert not matches_etag(tag, '"12"')
    assert expected_version(" * ") is None


def test_long_lists_of_tags_take_no_time() -> None:
    many = ", ".join(f'"{number}"' for number in range(5_000))
    assert expected_version(many) == 4_999
    for broken in ('"1",' * 5_000 + "x", "1" * 16_000, '"' * 16_000, "," * 16_000):
        with pytest.raises((MalformedRequestError, StaleError)):
            expected_version(broken)
