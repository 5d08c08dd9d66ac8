"""The head of the audit trail: whether it is genuine, and no older than the one kept beside."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from accord.app.settings import Settings
from accord.cli.checkup.finding import Finding, ok, problem, unseen
from accord.cli.checkup.reading import open_readable
from accord.cli.exits import UsageError
from accord.cli.installation import audit_key, is_there
from accord.operations.audit.chain import Chain
from accord.operations.audit.head_file import NAME, read_head_file
from accord.operations.audit.sealer import READ_HEAD
from accord.store import StoreError

VERIFY: Final = "accord audit verify tells what was changed"


async def look(settings: Settings, *, readable: bool) -> Finding:
    """`readable` says whether the database is."""
    if not readable:
        return unseen("head", "the database has a problem", "solve that first")
    if not is_there(settings):
        return unseen("head", "there is no audit trail yet")
    try:
        chain = Chain(audit_key(settings))
        async with open_readable(settings) as store:
            rows = await store.fetch(READ_HEAD)
    except (UsageError, StoreError, ValueError) as error:
        return unseen("head", str(error))
    if not rows:
        return unseen("head", "nothing is on record yet")
    head = chain.head(rows[0]["value"])
    if head is None:
        return problem("head", "the head of the audit trail is not genuine", VERIFY)
    kept = read_head_file(Path(settings.data) / NAME, chain)
    if kept is not None and kept.sequence > head.sequence:
        detail = f"ends at {head.sequence:,}, and went to {kept.sequence:,} once: it was cut off"
        return problem("head", detail, VERIFY)
    return ok("head", f"genuine, at {head.sequence:,}; accord audit verify looks at every record")
