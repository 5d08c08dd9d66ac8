"""Expressions: what they are worth, what they refuse, and that nothing makes them cost more than they
may."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from accord.workflows.core.errors import MAX_EXPRESSION, CoreError, EvaluationError, ExpressionError
from accord.workflows.core.expressions.evaluation import evaluate
from accord.workflows.core.expressions.functions import Budget
from accord.workflows.core.expressions.parser import parse
from accord.workflows.core.expressions.syntax import LoopFieldName, StepFieldName

OUTPUTS: dict[str, Any] = {
    "load": {"score": 9, "tags": ["a", "b"]},
    "text": '{"items": [1, {"n": 2}]}',
    "prose": "no JSON at all",
    "deep": "[" * 129 + "]" * 129,
    "deeper": "[" * 5_000 + "]" * 5_000,
    "deepest": "[" * 128 + "]" * 128,
    "write-back": [1, 2, 3],
    "skipped": None,
}


class Place:
    """Something to refer to."""

    def __init__(self) -> None:
        lists = {"list": [1, 2, 3, 4], "empty": None, "big": "x" * 100_000}
        self.input: Any = {"kind": "epic", "n": 3, **lists}
        self.error: Any = {"code": "timeout", "message": "late"}

    def variable(self, name: str) -> Any:
        return self.input if name == "input" else self.error

    def step(self, name: str, field: StepFieldName) -> Any:
        return OUTPUTS.get(name) if field == "output" else f"{name} {field}"

    def loop(self, up: int, field: LoopFieldName) -> Any:
        return {"item": f"item {up}", "index": up}[field]


def value(text: str) -> Any:
    return evaluate(parse(text), Place(), Budget())


VALUES: list[tuple[str, Any]] = [
    ("1", 1),
    ("-9223372036854775808", -(2**63)),
    ("1.5", 1.5),
    ("2e3", 2000.0),
    ("'a\\n\\'\\u00e9'", "a\n'é"),
    ('"\\"\\\\\\/\\t\\r\\$"', '"\\/\t\r$'),
    ("true", True),
    ("null", None),
    ("[]", []),
    ("[1, 'a', [2],]", [1, "a", [2]]),
    ("{'a': 1, \"b\": {}}", {"a": 1, "b": {}}),
    ("input.kind", "epic"),
    ("input['kind']", "epic"),
    ("input.list[1 + 1]", 3),
    ("steps.load.output.score", 9),
    ("steps.load.data", "load data"),
    ("steps.load.artifacts", "load artifacts"),
    ("steps.load.error", "load error"),
    ("steps.write-back.output[2]", 3),
    ("steps.write-back.output.map(x, x * 2)", [2, 4, 6]),
    ("steps.text.output.items[1].n", 2),
    ("steps.text.output.items[0] + steps.text.output.items[1].n", 3),
    ("steps.text.output.contains('items')", True),
    ("steps.text.output", OUTPUTS["text"]),
    ("loop.item", "item 0"),
    ("loop.parent.parent.index", 2),
    ("error.code", "timeout"),
    # operators
    ("1 + 2 * 3 - 4 / 2", 5),
    ("(1 + 2) * 3", 9),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7.0 / 2", 3.5),
    ("1 + 0.5", 1.5),
    ("'a' + 'b'", "ab"),
    ("[1] + [2]", [1, 2]),
    ("- input.n", -3),
    ("--input.n", 3),
    ("!true", False),
    ("!!true", True),
    ("1 == 1.0", True),
    ("1 == true", False),
    ("null == input.empty", True),
    ("[1, {'a': 2}] == [1.0, {'a': 2}]", True),
    ("[1] == [1, 2]", False),
    ("{'a': 1} == {'b': 1}", False),
    ("'a' != 'b'", True),
    ("1 < 2 == true", True),
    ("2 <= 2", True),
    ("'a' < 'b'", True),
    ("3 > 2.5", True),
    ("2 >= 3", False),
    ("3 in input.list", True),
    ("'kind' in input", True),
    ("3 in input", False),
    ("true && false", False),
    ("false || true", True),
    ("false && 1 / 0 == 1", False),
    ("1 / 0 == 1 && false", False),
    ("1 / 0 == 1 || true", True),
    ("input.n > 2 ? 'many' : 'few'", "many"),
    ("false ? 1 : true ? 2 : 3", 2),
    # functions
    ("size('abc') + size([1]) + size({'a': 1})", 5),
    ("input.list.size()", 4),
    ("string(1)", "1"),
    ("string('a')", "a"),
    ("string([1, null])", "[1,null]"),
    ("int('12')", 12),
    ("int(' -1.9 ')", -1),
    ("int(2.9)", 2),
    ("int(true)", 1),
    ("double('1e3')", 1000.0),
    ("double(2)", 2.0),
    ("has(input.kind)", True),
    ("has(input.nothing.at.all)", False),
    ("has(input.empty)", False),
    ("has(steps.skipped.output)", False),
    ("has(steps.prose.output.x)", False),
    ("has(loop.item) && has(error)", True),
    ("'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
    ("'Ab Ü'.lowerAscii() + 'b ü'.upperAscii()", "ab ÜB ü"),
    ("' a '.trim()", "a"),
    ("'a,b'.split(',')", ["a", "b"]),
    ("'ab'.split('')", ["a", "b"]),
    ("['a', 'b'].join('-')", "a-b"),
    ("input.list.filter(x, x % 2 == 0)", [2, 4]),
    ("input.list.all(x, x > 0)", True),
    ("input.list.exists(x, x > 3)", True),
    ("input.list.exists_one(x, x > 2)", False),
    ("{'a': 1}.map(k, k + '!')", ["a!"]),
    ("[1, 2].map(x, [3].map(y, x + y))", [[4], [5]]),
    ("[1].map(x, [2].map(x, x))[0][0]", 2),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_an_expression_has_the_value(text: str, expected: Any) -> None:
    found = value(text)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input.nothing", "input.nothing is not there"),
        ("input.list[9]", "input.list[9] is not there: the list has 4 items"),
        ("input.list[0 - 1]", "input.list[…] is not there: the list has 4 items"),
        ("input.list[true]", "input.list[true] is not there: input.list is a list"),
        ("input['a' + 'b'].c", "input[…] is not there"),
        ("input.empty.x", "input.empty.x is not there: input.empty is null"),
        ("input.kind.x", "input.kind.x is not there: input.kind is a text"),
        ("input.n.x", "input.n.x is not there: input.n is a number"),
        ("(1 == 1).x", "(…).x is not there: (…) is a boolean"),
        ("input[1]", "input[1] is not there: input is an object"),
        ("input.__class__", "input.__class__ is not there"),
        ("steps.skipped.output.x", "steps.skipped.output.x is not there: steps.skipped.output is null"),
        ("loop.item.x", "loop.item.x is not there: loop.item is a text"),
        ("steps.prose.output.x", "steps.prose.output is a text and no JSON, so that nothing in it can be referred to"),
        ("steps.deep.output[0]", "steps.deep.output is nested deeper than 128 levels"),
        ("steps.deeper.output[0]", "steps.deeper.output is nested deeper than 128 levels"),
        ("steps.deepest.output[0].x", "steps.deepest.output[0].x is not there: steps.deepest.output[0] is a list"),
        ("1 + 'a'", "+ does not take a number and a text"),
        ("true + 1", "+ does not take a boolean and a number"),
        ("'a' - 1", "- does not take a text and a number"),
        ("1 * []", "* does not take a number and a list"),
        ("1.5 % 2", "% does not take a number and a number"),
        ("true % 2", "% does not take a boolean and a number"),
        ("1 / 0", "a division by zero"),
        ("1 % 0", "a division by zero"),
        ("9223372036854775807 + 1", "the result of + has more than 64 bits"),
        ("1e308 * 10", "the result of * is no number"),
        ("-input.kind", "- does not take a text"),
        ("!1", "! does not take a number"),
        ("1 in 2", "in does not take a number and a number"),
        ("1 < 'a'", "a number and a text have no order"),
        ("1 && true", "a condition is a number, not true or false"),
        ("1 / 0 == 1 && true", "a division by zero"),
        ("null ? 1 : 2", "a condition is null, not true or false"),
        ("{1: 2}", "a key of an object is a number, not a text"),
        ("size(1)", "size does not take a number"),
        ("int('a')", "int does not take the text 'a'"),
        ("int([])", "int does not take a list"),
        ("int('1e30')", "the result of int has more than 64 bits"),
        ("double('inf')", "the result of double is no number"),
        ("'a'.contains(1)", "contains does not take a text and a number"),
        ("[1].join(',')", "join does not take a text and a number"),
        ("'a'.join(',')", "join does not take a text"),
        ("input.n.map(x, x)", "map does not take a number"),
        ("[1].filter(x, x)", "a condition is a number, not true or false"),
    ],
)  # fmt: skip
def test_what_has_no_value_is_named(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        value(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing before the end, at character 1"),
        ("1 +", "a value is missing before the end, at character 4"),
        ("1 2", "the expression should end before '2', at character 3"),
        ("(1", "')' is missing before the end, at character 3"),
        ("[1 2]", "',' is missing before '2', at character 4"),
        ("{'a' 1}", "':' is missing before '1', at character 6"),
        ("true ? 1", "':' is missing before the end, at character 9"),
        ("input.", "a name is missing before the end, at character 7"),
        ("input.1", "a name is missing before '1', at character 7"),
        ("1 @ 2", "'@' is not understood, at character 3"),
        ("'abc", '"\'" is not understood, at character 1'),
        ("'\\q'", "'\\q' is no escape, at character 2"),
        ("'\\ud800'", "a text has half a character, at character 1"),
        ("9223372036854775808", "a number has more than 64 bits, at character 1"),
        ("1" * 5_000, "an expression has more than 4,096 characters, at character 1"),
        ("foo", "there is no 'foo'; there are input.…, steps.NAME.output, loop.item, loop.index, error.…, at character 1"),
        ("steps", "after steps stands .NAME, the name of a step, at character 1"),
        ("steps.a", "after steps.a stands one of .artifacts, .data, .error, .output before the end, at character 8"),
        ("steps.a.status", "after steps.a stands one of .artifacts, .data, .error, .output before 'status', at character 9"),
        ("loop", "after loop stands one of .index, .item, .parent before the end, at character 5"),
        ("loop.parent", "after loop stands one of .index, .item, .parent before the end, at character 12"),
        ("size()", "size takes 1 arguments, not 0, at character 1"),
        ("eval('1')", "there is no function 'eval'; there is double, has, int, size, string, at character 1"),
        ("'a'.contain('a')", "there is no method 'contain'; there is contains, at character 5"),
        ("'a'.matches('(a+)+$')", "there is no method 'matches'; there is all, contains, endsWith, exists, exists_one, filter, join, lowerAscii, map, size, split, startsWith, trim, upperAscii, at character 5"),
        ("has(1)", "has() takes a path, as in has(input.x), at character 1"),
        ("[1].map(in, 1)", "'in' cannot be a variable, at character 9"),
        ("[1].map(x, 1) + x", "there is no 'x'; there are input.…, steps.NAME.output, loop.item, loop.index, error.…, at character 17"),
        ("(" * 40 + "1" + ")" * 40, "an expression is nested deeper than 32, at character 33"),
        ("-" * 200 + "input", "an expression has more than 100 levels, at character 1"),
        ("1" + "+1" * 200, "an expression has more than 100 levels, at character 1"),
        ("input" + ".a" * 200, "an expression has more than 100 levels, at character 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text)
    assert str(raised.value) == message


STEPS = "the expression takes more than 100,000 steps to evaluate"
TEXT = "the expression handles more than 4,194,304 characters of text"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input.big.split('').map(a, input.big.split(''))", STEPS),
        ("input.list.map(a, input.list.map(b, input.list.map(c, input.list.map(d, input.list.map(e, input.list.map(f, input.list.map(g, input.list.map(h, input.list.map(i, 1)))))))))", STEPS),
        ("has([input.big.split('').map(a, input.big.split(''))][0]) || true", STEPS),
        ("has([input.list.map(a, input.list.map(b, input.list.map(c, input.big + input.big)))][0]) || true", TEXT),
        ("input.list.map(a, input.list.map(b, input.list.map(c, input.big + input.big)))", TEXT),
        ("input.list.map(a, input.list.map(b, input.list.map(c, input.big == input.big)))", TEXT),
        ("input.list.map(a, input.list.map(b, input.list.map(c, input.big < input.big)))", TEXT),
        ("input.list.map(a, input.list.map(b, input.list.map(c, string(input))))", TEXT),
        ("input.list.map(a, input.list.map(b, input.list.map(c, [input.big, input.big].join(''))))", TEXT),
    ],
)  # fmt: skip
def test_nothing_costs_more_than_it_may(text: str, message: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        value(text)
    assert str(raised.value) == message


def test_values_nested_too_deep_are_not_compared() -> None:
    place = Place()
    for _ in range(200):
        place.input = [place.input]
    with pytest.raises(EvaluationError, match="nested deeper than 100 levels"):
        evaluate(parse("input == input"), place, Budget())


WORDS = ["input", ".x", ".list", "[", "]", "(", ")", "{", "}", "1", "'a'", "+", "-", "&&", "||", "!", "?", ":", ",", "==", "in", "steps.load.output", "loop.item", ".map(x, ", ".size()", "has(", "x", "null", " ", "$", "\\", "\u00e9"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join) | st.text(max_size=MAX_EXPRESSION)
)
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    try:
        found = value(text)
    except CoreError:
        return
    assert found is None or isinstance(found, bool | int | float | str | list | dict)
