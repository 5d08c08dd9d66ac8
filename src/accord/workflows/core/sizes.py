"""How large values are as JSON, and which are too large for a run."""

from __future__ import annotations

from typing import Any

from msgspec import DecodeError, json

from accord.jsonrpc.nesting import MAX_DEPTH, check_nesting
from accord.workflows.core.limits import MAX_OUTPUT_BYTES
from accord.workflows.core.state import Failure


def size_problem(what: str, *values: Any) -> tuple[int, Failure | None]:
    """The size of values as JSON, and what is wrong with it."""
    size = 0
    try:
        for value in values:
            if value is not None:
                written = json.encode(value)
                check_nesting(written)
                size += len(written)
    except (DecodeError, RecursionError):  # of a value that is nested deeper than the stack
        message = f"the {what} is nested deeper than {MAX_DEPTH} levels"
        return 0, Failure(f"{what}_invalid", message)
    except (OverflowError, TypeError, ValueError):
        return 0, Failure(f"{what}_invalid", f"the {what} cannot be written as JSON")
    if size > MAX_OUTPUT_BYTES:
        article = "an" if what[0] in "aeiou" else "a"
        message = f"{article} {what} of {size:,} bytes is over the limit of {MAX_OUTPUT_BYTES:,}"
        return 0, Failure(f"{what}_too_large", message)
    return size, None
