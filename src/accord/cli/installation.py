"""The database of an installation, for commands that look at it as it is: nothing is migrated,
made or sealed on the way."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import unquote, urlsplit

from accord.app.settings import Settings
from accord.cli.exits import UsageError
from accord.cli.setting_flags import settings_from


def existing(arguments: argparse.Namespace) -> Settings:
    """The settings of an installation. Raises `UsageError` where there is none."""
    settings = settings_from(arguments).settings
    url = settings.database_url
    if url.startswith("sqlite:") and not Path(unquote(urlsplit(url).path)).is_file():
        raise UsageError(f"there is no database in {settings.data}")
    return settings


def audit_key(settings: Settings) -> bytes:
    """The key of the audit trail. Raises `UsageError`."""
    from accord.app.local import AUDIT_PURPOSE, server_key
    from accord.operations.accounts.server_key import KEY_FILE, ServerKeyError

    if not settings.is_shared and not (Path(settings.data) / KEY_FILE).is_file():
        raise UsageError(f"there is no server key in {settings.data}")
    try:
        return server_key(settings).derive(AUDIT_PURPOSE)
    except ServerKeyError as error:
        raise UsageError(str(error)) from None
