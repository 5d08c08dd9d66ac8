"""What commands that work on an installation without its server have in common."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from accord.cli.exits import UsageError
from accord.cli.installation import check_there
from accord.cli.parser import Parser
from accord.cli.setting_flags import add_setting_flags, settings_from

if TYPE_CHECKING:
    from accord.app.local import Local


def add_local_flags(parser: Parser, *more: str) -> None:
    """The flags that tell where the installation is, and those of further settings."""
    add_setting_flags(parser, ("data", "database", *more))


async def all_pages(local: Local, operation: str, **arguments: Any) -> list[Any]:
    """Everything that an operation lists."""
    found: list[Any] = []
    cursor = None
    while True:
        page = (await local.run(operation, **arguments, limit=100, cursor=cursor)).result
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


def run_local(
    arguments: argparse.Namespace, use: Callable[[Local], Awaitable[int]], *, new: bool = False
) -> int:
    """Open the installation, and what `use` gives. Raises what can go wrong with either.

    Where there is none, one is made if `new` says so, else that is wrong usage: who mistypes a
    folder wants no second installation.
    """
    from accord.app.local import open_local
    from accord.operations.accounts.server_key import ServerKeyError
    from accord.operations.logs.setup import configure_logging
    from accord.store import open_store

    configure_logging("debug" if arguments.debug else "warning", "text")
    settings = settings_from(arguments).settings
    try:
        open_store(settings.database_url)  # opens nothing yet
    except ValueError as error:
        raise UsageError(f"the database {error}") from None
    if not new:
        check_there(settings)

    async def main() -> int:
        async with open_local(settings) as local:
            return await use(local)

    try:
        return asyncio.run(main())
    except ServerKeyError as error:
        raise UsageError(str(error), advice="") from None
