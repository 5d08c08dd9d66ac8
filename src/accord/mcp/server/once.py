"""What is done once per request, however often its handler is run.

Results are kept as JSON, because they may travel to the client and back in sealed state. So
that a handler sees the same on its first run as on later ones, it always gets a result that
has been through JSON, decoded into what the function says it returns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from typing import Any, get_type_hints

from accord.jsonrpc.codec import encode
from accord.jsonrpc.parameter_types import choose_type
from accord.jsonrpc.parameters import Parameter
from accord.jsonrpc.params_errors import ValueRefusedError


class Once:
    """One-time results of a request, by key."""

    __slots__ = ("_running", "results")

    def __init__(self, results: dict[str, bytes] | None = None) -> None:
        self.results = {} if results is None else results
        self._running: dict[str, asyncio.Task[bytes]] = {}

    async def do(self, key: str, function: Callable[[], Any]) -> Any:
        """Return the result of `function`, called once per key.

        A failure is not kept: the function is called again the next time.
        """
        found = self.results.get(key)
        if found is None:
            found = await self._share(key, function)
        return _decoded(found, function)

    async def _share(self, key: str, function: Callable[[], Any]) -> bytes:
        """Return the result of one run, shared by all concurrent callers.

        The run is a task of its own, so the end of the handler does not stop it halfway.
        """
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, function))
        return await asyncio.shield(task)

    async def _run(self, key: str, function: Callable[[], Any]) -> bytes:
        try:
            value = function()
            found = encode(await value if isawaitable(value) else value)
            self.results[key] = found
            return found
        finally:
            self._running.pop(key, None)

    async def finish(self) -> None:
        """Wait until all running functions are done and their results are kept."""
        while self._running:
            await _settled(*self._running.values())

    def cancel(self) -> None:
        """Cancel the running functions: their results are not needed any more."""
        for task in self._running.values():
            task.cancel()


async def _settled(*work: Awaitable[Any]) -> None:
    await asyncio.gather(*work, return_exceptions=True)


def _decoded(data: bytes, function: Callable[[], Any]) -> Any:
    kind = choose_type(Parameter("result", _returned(function), "keyword_only", True))
    try:
        return kind.decode(data, "result", "result")
    except ValueRefusedError as refused:
        raise TypeError(f"once: {refused.problems[0].message}") from None


def _returned(function: Callable[[], Any]) -> Any:
    while isinstance(function, partial):
        function = function.func
    try:
        return get_type_hints(function, include_extras=True).get("return", Any)
    except (TypeError, NameError):
        return Any
