"""Tests do not measure time: a busy machine would fail them. They count work, or compare it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.effort import calls, growth

HERE = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
UPPER_BOUNDS = {ast.Lt: "left", ast.LtE: "left", ast.Gt: "right", ast.GtE: "right"}


def bounds_on_time(source: str) -> list[int]:
    """Return the lines with an assertion that something took no longer than a limit.

    That a wait took at least as long as it should is fine: load can only make it longer.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assert):
            continue
        for part in ast.walk(node.test):
            if isinstance(part, ast.Compare) and len(part.ops) == 1:
                side = UPPER_BOUNDS.get(type(part.ops[0]))
                bounded = part.left if side == "left" else part.comparators[0] if side else None
                if bounded is not None and _took(bounded):
                    found.append(node.lineno)
    return found


def _took(node: ast.expr) -> bool:
    """Return whether an expression is `clock() - begun`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Call)
        and getattr(node.left.func, "attr", getattr(node.left.func, "id", "")) in CLOCKS
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("assert monotonic() - begun < 1", [1]),
        ("assert 1 >= time.perf_counter() - begun, 'slow'", [1]),
        ("assert (status, time.monotonic() - begun < 1.0) == (0, True)", [1]),
        ("assert time.monotonic() - begun >= 1", []),
        ("assert row.at > time.time()", []),
    ],
)
def test_upper_bounds_on_time_are_found(source: str, lines: list[int]) -> None:
    assert bounds_on_time(source) == lines


@pytest.mark.req("Q-10")
def test_no_test_asserts_that_something_is_quick() -> None:
    found = [
        f"{file.relative_to(HERE.parent)}:{line}"
        for file in sorted(HERE.rglob("*.py"))
        for line in bounds_on_time(file.read_text(encoding="utf-8"))
    ]
    assert not found, f"use tests.effort instead of a clock: {', '.join(found)}"


@pytest.mark.req("Q-10")
def test_generated_examples_may_take_any_time() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_calls_are_counted() -> None:
    def work(times: int) -> None:
        for _ in range(times):
            len("abc")

    assert calls(lambda: work(100)) - calls(lambda: work(0)) == 100


def test_growth_tells_a_square_from_a_line() -> None:
    assert growth(lambda: sum(range(20_000)), lambda: sum(range(160_000))) < 24
    assert growth(lambda: sum(range(200**2)), lambda: sum(range(1_600**2))) > 24
