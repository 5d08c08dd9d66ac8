"""Arguments in which a member comes twice are refused on every face, and nothing is done."""

from __future__ import annotations

import pytest

from tests.operations.adapters.shop import Shop

JSON = {"content-type": "application/json"}


@pytest.mark.req("F-32")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"id":"a","title":"one","title":"two"}', "title"),
        (b'{"id":"a","title":"one","title":"one"}', "title"),
        (b'{"id":"a","title":"one","\\u0074itle":"two"}', "title"),
        (b'{"id":"a","title":"one","dry_run":true,"dry_run":false}', "dry_run"),
        (b'{"id":"a","title":"one","price":1e999,"price":1}', "price"),
    ],
)
async def test_rest_and_rpc_refuse_a_member_that_comes_twice(
    local: Shop, body: bytes, field: str
) -> None:
    answer = await local.client.post("/api/v1/pens", content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"] == [{"pointer": f"/{field}", "detail": "is given twice"}]
    call = b'{"jsonrpc":"2.0","id":1,"method":"create_pen","params":%b}' % body
    for message in (call, b"[%b]" % call):
        told = (await local.client.post("/rpc", content=message, headers=JSON)).json()
        error = (told[0] if isinstance(told, list) else told)["error"]
        assert error["code"] == -32602, error
        assert error["message"] == f"{field}: is given twice"
    assert (await local.client.get("/api/v1/pens")).json()["total"] == 0


@pytest.mark.req("F-32")
async def test_a_large_body_is_refused_without_a_name(local: Shop) -> None:
    body = b'{"id":"a","title":"%b","title":"one"}' % (b"x" * 5_000)
    answer = await local.client.post("/api/v1/pens", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (422, "the member is given twice")


@pytest.mark.req("F-32")
async def test_nobody_signs_in_with_two_names(local: Shop) -> None:
    body = b'{"username":"admin","username":"ada","password":"x"}'
    answer = await local.client.post("/api/v1/sessions", content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
