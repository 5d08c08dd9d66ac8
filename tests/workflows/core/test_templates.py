"""Templates: texts with expressions in them, in any JSON value."""

from __future__ import annotations

from typing import Any

import pytest

from accord.workflows.core.errors import EvaluationError, ExpressionError
from accord.workflows.core.expressions.evaluation import (
    Fixed,
    expressions,
    read_template,
    render,
    render_truth,
)
from accord.workflows.core.expressions.functions import Budget
from tests.workflows.core.test_expressions import Place


def rendered(value: Any) -> Any:
    return render(read_template(value), Place(), Budget())


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", "plain"),
        ("${input.n}", 3),
        ("${ {'a': [1]} }", {"a": [1]}),
        ("n is ${input.n}!", "n is 3!"),
        ("${input.n}${input.kind}", "3epic"),
        (" ${input.n}", " 3"),
        ("${input.list} ${null}", "[1,2,3,4] null"),
        ("$${input.n} costs $5", "${input.n} costs $5"),
        ("a $${b} ${'}'}", "a ${b} }"),
        (["${input.n}", {"k": "x${1}"}], [3, {"k": "x1"}]),
        ({"${input.n}": 1}, {"${input.n}": 1}),
        (["a", {"b": None}], ["a", {"b": None}]),
        (5, 5),
    ],
)
def test_a_template_has_the_value(template: Any, expected: Any) -> None:
    found = rendered(template)
    assert (type(found), found) == (type(expected), expected)


def test_a_value_without_expressions_is_itself() -> None:
    value = {"a": ["b", {"c": 1}]}
    assert read_template(value) == Fixed(value)


def test_an_expression_without_end_is_refused() -> None:
    with pytest.raises(ExpressionError, match=r"'\$\{' has no '\}', at character 5"):
        read_template({"a": ["  ${1"]})


def test_text_around_expressions_is_paid_for() -> None:
    with pytest.raises(EvaluationError, match="characters of text"):
        rendered(["${input.big}" * 60])


def test_every_expression_is_found_with_its_place() -> None:
    template = read_template({"a": ["x", "${1}"], "b": "${2} and ${3}", "c": {"d": 4}})
    assert [where for where, _ in expressions(template, "input")] == [
        "input.a[1]",
        "input.b",
        "input.b",
    ]


def test_a_condition_is_true_or_false() -> None:
    assert render_truth(read_template("${1 == 1}"), Place(), Budget())
    with pytest.raises(EvaluationError, match="a condition is 3, not true or false"):
        render_truth(read_template("${input.n}"), Place(), Budget())
