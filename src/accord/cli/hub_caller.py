"""As whom commands on the machine itself change the hub: everything in it belongs to somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from accord.cli.exits import UsageError
from accord.cli.parser import Parser

if TYPE_CHECKING:
    from accord.app.local import Local
    from accord.operations.caller import Caller


def add_as_flag(parser: Parser) -> None:
    """The flag that tells as whom."""
    parser.add_argument(
        "--as",
        dest="person",
        metavar="NAME",
        help="whom new things belong to (default: the first administrator)",
    )


async def caller_named(local: Local, name: str | None) -> Caller:
    """That person, with every right. Raises UsageError where there is nobody, and ServiceError."""
    from accord.operations.accounts.storage.users import FIRST_ADMINISTRATOR
    from accord.operations.caller import LOCAL
    from accord.operations.identifiers import new_correlation_id

    if name is None:
        rows = await local.store.fetch(FIRST_ADMINISTRATOR)
        if not rows:
            raise UsageError(
                "there is nobody whom things could belong to: "
                "accord user create NAME --role administrator"
            )
        name = str(rows[0]["username"])
    user = (await local.run("get_user", id=name)).result
    return replace(
        LOCAL, user_id=user.id, username=user.username, correlation_id=new_correlation_id()
    )
