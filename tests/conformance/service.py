"""The server that the specification's examples talk to. As a program it serves over stdio."""

from __future__ import annotations

import sys

from accord import Router, run
from accord.transports.options import Framing

router = Router()


@router.method
def subtract(minuend: int, subtrahend: int) -> int:
    return minuend - subtrahend


@router.method("sum")
def sum_(*numbers: int) -> int:
    return sum(numbers)


@router.method
def get_data() -> list[object]:
    return ["hello", 5]


@router.method
def update(*values: int) -> None: ...


@router.method
def notify_sum(*numbers: int) -> None: ...


@router.method
def notify_hello(value: int) -> None: ...


FRAMINGS: dict[str, Framing] = {"newline": "newline", "content-length": "content-length"}

if __name__ == "__main__":
    run(router, "stdio:", framing=FRAMINGS[sys.argv[1]])
