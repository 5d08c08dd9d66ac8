"""The parts of an expression, as a tree. References to steps, loops and errors are parts of their
own, so that a definition can be checked without evaluating anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct

StepFieldName: TypeAlias = Literal["output", "data", "artifacts", "error"]
LoopFieldName: TypeAlias = Literal["item", "index"]


class Constant(Struct, frozen=True):
    """A number, a text, true, false or null."""

    value: Any


class Variable(Struct, frozen=True):
    """`input`, `error`, or what a macro binds."""

    name: str


class StepField(Struct, frozen=True):
    """`steps.NAME.output`, `.data`, `.artifacts` or `.error`."""

    step: str
    field: StepFieldName

    @property
    def text(self) -> str:
        return f"steps.{self.step}.{self.field}"


class LoopField(Struct, frozen=True):
    """`loop.item` or `loop.index`; `up` counts the `parent` before it."""

    up: int
    field: LoopFieldName

    @property
    def text(self) -> str:
        return f"loop{'.parent' * self.up}.{self.field}"


class ListOf(Struct, frozen=True):
    items: tuple[Node, ...]


class MapOf(Struct, frozen=True):
    entries: tuple[tuple[Node, Node], ...]


class Select(Struct, frozen=True):
    """`operand.name`"""

    operand: Node
    name: str


class Index(Struct, frozen=True):
    """`operand[key]`"""

    operand: Node
    key: Node


class Has(Struct, frozen=True):
    """`has(path)`: whether every part of the path is there, and its end not null."""

    path: Node


class Unary(Struct, frozen=True):
    operator: str
    operand: Node


class Binary(Struct, frozen=True):
    operator: str
    left: Node
    right: Node


class Logic(Struct, frozen=True):
    """`&&` and `||`: one side may be in error where the other settles it."""

    operator: str
    left: Node
    right: Node


class Conditional(Struct, frozen=True):
    """`condition ? yes : no`"""

    condition: Node
    yes: Node
    no: Node


class Call(Struct, frozen=True):
    """`function(arguments)`, or `target.function(arguments)` with the target first."""

    function: str
    arguments: tuple[Node, ...]


class Macro(Struct, frozen=True):
    """`target.all(variable, body)` and its like."""

    name: str
    target: Node
    variable: str
    body: Node


Node: TypeAlias = (
    Constant
    | Variable
    | StepField
    | LoopField
    | ListOf
    | MapOf
    | Select
    | Index
    | Has
    | Unary
    | Binary
    | Logic
    | Conditional
    | Call
    | Macro
)


def children(node: Node) -> tuple[Node, ...]:
    """The parts right below a node."""
    match node:
        case ListOf(items):
            return items
        case MapOf(entries):
            return tuple(part for entry in entries for part in entry)
        case Select(operand, _) | Unary(_, operand) | Has(operand):
            return (operand,)
        case Index(operand, key):
            return (operand, key)
        case Binary(_, left, right) | Logic(_, left, right):
            return (left, right)
        case Conditional(condition, yes, no):
            return (condition, yes, no)
        case Call(_, arguments):
            return arguments
        case Macro(_, target, _, body):
            return (target, body)
        case _:
            return ()


def walk(node: Node) -> Iterator[tuple[Node, int]]:
    """Every part of an expression with its level, the whole first."""
    waiting = [(node, 1)]
    while waiting:
        part, level = waiting.pop()
        yield part, level
        waiting.extend((child, level + 1) for child in children(part))
