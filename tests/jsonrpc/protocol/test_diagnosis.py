"""Diagnoses of messages that are refused, and what they cost."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct, UnsetType

from accord import Context, Limits, Router
from accord.jsonrpc.methods.method import make_method
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.codec import decode
from accord.jsonrpc.protocol.diagnosis import has_more_items
from accord.jsonrpc.protocol.errors import InvalidParamsError
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, Request, Success
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from tests.hostile.cost import assert_refused_cheaply
from tests.hostile.messages import CASES, KIB, SIZES, Case

every_size = pytest.mark.parametrize(
    "size",
    [
        pytest.param(
            size, id=f"{size:,}", marks=[] if size in (KIB, 256 * KIB) else pytest.mark.matrix
        )
        for size in SIZES
    ],
)
"""The bound is one thing for small messages and another for all others: one size shows each."""

router = Router()


class Record(Struct):
    a: list[int]


@router.method
def sink(*values: Any) -> None:
    pass


@router.method
def nothing() -> None:
    pass


@router.method
def numbers(values: list[int]) -> None:
    pass


@router.method
def records(values: list[Record]) -> None:
    pass


@router.method
def anything(data: Any) -> None:
    pass


@router.method
def limited(data: list[int], size: Annotated[int, Meta(ge=0)] = 0) -> None:
    pass


@router.method
def short(data: Annotated[list[int], Meta(max_length=3)]) -> None:
    pass


@router.method(name="sum")
def add_up(*values: int) -> None:
    pass


class Source:
    def context(self, method: str, id: Id | UnsetType) -> Context:
        return Context(method, id, channel=ChannelInfo(scheme="test"))

    def answer(self, data: bytes | None) -> None:
        raise AssertionError("answered later")

    def settle(self, response: Success | Failure | Invalid) -> None:
        pass


@pytest.mark.req("F-31")
@every_size
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_refusing_costs_at_most_twice_what_a_valid_message_does(
    case: Case, size: int
) -> None:
    dispatcher = Dispatcher(router, limits=Limits())
    source = Source()
    hostile, valid = case.hostile(size), case.valid(size)
    served = dispatcher.handle(valid, source)
    assert not (isinstance(served, bytes) and b'"error"' in served), served[:200]
    assert_refused_cheaply(
        lambda: dispatcher.handle(hostile, source), lambda: dispatcher.handle(valid, source), size
    )


@pytest.mark.req("F-31")
@every_size
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reading_what_is_refused_costs_at_most_twice_as_much(case: Case, size: int) -> None:
    hostile, valid = case.hostile(size), case.valid(size)
    assert_refused_cheaply(lambda: decode(hostile), lambda: decode(valid), size)


GOOD = b'{"jsonrpc":"2.0","id":1,"method":"m"}'


def answers(data: bytes, **limits: Any) -> Any:
    dispatcher = Dispatcher(Router(), limits=Limits(**limits))
    answer = dispatcher.handle(data, Source())
    assert isinstance(answer, bytes)
    return msgspec.json.decode(answer)


def reasons(batch: Any) -> list[str]:
    assert isinstance(batch, list)
    return [item.error.message for item in batch if isinstance(item, Invalid)]


@pytest.mark.req("F-31", "F-08")
@pytest.mark.parametrize("most", [2, 20_000])
@pytest.mark.parametrize("item", [b"1", b"{}", b"[[1]]", GOOD, GOOD.replace(b"j", b"\\u006a")])
def test_the_rest_of_a_batch_that_is_too_large_is_not_read(item: bytes, most: int) -> None:
    fits = b"[" + b",".join([item] * most) + b"]"
    assert len(decode(fits, max_items=most)) == most  # type: ignore[arg-type]
    over = decode(b"[" + item + b"," + fits[1:], max_items=most)
    assert isinstance(over, Invalid)
    assert over.oversized
    assert over.error.message == (
        f"Invalid Request: the batch is over the limit of {most:,} messages: split it"
    )
    if most == 2:  # what stands behind is no JSON, and nobody looks
        assert isinstance(decode(fits[:-1] + b"," + item + b",...", max_items=most), Invalid)


def test_no_items_are_counted_in_what_is_no_batch() -> None:
    assert not has_more_items(b'{"a":{},"b":{}}', 0)
    assert not has_more_items(b"", 0)
    assert not has_more_items(b'[{"params":[{},{},{}]}]', 1)
    assert has_more_items(b" \n[{},{}]", 1)


@pytest.mark.req("F-08", "RPC-6a")
def test_numbers_out_of_range_spoil_no_other_item() -> None:
    error = b'{"jsonrpc":"2.0","id":2,"error":1e999}'
    batch = decode(b'[1e999,%b,%b,null,true,"x",[]]' % (GOOD, error))
    assert isinstance(batch, list)
    assert batch[1] == Request(1, "m")
    assert reasons(batch) == [
        "Invalid Request: a message must be an object, got a number",
        "Invalid response: 'error' is no error object: Expected `object`, got `int`",
        "Invalid Request: a message must be an object, got null",
        "Invalid Request: a message must be an object, got true",
        "Invalid Request: a message must be an object, got a string",
        "Invalid Request: a message must be an object, got an array",
    ]
    alone = decode(error)
    assert isinstance(alone, Invalid)
    assert (alone.id, alone.response) == (2, True)
    also = decode(b'{"jsonrpc":"2.0","id":2,"method":"m","error":1e999}')
    assert also == Request(2, "m")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (b"[1]", "Expected `object`, got `array`"),
        (b'"x"', "Expected `object`, got `str`"),
        (b"{}", "Object missing required field `code`"),
        (b'{"code":1,"message":[]}', "Expected `str`, got `array` - at `$.message`"),
    ],
)
def test_broken_errors_are_told_in_detail(error: bytes, why: str) -> None:
    message = decode(b'{"jsonrpc":"2.0","id":2,"error":%b}' % error)
    assert isinstance(message, Invalid)
    assert message.error.message == f"Invalid response: 'error' is no error object: {why}"


def test_a_version_in_escapes_is_the_version() -> None:
    text = b'{"jsonrpc":"\\u0032\\u002e\\u0030","id":[],"id":7,"result":5}'
    assert decode(text) == Success(7, msgspec.Raw(b"5"))


def test_error_data_survives_a_member_that_comes_twice() -> None:
    text = b'{"jsonrpc":"2.0","id":7,"error":{"code":"x","code":1,"message":"m","data":[1]}}'
    message = decode(text)
    assert isinstance(message, Failure)
    assert message.error.data == msgspec.Raw(b"[1]")


@pytest.mark.req("F-08", "F-31")
async def test_the_first_invalid_items_are_answered_in_detail_and_all_under_their_ids() -> None:
    items = b",".join(b'{"jsonrpc":"1.0","id":%d,"method":"m"}' % id for id in range(20))
    batch = answers(b"[" + items + b"]")
    assert [each["id"] for each in batch] == list(range(20))
    assert {each["error"]["code"] for each in batch} == {-32600}
    assert {each["error"]["data"]["field"] for each in batch} == {"jsonrpc"}
    details = [each["error"]["message"] for each in batch]
    assert (
        details
        == ['Invalid Request: \'jsonrpc\' must be "2.0", got "1.0"'] * 8 + ["Invalid Request"] * 12
    )


@pytest.mark.req("F-08", "F-31", "RPC-6c")
async def test_each_item_that_is_no_message_is_answered() -> None:
    batch = answers(b"[1,{},[],null]")
    assert [each["error"]["message"] for each in batch] == [
        "Invalid Request: a message must be an object, got a number",
        "Invalid Request: 'jsonrpc' is missing, must be \"2.0\"",
        "Invalid Request: a message must be an object, got an array",
        "Invalid Request: a message must be an object, got null",
    ]
    assert answers(b"[1,{},[],null]", max_batch_response_bytes=300) == batch


# Params


def problem(function: Any, params: bytes) -> tuple[str, str]:
    with pytest.raises(InvalidParamsError) as caught:
        make_method(function, "it").invoke(params, None)
    return caught.value.data["path"], caught.value.message


ONES = b",".join([b"1"] * 2_000)


def together(data: list[int], size: int = 0, *, deep: bool = False) -> int:
    return len(data) + size


def add_numbers(*values: int) -> int:
    return sum(values)


def add_to(first: int, *values: int) -> int:
    return first + sum(values)


def collect(first: int = 0, **others: list[int]) -> dict[str, int]:
    return {name: len(each) for name, each in others.items()}


@pytest.mark.req("F-31")
@pytest.mark.parametrize(
    ("function", "params", "path", "why"),
    [
        (together, b'{"data":[%b,"x"]}', "data[2000]", "expected int, got str"),
        (together, b'[[%b,"x"]]', "data[2000]", "expected int, got str"),
        (together, b'{"data":[%b],"size":"x"}', "size", "expected int, got str"),
        (together, b'{"data":"x","data":["\\"data\\"",%b]}', "data[0]", "expected int, got str"),
        (together, b'{"data":[%b],"siz":1}', "siz", "no such parameter, did you mean 'size'?"),
        (together, b"[[%b],1,2,3]", "params", "the method takes 2 parameters by position, more"),
        (together, b'{"size":[%b]}', "size", "expected int, got array"),
        (add_numbers, b'[%b,"x"]', "values[2000]", "expected int, got str"),
        (add_numbers, b'{"values":[%b]}', "values", "no such parameter"),
        (add_to, b'[%b,"x"]', "values[1999]", "expected int, got str"),
        (add_to, b'["x",%b]', "first", "expected int, got str"),
        (collect, b'{"first":1,"more":[%b,"x"]}', "more[2000]", "expected int, got str"),
        (collect, b"[[%b]]", "first", "expected int, got array"),
    ],
)
def test_what_is_wrong_with_large_params_is_told_by_path(
    function: Any, params: bytes, path: str, why: str
) -> None:
    found, message = problem(function, params % ONES)
    assert found == path
    assert why in message


@pytest.mark.req("F-31")
@pytest.mark.parametrize(
    ("function", "params", "result"),
    [
        (together, b'{"data":"x","data":[%b]}', 2_000),
        (together, b'{"size":1,"data":[%b]}', 2_001),
        (add_numbers, b"[%b]", 2_000),
        (add_to, b"[%b]", 2_000),
        (collect, b'{"more":[%b]}', {"more": 2_000}),
    ],
)
def test_large_params_that_fit_are_taken(function: Any, params: bytes, result: Any) -> None:
    assert make_method(function, "it").invoke(params % ONES, None) == result
    assert make_method(function, "it").invoke(msgspec.Raw(params % ONES), None) == result


def test_large_params_that_are_no_structure_are_refused_for_that() -> None:
    for params in (b"1" * 5_000, b'"' + b"x" * 5_000 + b'"'):
        _, message = problem(together, params)
        assert message.startswith("parameter 'params': not decodable: Expected `object`")


def test_wrong_values_of_few_are_listed_and_the_first_of_many() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        make_method(add_numbers, "it").invoke(b'["a",1,"b"]', None)
    assert [each["path"] for each in caught.value.data["problems"]] == ["values[0]", "values[2]"]
    with pytest.raises(InvalidParamsError) as caught:
        make_method(add_numbers, "it").invoke(b'["a",%b"b"]' % (b"1," * 200), None)
    assert caught.value.data["path"] == "values[0]"
    assert "problems" not in caught.value.data
